//! Arguments of tools: their JSON Schema and their validation. Hosts can use the same functions for
//! additional tools of their own.
//!
//! ```
//! use callstack_core::tools::arguments;
//!
//! /// Roll a die.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Roll {
//!     /// The number of sides.
//!     sides: u8,
//! }
//! let (description, schema) = arguments::describe::<Roll>();
//! assert_eq!(description, "Roll a die.");
//! assert_eq!(schema["required"][0], "sides");
//! let problem = arguments::read::<Roll>(r#"{"sides": 300}"#, r#"{"sides": 6}"#).err().unwrap();
//! assert!(problem.contains("`sides`: invalid value: integer `300`") && problem.ends_with(r#"Example: {"sides": 6}"#));
//! ```

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::text::{from_json, plain};

/// Maximum size of the arguments, in bytes of JSON.
const LONGEST: usize = 1 << 20;
/// Maximum length of a text in the arguments, in characters.
const LONGEST_TEXT: usize = 100_000;
/// Maximum number of entries of a list in the arguments.
const LONGEST_LIST: usize = 1_000;

/// Reads the arguments of a tool. `example` contains valid arguments as JSON; every error text ends with it.
/// Empty arguments stand for `{}`.
///
/// Some hosts send lists, objects, numbers and truth values as texts, some of them only from the middle of a
/// session on. A value of a wrong type that can mean only one thing is read by its meaning: `"[1]"` as `[1]`
/// where the schema has a list, `1.0` as `1` where it has an integer, `"True"` as `true`, `"Completed"` as
/// `"completed"`, `"f2"` as `["f2"]` where it has a list of texts, and `null` as an argument that is left
/// out. A value that can mean two things is refused, such as `"f2, f3"` for a list.
///
/// # Errors
/// A text for the agent: the problem, the path of the invalid argument, and the example.
pub fn read<T: DeserializeOwned + JsonSchema>(json: &str, example: &str) -> Result<T, String> {
    let arguments = object(json).map_err(|problem| with_example(&problem, example))?;
    serde_path_to_error::deserialize(&arguments)
        .or_else(|_| serde_path_to_error::deserialize(fitted(arguments, &describe::<T>().1)))
        .map_err(|error| with_example(&problem(&error), example))
}

/// As [`read`], but leaves out arguments that are optional and have no text, because models fill in arguments
/// that they do not need.
pub(super) fn read_without_blanks<T: DeserializeOwned + JsonSchema>(json: &str, example: &str) -> Result<T, String> {
    let mut arguments = object(json).map_err(|problem| with_example(&problem, example))?;
    let schema = describe::<T>().1;
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name));
    let is_blank = |value: &Value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    if let Value::Object(arguments) = &mut arguments {
        arguments.retain(|name, value| !is_blank(value) || is_required(name));
    }
    read(&arguments.to_string(), example)
}

/// A value with the type that its schema asks for, if that changes only its type and not its meaning. The
/// schema is one of [`describe`].
fn fitted(value: Value, schema: &Value) -> Value {
    let name = schema["type"].as_str().unwrap_or_default();
    match value {
        Value::String(text) => fitted_text(text, name, schema),
        Value::Number(number) if name == "integer" => match number.as_f64() {
            // Larger numbers are not exact.
            Some(whole) if number.is_f64() && whole.fract() == 0.0 && whole.abs() < 9e15 => Value::from(whole as i64),
            _ => Value::Number(number),
        },
        Value::Array(list) => list.into_iter().map(|entry| fitted(entry, &schema["items"])).collect(),
        Value::Object(map) => {
            let is_required =
                |key: &str| schema["required"].as_array().is_some_and(|keys| keys.iter().any(|it| it == key));
            let fit = |(key, value): (String, Value)| {
                let value = fitted(value, &schema["properties"][&key]);
                (!value.is_null() || is_required(&key)).then_some((key, value))
            };
            Value::Object(map.into_iter().filter_map(fit).collect())
        }
        other => other,
    }
}

