//! Copilot CLI: its option `--additional-mcp-config` names a file with the server. Its requests can be sent
//! to this proxy only if the person uses a model of their own. Requests to GitHub's models go directly to
//! GitHub.

use serde_json::json;

use super::launch::{Launch, SERVER, Scene};
use crate::failure::Failure;
use crate::proxy::Proxy;

pub const BASE_URL: &str = "COPILOT_PROVIDER_BASE_URL";

pub fn launch(scene: &Scene<'_>, proxy: Option<&Proxy>) -> Result<Launch, Failure> {
    let servers = json!({ "mcpServers": { SERVER: scene.entry(json!({ "type": "local", "tools": ["*"] })) } });
    let file = scene.file("mcp.json", &servers)?;
    let launch = Launch::default()
        .argument(format!("--additional-mcp-config=@{}", file.display()))
        .argument(format!("--allow-tool={SERVER}"));
    if proxy.is_none() {
        return Ok(launch.note(format!(
            "nothing is folded, because requests to GitHub's models cannot be redirected; set {BASE_URL} to use a model of your own"
        )));
    }
    Ok(launch.variable("COPILOT_PROVIDER_TRANSPORT", "http").proxied_by(BASE_URL, proxy))
}
