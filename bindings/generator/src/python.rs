//! The generated part of the Python package: types, errors, and the methods that only carry.

use std::fmt::Write;

use heck::{ToPascalCase, ToSnakeCase};

use crate::api::{Api, Function, Input, Output};
use crate::shape::{Choice, Field, Shape, fields_among, records_among};
use crate::text::{Names, sentence, wrapped};

const HEADING: &str = "Generated from api.json: `make api` renews it. Do not edit it.";

const NAMES: Names = Names { function: |name| name.to_owned(), error: class_name };

/// `types.py`: the records.
pub fn types(api: &Api) -> String {
    let mut text = format!(
        "\"\"\"The records of the API.\n\nRecords are dictionaries. Their keys have the same names as in the documented files, in C and in \
         JavaScript. A frame or a\nstate that was imported from a file can have more keys than declared; the stack keeps them.\n\n\
         {HEADING}\n\"\"\"\n\nfrom __future__ import annotations\n\nimport sys\nfrom typing import Any, Literal, TypeAlias, TypedDict, \
         Union\n\nif sys.version_info >= (3, 11):\n    from typing import NotRequired\nelse:\n    from typing_extensions import \
         NotRequired\n"
    );
    // What has no other record as its base comes first, then what has, then the names of types, which are
    // values.
    let (mut derived, mut aliases) = (String::new(), String::new());
    for (name, schema) in &api.records {
        let mut writer = Types { is_given: !api.taken.contains(name), owner: name, classes: String::new() };
        let meaning = crate::shape::meaning_of(schema);
        match Shape::of(schema) {
            Shape::Object(fields) => {
                let class = writer.class(name, "TypedDict", &meaning, &fields);
                text.push_str(&writer.classes);
                text.push_str(&class);
            }
            shape if shape.extension().is_some() => {
                let (base, fields) = shape.extension().unwrap_or_default();
                let class = writer.class(name, base, &meaning, fields);
                derived.push_str(&writer.classes);
                derived.push_str(&class);
            }
            shape => {
                let written = writer.shape(&shape, "");
                derived.push_str(&writer.classes);
                // A text, because it names classes of other types.
                let quoted = if written.contains('"') { format!("'{written}'") } else { format!("\"{written}\"") };
                let value = if written.starts_with("Literal") || written == "str" { written } else { quoted };
                let _ = write!(aliases, "\n\n{name}: TypeAlias = {value}\n");
                let meaning = meaning + &shape.meanings_of_words();
                let lines = wrapped(&NAMES.apply(&meaning), "");
                let _ = writeln!(aliases, "\"\"\"{}\"\"\"", lines.join("\n"));
            }
        }
    }
    text + &derived + &aliases
}

struct Types<'a> {
    is_given: bool,
    owner: &'a str,
    /// Classes for the objects within the record.
    classes: String,
}

