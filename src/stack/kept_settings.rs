//! Settings that were changed by the agent's tools. They are kept in a file, so they outlive the process.

#[cfg(feature = "tools")]
use serde_json::json;
use serde_json::{Map, Value};

use super::Stack;
use super::host::HostSettings;
use crate::error::{Error, Result};
#[cfg(feature = "tools")]
use crate::session::LogLevel;
use crate::store::folder::Folder;
use crate::text::from_json;

/// The file: an object with the changed values, section by section as in [`HostSettings`].
const FILE: &str = "settings.json";
/// The sections that tools can change.
const SECTIONS: [&str; 2] = ["subagents", "autonomy"];

impl Stack {
    /// Keeps the settings of a section that differ from those of the host. Other sections of the file stay,
    /// because another process may have changed them. A failure is logged, because the settings are changed
    /// already.
    #[cfg(feature = "tools")]
    pub(crate) fn keep_settings(&self, section: &str) {
        if let Err(error) = self.try_keep_settings(section) {
            self.log_for_host(LogLevel::Warn, "Settings not kept", json!({ "error": error.to_string() }));
        }
    }

    #[cfg(feature = "tools")]
    fn try_keep_settings(&self, section: &str) -> Result<()> {
        let Some(folder) = &self.inner.log_folder else { return Ok(()) };
        let (host, current) = (json!(self.host().configured()), json!(self.host().settings()));
        let values = current[section].as_object().into_iter().flatten();
        let differs = |(key, value): &(&String, &Value)| host[section][key.as_str()] != **value;
        let values: Map<String, Value> =
            values.filter(differs).map(|(key, value)| (key.clone(), value.clone())).collect();
        // A file that cannot be read is replaced.
        let mut kept = read_kept(folder).ok().flatten().unwrap_or_default();
        kept.remove(section);
        if !values.is_empty() {
            kept.insert(section.to_owned(), Value::Object(values));
        }
        match kept.is_empty() {
            true => folder.remove(FILE),
            false => folder.replace(FILE, |out| Ok(serde_json::to_writer_pretty(out, &kept)?)),
        }
    }

    /// Applies the kept changes to the settings of the host. Returns the problems of the file.
    pub(super) fn apply_kept(&self, settings: &mut HostSettings) -> Vec<Error> {
        let Some(folder) = &self.inner.log_folder else { return Vec::new() };
        let sections = match read_kept(folder) {
            Ok(None) => return Vec::new(),
            Ok(Some(sections)) => sections,
            Err(problem) => return vec![problem],
        };
        let mut problems = Vec::new();
        settings.overlay(&Value::Object(sections).to_string(), &mut problems);
        problems.into_iter().map(|problem| Error::json(FILE, problem.to_string())).collect()
    }
}

/// Reads the sections of the file that tools can change. `None`: there is no file.
fn read_kept(folder: &Folder) -> Result<Option<Map<String, Value>>> {
    let Some(bytes) = folder.read(FILE)? else { return Ok(None) };
    let sections: Map<String, Value> =
        from_json(&String::from_utf8_lossy(&bytes)).map_err(|error| Error::of_json(FILE, error))?;
    Ok(Some(sections.into_iter().filter(|(section, _)| SECTIONS.contains(&section.as_str())).collect()))
}
