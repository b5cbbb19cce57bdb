//! The tools of the server: a table of names, schemas, annotations and handlers. A tool is a struct: its documentation is the
//! description that the agent reads, its fields are the arguments.

mod activate;
mod context;
mod heap;
mod invalidate;
mod plan;
mod pop;
mod push;
mod record;
mod status;

use std::sync::Arc;

use callstack_core::tools::arguments;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::{Answer, Call};

/// The arguments of a tool, with the handler.
trait McpTool: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    /// What people see instead of the name.
    const TITLE: &'static str;
    /// Valid arguments, a JSON object. Errors show it.
    const EXAMPLE: &'static str;
    const EFFECT: Effect;

    fn run(self, call: &Call<'_>) -> Answer;
}

/// What a call of a tool changes, for the hints to hosts.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    Reads,
    Adds,
    /// The same call again changes nothing more.
    AddsOnce,
    /// It can take something away: a planned frame, or a text of the heap.
    Removes,
}

/// A tool without its types.
pub struct Entry {
    pub name: &'static str,
    title: &'static str,
    effect: Effect,
    is_standard: bool,
    describe: fn() -> (String, Value),
    pub run: fn(&Call<'_>, JsonObject) -> Answer,
}

impl Entry {
    const fn of<T: McpTool>() -> Self {
        Self {
            name: T::NAME,
            title: T::TITLE,
            effect: T::EFFECT,
            is_standard: true,
            describe: arguments::describe::<T>,
            run: |call, arguments| {
                let json = Value::Object(without_blanks(arguments, &arguments::describe::<T>().1)).to_string();
                arguments::read::<T>(&json, T::EXAMPLE)?.run(call)
            },
        }
    }

    const fn on_request(self) -> Self {
        Self { is_standard: false, ..self }
    }

    /// True if the tool changes the stack.
    pub fn changes(&self) -> bool {
        self.effect != Effect::Reads
    }

    /// True if an answer of the tool can be a question to the person.
    pub fn asks(&self) -> bool {
        self.name == pop::Pop::NAME
    }

    /// The definition for the host.
    pub fn tool(&self) -> Tool {
        let (description, schema) = (self.describe)();
        let schema = match schema {
            Value::Object(schema) => schema,
            _ => JsonObject::new(),
        };
        let reads = self.effect == Effect::Reads;
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(reads)
            .destructive(self.effect == Effect::Removes)
            .idempotent(reads || self.effect == Effect::AddsOnce)
            .open_world(false);
        Tool::new(self.name, description, Arc::new(schema)).with_title(self.title).with_annotations(annotations)
    }
}

/// Arguments without those that are optional and have no text: models fill in what they do not need.
fn without_blanks(mut arguments: JsonObject, schema: &Value) -> JsonObject {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let is_blank = |value: &Value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    arguments.retain(|name, value| !is_blank(value) || required.iter().any(|required| required == name));
    arguments
}

const TABLE: [Entry; 9] = [
    Entry::of::<push::Push>(),
    Entry::of::<pop::Pop>(),
    Entry::of::<plan::Plan>(),
    Entry::of::<activate::Activate>(),
    Entry::of::<invalidate::Invalidate>(),
    Entry::of::<status::Status>(),
    Entry::of::<context::Context>(),
    Entry::of::<record::Record>(),
    Entry::of::<heap::Heap>().on_request(),
];

/// The names of all tools.
pub const NAMES: [&str; TABLE.len()] = {
    let mut names = [""; TABLE.len()];
    let mut place = 0;
    while place < TABLE.len() {
        names[place] = TABLE[place].name;
        place += 1;
    }
    names
};

/// The tools with these names, and if no names are given those that an agent needs to work.
pub fn chosen(names: &[String]) -> Vec<&'static Entry> {
    let is_chosen = |entry: &&Entry| match names.is_empty() {
        true => entry.is_standard,
        false => names.iter().any(|name| name == entry.name),
    };
    TABLE.iter().filter(is_chosen).collect()
}

#[cfg(test)]
mod tests {
    use callstack_core::context::{Approx, TokenCounter};

    use super::*;

    /// Claude Code cuts descriptions at this number of characters.
    const LONGEST_DESCRIPTION: usize = 2_048;

    #[test]
    fn definitions_are_short_and_say_what_a_call_changes() {
        let mut tokens = 0;
        for entry in &TABLE {
            let tool = entry.tool();
            let description = tool.description.clone().unwrap_or_default();
            assert!(!description.is_empty() && description.chars().count() <= LONGEST_DESCRIPTION, "{}", entry.name);
            let hints = tool.annotations.clone().unwrap();
            assert!(hints.read_only_hint.is_some() && hints.destructive_hint.is_some(), "{}", entry.name);
            assert!(hints.idempotent_hint.is_some() && hints.open_world_hint == Some(false), "{}", entry.name);
            if entry.is_standard {
                tokens += Approx.count(&serde_json::to_string(&tool).unwrap());
            }
        }
        assert!(tokens < 2_000, "the standard tools cost {tokens} tokens in each request");
    }

    #[test]
    fn schemas_have_no_unsigned_formats_which_some_hosts_refuse() {
        for entry in &TABLE {
            let schema = Value::Object((*entry.tool().input_schema).clone()).to_string();
            assert!(!schema.contains("\"uint"), "{}: {schema}", entry.name);
            assert!(schema.contains("\"type\":\"object\""), "{}: {schema}", entry.name);
        }
    }

    #[test]
    fn examples_are_valid_arguments() {
        fn check<T: McpTool>() {
            if let Err(problem) = arguments::read::<T>(T::EXAMPLE, T::EXAMPLE) {
                panic!("{}: {problem}", T::NAME);
            }
        }
        check::<push::Push>();
        check::<pop::Pop>();
        check::<plan::Plan>();
        check::<activate::Activate>();
        check::<invalidate::Invalidate>();
        check::<status::Status>();
        check::<context::Context>();
        check::<record::Record>();
        check::<heap::Heap>();
    }

    #[test]
    fn the_heap_comes_only_on_request() {
        let names = |chosen: Vec<&Entry>| chosen.into_iter().map(|entry| entry.name).collect::<Vec<_>>();
        assert_eq!(
            names(chosen(&[])),
            ["push", "pop", "plan", "activate", "invalidate", "status", "context", "record"]
        );
        assert_eq!(names(chosen(&["heap".into(), "status".into()])), ["status", "heap"]);
    }
}
