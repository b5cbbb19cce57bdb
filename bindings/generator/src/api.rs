//! `api.json` as data.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

/// The C interface of the library.
#[derive(Deserialize)]
pub struct Api {
    pub abi: u32,
    pub functions: Vec<Function>,
    pub errors: Vec<ErrorKind>,
    /// The JSON Schemas of the records.
    pub records: BTreeMap<String, Value>,
    /// The records that functions take, with those within them. The optional keys of the others are absent,
    /// never null.
    pub taken: BTreeSet<String>,
}

/// A function, without its prefix `callstack_`.
#[derive(Deserialize)]
pub struct Function {
    pub name: String,
    /// The part of the interface: the name of a file in `src/capi`.
    pub group: String,
    pub since: String,
    pub stack: StackUse,
    pub meaning: String,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub errors: Errors,
}

/// Whether and how a function takes a stack.
#[derive(Deserialize, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "camelCase")]
pub enum StackUse {
    /// It changes the stack.
    Command,
    /// It reads the stack.
    Query,
    /// The stack can be absent.
    Optional,
    /// It takes none.
    None,
}

#[derive(Deserialize)]
pub struct Input {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub optional: bool,
    pub meaning: String,
}

#[derive(Deserialize)]
pub struct Output {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// `or null` and `or empty`: the library can return nothing.
    pub absence: String,
    pub meaning: String,
}

/// The errors of a function.
#[derive(Deserialize)]
pub struct Errors {
    pub codes: BTreeSet<String>,
    /// When they occur, with codes such as `_JSON`.
    pub meaning: String,
}

/// A kind of error.
#[derive(Deserialize)]
pub struct ErrorKind {
    pub code: String,
    pub number: i32,
    /// `refused`, `usage`, `passing`, `storage`, `damaged`, `broken`, or `call` for a fault of the call
    /// itself.
    pub class: String,
    pub meaning: String,
    /// The schemas of the details, by key.
    pub details: Option<BTreeMap<String, Value>>,
}

impl Api {
    /// The functions whose methods only carry.
    pub fn carried(&self) -> Vec<&Function> {
        self.functions.iter().filter(|function| function.only_carries()).collect()
    }

    /// The records that these functions take and return, without those within them.
    pub fn records_of(&self, functions: &[&Function]) -> BTreeSet<&str> {
        let kinds = functions.iter().flat_map(|function| {
            let inputs = function.inputs.iter().map(|input| &input.kind);
            inputs.chain(function.outputs.iter().map(|output| &output.kind))
        });
        let records = kinds.map(|kind| kind.trim_end_matches("[]"));
        records.filter_map(|name| self.records.get_key_value(name)).map(|(name, _)| name.as_str()).collect()
    }
}

impl Input {
    /// True for a text that is passed as it is. Everything else is passed as JSON.
    pub fn is_text(&self) -> bool {
        matches!(self.kind.as_str(), "text" | "FrameRef" | "Handle" | "Wire")
    }
}

impl Output {
    /// True for a text that is returned as it is. Everything else is JSON.
    pub fn is_text(&self) -> bool {
        matches!(self.kind.as_str(), "text" | "Handle")
    }
}

impl Function {
    /// True if a method only has to carry the arguments and the result. The others have a form of their own
    /// in each language: what makes a stack or a context, or returns two results.
    pub fn only_carries(&self) -> bool {
        let is_plain =
            self.outputs.iter().all(|output| !matches!(output.kind.as_str(), "Stack" | "Context" | "Context[]"));
        matches!(self.stack, StackUse::Command | StackUse::Query) && is_plain && self.outputs.len() <= 1
    }

    /// True if the function takes its texts as values. `callstack_contexts` takes addresses.
    pub fn takes_values(&self) -> bool {
        self.outputs.iter().all(|output| output.kind != "Context[]")
    }
}

/// The name of the record in a reference such as `#/$defs/Handle`.
pub fn record_of(reference: &str) -> String {
    reference.rsplit('/').next().unwrap_or_default().to_owned()
}
