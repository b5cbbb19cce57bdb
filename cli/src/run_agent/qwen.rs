//! Qwen Code: it reads defaults of the system from a file that a variable names. The person's settings
//! override these defaults.

use std::path::Path;

use callstack_core::fold::Wire;
use serde_json::{Map, Value, json};

use super::launch::{Launch, SERVER, Scene};
use super::settings_files;
use super::upstreams::{own, vendor};
use crate::failure::Failure;
use crate::host_files::HostFiles;
use crate::proxy::Proxy;

const BASE_URL: &str = "OPENAI_BASE_URL";
/// The variable of the file with the defaults of the system, and the place of the file if the variable is not
/// set.
const DEFAULTS: &str = "QWEN_CODE_SYSTEM_DEFAULTS_PATH";
const USUAL_DEFAULTS: &str = "/etc/qwen-code/system-defaults.json";

pub fn upstream() -> String {
    let named = [format!("/env/{BASE_URL}"), "/security/auth/baseUrl".to_owned()];
    let settings = settings();
    let of_settings = || named.iter().find_map(|pointer| settings.pointer(pointer)?.as_str().map(str::to_owned));
    own(BASE_URL).or_else(of_settings).unwrap_or_else(|| vendor(Wire::Chat).to_owned())
}

/// The person's settings.
fn settings() -> Value {
    let folder = HostFiles::Qwen.folder().unwrap_or_default();
    settings_files::json(&folder.join("settings.json")).unwrap_or_default()
}

pub fn launch(scene: &Scene<'_>, proxy: Option<&Proxy>) -> Result<Launch, Failure> {
    let usual = own(DEFAULTS).unwrap_or_else(|| USUAL_DEFAULTS.to_owned());
    let mut defaults = settings_files::json(Path::new(&usual)).unwrap_or_else(|| json!({}));
    let more = json!({
        // The person has asked for these tools, and they change nothing but the stack. So there is no
        // question before each call.
        "mcpServers": { SERVER: scene.entry(json!({ "trust": true })) },
        // Qwen Code hides the tools of servers until it searches for them, unless it has no such search.
        "tools": { "exclude": ["tool_search"] },
    });
    if let (Value::Object(defaults), Value::Object(more)) = (&mut defaults, more) {
        merge(defaults, more);
    }
    let file = scene.file("system-defaults.json", &defaults)?;
    let launch = Launch::default().variable(DEFAULTS, file).proxied_by(BASE_URL, proxy);
    let has_models =
        settings().get("modelProviders").and_then(Value::as_object).is_some_and(|models| !models.is_empty());
    Ok(match has_models {
        true => launch
            .note("requests to the `modelProviders` of Qwen Code's settings go there directly, and are not folded"),
        false => launch,
    })
}

/// Adds settings to others: objects are merged, lists are joined.
fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            (Some(Value::Array(into)), Value::Array(from)) => into.extend(from),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_system_stay() {
        let mut all = json!({ "tools": { "exclude": ["a"], "b": 1 }, "mcpServers": { "other": {} } });
        let more = json!({ "tools": { "exclude": ["c"] }, "mcpServers": { "callstack": { "d": 2 } } });
        if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
            merge(all, more);
        }
        let expected = json!({ "tools": { "exclude": ["a", "c"], "b": 1 }, "mcpServers": { "other": {}, "callstack": { "d": 2 } } });
        assert_eq!(all, expected);
    }
}
