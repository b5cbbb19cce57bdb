//! OpenCode: a variable with more settings names the plugin. OpenCode merges these settings with the person's
//! own.

use std::env;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Value, json};

use super::launch::{Launch, Scene};
use super::plugin::Plugin;
use super::upstreams::own;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_files;

const PLUGIN: Plugin = Plugin { agent: "opencode", package: "opencode-callstack", source: "bindings/opencode" };
/// The variable with settings.
const SETTINGS: &str = "OPENCODE_CONFIG_CONTENT";
/// The variables of a file, and of a folder with settings.
const FILE: &str = "OPENCODE_CONFIG";
const FOLDER: &str = "OPENCODE_CONFIG_DIR";
/// The names of files of settings in a folder.
const NAMES: [&str; 3] = ["opencode.jsonc", "opencode.json", "config.json"];

pub fn launch(scene: &Scene<'_>) -> Result<Launch, Failure> {
    if let Some(file) = PLUGIN.named_in(&files_of_settings(), plugins) {
        return Ok(PLUGIN.of_settings(&file, scene));
    }
    let mut settings = of_variable()?;
    if plugins(&settings).iter().any(|plugin| plugin.starts_with(PLUGIN.package)) {
        return Ok(PLUGIN.of_settings(Path::new(SETTINGS), scene));
    }
    let entry = Plugin::entry(&PLUGIN.find(scene)?);
    let all = settings.as_object_mut().map(|settings| settings.entry("plugin").or_insert_with(|| json!([])));
    if let Some(Value::Array(plugins)) = all {
        plugins.push(entry.display().to_string().into());
    }
    Ok(Plugin::launch(scene).variable(SETTINGS, settings.to_string()))
}

/// The settings that the person has in the variable.
fn of_variable() -> Result<Value, Failure> {
    let Some(text) = own(SETTINGS) else { return Ok(json!({})) };
    let parsed = CstRootNode::parse(&text, &ParseOptions::default()).ok();
    let settings = parsed.and_then(|root| root.value()?.to_serde_value());
    let is_usable = |settings: &Value| settings.is_object() && settings.get("plugin").is_none_or(Value::is_array);
    settings.filter(is_usable).ok_or_else(|| {
        Failure::new(Exit::Failed, "settings", format!("{SETTINGS} is not a JSON object whose `plugin` is a list"))
    })
}

/// The plugins that settings name: each is a text, or a list of a text and its settings.
fn plugins(settings: &Value) -> Vec<String> {
    let entries = settings.get("plugin").and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.as_str().or_else(|| entry.get(0)?.as_str()).map(str::to_owned)).collect()
}

/// The files in which OpenCode looks for settings, for all projects and for this one.
fn files_of_settings() -> Vec<PathBuf> {
    let usual = env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let usual = usual.or_else(|| Some(host_files::home()?.join(".config"))).unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    let above = here.ancestors().flat_map(|folder| [folder.to_owned(), folder.join(".opencode")]);
    let folders = above.chain([usual.join("opencode")]).chain(own(FOLDER).map(PathBuf::from));
    let files = folders.flat_map(|folder| NAMES.map(|name| folder.join(name)));
    files.chain(own(FILE).map(PathBuf::from)).collect()
}
