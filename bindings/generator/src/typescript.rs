//! The generated part of the Node package: types, errors, signatures, and the methods that only carry.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use heck::ToLowerCamelCase;

use crate::api::{Api, Function, Output, StackUse};
use crate::shape::{Choice, Field, Shape};
use crate::text::{Names, sentence, wrapped};

const HEADING: &str = "Generated from api.json: `make api` renews it. Do not edit it.\n";

const NAMES: Names = Names {
    function: |name| format!("{{@link Stack.{}}}", name.to_lower_camel_case()),
    error: |code| format!("`{code}`"),
};

/// `types.ts`: the records.
pub fn types(api: &Api) -> String {
    let mut text = format!("// The records of the API, with the keys of the documented files.\n//\n// {HEADING}");
    for (name, schema) in &api.records {
        let writer = Types { is_given: !api.taken.contains(name) };
        let meaning = crate::shape::meaning_of(schema);
        text.push('\n');
        let shape = Shape::of(schema);
        let extended = match &shape {
            Shape::Object(fields) => Some((String::new(), fields.as_slice())),
            shape => shape.extension().map(|(base, fields)| (format!(" extends {base}"), fields)),
        };
        match extended {
            Some((base, fields)) => {
                comment(&mut text, &meaning, "");
                let _ = write!(text, "export interface {name}{base} {{\n{}}}\n", writer.fields(fields, "  "));
            }
            None => {
                comment(&mut text, &(meaning + &shape.meanings_of_words()), "");
                let written = writer.shape(&shape, "");
                let space = if written.starts_with('\n') { "" } else { " " };
                let _ = writeln!(text, "export type {name} ={space}{written}");
            }
        }
    }
    text
}

struct Types {
    is_given: bool,
}

impl Types {
    fn fields(&self, fields: &[Field], indent: &str) -> String {
        let mut text = String::new();
        for field in fields {
            comment(&mut text, &field.meaning, indent);
            let Field { name, is_required, .. } = field;
            let (mark, absent) = match (*is_required, self.is_given) {
                (true, _) => ("", ""),
                (false, true) => ("?", ""),
                // Callers may pass undefined for what they do not know.
                (false, false) => ("?", " | undefined"),
            };
            let _ = writeln!(
                text,
                "{indent}{}{mark}: {}{absent}",
                key(name),
                self.shape(&field.value(self.is_given), indent)
            );
        }
        text
    }

    fn shape(&self, shape: &Shape, indent: &str) -> String {
        match shape {
            Shape::Any => "unknown".to_owned(),
            Shape::Text => "string".to_owned(),
            Shape::Whole | Shape::Number => "number".to_owned(),
            Shape::Flag => "boolean".to_owned(),
            Shape::Null => "null".to_owned(),
            Shape::Constant(value) => value.to_string(),
            Shape::Record(name) => name.clone(),
            Shape::List(item) => {
                let item = match &**item {
                    Shape::Either(_) | Shape::Both(_) => format!("({})", self.shape(item, indent)),
                    item => self.shape(item, indent),
                };
                if self.is_given { format!("{item}[]") } else { format!("readonly {item}[]") }
            }
            Shape::Map(value) => format!("Record<string, {}>", self.shape(value, indent)),
            Shape::Object(fields) => format!("{{\n{}{indent}}}", self.fields(fields, &format!("{indent}  "))),
            Shape::Either(choices) => self.either(choices, indent),
            Shape::Both(parts) => {
                let parts = parts.iter().map(|part| match part {
                    Shape::Either(_) => format!("({})", self.shape(part, indent)),
                    part => self.shape(part, indent),
                });
                parts.collect::<Vec<_>>().join(" & ")
            }
        }
    }

    fn either(&self, choices: &[Choice], indent: &str) -> String {
        let is_large = choices.iter().any(|choice| matches!(choice.shape, Shape::Object(_) | Shape::Both(_)));
        if !is_large {
            return choices.iter().map(|choice| self.shape(&choice.shape, indent)).collect::<Vec<_>>().join(" | ");
        }
        let deeper = format!("{indent}  ");
        let mut text = String::new();
        for choice in choices {
            text.push('\n');
            comment(&mut text, &choice.meaning, &deeper);
            let _ = write!(text, "{deeper}| {}", self.shape(&choice.shape, &deeper));
        }
        text
    }
}

