//! `api.json`: the C interface as data, from which the clients in other languages and `docs/api.md` are
//! generated. It is made from the signatures and doc comments of this folder and from the schemas of the
//! records.
//!
//! `UPDATE_API=1 cargo test --features capi --lib api` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use syn::{Attribute, Expr, FnArg, Item, Lit, Meta, Pat, Type};

use super::context::ContextReport;
use super::record::*;
use super::version::CALLSTACK_ABI;
use crate::context::Settings;
use crate::error::{BudgetUnit, Error, ErrorClass, KINDS};
use crate::fold::{FoldReport, FoldSettings, Wire};
use crate::frame::*;
use crate::memory::{NewRun, Next, Reply, RunStatus};
use crate::session::{Effect, HostEvent};
use crate::stack::{HistoryCompaction, HostSettings, Invalidated, Popped, Reopened, Retried, Undone};
use crate::store::{LogLimits, LogPage, LogQuery, PrunedLogs};
use crate::tools::{Answer, Tool};
use crate::tree::OutlineOptions;
use crate::work::{Allowance, Overspent, Resumption, Standing};

/// The files with functions, in the order of the header. The name of a file is the group of its functions.
const SOURCES: [(&str, &str); 10] = [
    ("stack", include_str!("stack.rs")),
    ("command", include_str!("command.rs")),
    ("holding", include_str!("holding.rs")),
    ("limits", include_str!("limits.rs")),
    ("query", include_str!("query.rs")),
    ("context", include_str!("context.rs")),
    ("fold", include_str!("fold.rs")),
    ("memory", include_str!("memory.rs")),
    ("host", include_str!("host.rs")),
    ("logs", include_str!("logs.rs")),
];

const HISTORY: (&str, &str) = ("history", include_str!("history.rs"));

/// Types of parameters that are not records.
const PLAIN: [&str; 6] = ["text", "flag", "time", "any", "Stack", "Context"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The schemas of all records by name, and the names of those that functions take.
fn records() -> (Map<String, Value>, BTreeSet<String>) {
    fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
        generator.subschema_for::<T>();
    }
    macro_rules! all {
        ($generator:expr; $($record:ty),* $(,)?) => {{ $(add::<$record>(&mut $generator);)* }};
    }
    let mut taken = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    all!(taken; FolderOptions, MemoryOptions, StateOptions, CompactionLimits, LogLimits, NewFrame, Placeholder, NewIdentity, FrameEdit,
        Pop, Completion, Block, ResultsSoFar, ModelRequest, FrameLimits, NewCost, NewHold, Renewal, Finish, Actor, FrameQuery,
        OutlineOptions, Settings, FoldSettings, Wire, NewChunk, ChunkContent, Registers, RunAnswer, NewRun, Reply, HostSettings,
        HostEvent, ToolQuery, ToolRequest, LogQuery, HistoryQuery, FrameRef);
    let mut given = SchemaSettings::draft2020_12().for_serialize().into_generator();
    all!(given; StackInfo<'_>, HistoryCompaction, PrunedLogs, Popped, Retried, Reopened, Undone, Invalidated, Imported, Hold, Standing,
        Finished, WorkLeft, Resumption, Allowance, Overspent, HandledFrame, FrameUsage, StackState, ContextReport<'_>, BudgetUnit, FoldReport,
        VisibleChunk<'_>, Next, RunStatus, Effect, Tool, Answer, LogPage, Event, Handle);
    let taken = taken.take_definitions(true);
    let names = taken.keys().cloned().collect();
    let mut records = given.take_definitions(true);
    // What functions take and return is described as they take it: then more keys are optional.
    records.extend(taken);
    let mut words = BTreeSet::new();
    for schema in records.values_mut() {
        plain_texts(schema);
        each_object(schema, &mut |object| constants(object, &mut words));
    }
    words.retain(|variant| !records.contains_key(variant));
    for schema in records.values_mut() {
        each_object(schema, &mut |object| name_variants(object, &words));
    }
    (records, names)
}

/// Does something with every object in a JSON value, the outer ones first.
fn each_object(value: &mut Value, act: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            act(object);
            object.values_mut().for_each(|value| each_object(value, act));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| each_object(value, act)),
        _ => {}
    }
}

