//! Claude Code: a variable for the proxy, and a file for the server. Its option `--mcp-config` names this
//! file in addition to the person's own files.

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
/// Keeps Claude Code from setting the title of the terminal.
const OWN_TITLE: &str = "CLAUDE_CODE_DISABLE_TERMINAL_TITLE";
/// The name of the plugin of a run.
const PLUGIN: &str = "callstack-run";
/// Variables that send requests to other clouds. The URLs of these clouds are not redirected to this proxy.
const CLOUDS: [&str; 3] = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];

pub fn upstream(_: &Scene<'_>) -> Result<Option<String>, Failure> {
    if CLOUDS.iter().any(|cloud| own(cloud).is_some_and(|value| value != "0" && value != "false")) {
        return Ok(None);
    }
    Ok(Some(base_url().or_else(|| own(BASE_URL)).unwrap_or_else(|| vendor(Wire::Anthropic).to_owned())))
}

pub fn launch(scene: &Scene<'_>, proxy: Option<&Proxy>) -> Result<Launch, Failure> {
    // Claude Code hides the tools of servers until it searches for them, unless they are always loaded.
    let mut entry = scene.entry(json!({ "type": "stdio", "alwaysLoad": true }));
    entry["env"][TOLD_BY_HOOKS] = "1".into();
    entry["env"][WORKER] = format!("{PLUGIN}:worker").into();
    let servers = json!({ "mcpServers": { SERVER: entry } });
    let file = scene.file("mcp.json", &servers)?;
    // These options take all words that follow them, so each is one word with its value.
    // A plugin for this run has the hooks and a kind of subagent, in addition to the settings and plugins of
    // the person.
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
    let mut settings = json!({});
    if !scene.gives("--settings") && of_settings("/statusLine").is_none_or(|line| line.is_null()) {
        let command = format!("{} statusline", shlex::try_quote(&scene.program).unwrap_or_default());
        settings["statusLine"] = json!({ "type": "command", "command": command });
    }
    if scene.has_title {
        // The title of the terminal names the frame.
        launch = launch.variable(OWN_TITLE, "1");
    }
    let Some(proxy) = proxy else {
        launch = with_settings(launch, scene, &settings)?;
        return Ok(launch.note("requests to Bedrock, Vertex and Foundry are not folded: the agent has the tools alone"));
    };
    // The variables of settings override those of the environment.
    if base_url().is_some() {
        if scene.gives("--settings") {
            launch = launch.note(format!(
                "nothing is folded, because the settings of Claude Code name {BASE_URL}, and --settings is taken"
            ));
        } else {
            settings["env"] = json!({ BASE_URL: proxy.url() });
        }
    }
    launch = with_settings(launch, scene, &settings)?;
    Ok(launch.proxied_by(BASE_URL, Some(proxy)))
}

/// Gives the agent settings for this run, in addition to those of the person.
fn with_settings(launch: Launch, scene: &Scene<'_>, settings: &Value) -> Result<Launch, Failure> {
    if settings.as_object().is_none_or(|settings| settings.is_empty()) {
        return Ok(launch);
    }
    let file = scene.file("settings.json", settings)?;
    Ok(launch.argument(format!("--settings={}", file.display())))
}

/// The base URL that the settings of the person or of the project name.
fn base_url() -> Option<String> {
    of_settings(&format!("/env/{BASE_URL}"))?.as_str().map(str::to_owned)
}

/// A value of the settings of the person, or of the settings of the project.
fn of_settings(pointer: &str) -> Option<Value> {
    let user = HostFiles::Claude.folder().unwrap_or_default();
    let files = [
        Path::new(".claude/settings.local.json").to_owned(),
        Path::new(".claude/settings.json").to_owned(),
        user.join("settings.json"),
    ];
    files.iter().find_map(|file| settings_files::json(file)?.pointer(pointer).cloned())
}