/// A key, in quotes if it is not a name.
fn key(name: &str) -> String {
    let is_name = name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    if is_name { name.to_owned() } else { format!("{name:?}") }
}

fn comment(text: &mut String, meaning: &str, indent: &str) {
    let meaning = NAMES.apply(meaning);
    let lines = wrapped(&meaning, &format!("{indent} * "));
    match lines.as_slice() {
        [] => {}
        [line] if !line.trim_start_matches([' ', '*']).is_empty() && line.len() < 104 => {
            let _ = writeln!(text, "{indent}/** {} */", line.trim_start_matches([' ', '*']));
        }
        [line] if line.trim_start_matches([' ', '*']).is_empty() => {}
        lines => {
            let _ = writeln!(text, "{indent}/**\n{}\n{indent} */", lines.join("\n"));
        }
    }
}

/// `methods.ts`: the methods of a stack that only carry.
pub fn methods(api: &Api) -> String {
    let carried = api.carried();
    let records = api.records_of(&carried);
    let mut text = format!(
        "// The methods of a stack that only carry their arguments to the library and the result back.\n//\n// {HEADING}\n\
         import {{ writeJson }} from \"../json.js\"\nimport {{ OpenStack }} from \"../open-stack.js\"\nimport type {{\n{}}} from \
         \"./types.js\"\n\n/** A stack with the methods that only carry. */\nexport abstract class StackMethods extends OpenStack {{\n",
        records.iter().map(|record| format!("  {record},\n")).collect::<String>(),
    );
    let written: Vec<String> = carried.into_iter().map(method).collect();
    text.push_str(&written.join("\n"));
    text + "}\n"
}

fn method(function: &Function) -> String {
    let mut text = String::new();
    let mut lines = wrapped(&NAMES.apply(&function.meaning), "   * ");
    lines.push("   *".to_owned());
    for input in &function.inputs {
        let meaning = NAMES.apply(&sentence(&input.meaning));
        lines.extend(wrapped(&format!("@param {} - {meaning}", input.name.to_lower_camel_case()), "   * "));
    }
    for output in &function.outputs {
        lines.extend(wrapped(&format!("@returns {}", NAMES.apply(&sentence(&output.meaning))), "   * "));
    }
    if !function.errors.meaning.is_empty() {
        lines.extend(wrapped(&format!("@throws {}", NAMES.apply(&function.errors.meaning)), "   * "));
    }
    if lines.last().is_some_and(|line| line.trim() == "*") {
        lines.pop();
    }
    let parameters = function.inputs.iter().map(|input| {
        let name = input.name.to_lower_camel_case();
        let mark = if input.optional && is_last(function, &input.name) { "?" } else { "" };
        let absent = if input.optional && mark.is_empty() { " | undefined" } else { "" };
        format!("{name}{mark}: {}{absent}", taken(&input.kind))
    });
    let arguments = function.inputs.iter().map(|input| {
        let name = input.name.to_lower_camel_case();
        if input.is_text() { name } else { format!("writeJson({name})") }
    });
    let arguments = [format!("\"{}\"", function.name)].into_iter().chain(arguments).collect::<Vec<_>>().join(", ");
    let (result, call) = answered(function.outputs.first(), &arguments);
    let _ = write!(
        text,
        "  /**\n{}\n   */\n  {}({}): {result} {{\n    {call}\n  }}\n",
        lines.join("\n"),
        function.name.to_lower_camel_case(),
        parameters.collect::<Vec<_>>().join(", "),
    );
    text
}

/// True if only optional inputs follow this one.
fn is_last(function: &Function, name: &str) -> bool {
    function.inputs.iter().skip_while(|input| input.name != name).all(|input| input.optional)
}

fn taken(kind: &str) -> String {
    match kind {
        "text" => "string".to_owned(),
        "any[]" => "readonly unknown[]".to_owned(),
        list if list.ends_with("[]") => format!("readonly {list}"),
        kind => kind.to_owned(),
    }
}

