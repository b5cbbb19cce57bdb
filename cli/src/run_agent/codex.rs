//! Codex: its options `-c` name the provider and the server. Other users of the machine can see the arguments
//! of a process, and these must not have the secret. Therefore the secret is in a variable, which Codex sends
//! as a header.

use std::ffi::OsString;
use std::path::PathBuf;

use super::launch::{Launch, SERVER, Scene};
use super::settings_files;
use super::upstreams::own;
use crate::failure::Failure;
use crate::host_files::HostFiles;
use crate::proxy::{Proxy, SECRET_HEADER};

/// The variable with the secret of the proxy.
const SECRET: &str = "CALLSTACK_PROXY_SECRET";
/// Where requests go with an account of ChatGPT, and with a key.
const WITH_ACCOUNT: &str = "https://chatgpt.com/backend-api/codex";
const WITH_KEY: &str = "https://api.openai.com/v1";
/// The mode in which a model writes programs, and the key of the servers whose tools the model calls directly
/// even in this mode.
const CODE_MODE: &str = "features.code_mode";
const DIRECT_TOOLS: &str = "direct_only_tool_namespaces";
/// The names of the built-in provider, and of the provider in its place: the settings of the built-in
/// provider cannot be overridden.
const BUILT_IN: &str = "openai";
const IN_ITS_PLACE: &str = "callstack";

pub fn upstream(scene: &Scene<'_>) -> Result<Option<String>, Failure> {
    let settings = Settings::read(scene);
    let built_in = || match has_account() {
        true => WITH_ACCOUNT.to_owned(),
        false => WITH_KEY.to_owned(),
    };
    Ok(match settings.provider_url() {
        Some(url) => Some(url),
        None if settings.provider == BUILT_IN => Some(settings.built_in_url.unwrap_or_else(built_in)),
        None => None,
    })
}

pub fn launch(scene: &Scene<'_>, proxy: Option<&Proxy>) -> Result<Launch, Failure> {
    let text = |text: &str| toml_edit::Value::from(text).to_string();
    let arguments: Vec<String> = scene.arguments.iter().map(|argument| text(argument)).collect();
    let mut launch = Launch::default();
    let mut set = |key: String, value: String| launch.arguments.extend(["-c".into(), format!("{key}={value}").into()]);
    let server = format!("mcp_servers.{SERVER}");
    set(format!("{server}.command"), text(&scene.program));
    set(format!("{server}.args"), format!("[{}]", arguments.join(", ")));
    set(format!("{server}.env_vars"), r#"["PGPASSWORD"]"#.to_owned());
    // The person has asked for these tools, and they change nothing but the stack. So there is no question
    // before each call.
    set(format!("{server}.default_tools_approval_mode"), text("approve"));
    let settings = Settings::read(scene);
    // Newer models write programs that call tools, and a program cannot be folded. Therefore these tools are
    // called directly.
    set(format!("{CODE_MODE}.{DIRECT_TOOLS}"), settings.direct_tools().to_string());
    if settings.has_code_mode() {
        set(format!("{CODE_MODE}.enabled"), "true".to_owned());
    }
    let Some(proxy) = proxy else {
        let provider = &settings.provider;
        return Ok(launch
            .note(format!("nothing is folded, because the URL of the built-in provider {provider} cannot be set")));
    };
    let name = if settings.provider_url().is_some() { settings.provider.clone() } else { IN_ITS_PLACE.to_owned() };
    let provider = format!("model_providers.{name}");
    if name == IN_ITS_PLACE {
        set("model_provider".to_owned(), text(IN_ITS_PLACE));
        // Codex does for a provider of this name what it does for the built-in one.
        set(format!("{provider}.name"), text("OpenAI"));
        set(format!("{provider}.wire_api"), text("responses"));
        set(format!("{provider}.requires_openai_auth"), "true".to_owned());
    }
    set(format!("{provider}.base_url"), text(&proxy.origin()));
    set(format!("{provider}.env_http_headers.{SECRET_HEADER}"), text(SECRET));
    // Requests over a WebSocket have no body that could be folded.
    set(format!("{provider}.supports_websockets"), "false".to_owned());
    Ok(launch.variable(SECRET, proxy.secret()))
}

/// What the person's settings say.
struct Settings {
    /// The name of the provider.
    provider: String,
    /// The URL of the built-in provider.
    built_in_url: Option<String>,
    table: toml::Table,
}

impl Settings {
    fn read(scene: &Scene<'_>) -> Self {
        let mut table = settings_files::toml(&home().join("config.toml")).unwrap_or_default();
        let profile = scene.given_value(&["--profile", "-p"]);
        let profile = profile.or_else(|| table.get("profile").and_then(toml::Value::as_str).map(str::to_owned));
        if let Some(profile) = profile {
            let within = table.get("profiles").and_then(|profiles| profiles.get(&profile)?.as_table().cloned());
            let beside = settings_files::toml(&home().join(format!("{profile}.config.toml")));
            [within, beside].into_iter().flatten().for_each(|settings| table.extend(settings));
        }
        let named = |key: &str| {
            overridden(scene.given, key).or_else(|| table.get(key).and_then(toml::Value::as_str).map(str::to_owned))
        };
        let local = scene.gives("--oss").then(|| "of --oss".to_owned());
        let provider = local.or_else(|| named("model_provider")).unwrap_or_else(|| BUILT_IN.to_owned());
        let built_in_url = named("openai_base_url");
        Self { provider, built_in_url, table }
    }

    fn code_mode(&self) -> Option<&toml::Value> {
        self.table.get("features")?.get("code_mode")
    }

    /// A table of settings replaces a simple switch.
    fn has_code_mode(&self) -> bool {
        self.code_mode().and_then(toml::Value::as_bool) == Some(true)
    }

    /// The servers whose tools are called directly: the servers of the person, and this server.
    fn direct_tools(&self) -> toml_edit::Array {
        let own = self.code_mode().and_then(|mode| mode.get(DIRECT_TOOLS)?.as_array());
        let own = own.into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_owned);
        own.chain([format!("mcp__{SERVER}")]).collect()
    }

    /// The URL of a provider that the settings define.
    fn provider_url(&self) -> Option<String> {
        let provider = self.table.get("model_providers")?.get(&self.provider)?;
        provider.get("base_url")?.as_str().map(str::to_owned)
    }
}

/// A setting that the person's arguments name: `-c KEY=VALUE`.
fn overridden(given: &[OsString], key: &str) -> Option<String> {
    given.iter().rev().find_map(|given| {
        let text = given.to_str()?;
        let setting = text.strip_prefix("--config=").or_else(|| text.strip_prefix("-c")).unwrap_or(text);
        let (named, value) = setting.split_once('=')?;
        (named.trim() == key).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

/// Whether Codex is logged in with an account. Its keys are not read.
fn has_account() -> bool {
    let Some(login) = settings_files::json(&home().join("auth.json")) else { return own("OPENAI_API_KEY").is_none() };
    match login.get("auth_mode").and_then(serde_json::Value::as_str) {
        Some(mode) => !mode.eq_ignore_ascii_case("apikey"),
        None => login.get("tokens").is_some_and(|tokens| !tokens.is_null()),
    }
}

fn home() -> PathBuf {
    HostFiles::Codex.folder().unwrap_or_default()
}
