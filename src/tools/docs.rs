//! Generates `docs/tools.md` from the table of tools.

use serde_json::Value;

use super::{Group, Tool};
use crate::frame::{MemoryModel, RunSettings};
use crate::session::calls::CallPlace;
use crate::vocabulary::{ToolNames, ToolSet};

/// Returns the reference of all tools in Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "# The tools\n\nThis file is generated from the table in `src/tools`. `UPDATE_DOCS=1 cargo test tools` updates \
         it.\n\nThe arguments are one JSON object. Unknown, missing and mistyped arguments are rejected; the error\n\
         contains an example. Texts of more than 100,000 characters, lists of more than 1,000 entries, and\n\
         arguments of more than 1 MiB in total are rejected too. A frame is named by its handle (`f3`), by its ID,\n\
         by a beginning of its ID that matches no other frame, or by its title, or the beginning of that, if no other frame of the tree has it.\n\n\
         Hosts have frames worked on in sessions of their own, or in one conversation (`calls.in`, as the plugins for OpenCode\n\
         and pi do). What differs there stands below a tool.\n",
    );
    let tools = super::list(&ToolNames::default());
    let folded = super::listed(&ToolNames::default(), CallPlace::Conversation);
    add_sets(&tools, &mut text);
    let mut group = None;
    for tool in tools {
        if group != Some(tool.group) {
            group = Some(tool.group);
            text.push_str(&format!("\n## {}\n", heading(tool.group)));
        }
        add(&tool, &mut text);
        if let Some(other) = folded.iter().find(|other| other.name == tool.name) {
            add_differences(&tool, other, &mut text);
        }
    }
    text.push_str(
        "\n# The tools of agents that manage their own memory\n\n\
         `callstack agent` and every other host that drives a run offer these tools; `update_registers` exists only\n\
         for agents with registers. In runs without shared results, `pop_frame` takes `result` alone, and there is no\n\
         `read_frame_log`. The rules for arguments are the same as above.\n",
    );
    let settings = RunSettings::default().memory(MemoryModel::Registers);
    super::memory_tools(&settings).iter().for_each(|tool| add(tool, &mut text));
    text
}

/// Adds the tables of the tools that are in the standard set, and of those that are not.
fn add_sets(tools: &[Tool], text: &mut String) {
    text.push_str(
        "\n## Which tools an agent gets\n\n\
         Each tool costs tokens in each model request. The setting `tools` of a host (environment: `STACK_TOOLS`) says which\n\
         ones its agents get: `standard` (the default), `all`, or a list of names, in which `standard` stands for the\n\
         standard tools: `[\"standard\", \"stack_tree\"]`. Contexts, suggestions, answers and errors mention no others.\n\
         Programs and people can call every tool, whatever the setting (`tools::call`, `callstack_tool`).\n",
    );
    for (title, is_standard) in [("Standard: what an agent needs to work", true), ("Not standard", false)] {
        let set = ToolSet::standard();
        let tools = tools.iter().filter(|tool| set.contains(tool.name) == is_standard);
        let heading = if is_standard { "why an agent needs it" } else { "why not" };
        text.push_str(&format!("\n{title}:\n\n| tool | {heading} |\n|---|---|\n"));
        for tool in tools {
            text.push_str(&format!("| {} | {} |\n", tool.name, ToolSet::reason(tool.name).unwrap_or_default()));
        }
    }
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
    // Sorted, because features of other crates change the order of the keys of JSON objects.
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

/// Adds what differs where frames are worked on in the conversation of their caller.
fn add_differences(tool: &Tool, other: &Tool, text: &mut String) {
    let own = |tool: &Tool| tool.parameters["properties"].as_object().cloned().unwrap_or_default();
    let [before, after] = [tool, other].map(own);
    let added = after.iter().filter(|(name, _)| !before.contains_key(*name));
    let mut lines: Vec<String> = added
        .map(|(name, property)| format!("`{name}`: {}", property["description"].as_str().unwrap_or_default()))
        .collect();
    lines.extend(before.keys().filter(|name| !after.contains_key(*name)).map(|name| format!("No `{name}`.")));
    let is_required = |tool: &Tool, name: &str| {
        let required = tool.parameters["required"].as_array();
        required.is_some_and(|required| required.iter().any(|other| other == name))
    };
    let optional = after.iter().filter(|(name, _)| is_required(tool, name) && !is_required(other, name));
    lines.extend(
        optional.map(|(name, property)| format!("`{name}?`: {}", property["description"].as_str().unwrap_or_default())),
    );
    if tool.description != other.description {
        lines.insert(0, other.description.clone());
    }
    if !lines.is_empty() {
        text.push_str(&format!("\nIn one conversation (`calls.in`): {}\n", lines.join(" ")));
    }
}

/// Returns the type of an argument as text.
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