/// Collects the words that values can be, as Rust names their variants.
fn constants(schema: &mut Map<String, Value>, variants: &mut BTreeSet<String>) {
    let alone = schema.get("const").into_iter();
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let words = alone.chain(listed).filter_map(Value::as_str).filter(|word| !word.is_empty());
    variants.extend(words.map(|word| with_first(word, char::to_ascii_uppercase)));
}

/// Writes the variants of Rust that a description names as the words that they are in JSON.
fn name_variants(schema: &mut Map<String, Value>, variants: &BTreeSet<String>) {
    let in_json = |code: &str| match variants.contains(code) {
        true => with_first(code, char::to_ascii_lowercase),
        false => code.to_owned(),
    };
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split('`').map(in_json).collect::<Vec<_>>().join("`");
    }
}

/// A word with another first letter.
fn with_first(word: &str, change: fn(&char) -> char) -> String {
    let mut letters = word.chars();
    letters.next().iter().map(change).chain(letters).collect()
}

/// Replaces the Rust documentation in a schema by texts for all languages.
fn plain_texts(schema: &mut Value) {
    each_object(schema, &mut |object| {
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = plain(text);
        }
        // A key that is always there is null where Rust has `None`.
        let required: Vec<String> = object
            .get("required")
            .and_then(Value::as_array)
            .map_or_else(Vec::new, |required| required.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        for name in required {
            let place = object.get_mut("properties").and_then(|properties| properties.get_mut(&name));
            if let Some(Value::String(text)) = place.and_then(|place| place.get_mut("description")) {
                *text = text.replace("`None`", "null");
            }
        }
        // Sizes of Rust's numbers say nothing in other languages.
        object.retain(|key, value| {
            !matches!((key.as_str(), &*value), ("format", Value::String(_)) | ("minimum" | "maximum", Value::Number(_)))
        });
    });
}

/// The paragraphs of a doc comment that other languages need, without links and without Rust's `None`.
fn plain(documentation: &str) -> String {
    let mut kept = Vec::new();
    let mut is_code = false;
    for paragraph in documentation.split("\n\n") {
        let fences = paragraph.matches("```").count();
        let is_whole =
            !is_code && fences == 0 && !paragraph.starts_with("# ") && !paragraph.trim_start().starts_with("In JSON");
        is_code ^= fences % 2 == 1;
        if is_whole {
            kept.push(paragraph.replace('\n', " "));
        }
    }
    let text = without_links(&kept.join("\n\n"));
    let text = text.replace("Default `None`: ", "Default: ").replace("`None`: ", "Absent: ");
    let text = text.replace(". `None`", ". Absent").replace("`None`", "absent");
    let text = text.replace("`Some(None)`", "null");
    let in_json = text.find(" In JSON").filter(|_| !text.contains("\n\n")).filter(|at| *at > 0);
    in_json.map_or(text.clone(), |at| text[..at].to_owned())
}

/// How other languages write a path of Rust that is not a field, if it is known. The methods of handles are
/// functions of the stack there, and limits are numbers.
fn known_path(path: &str) -> Option<String> {
    let name = match path {
        "History::events" => "callstack_history",
        "History::export" => "callstack_export_history",
        "History::compact" => "callstack_compact_history",
        "Files::export" => "callstack_export_files",
        "Heap::allocate" => "callstack_allocate_chunk",
        "Run::operate" => "callstack_advance_run",
        "Run::reply" => "callstack_run_reply",
        "Run::answer" => "callstack_run_answer",
        "Work::left" => "callstack_work_left",
        "CompactionType::FrameCompletion" => "frame_completion",
        "OutlineStyle::Marked" => "marked",
        "Frame::MOST_LABELS" => return Some(Frame::MOST_LABELS.to_string()),
        "Frame::LONGEST_LABEL" => return Some(Frame::LONGEST_LABEL.to_string()),
        "Frame::LONGEST_TASK" => return Some(Frame::LONGEST_TASK.to_string()),
        "Holder::LONGEST_LEASE" => return Some(Holder::LONGEST_LEASE.to_string()),
        _ => return None,
    };
    Some(format!("`{name}`"))
}

