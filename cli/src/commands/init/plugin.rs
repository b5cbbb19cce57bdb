//! Whether a host has its package of callstack already: its settings or its folder of extensions say so. With
//! both the package and the entry, an agent would have everything twice.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::Value;

use super::Host;
use super::file::SettingsFile;
use crate::host_files::HostFiles;

/// The name of the package in every host, before the name of the marketplace from which it comes.
const PACKAGE: &str = "callstack";

/// True if the package is installed and not switched off. A file that cannot be read is ignored.
pub fn is_installed(host: Host) -> bool {
    match host {
        Host::Claude => {
            let files = [
                of_person(HostFiles::Claude, "settings.json"),
                ".claude/settings.json".into(),
                ".claude/settings.local.json".into(),
            ];
            files.iter().any(|file| enables(&json(file)["enabledPlugins"]))
        }
        Host::Copilot => enables(&json(&of_person(HostFiles::Copilot, "settings.json"))["enabledPlugins"]),
        Host::Codex => {
            let text = text(&of_person(HostFiles::Codex, "config.toml"));
            let settings: toml_edit::DocumentMut = text.parse().unwrap_or_default();
            let plugins = settings.get("plugins").and_then(toml_edit::Item::as_table_like);
            plugins.is_some_and(|plugins| {
                let is_on =
                    |plugin: &toml_edit::Item| plugin.get("enabled").and_then(toml_edit::Item::as_bool).unwrap_or(true);
                plugins.iter().any(|(name, plugin)| is_package(name) && is_on(plugin))
            })
        }
        Host::Gemini => of_person(HostFiles::Gemini, "extensions").join(PACKAGE).is_dir(),
        Host::Qwen => of_person(HostFiles::Qwen, "extensions").join(PACKAGE).is_dir(),
        _ => false,
    }
}

/// A file of the person.
fn of_person(host: HostFiles, name: &str) -> PathBuf {
    host.folder().unwrap_or_default().join(name)
}

/// The text of a file; empty if it cannot be read, or is not a regular file: reading a pipe would wait.
fn text(path: &Path) -> String {
    SettingsFile::read(path, true).map_or_else(|_| String::new(), |file| file.text().to_owned())
}

fn json(path: &Path) -> Value {
    let parsed = CstRootNode::parse(&text(path), &ParseOptions::default()).ok();
    parsed.and_then(|root| root.value()?.to_serde_value()).unwrap_or_default()
}

fn enables(plugins: &Value) -> bool {
    let plugins = plugins.as_object().into_iter().flatten();
    plugins.into_iter().any(|(name, is_on)| is_package(name) && is_on != false)
}

fn is_package(name: &str) -> bool {
    name.split('@').next() == Some(PACKAGE)
}
