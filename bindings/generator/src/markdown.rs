//! `docs/api.md`: the reference of all functions, records and errors.

use std::fmt::Write;

use heck::ToLowerCamelCase;

use crate::api::{Api, Function, StackUse};
use crate::shape::{Choice, Field, Shape, meaning_of};
use crate::text::{Names, sentence, wrapped};

const NAMES: Names = Names { function: |name| name.to_owned(), error: |code| format!("`{code}`") };

const HEADING: &str = "\
<!-- Generated from api.json: `make api` renews it. Do not edit it. -->

# Reference of the interface

Every function for stacks with its record types and errors, for C, Node and Python. What only C needs, such as
`callstack_close` and the functions of errors and texts, is in `include/callstack.h`. The names are the same in
all languages: `plan_children` is `callstack_plan_children` in C, `planChildren` in TypeScript and `plan_children` in
Python. Keys of records are the same everywhere. In C a record is its JSON; `?` marks what can be absent. Rust
programs use the crate: its documentation has the same functions with types of their own.

A function that takes a frame takes a reference: a handle (`f3`), an ID, the beginning of an ID, or a title. Times are
in milliseconds since the Unix epoch, lengths of time in milliseconds.

";

/// The titles of the groups of functions.
const GROUPS: [(&str, &str); 11] = [
    ("stack", "Open and keep a stack"),
    ("command", "Change frames"),
    ("holding", "Workers and actors"),
    ("limits", "Limits and costs"),
    ("query", "Read frames"),
    ("context", "Contexts"),
    ("fold", "Fold requests"),
    ("memory", "Heap, registers and runs"),
    ("host", "Hosts with sessions"),
    ("logs", "Logs"),
    ("history", "History"),
];

/// The whole document.
pub fn document(api: &Api) -> String {
    let mut text = HEADING.to_owned();
    let unknown = api.functions.iter().find(|function| GROUPS.iter().all(|(group, _)| *group != function.group));
    assert!(unknown.is_none(), "GROUPS has no title for the group of {:?}", unknown.map(|function| &function.name));
    for (group, title) in GROUPS {
        let _ = write!(text, "## {title}\n\n");
        for function in api.functions.iter().filter(|function| function.group == group) {
            text.push_str(&section(function));
        }
    }
    text.push_str("## Records\n\n");
    for (name, schema) in &api.records {
        text.push_str(&record(name, &meaning_of(schema), &Shape::of(schema)));
    }
    text.push_str("## Errors\n\nIn C the number is the return code, in TypeScript the code is `error.code`, in Python it has a class: \
                   `unknown_frame` is `UnknownFrameError`.\n\n| code | number | class | when | details |\n|---|---:|---|---|---|\n");
    for error in &api.errors {
        let keys = error.details.iter().flatten().map(|(key, _)| format!("`{key}`"));
        let keys = keys.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {keys} |",
            error.code,
            error.number,
            error.class,
            cell(&NAMES.apply(&error.meaning))
        );
    }
    text
}

fn section(function: &Function) -> String {
    let mut text = format!("### {}\n\n", function.name);
    let parameters = function.inputs.iter().map(|input| {
        let mark = if input.optional { "?" } else { "" };
        format!("{}{mark}: {}", input.name, input.kind)
    });
    let outputs = function.outputs.iter().map(|output| match output.absence.as_str() {
        "" => output.kind.clone(),
        absence => format!("{} {absence}", output.kind),
    });
    let outputs: Vec<String> = outputs.collect();
    let result = if outputs.is_empty() { String::new() } else { format!(" → {}", outputs.join(", ")) };
    let what = match function.stack {
        StackUse::Command => "a command",
        StackUse::Query => "a query",
        StackUse::Optional => "a query; the stack can be absent",
        StackUse::None => "needs no stack",
    };
    let _ = write!(
        text,
        "`{}({}){result}` ({what}; TypeScript: `{}`; since {})\n\n{}\n\n",
        function.name,
        parameters.collect::<Vec<_>>().join(", "),
        function.name.to_lower_camel_case(),
        function.since,
        paragraphs(&code_names(&NAMES.apply(&function.meaning))),
    );
    for input in &function.inputs {
        text.push_str(&item(&format!("`{}`: {}", input.name, NAMES.apply(&sentence(&input.meaning)))));
    }
    for output in &function.outputs {
        text.push_str(&item(&format!("returns `{}`: {}", output.name, NAMES.apply(&sentence(&output.meaning)))));
    }
    if !function.inputs.is_empty() || !function.outputs.is_empty() {
        text.push('\n');
    }
    if !function.errors.meaning.is_empty() {
        let errors = format!("Errors: {}", NAMES.apply(&function.errors.meaning));
        let _ = write!(text, "{}\n\n", paragraphs(&code_names(&errors)));
    }
    text
}

