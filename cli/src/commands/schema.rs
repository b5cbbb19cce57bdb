//! `callstack schema`: the JSON Schemas of what the commands write with `--json`.

use std::collections::BTreeMap;
use std::io;

use clap::Args;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, json_schema};
use serde::Serialize;
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Page, Report, SCHEMA_VERSION};

#[derive(Args)]
pub struct Arguments {
    /// The kind of an envelope, such as `tree`. Default: all kinds.
    kind: Option<String>,
}

/// The schemas of envelopes, by their kinds.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Schemas(BTreeMap<&'static str, Schema>);

/// A kind and the schema of its envelope.
pub type Named = (&'static str, Schema);

/// The schema of the envelope of a report.
pub fn of<R: Report>() -> Named {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(shorten));
    let mut schema = settings.into_generator().into_root_schema_for::<R>();
    let definitions = schema.remove("$defs");
    let dialect = schema.remove("$schema");
    let mut envelope = json_schema!({
        "type": "object",
        "required": ["schemaVersion", "kind", "data"],
        "properties": { "schemaVersion": { "const": SCHEMA_VERSION }, "kind": { "const": R::KIND }, "data": schema },
    });
    for (key, value) in [("$schema", dialect), ("$defs", definitions)] {
        if let Some(value) = value {
            envelope.insert(key.to_owned(), value);
        }
    }
    (R::KIND, envelope)
}

/// Keeps the first paragraph of a description. Examples in Rust follow.
fn shorten(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description")
        && let Some(end) = text.find("\n\n")
    {
        text.truncate(end);
    }
}

/// `known`: the schemas of all kinds.
pub fn run(arguments: &Arguments, known: Vec<Named>) -> Result<Schemas, Failure> {
    let mut all: BTreeMap<&'static str, Schema> = known.into_iter().collect();
    if let Some(wanted) = &arguments.kind {
        if !all.contains_key(wanted.as_str()) {
            let known: Vec<&str> = all.keys().copied().collect();
            let next = format!("the kinds are {}", known.join(", "));
            return Err(Failure::new(Exit::Usage, "unknown_kind", format!("there is no kind `{wanted}`")).next(next));
        }
        all.retain(|kind, _| kind == wanted);
    }
    Ok(Schemas(all))
}

impl Report for Schemas {
    const KIND: &'static str = "schemas";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let text = match self.0.len() {
            1 => serde_json::to_string_pretty(&self.0.values().next())?,
            _ => serde_json::to_string_pretty(&self.0)?,
        };
        page.raw(&text)?;
        page.raw("\n")
    }
}