/// Types whose methods are functions without the name of the type.
const HANDLES: [&str; 6] = ["History", "Files", "Upkeep", "Work", "Error", "Stack"];

/// A path of Rust, such as `Frame::labels`, as other languages write it.
fn without_path(path: &str) -> String {
    known_path(path).unwrap_or_else(|| match path.rsplit_once("::") {
        Some((handle, name)) if HANDLES.contains(&handle) => format!("`{name}`"),
        Some((record, field)) => format!("`{field}` of `{record}`"),
        None => format!("`{path}`"),
    })
}

/// A text without the links of Rust's documentation: code for ``[`name`](target)`` and ``[`name`]``, and the
/// words alone for `[words](crate::target)`.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some(length) = rest.find(']') else { break };
        let words = &rest[1..length];
        let after = &rest[length + 1..];
        let code = words.strip_prefix('`').and_then(|words| words.strip_suffix('`'));
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        match (code, target) {
            (Some(code), target) => {
                plain.push_str(&without_path(code));
                rest = target.map_or(after, |(_, after)| after);
            }
            (None, Some((target, after))) if target.starts_with("crate") => {
                plain.push_str(words);
                rest = after;
            }
            _ => {
                plain.push('[');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
}

/// The text of the doc comment of an item.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().strip_prefix(' ').map_or(text.value(), str::to_owned)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A doc comment of a function in its parts.
#[derive(Default)]
struct Described {
    /// The paragraphs before and after the parameters.
    text: Vec<String>,
    /// The parameters with the text in brackets and their meaning.
    parameters: BTreeMap<String, (String, String)>,
    /// What follows `Errors: `.
    errors: String,
}

fn described(documentation: &str) -> Described {
    let mut found = Described::default();
    for paragraph in documentation.split("\n\n") {
        if let Some(errors) = paragraph.strip_prefix("Errors: ") {
            found.errors = errors.replace('\n', " ");
            continue;
        }
        if !paragraph.starts_with("- `") {
            found.text.push(paragraph.replace('\n', " "));
            continue;
        }
        for bullet in format!("\n{paragraph}").split("\n- `").skip(1) {
            let (name, rest) = bullet.split_once("` (").unwrap_or_else(|| panic!("`{bullet}` has no type in brackets"));
            let (kind, meaning) = rest.split_once("): ").unwrap_or_else(|| panic!("`{bullet}` has no meaning"));
            let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
            found.parameters.insert(name.to_owned(), (kind.to_owned(), meaning));
        }
    }
    found
}

/// True if an error of the engine or of a call has this code.
fn is_code(code: &str) -> bool {
    let constant = format!("pub const CALLSTACK_ERROR_{}:", code.to_uppercase());
    include_str!("code.rs").contains(&constant)
}

/// The version that has introduced a function: as recorded, or else this one.
fn since(function: &str) -> String {
    let recorded: Value = serde_json::from_str(include_str!("../../api.json")).expect("api.json is JSON");
    let known = recorded["functions"].as_array().into_iter().flatten();
    let known = known.filter(|known| known["name"] == function).find_map(|known| known["since"].as_str());
    known.unwrap_or(env!("CARGO_PKG_VERSION")).to_owned()
}

/// The codes in a list of errors, such as `_JSON and _SETTING for the options`.
fn codes(errors: &str) -> BTreeSet<String> {
    let words = errors.split(|character: char| !(character.is_ascii_uppercase() || character == '_'));
    let named = words.filter(|word| word.len() > 2 && word.starts_with('_'));
    let mut codes: BTreeSet<String> = named.map(|word| word[1..].to_lowercase()).collect();
    let unknown = codes.iter().find(|code| !is_code(code));
    assert!(unknown.is_none(), "no error has the code {unknown:?}, which these errors name: {errors}");
    if errors.contains("the storage errors") {
        let storage = KINDS.iter().filter(|(_, _, _, number)| (300..600).contains(number));
        codes.extend(storage.map(|(_, _, code, _)| (*code).to_owned()));
    }
    codes
}

fn functions(records: &Map<String, Value>) -> Vec<Value> {
    let mut functions = Vec::new();
    for (group, source) in SOURCES.into_iter().chain([HISTORY]) {
        for item in syn::parse_file(source).expect("the file compiles").items {
            let Item::Fn(function) = item else { continue };
            if function.sig.abi.is_none() {
                continue;
            }
            let name = function.sig.ident.to_string();
            let name = name.strip_prefix("callstack_").expect("all functions have the prefix");
            // They return no code, or are the end of an object, which each language has in its own form.
            if matches!(name, "close" | "context_free") {
                continue;
            }
            functions.push(described_function(group, name, &function, records));
        }
    }
    functions
}

fn described_function(group: &str, name: &str, function: &syn::ItemFn, records: &Map<String, Value>) -> Value {
    let Described { text, mut parameters, errors } = described(&documentation(&function.attrs));
    let mut stack = "none";
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for parameter in &function.sig.inputs {
        let FnArg::Typed(parameter) = parameter else { panic!("{name} has a receiver") };
        let Pat::Ident(pattern) = &*parameter.pat else { panic!("{name} has a pattern") };
        let argument = pattern.ident.to_string();
        // The number of the items before it belongs to their description.
        if matches!(argument.as_str(), "error" | "count") {
            continue;
        }
        if argument == "stack" {
            let is_optional = parameters.remove("stack").is_some();
            let Type::Ptr(pointer) = &*parameter.ty else { panic!("{name}: the stack is a pointer") };
            stack = match (is_optional, matches!(pointer.mutability, syn::PointerMutability::Mut(_))) {
                (true, _) => "optional",
                (false, true) => "command",
                (false, false) => "query",
            };
            continue;
        }
        let described = parameters.remove(&argument);
        let (kind, meaning) = described.unwrap_or_else(|| panic!("callstack_{name} does not describe `{argument}`"));
        let (kind, absence) = kind.split_once(", ").map_or((kind.as_str(), ""), |(kind, absence)| (kind, absence));
        let record = kind.trim_end_matches("[]");
        assert!(
            PLAIN.contains(&record) || records.contains_key(record),
            "callstack_{name}: `{argument}` is a {record}, which is neither a plain type nor a record of `records`"
        );
        match argument.strip_prefix("out_") {
            Some(output) => {
                assert!(["", "or null", "or empty"].contains(&absence), "callstack_{name}: `{absence}`");
                outputs.push(json!({ "name": output, "type": kind, "absence": absence, "meaning": meaning }));
            }
            None => {
                assert!(["", "optional"].contains(&absence), "callstack_{name}: `{absence}`");
                let is_optional = absence == "optional";
                inputs.push(json!({ "name": argument, "type": kind, "optional": is_optional, "meaning": meaning }));
            }
        }
    }
    assert!(parameters.is_empty(), "callstack_{name} has no parameters {:?}", parameters.keys());
    assert!(function.sig.inputs.len() <= 6, "callstack_{name} has more than six parameters");
    json!({
        "name": name,
        "group": group,
        "since": since(name),
        "stack": stack,
        "meaning": text.join("\n\n"),
        "inputs": inputs,
        "outputs": outputs,
        "errors": { "codes": codes(&errors), "meaning": errors },
    })
}

/// The errors of the engine and of the interface, in the order of their numbers.
fn errors() -> Vec<Value> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.root_schema_for::<Error>();
    let variants = schema.get("oneOf").and_then(Value::as_array).expect("an enum with variants");
    let details = |variant: &str| {
        let named = |schema: &&Value| schema.pointer(&format!("/properties/{variant}")).is_some();
        let of = variants.iter().find(named).map(|schema| schema[&"properties"][variant]["properties"].clone());
        let mut properties = of.unwrap_or(Value::Null);
        plain_texts(&mut properties);
        properties
    };
    let mut errors = Vec::new();
    for item in syn::parse_file(include_str!("code.rs")).expect("the file compiles").items {
        let Item::Const(constant) = item else { continue };
        let name = constant.ident.to_string();
        let Some(code) = name.strip_prefix("CALLSTACK_ERROR_") else { continue };
        let code = code.to_lowercase();
        let Expr::Lit(literal) = &*constant.expr else { panic!("{name} is not a literal") };
        let Lit::Int(number) = &literal.lit else { panic!("{name} is not a number") };
        let known = KINDS.iter().find(|(_, _, known, _)| *known == code);
        errors.push(json!({
            "code": code,
            "number": number.base10_parse::<i32>().expect("a number"),
            "class": known.map_or("call", |(_, class, _, _)| match class {
                ErrorClass::Refused => "refused",
                ErrorClass::Usage => "usage",
                ErrorClass::Passing => "passing",
                ErrorClass::Storage => "storage",
                ErrorClass::Damaged => "damaged",
                ErrorClass::Broken => "broken",
            }),
            "meaning": documentation(&constant.attrs).replace('\n', " "),
            "details": known.map_or(Value::Null, |(variant, ..)| details(variant)),
        }));
    }
    errors
}

