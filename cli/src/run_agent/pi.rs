//! pi: its option `-e` names an extension for one run.

use std::env;
use std::path::Path;

use serde_json::Value;

use super::launch::{Launch, Scene};
use super::plugin::Plugin;
use crate::failure::Failure;
use crate::host_files::HostFiles;

const PLUGIN: Plugin = Plugin { agent: "pi", package: "pi-callstack", source: "bindings/pi" };
const SETTINGS: &str = "settings.json";

pub fn launch(scene: &Scene<'_>) -> Result<Launch, Failure> {
    let usual = HostFiles::Pi.folder().unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    let files = [here.join(Path::new(".pi").join(SETTINGS)), usual.join(SETTINGS)];
    if let Some(file) = PLUGIN.named_in(&files, packages) {
        return Ok(PLUGIN.of_settings(&file, scene));
    }
    Ok(Plugin::launch(scene).argument("-e").argument(PLUGIN.find(scene)?))
}

/// The packages and extensions that settings name: each is a text, or an object with its source.
fn packages(settings: &Value) -> Vec<String> {
    let lists = ["packages", "extensions"].iter().filter_map(|key| settings.get(key)?.as_array());
    let text = |entry: &Value| entry.as_str().or_else(|| entry.get("source")?.as_str()).map(str::to_owned);
    lists.flatten().filter_map(text).collect()
}