impl Types<'_> {
    fn class(&mut self, name: &str, base: &str, meaning: &str, fields: &[Field]) -> String {
        let meaning = if meaning.is_empty() { format!("A part of `{}`.", self.owner) } else { meaning.to_owned() };
        let (keywords, fields): (Vec<&Field>, Vec<&Field>) = fields.iter().partition(|field| is_keyword(&field.name));
        let mut base = base.to_owned();
        let mut text = String::new();
        if !keywords.is_empty() {
            // A class cannot declare keys that are words of the language.
            let keys = keywords.iter().map(|Field { name: key, shape, is_required, .. }| {
                let kind = self.shape(&shape.clone().without_null(), &format!("{name}{}", key.to_pascal_case()));
                let kind = if *is_required { kind } else { format!("NotRequired[{kind}]") };
                format!("\"{key}\": \"{kind}\"")
            });
            let keys = keys.collect::<Vec<_>>().join(", ");
            let _ = write!(text, "\n\n_{name}Words = TypedDict(\"_{name}Words\", {{{keys}}})\n");
            base = if base == "TypedDict" { format!("_{name}Words") } else { format!("{base}, _{name}Words") };
        }
        let _ = write!(text, "\n\nclass {name}({base}):\n");
        text.push_str(&docstring(&meaning, "    "));
        for field in fields {
            let Field { name: key, is_required, meaning, .. } = field;
            text.push('\n');
            if !meaning.is_empty() {
                for line in wrapped(&NAMES.apply(meaning), "    #: ") {
                    let _ = writeln!(text, "{line}");
                }
            }
            let within = format!("{name}{}", key.to_pascal_case());
            let kind = self.shape(&field.value(self.is_given), &within);
            let kind = if *is_required { kind } else { format!("NotRequired[{kind}]") };
            let _ = writeln!(text, "    {key}: {kind}");
        }
        text
    }

    /// The name of a type. `within`: the name for a class that it needs.
    fn shape(&mut self, shape: &Shape, within: &str) -> String {
        match shape {
            Shape::Any => "Any".to_owned(),
            Shape::Text => "str".to_owned(),
            Shape::Whole => "int".to_owned(),
            Shape::Number => "float".to_owned(),
            Shape::Flag => "bool".to_owned(),
            Shape::Null => "None".to_owned(),
            Shape::Constant(value) => format!("Literal[{}]", literal(value)),
            Shape::Record(name) => name.clone(),
            Shape::List(item) => {
                let item = self.shape(item, within);
                format!("list[{item}]")
            }
            Shape::Map(value) => {
                let value = self.shape(value, within);
                format!("dict[str, {value}]")
            }
            Shape::Object(fields) => {
                let name = if within.is_empty() { format!("{}Keys", self.owner) } else { within.to_owned() };
                let class = self.class(&name, "TypedDict", "", fields);
                self.classes.push_str(&class);
                name
            }
            Shape::Either(choices) => self.either(choices, within, &[]),
            Shape::Both(parts) => self.both(parts, within),
        }
    }

    /// `base`: the records whose keys each choice has too.
    fn either(&mut self, choices: &[Choice], within: &str, base: &[String]) -> String {
        let constants: Vec<String> = choices
            .iter()
            .filter_map(|choice| match &choice.shape {
                Shape::Constant(value) => Some(literal(value)),
                _ => None,
            })
            .collect();
        let mut kinds = Vec::new();
        if !constants.is_empty() {
            kinds.push(format!("Literal[{}]", constants.join(", ")));
        }
        let inherits = if base.is_empty() { "TypedDict".to_owned() } else { base.join(", ") };
        for Choice { shape, meaning } in choices {
            let kind = match shape {
                Shape::Constant(_) => continue,
                Shape::Object(fields) => {
                    let name = self.variant(fields);
                    let class = self.class(&name, &inherits, meaning, fields);
                    self.classes.push_str(&class);
                    name
                }
                Shape::Both(parts) => self.joined(parts, meaning),
                shape => self.shape(shape, within),
            };
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.len() == 1 { kinds.remove(0) } else { format!("Union[{}]", kinds.join(", ")) }
    }

    /// The name of the class of a variant: the record, and the word that names the variant.
    fn variant(&self, fields: &[Field]) -> String {
        let word = fields.iter().find_map(|field| match &field.shape {
            Shape::Constant(serde_json::Value::String(word)) => Some(word.to_pascal_case()),
            _ => None,
        });
        format!("{}{}", self.owner, word.unwrap_or_else(|| "Keys".to_owned()))
    }

    /// A variant that has the keys of a record and its own.
    fn joined(&mut self, parts: &[Shape], meaning: &str) -> String {
        let fields = fields_among(parts);
        let name = self.variant(&fields);
        let class = self.class(&name, &records_among(parts).join(", "), meaning, &fields);
        self.classes.push_str(&class);
        name
    }

    /// Common keys beside variants.
    fn both(&mut self, parts: &[Shape], within: &str) -> String {
        let Some(Shape::Either(choices)) = parts.iter().find(|part| matches!(part, Shape::Either(_))) else {
            return self.joined(parts, "");
        };
        let head = format!("{}Head", self.owner);
        let meaning = format!("The keys that each `{}` has.", self.owner);
        let class = self.class(&head, "TypedDict", &meaning, &fields_among(parts));
        self.classes.push_str(&class);
        self.either(choices, within, &[head])
    }
}

/// A value as Python writes it.
fn literal(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        value => value.to_string(),
    }
}

/// True for a word that Python reserves.
fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "from"
            | "in"
            | "is"
            | "as"
            | "class"
            | "def"
            | "import"
            | "not"
            | "or"
            | "and"
            | "with"
            | "None"
            | "True"
            | "False"
    )
}

