//! The table of tools as a document: `docs/tools.md`.

use serde_json::Value;

use super::{Group, Tool};
use crate::frame::MemoryModel;
use crate::vocabulary::ToolNames;

/// The document about all tools, in Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "# The tools\n\nGenerated from the table in `src/tools`; `UPDATE_DOCS=1 cargo test tools` writes it anew.\n\n\
         Arguments are one JSON object. Unknown, missing and mistyped ones are refused with an example, and so are texts\n\
         of more than 100,000 characters, lists of more than 1,000 entries and more than a megabyte in all. Frames are\n\
         named by handle (`f3`), by ID, or by a beginning of the ID that fits no other frame.\n",
    );
    let mut group = None;
    for tool in super::list(&ToolNames::default()) {
        if group != Some(tool.group) {
            group = Some(tool.group);
            text.push_str(&format!("\n## {}\n", heading(tool.group)));
        }
        add(&tool, &mut text);
    }
    text.push_str(
        "\n# The tools of agents that manage their own memory\n\nThey are those of `callstack agent`, and of every host \
         that drives a run; `update_registers` goes with\nregisters. Arguments are read as above.\n",
    );
    super::memory_tools(MemoryModel::Registers).iter().for_each(|tool| add(tool, &mut text));
    text
}

fn heading(group: Group) -> &'static str {
    match group {
        Group::Frames => "Frames",
        Group::Planning => "Planning",
        Group::Context => "Context",
        Group::Compaction => "Compaction",
        Group::Subagents => "Subagents",
        Group::Autonomy => "Autonomy",
        Group::Memory => "Memory",
    }
}

fn add(tool: &Tool, text: &mut String) {
    // Features of other crates decide in which order objects have their keys.
    let Tool { mut parameters, mut example, .. } = tool.clone();
    parameters.sort_all_objects();
    example.sort_all_objects();
    text.push_str(&format!("\n### {}\n{}\n", tool.name, tool.description));
    let properties = parameters["properties"].as_object().filter(|properties| !properties.is_empty());
    if let Some(properties) = properties {
        text.push_str("\n| argument | type | |\n|---|---|---|\n");
        let required = parameters["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|other| other == name));
        let mut properties: Vec<(&String, &Value)> = properties.iter().collect();
        properties.sort_by_key(|(name, _)| !is_required(name));
        for (name, property) in properties {
            let mark = if is_required(name) { "" } else { "?" };
            let default = match &property["default"] {
                Value::Null => String::new(),
                default => format!(" Default {default}."),
            };
            let description = property["description"].as_str().unwrap_or_default();
            text.push_str(&format!("| {name}{mark} | {} | {description}{default} |\n", kind(property)));
        }
    }
    text.push_str(&format!("\n```json\n{example}\n```\n"));
}

/// The type of an argument in words.
fn kind(property: &Value) -> String {
    if let Some(choices) = property["enum"].as_array() {
        return choices.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    }
    match property["type"].as_str().unwrap_or_default() {
        "array" if property["items"]["type"] == "object" => {
            let names =
                property["items"]["properties"].as_object().into_iter().flat_map(|object| object.keys().cloned());
            format!("array of {{ {} }}", names.collect::<Vec<_>>().join(", "))
        }
        "array" => format!("array of {}", kind(&property["items"])),
        other => other.to_owned(),
    }
}