fn api() -> String {
    let (records, taken) = records();
    let mut api = json!({
        "library": "callstack",
        "version": env!("CARGO_PKG_VERSION"),
        "abi": CALLSTACK_ABI,
        "functions": functions(&records),
        "errors": errors(),
        "records": records,
        "taken": taken,
    });
    sort_keys(&mut api);
    serde_json::to_string_pretty(&api).expect("the keys are strings") + "\n"
}

/// Sorts the keys of all objects: their order does not depend on the features of the build.
fn sort_keys(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.sort_keys();
            object.values_mut().for_each(sort_keys);
        }
        Value::Array(values) => values.iter_mut().for_each(sort_keys),
        _ => {}
    }
}

#[test]
fn the_committed_api_is_the_generated_one() {
    let path: &Path = &root().join("api.json");
    let generated = api();
    if std::env::var_os("UPDATE_API").is_some() {
        std::fs::write(path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let differs = committed.lines().zip(generated.lines()).position(|(committed, generated)| committed != generated);
    assert!(
        committed == generated,
        "api.json is stale from line {} on; run `make api`",
        differs.map_or(committed.lines().count().min(generated.lines().count()), |line| line) + 1
    );
}

#[test]
fn texts_for_other_languages_have_no_rust_in_them() {
    let text = "Which [`Stack`](crate::stack::Stack) it is: [`Error::Json`].\n\nIn JSON: `{}`.\n\n```\nlet x = 1;\n\nlet y = 2;\n```";
    assert_eq!(plain(text), "Which `Stack` it is: `Json`.");
    assert_eq!(plain("The end. Default `None`: all."), "The end. Default: all.");
    assert_eq!(plain("At most [`Frame::MOST_LABELS`], see [hosts](crate::frame)."), "At most 50, see hosts.");

    let mut found = Vec::new();
    each_object(&mut serde_json::from_str(&api()).unwrap(), &mut |object| {
        let texts = ["description", "meaning"].iter().filter_map(|key| object.get(*key)?.as_str());
        found.extend(texts.map(str::to_owned));
    });
    assert!(found.len() > 1000, "{} texts", found.len());
    let is_of_rust =
        |text: &&String| ["::", "(crate", "`None`", "`Some", ". absent", "[`"].iter().any(|rust| text.contains(rust));
    let of_rust: Vec<&String> = found.iter().filter(is_of_rust).collect();
    assert!(of_rust.is_empty(), "{of_rust:#?}");
}