/// The type of a result, and the statement that returns it.
fn answered(output: Option<&Output>, arguments: &str) -> (String, String) {
    let Some(output) = output else { return ("void".to_owned(), format!("this.run({arguments})")) };
    let kind = match output.kind.as_str() {
        "text" => "string",
        "text[]" => "string[]",
        kind => kind,
    };
    match (kind, output.absence.as_str()) {
        ("flag", _) => ("boolean".to_owned(), format!("return this.flag({arguments})")),
        ("time", _) => ("number | undefined".to_owned(), format!("return this.time({arguments})")),
        (kind, "") if output.is_text() => (kind.to_owned(), format!("return this.text({arguments})")),
        (kind, _) if output.is_text() => {
            (format!("{kind} | undefined"), format!("return this.text({arguments}) || undefined"))
        }
        (kind, "") => (kind.to_owned(), format!("return this.record<{kind}>({arguments})")),
        (kind, _) => {
            (format!("{kind} | undefined"), format!("return this.record<{kind} | null>({arguments}) ?? undefined"))
        }
    }
}

/// `signatures.ts`: what the calls of the native library take and return.
pub fn signatures(api: &Api) -> String {
    let mut text = format!(
        "// What the functions of the native library take and return.\n//\n// {HEADING}\n/** The version of the C interface \
         (`CALLSTACK_ABI`). */\nexport const ABI = {}\n\n/** Whether a function takes a stack, and how many texts it takes and \
         values it returns. */\nexport interface Signature {{\n  readonly stack: boolean\n  readonly inputs: number\n  readonly \
         outputs: number\n}}\n\n/** The functions that take their texts as values, without the prefix `callstack_`. */\nexport const SIGNATURES = {{\n",
        api.abi
    );
    for function in api.functions.iter().filter(|function| function.takes_values()) {
        // The report takes a context where others take a stack.
        let takes_pointer = function.stack != StackUse::None || function.name == "context_report";
        let inputs = function.inputs.iter().filter(|input| input.kind != "Context").count();
        let _ = writeln!(
            text,
            "  {}: {{ stack: {takes_pointer}, inputs: {inputs}, outputs: {} }},",
            function.name,
            function.outputs.len()
        );
    }
    text + "} as const satisfies Record<string, Signature>\n"
}

/// `errors.ts`: the codes of errors, and their details.
pub fn errors(api: &Api) -> String {
    let mut text = "/**\n * The code of an error of the library.\n *\n".to_owned();
    for error in &api.errors {
        let meaning = NAMES.apply(&error.meaning);
        text.extend(wrapped(&format!("- `{}`: {meaning}", error.code), " * ").into_iter().map(|line| line + "\n"));
    }
    text.push_str(" */\nexport type NativeErrorCode =\n");
    for error in &api.errors {
        let _ = writeln!(text, "  | \"{}\"", error.code);
    }
    text.push_str(
        "\n/** The values in the message of an error. Which ones there are depends on its code. */\nexport interface \
                   NativeErrorDetails {\n",
    );
    /// The meanings of a key, each with the code of its error, and its types.
    type Key = (Vec<(String, String)>, BTreeSet<String>);
    let mut keys: BTreeMap<&str, Key> = BTreeMap::new();
    let writer = Types { is_given: true };
    for error in &api.errors {
        for (key, schema) in error.details.iter().flatten() {
            let (meanings, kinds) = keys.entry(key).or_default();
            meanings.push((error.code.clone(), crate::shape::meaning_of(schema)));
            let kind = writer.shape(&Shape::of(schema), "  ");
            kinds.extend(kind.split(" | ").map(|kind| match kind.ends_with("[]") {
                true => format!("readonly {kind}"),
                false => kind.to_owned(),
            }));
        }
    }
    let used = keys.values().flat_map(|(_, kinds)| kinds).flat_map(|kind| kind.split(|c: char| !c.is_alphanumeric()));
    let used: BTreeSet<&str> = used.filter(|name| api.records.contains_key(*name)).collect();
    let imports = used.into_iter().collect::<Vec<_>>().join(", ");
    for (name, (meanings, kinds)) in &keys {
        // The same meaning is said once, for all its codes.
        let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
        for (code, meaning) in meanings {
            match said.iter_mut().find(|(known, _)| known == meaning) {
                Some((_, codes)) => codes.push(code),
                None => said.push((meaning, vec![code])),
            }
        }
        let lines = said.into_iter().map(|(meaning, codes)| format!("`{}`: {meaning}", codes.join("`, `")));
        comment(&mut text, &lines.collect::<Vec<_>>().join("\n\n"), "  ");
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        let _ = writeln!(text, "  readonly {name}?: {}", kinds.join(" | "));
    }
    format!(
        "// The errors of the library.\n//\n// {HEADING}\nimport type {{ {imports} }} from \"./types.js\"\n\n{text}}}\n"
    )
}
