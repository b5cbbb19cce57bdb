//! Settings that were changed by the agent's tools: they are kept in a file, so that they outlive the process.

use serde_json::{Map, Value, json};

use super::Stack;
use super::host::HostSettings;
use crate::error::Error;
#[cfg(feature = "tools")]
use crate::error::Result;
#[cfg(feature = "tools")]
use crate::session::LogLevel;

/// The file: an object with the changed values, section by section as in [`HostSettings`].
const FILE: &str = "settings.json";
/// The sections that tools can change.
const SECTIONS: [&str; 2] = ["subagents", "autonomy"];

impl Stack {
    /// Keeps the settings that differ from those of the host. If none do, the file is removed. A failure is logged, because
    /// the settings are changed already.
    #[cfg(feature = "tools")]
    pub(crate) fn keep_settings(&self) {
        if let Err(error) = self.try_keep_settings() {
            self.log_for_host(LogLevel::Warn, "Settings not kept", json!({ "error": error.to_string() }));
        }
    }

    #[cfg(feature = "tools")]
    fn try_keep_settings(&self) -> Result<()> {
        let Some(folder) = &self.inner.log_folder else { return Ok(()) };
        let (host, current) = (json!(self.host().configured()), json!(self.host().settings()));
        let mut changed = Map::new();
        for section in SECTIONS {
            let values = current[section].as_object().into_iter().flatten();
            let differs = |(key, value): &(&String, &Value)| host[section][key.as_str()] != **value;
            let values: Map<String, Value> =
                values.filter(differs).map(|(key, value)| (key.clone(), value.clone())).collect();
            if !values.is_empty() {
                changed.insert(section.to_owned(), Value::Object(values));
            }
        }
        match changed.is_empty() {
            true => folder.remove(FILE),
            false => folder.replace(FILE, |out| Ok(serde_json::to_writer_pretty(out, &changed)?)),
        }
    }

    /// Applies the kept changes to the settings of the host. Returns the problems of the file.
    pub(super) fn apply_kept(&self, settings: &mut HostSettings) -> Vec<Error> {
        let Some(folder) = &self.inner.log_folder else { return Vec::new() };
        let kept = match folder.read(FILE) {
            Ok(None) => return Vec::new(),
            Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(problem) => return vec![problem],
        };
        let mut problems = Vec::new();
        let sections = serde_json::from_str::<Map<String, Value>>(&kept);
        match sections.map_err(|error| Error::of_json(FILE, error)) {
            Ok(mut sections) => {
                sections.retain(|section, _| SECTIONS.contains(&section.as_str()));
                settings.overlay(&Value::Object(sections).to_string(), &mut problems);
            }
            Err(problem) => problems.push(problem),
        }
        problems
    }
}