/// As [`fitted`], for a text. `name`: the type of the schema.
fn fitted_text(text: String, name: &str, schema: &Value) -> Value {
    if matches!(name, "" | "string") {
        let is_same = |choice: &&Value| choice.as_str().is_some_and(|choice| choice.eq_ignore_ascii_case(text.trim()));
        let choice = schema["enum"].as_array().and_then(|choices| choices.iter().find(is_same)).cloned();
        return choice.unwrap_or(Value::String(text));
    }
    if name == "boolean" {
        let truth = text.trim().to_ascii_lowercase().parse::<bool>();
        return truth.map_or(Value::String(text), Value::Bool);
    }
    match from_json::<Value>(&text) {
        // A text within a text is not a number.
        Ok(read) if !read.is_string() && too_long(&read).is_none() => return fitted(read, schema),
        _ => {}
    }
    // A text with a separator could mean more than one entry, and a text without words could mean none.
    let is_one = !text.trim().is_empty() && !text.contains([',', ';', '\n', '[', '{']);
    match name == "array" && is_one && schema["items"]["type"] == "string" {
        true => Value::Array(vec![Value::String(text)]),
        false => Value::String(text),
    }
}

/// Parses arguments, also arguments that are the text of an object, and checks their size. It is not part of
/// the generic function, whose code exists once for each tool.
fn object(json: &str) -> Result<Value, String> {
    if json.len() > LONGEST {
        return Err(format!("the arguments have {} bytes, and the maximum is {LONGEST}", json.len()));
    }
    let json = if json.trim().is_empty() { "{}" } else { json };
    let parsed =
        |json: &str| from_json::<Value>(json).map_err(|error| format!("the arguments are not valid JSON: {error}"));
    let arguments = match parsed(json)? {
        // The interfaces of models deliver the arguments as a text.
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => {
            parsed(&text).map_err(|_| "the arguments are a text, and not the JSON object".to_owned())?
        }
        arguments => arguments,
    };
    if !arguments.is_object() {
        return Err("the arguments are not a JSON object".into());
    }
    too_long(&arguments).map_or(Ok(arguments), Err)
}

fn problem(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    match error.path().to_string().as_str() {
        "." => plain(&error.inner().to_string()).into_owned(),
        path => format!("`{path}`: {}", plain(&error.inner().to_string())),
    }
}

fn with_example(problem: &str, example: &str) -> String {
    format!("{problem}. Example: {example}")
}

/// Returns the first text or list in a value that is too long, as a problem for the agent.
fn too_long(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let characters = text.chars().count();
            (characters > LONGEST_TEXT).then(|| {
                format!("a text has {characters} characters, and the maximum is {LONGEST_TEXT}; put it into a file")
            })
        }
        Value::Array(list) if list.len() > LONGEST_LIST => {
            Some(format!("a list has {} entries, and the maximum is {LONGEST_LIST}", list.len()))
        }
        Value::Array(list) => list.iter().find_map(too_long),
        Value::Object(map) => map.values().find_map(too_long),
        _ => None,
    }
}

/// Returns the description of a tool and the JSON Schema of its arguments. The description is the
/// documentation of the type. Optional arguments are not in `required`, and their types exclude null. Left
/// out are defaults that are false or empty, a minimum of 0, and `additionalProperties`: a call with an
/// unknown argument is refused, and the error names the known ones.
pub fn describe<T: JsonSchema>() -> (String, Value) {
    described(schema::<T>())
}

pub(super) fn schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft07().for_deserialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>()
}

pub(super) fn described(schema: Schema) -> (String, Value) {
    let mut schema = Value::from(schema);
    simplify(&mut schema);
    let object = schema.as_object_mut().expect("arguments are an object");
    let description = object.remove("description");
    object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    (description.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default(), schema)
}