/// Paragraphs in lines.
fn paragraphs(text: &str) -> String {
    wrapped(text, "").join("\n")
}

/// An item of a list, in lines.
fn item(text: &str) -> String {
    let lines = wrapped(text, "  ");
    format!("- {}\n", lines.join("\n").trim_start())
}

/// Code in code marks is not marked twice.
fn code_names(text: &str) -> String {
    text.replace("``", "`")
}

fn record(name: &str, meaning: &str, shape: &Shape) -> String {
    let mut text = format!("### {name} (record)\n\n{}\n\n", paragraphs(&NAMES.apply(meaning)));
    match shape {
        Shape::Object(fields) => table(&mut text, fields),
        Shape::Either(choices) => variants(&mut text, choices),
        Shape::Both(parts) => {
            for part in parts {
                match part {
                    Shape::Object(fields) => table(&mut text, fields),
                    Shape::Either(choices) => variants(&mut text, choices),
                    part => {
                        let _ = write!(text, "With the keys of {}.\n\n", short(part));
                    }
                }
            }
        }
        shape => {
            let _ = write!(text, "Type: {}\n\n", short(shape));
        }
    }
    text
}

fn table(text: &mut String, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    text.push_str("| key | type | meaning |\n|---|---|---|\n");
    for field in fields {
        let mark = if field.is_required { "" } else { "?" };
        let _ = writeln!(
            text,
            "| `{}`{mark} | {} | {} |",
            field.name,
            cell(&short(&field.shape)),
            cell(&NAMES.apply(&field.meaning))
        );
    }
    text.push('\n');
}

/// Words in a list; objects with a table each.
fn variants(text: &mut String, choices: &[Choice]) {
    for choice in choices {
        let meaning = NAMES.apply(&choice.meaning);
        let (fields, more) = match &choice.shape {
            Shape::Object(fields) => (fields.as_slice(), String::new()),
            Shape::Both(parts) => {
                let fields = parts.iter().find_map(|part| match part {
                    Shape::Object(fields) => Some(fields.as_slice()),
                    _ => None,
                });
                let record = parts.iter().find(|part| matches!(part, Shape::Record(_))).map(short);
                (fields.unwrap_or_default(), record.map_or(String::new(), |name| format!(" and the keys of {name}")))
            }
            shape => {
                let _ = writeln!(
                    text,
                    "- {}{}",
                    short(shape),
                    if meaning.is_empty() { meaning } else { format!(": {meaning}") }
                );
                continue;
            }
        };
        let named = fields.iter().find_map(|field| match &field.shape {
            Shape::Constant(value) => Some(format!("`\"{}\": {value}`", field.name)),
            _ => None,
        });
        let _ = writeln!(text, "- {}{more}: {meaning}", named.unwrap_or_else(|| "an object".to_owned()));
        for field in fields.iter().filter(|field| !matches!(field.shape, Shape::Constant(_))) {
            let mark = if field.is_required { "" } else { "?" };
            let _ =
                writeln!(text, "  - `{}`{mark} ({}): {}", field.name, short(&field.shape), NAMES.apply(&field.meaning));
        }
    }
    text.push('\n');
}

/// A type in a few words.
fn short(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any value".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Whole => "whole number".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Constant(value) => format!("`{value}`"),
        Shape::Record(name) => format!("[{name}](#{}-record)", name.to_lowercase()),
        Shape::List(item) => format!("list of {}", short(item)),
        Shape::Map(value) => format!("object of {}", short(value)),
        Shape::Object(fields) => {
            let fields = fields.iter().map(|field| format!("`{}`: {}", field.name, short(&field.shape)));
            format!("object with {}", fields.collect::<Vec<_>>().join(", "))
        }
        Shape::Either(choices) => choices.iter().map(|choice| short(&choice.shape)).collect::<Vec<_>>().join(", "),
        Shape::Both(parts) => parts.iter().map(short).collect::<Vec<_>>().join(" with "),
    }
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace("\n\n", " ").replace('\n', " ")
}