fn docstring(meaning: &str, indent: &str) -> String {
    let text = NAMES.apply(meaning);
    // A summary in one line, then the rest.
    let (summary, rest) = summary(&text);
    let mut lines = wrapped(&summary, indent);
    if !rest.is_empty() {
        lines.push(String::new());
        lines.extend(wrapped(&rest, indent));
    }
    let text = lines.join("\n").trim_start().to_owned();
    let end = if rest.is_empty() && lines.len() == 1 { "\"\"\"\n".to_owned() } else { format!("\n{indent}\"\"\"\n") };
    format!("{indent}\"\"\"{text}{end}")
}

/// The first sentence of a text, and the rest.
fn summary(text: &str) -> (String, String) {
    let (first, more) = text.split_once("\n\n").unwrap_or((text, ""));
    let end = first.find(". ").map_or(first.len(), |end| end + 1);
    let rest = [first[end..].trim(), more].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    (first[..end].to_owned(), rest)
}

/// `_methods.py`: the methods of a stack that only carry.
pub fn methods(api: &Api) -> String {
    let carried = api.carried();
    let records = api.records_of(&carried);
    let mut text = format!(
        "\"\"\"The methods of a stack that only carry their arguments to the library and the result back.\n\n{HEADING}\n\"\"\"\n\nfrom \
         __future__ import annotations\n\nfrom collections.abc import Sequence\nfrom os import PathLike\nfrom typing import Any\n\nfrom \
         callstack_core._open_stack import OpenStack\nfrom callstack_core.types import (\n{})\n\n\nclass StackMethods(OpenStack):\n    \
         \"\"\"A stack with the methods that only carry.\"\"\"\n\n    __slots__ = ()\n",
        records.iter().map(|record| format!("    {record},\n")).collect::<String>(),
    );
    for function in carried {
        text.push('\n');
        text.push_str(&method(function));
    }
    text
}

fn method(function: &Function) -> String {
    let inputs = &function.inputs;
    let first_optional = inputs.iter().rposition(|input| !input.optional).map_or(0, |last| last + 1);
    let parameters = inputs.iter().enumerate().map(|(index, input)| {
        let kind = taken(input);
        match (input.optional, index >= first_optional) {
            (true, true) => format!(", {}: {kind} | None = None", input.name),
            (true, false) => format!(", {}: {kind} | None", input.name),
            _ => format!(", {}: {kind}", input.name),
        }
    });
    let parameters: String = parameters.collect();
    let arguments = inputs.iter().map(|input| match (input.name.as_str(), input.is_text(), input.optional) {
        ("folder" | "path", ..) => format!("self._path({})", input.name),
        (name, true, false) => name.to_owned(),
        (name, true, true) => format!("self._optional({name})"),
        (name, false, false) if input.kind.ends_with("[]") => format!("self._list({name}, \"{}\")", function.name),
        (name, false, false) => format!("self._json({name})"),
        (name, false, true) if input.kind.ends_with("[]") => {
            format!("self._optional_list({name}, \"{}\")", function.name)
        }
        (name, false, true) => format!("self._optional_json({name})"),
    });
    let arguments = [format!("\"{}\"", function.name)].into_iter().chain(arguments).collect::<Vec<_>>().join(", ");
    let (result, call) = answered(function.outputs.first(), &arguments);
    let mut documented = vec![function.meaning.clone()];
    for input in inputs {
        documented.push(format!("`{}`: {}", input.name, sentence(&input.meaning)));
    }
    for output in &function.outputs {
        documented.push(sentence(&format!("returns {}", output.meaning)));
    }
    if !function.errors.meaning.is_empty() {
        documented.push(format!("Raises {}", function.errors.meaning));
    }
    format!(
        "    def {}(self{parameters}) -> {result}:\n{}        {call}\n",
        function.name.to_snake_case(),
        docstring(&documented.join("\n\n"), "        "),
    )
}

fn taken(input: &Input) -> String {
    match (input.name.as_str(), input.kind.as_str()) {
        ("folder" | "path", "text") => "str | PathLike[str]".to_owned(),
        (_, "text") => "str".to_owned(),
        (_, "any[]") => "Sequence[Any]".to_owned(),
        (_, list) if list.ends_with("[]") => format!("Sequence[{}]", list.trim_end_matches("[]")),
        (_, kind) => kind.to_owned(),
    }
}

