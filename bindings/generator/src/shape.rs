//! The shapes of JSON values, from JSON Schemas: as many kinds as the records of the library have.

use serde_json::Value;

use crate::api::record_of;

/// The shape of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Any JSON value.
    Any,
    Text,
    Whole,
    Number,
    Flag,
    Null,
    /// One value, as JSON: `"planned"`, `2`.
    Constant(Value),
    /// Another record.
    Record(String),
    List(Box<Shape>),
    /// An object with any keys.
    Map(Box<Shape>),
    Object(Vec<Field>),
    /// One of several, each with its meaning.
    Either(Vec<Choice>),
    /// All of several together: keys of one record, and more keys.
    Both(Vec<Shape>),
}

/// A key of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub shape: Shape,
    pub is_required: bool,
    pub meaning: String,
}

impl Field {
    /// The shape of the key's value in a client. `is_given`: in a record that only the library makes. Null
    /// stays where it says something that an absent key does not say.
    pub fn value(&self, is_given: bool) -> Shape {
        let keeps_null = self.is_required || (!is_given && self.meaning.to_lowercase().contains("null"));
        if keeps_null { self.shape.clone() } else { self.shape.clone().without_null() }
    }
}

/// The records among the parts of a shape.
pub fn records_among(parts: &[Shape]) -> Vec<String> {
    let records = parts.iter().filter_map(|part| match part {
        Shape::Record(name) => Some(name.clone()),
        _ => None,
    });
    records.collect()
}

/// The keys of the objects among the parts of a shape.
pub fn fields_among(parts: &[Shape]) -> Vec<Field> {
    let objects = parts.iter().filter_map(|part| match part {
        Shape::Object(fields) => Some(fields.clone()),
        _ => None,
    });
    objects.flatten().collect()
}

/// One of the shapes that a value can have.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub shape: Shape,
    pub meaning: String,
}

impl Shape {
    /// The shape that a schema describes. Panics if it uses a part of JSON Schema that no record has used so
    /// far.
    pub fn of(schema: &Value) -> Self {
        let Value::Object(object) = schema else { return Self::Any };
        let mut parts = Vec::new();
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            parts.push(Self::Record(record_of(reference)));
        }
        if let Some(constant) = object.get("const") {
            return Self::Constant(constant.clone());
        }
        if let Some(values) = object.get("enum").and_then(Value::as_array) {
            return Self::either(values.iter().map(|value| (Self::Constant(value.clone()), String::new())));
        }
        match object.get("type") {
            Some(Value::String(kind)) => parts.extend(Self::of_type(kind, schema)),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str).flat_map(|kind| Self::of_type(kind, schema));
                parts.push(Self::either(kinds.map(|shape| (shape, String::new()))));
            }
            _ if object.contains_key("properties") => parts.extend(Self::of_type("object", schema)),
            _ => {}
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(choices) = object.get(key).and_then(Value::as_array) {
                parts.push(Self::either(choices.iter().map(|choice| (Self::of(choice), meaning_of(choice)))));
            }
        }
        match parts.len() {
            0 => Self::Any,
            1 => parts.remove(0),
            _ => Self::Both(parts),
        }
    }

    fn of_type(kind: &str, schema: &Value) -> Option<Self> {
        Some(match kind {
            "string" => Self::Text,
            "integer" => Self::Whole,
            "number" => Self::Number,
            "boolean" => Self::Flag,
            "null" => Self::Null,
            "array" => Self::List(Box::new(schema.get("items").map_or(Self::Any, Self::of))),
            "object" => match schema.get("properties").and_then(Value::as_object) {
                Some(properties) => Self::Object(fields(properties, schema)),
                // Schemas with `oneOf` say `"type": "object"` too.
                None if schema.get("oneOf").is_some() || schema.get("$ref").is_some() => return None,
                None => match schema.get("additionalProperties") {
                    Some(Value::Object(_)) => Self::Map(Box::new(Self::of(&schema["additionalProperties"]))),
                    _ => Self::Map(Box::new(Self::Any)),
                },
            },
            other => panic!("the type {other} is not known here"),
        })
    }

    /// One of several shapes. Choices within choices become choices of the whole.
    fn either(choices: impl Iterator<Item = (Self, String)>) -> Self {
        let mut flat: Vec<Choice> = Vec::new();
        for (shape, meaning) in choices {
            let more = match shape {
                Self::Either(inner) => inner,
                shape => vec![Choice { shape, meaning }],
            };
            for choice in more {
                if !flat.iter().any(|known| known.shape == choice.shape) {
                    flat.push(choice);
                }
            }
        }
        if flat.len() == 1 { flat.remove(0).shape } else { Self::Either(flat) }
    }

    /// The record and the more keys of an object that has all keys of a record and its own.
    pub fn extension(&self) -> Option<(&str, &[Field])> {
        match self {
            Self::Both(parts) => match parts.as_slice() {
                [Self::Record(name), Self::Object(fields)] => Some((name, fields)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The meanings of the words that the value can have, one paragraph for each word; empty if it has no words.
    pub fn meanings_of_words(&self) -> String {
        let Self::Either(choices) = self else { return String::new() };
        let described = choices.iter().filter(|choice| !choice.meaning.is_empty());
        let lines = described.filter_map(|choice| match &choice.shape {
            Self::Constant(word) => Some(format!("\n\n`{word}`: {}", choice.meaning)),
            _ => None,
        });
        lines.collect()
    }

    /// The shape without null.
    pub fn without_null(self) -> Self {
        match self {
            Self::Either(choices) => {
                let rest = choices.into_iter().filter(|choice| choice.shape != Self::Null);
                Self::either(rest.map(|choice| (choice.shape, choice.meaning)))
            }
            shape => shape,
        }
    }
}

fn fields(properties: &serde_json::Map<String, Value>, schema: &Value) -> Vec<Field> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|key| key == name));
    let fields = properties.iter().map(|(name, schema)| Field {
        name: name.clone(),
        shape: Shape::of(schema),
        is_required: is_required(name),
        meaning: meaning_of(schema),
    });
    let mut fields: Vec<Field> = fields.collect();
    // The key that names the variant comes first, then what must be there.
    fields.sort_by_key(|field| (!matches!(field.shape, Shape::Constant(_)), !field.is_required));
    fields
}

/// The description of a schema.
pub fn meaning_of(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}