fn simplify(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            if let Some(Value::Array(mut variants)) = object.remove("anyOf") {
                variants.retain(|variant| variant["type"] != "null");
                match &variants[..] {
                    [Value::Object(only)] => object.extend(only.clone()),
                    _ => drop(object.insert("anyOf".into(), Value::Array(variants))),
                }
            }
            for key in ["title", "format"] {
                // If the value is not a string, it is the schema of a property with this name.
                if object.get(key).is_some_and(Value::is_string) {
                    object.remove(key);
                }
            }
            // What is obvious costs tokens in each request.
            let empty = [Value::Null, Value::Bool(false), "".into(), Value::Array(Vec::new())];
            if object.get("default").is_some_and(|default| empty.contains(default)) {
                object.remove("default");
            }
            if object.get("minimum").is_some_and(|minimum| *minimum == 0) {
                object.remove("minimum");
            }
            if object.get("additionalProperties").is_some_and(|others| *others == false) {
                object.remove("additionalProperties");
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            object.values_mut().for_each(simplify);
        }
        Value::Array(list) => list.iter_mut().for_each(simplify),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test arguments.
    #[derive(serde::Deserialize, JsonSchema, Debug, PartialEq)]
    struct Arguments {
        title: String,
        #[serde(default)]
        steps: Vec<Step>,
        #[serde(default)]
        anyway: bool,
        count: Option<i64>,
        #[serde(default)]
        tags: Vec<String>,
        ended: Option<Ended>,
    }

    #[derive(serde::Deserialize, JsonSchema, Debug, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Ended {
        Completed,
        Failed,
    }

    #[derive(serde::Deserialize, JsonSchema, Debug, PartialEq)]
    struct Step {
        title: String,
        #[serde(default)]
        after: Vec<String>,
    }

    fn read_arguments(json: &str) -> Result<Arguments, String> {
        read(json, "{}")
    }

    #[test]
    fn values_that_a_host_has_made_texts_are_read_by_their_meaning() {
        let read = read_arguments(
            r#"{"title": "[1]", "steps": "[{\"title\": \"5\", \"after\": \"[\\\"Cart\\\"]\"}]", "anyway": "true", "count": "2.0"}"#,
        );
        let steps = vec![Step { title: "5".into(), after: vec!["Cart".into()] }];
        assert_eq!(
            read.unwrap(),
            Arguments { title: "[1]".into(), steps, anyway: true, count: Some(2), tags: Vec::new(), ended: None }
        );
        for (json, problem) in [
            (r#"{"title": 5}"#, "`title`: invalid type: integer `5`, expected a string"),
            (r#"{"title": "a", "steps": "Cart"}"#, "`steps`: invalid type: string \"Cart\", expected a list"),
            (r#"{"title": "a", "anyway": "\"true\""}"#, "`anyway`: invalid type: string"),
            (r#"{"title": "a", "count": 1.5}"#, "`count`: invalid type: floating point `1.5`, expected a whole number"),
            (r#"{"title": "a", "steps": "[{}]"}"#, "`steps[0]`: missing field `title`"),
            (r#"{"title": null}"#, "`title`: invalid type: null, expected a string"),
            (r#"{"title": "a", "anyway": "yes"}"#, "`anyway`: invalid type: string \"yes\", expected a boolean"),
            (r#"{"title": "a", "anyway": 1}"#, "`anyway`: invalid type: integer `1`, expected a boolean"),
            (r#"{"title": "a", "tags": "one, two"}"#, "`tags`: invalid type: string \"one, two\", expected a list"),
            (r#"{"title": "a", "tags": ""}"#, "`tags`: invalid type: string \"\", expected a list"),
            (r#"{"title": "a", "ended": "Done"}"#, "`ended`: unknown variant `Done`, expected `completed` or `failed`"),
        ] {
            assert!(read_arguments(json).unwrap_err().starts_with(problem), "{json}: {:?}", read_arguments(json));
        }
    }

    #[test]
    fn what_has_one_meaning_is_read() {
        let read = |json: &str| read_arguments(json).unwrap_or_else(|problem| panic!("{json}: {problem}"));
        let absent =
            read(r#"{"title": "a", "steps": null, "anyway": null, "count": null, "tags": null, "ended": null}"#);
        assert_eq!(absent, read(r#"{"title": "a"}"#));
        let nested = read(r#"{"title": "a", "steps": [{"title": "b", "after": null}], "anyway": "False"}"#);
        assert_eq!((nested.steps[0].after.len(), nested.anyway), (0, false));
        let read = read(r#"{"title": "a", "anyway": "TRUE", "tags": "src/a b.rs", "ended": "Completed"}"#);
        assert_eq!((read.anyway, read.tags, read.ended), (true, vec!["src/a b.rs".to_owned()], Some(Ended::Completed)));
    }

    #[test]
    fn half_characters_in_arguments_are_replaced() {
        assert_eq!(read_arguments(r#"{"title": "cut \ud83d"}"#).unwrap().title, "cut \u{fffd}");
    }
}