/// The type of a result, and the statement that returns it.
fn answered(output: Option<&Output>, arguments: &str) -> (String, String) {
    let Some(output) = output else { return ("None".to_owned(), format!("self._run({arguments})")) };
    let kind = match output.kind.as_str() {
        "text" => "str".to_owned(),
        "text[]" => "list[str]".to_owned(),
        list if list.ends_with("[]") => format!("list[{}]", list.trim_end_matches("[]")),
        kind => kind.to_owned(),
    };
    match (kind.as_str(), output.absence.as_str()) {
        ("flag", _) => ("bool".to_owned(), format!("return self._flag({arguments})")),
        ("time", _) => ("int | None".to_owned(), format!("return self._time({arguments})")),
        (kind, "") if output.is_text() => (kind.to_owned(), format!("return self._text({arguments})")),
        (kind, _) if output.is_text() => (format!("{kind} | None"), format!("return self._text({arguments}) or None")),
        (kind, "") => (kind.to_owned(), format!("return self._record({arguments})")),
        (kind, _) => (format!("{kind} | None"), format!("return self._record({arguments})")),
    }
}

/// The classes of errors that are written by hand, in `_error_bases.py`.
const BY_HAND: [&str; 8] = [
    "CallstackError",
    "ClosedError",
    "ForkedError",
    "LibraryError",
    "PassingError",
    "RefusedError",
    "StorageError",
    "UsageError",
];

/// The class of an error, or of a class of errors.
fn class_name(code: &str) -> String {
    code.to_pascal_case() + "Error"
}

/// `errors.py`: a class for each error.
pub fn errors(api: &Api) -> String {
    let mut text = format!(
        "\"\"\"The errors that this package raises.\n\nEach kind of error has a class: its `code` in camel case, with `Error` behind it. \
         Its base says what can be done about it:\n`RefusedError`, `UsageError`, `PassingError`, `StorageError`, `DamagedError` or \
         `BrokenError`. The faults of the call itself\nand of this package have none of these: `NullError`, `LengthError`, `Utf8Error`, \
         `PanicError`, `ClosedError`, `ForkedError`,\n`LibraryError`.\n\n{HEADING}\n\"\"\"\n\nfrom __future__ import annotations\n\nfrom \
         typing import Any\n\nfrom callstack_core._error_bases import (\n{})\n",
        BY_HAND.map(|name| format!("    {name},\n")).concat()
    );
    // The bases of classes come before the classes.
    let mut errors: Vec<_> = api.errors.iter().collect();
    errors.sort_by_key(|error| !matches!(error.code.as_str(), "damaged" | "broken"));
    for error in &errors {
        let name = class_name(&error.code);
        // A class with one kind of error is that kind.
        let base = Some(class_name(&error.class)).filter(|base| error.class != "call" && *base != name);
        let base = base.as_deref().unwrap_or("CallstackError");
        let mut documented = vec![error.meaning.clone()];
        for (key, schema) in error.details.iter().flatten() {
            documented.push(format!("`details[\"{key}\"]`: {}", crate::shape::meaning_of(schema)));
        }
        let _ = write!(
            text,
            "\n\nclass {name}({base}):\n{}\n    code = \"{}\"\n",
            docstring(&documented.join("\n\n"), "    "),
            error.code
        );
    }
    text.push_str("\n\n_KINDS: dict[str, type[CallstackError]] = {\n");
    for error in &api.errors {
        let _ = writeln!(text, "    \"{}\": {},", error.code, class_name(&error.code));
    }
    text.push_str(
        "}\n\n\ndef error_of(code: str, message: str, details: dict[str, Any]) -> CallstackError:\n    \"\"\"Makes the error of a code. A \
         code that a newer library has is a `CallstackError`.\"\"\"\n    error = _KINDS.get(code, CallstackError)(message, details)\n    \
         error.code = code\n    return error\n\n\n__all__ = [\n",
    );
    let mut names: Vec<String> = api.errors.iter().map(|error| class_name(&error.code)).collect();
    names.extend(BY_HAND.map(str::to_owned));
    names.push("error_of".to_owned());
    names.sort();
    for name in names {
        let _ = writeln!(text, "    \"{name}\",");
    }
    text + "]\n"
}
