//! Claude Code: a variable for the proxy, and a file for the server, which its option `--mcp-config` names beside the person's own.

use std::path::Path;

use callstack_core::fold::Wire;
use serde_json::{Value, json};

use super::launch::{Launch, SERVER, Scene};
use super::settings_files;
use super::upstreams::{own, vendor};
use crate::failure::Failure;
use crate::host_files::HostFiles;
use crate::mcp::{HookHost, OF_RUN, TOLD_BY_HOOKS, WORKER, WORKER_AGENT};
use crate::proxy::Proxy;

const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The name of the plugin of a run.
const PLUGIN: &str = "callstack-run";
/// Variables with which requests go to other clouds, whose URLs are not led here.
const CLOUDS: [&str; 3] = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];

pub fn upstream(_: &Scene<'_>) -> Result<Option<String>, Failure> {
    if CLOUDS.iter().any(|cloud| own(cloud).is_some_and(|value| value != "0" && value != "false")) {
        return Ok(None);
    }
    Ok(Some(of_settings().or_else(|| own(BASE_URL)).unwrap_or_else(|| vendor(Wire::Anthropic).to_owned())))
}

pub fn launch(scene: &Scene<'_>, proxy: Option<&Proxy>) -> Result<Launch, Failure> {
    // Claude Code hides the tools of servers until it searches for them, unless they are always loaded.
    let mut entry = scene.entry(json!({ "type": "stdio", "alwaysLoad": true }));
    entry["env"][TOLD_BY_HOOKS] = "1".into();
    entry["env"][WORKER] = format!("{PLUGIN}:worker").into();
    let servers = json!({ "mcpServers": { SERVER: entry } });
    let file = scene.file("mcp.json", &servers)?;
    // In one word each: these options take all words that follow them.
    // A plugin for this run has the hooks and a kind of subagent, beside the settings and plugins of the person.
    let command = format!("{} hook --of-run", shlex::try_quote(&scene.program).unwrap_or_default());
    scene
        .file("plugin/.claude-plugin/plugin.json", &json!({ "name": PLUGIN, "version": env!("CARGO_PKG_VERSION") }))?;
    let hooks = scene.file("plugin/hooks/hooks.json", &HookHost::Claude.hooks(&command))?;
    scene.text_file("plugin/agents/worker.md", WORKER_AGENT)?;
    let plugin = hooks.ancestors().nth(2).unwrap_or(&hooks).display().to_string();
    let mut launch = Launch::default()
        .argument(format!("--mcp-config={}", file.display()))
        .argument(format!("--plugin-dir={plugin}"))
        .argument(format!("--allowedTools=mcp__{SERVER}"))
        .variable(OF_RUN, "1");
    let Some(proxy) = proxy else {
        return Ok(launch.note("requests to Bedrock, Vertex and Foundry are not folded: the agent has the tools alone"));
    };
    // The variables of settings override those of the environment.
    if of_settings().is_some() {
        if scene.gives("--settings") {
            launch = launch.note(format!(
                "nothing is folded, because the settings of Claude Code name {BASE_URL}, and --settings is taken"
            ));
        } else {
            let settings = scene.file("settings.json", &json!({ "env": { BASE_URL: proxy.url() } }))?;
            launch = launch.argument(format!("--settings={}", settings.display()));
        }
    }
    Ok(launch.proxied_by(BASE_URL, Some(proxy)))
}

/// The base URL that the person's settings, or those of the project, name.
fn of_settings() -> Option<String> {
    let user = HostFiles::Claude.folder().unwrap_or_default();
    let files = [
        Path::new(".claude/settings.local.json").to_owned(),
        Path::new(".claude/settings.json").to_owned(),
        user.join("settings.json"),
    ];
    files.iter().find_map(|file| {
        let settings = settings_files::json(file)?;
        settings.pointer(&format!("/env/{BASE_URL}")).and_then(Value::as_str).map(str::to_owned)
    })
}
