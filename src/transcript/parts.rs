//! What a message says, part by part, in any form of a wire.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::line::{list, text};
use crate::fold::transcript::said;
use crate::text::from_json;

/// A part of a message.
pub(super) enum Part<'a> {
    /// What the person or the host has written.
    Words(String),
    /// What the model has said.
    Answer(String),
    /// What the model has thought.
    Reasoning(String),
    /// A call of a tool.
    Call { id: &'a str, name: Cow<'a, str>, arguments: Cow<'a, Json> },
    /// What a tool has returned.
    Outcome { call: &'a str, content: Cow<'a, Json>, is_error: bool },
}

/// The parts of a message, in their order.
pub(super) fn parts(message: &Json) -> Vec<Part<'_>> {
    match text(message, "type") {
        "" | "message" => {}
        kind => return item(kind, message).into_iter().collect(),
    }
    let is_of_model = matches!(text(message, "role"), "assistant" | "model");
    if text(message, "role") == "tool" {
        let is_error = message.get("isError").is_some_and(|is_error| is_error == true);
        return vec![outcome(text(message, "tool_call_id"), message.get("content"), is_error)];
    }
    let content = message.get("content").or_else(|| message.get("parts"));
    let mut parts: Vec<Part<'_>> = match content {
        Some(Json::Array(blocks)) => blocks.iter().filter_map(|content| block(content, is_of_model)).collect(),
        Some(content) => spoken(said(content), is_of_model).into_iter().collect(),
        None => Vec::new(),
    };
    parts.extend(list(message, "tool_calls").map(|call| {
        let function = call.get("function").unwrap_or(call);
        Part::Call {
            id: text(call, "id"),
            name: text(function, "name").into(),
            arguments: arguments(function.get("arguments")),
        }
    }));
    parts
}

fn spoken<'a>(text: String, is_of_model: bool) -> Option<Part<'a>> {
    let part = if is_of_model { Part::Answer } else { Part::Words };
    (!text.trim().is_empty()).then(|| part(text))
}

/// A block of Anthropic's Messages, or a part of Gemini's contents.
fn block(block: &Json, is_of_model: bool) -> Option<Part<'_>> {
    if let Some(call) = block.get("functionCall") {
        let arguments = call.get("args").map_or_else(empty, Cow::Borrowed);
        return Some(Part::Call { id: text(call, "id"), name: text(call, "name").into(), arguments });
    }
    if let Some(response) = block.get("functionResponse") {
        let content = response.get("response");
        let is_error = content.is_some_and(|content| content.get("error").is_some());
        return Some(outcome(text(response, "id"), content, is_error));
    }
    if block.get("thought").is_some_and(|is_thought| is_thought == true) {
        return Some(Part::Reasoning(said(block)));
    }
    match text(block, "type") {
        "thinking" | "redacted_thinking" | "reasoning" => Some(Part::Reasoning(said(block))),
        "tool_use" | "server_tool_use" => {
            let arguments = block.get("input").map_or_else(empty, Cow::Borrowed);
            Some(Part::Call { id: text(block, "id"), name: text(block, "name").into(), arguments })
        }
        kind if kind.ends_with("tool_result") => {
            let is_error = block.get("is_error").is_some_and(|is_error| is_error == true);
            Some(outcome(text(block, "tool_use_id"), block.get("content"), is_error))
        }
        _ => spoken(said(block), is_of_model),
    }
}

/// An item of OpenAI's Responses.
fn item<'a>(kind: &'a str, item: &'a Json) -> Option<Part<'a>> {
    let id = text(item, "call_id");
    if kind == "reasoning" {
        return Some(Part::Reasoning(said(item)))
            .filter(|part| matches!(part, Part::Reasoning(text) if !text.is_empty()));
    }
    if kind.ends_with("_output") {
        let content = item.get("output");
        let failed = content.and_then(|output| output.get("success")).is_some_and(|success| success == false);
        return Some(outcome(id, content, failed));
    }
    if !kind.ends_with("_call") {
        return None;
    }
    let name = match (text(item, "namespace"), text(item, "name")) {
        (_, "") => kind.trim_end_matches("_call").into(),
        ("", name) => name.into(),
        (namespace, name) => format!("{namespace}__{name}").into(),
    };
    let given = ["arguments", "input", "action"].into_iter().find_map(|key| item.get(key));
    Some(Part::Call { id, name, arguments: arguments(given) })
}

fn outcome<'a>(call: &'a str, content: Option<&'a Json>, is_error: bool) -> Part<'a> {
    Part::Outcome { call, content: content.map_or(Cow::Owned(Json::Null), Cow::Borrowed), is_error }
}

/// Arguments, which some wires write as a JSON text.
fn arguments(given: Option<&Json>) -> Cow<'_, Json> {
    match given {
        Some(Json::String(json)) => match from_json(json) {
            Ok(arguments) => Cow::Owned(arguments),
            Err(_) => Cow::Borrowed(given.unwrap_or(&Json::Null)),
        },
        Some(arguments) => Cow::Borrowed(arguments),
        None => empty(),
    }
}

fn empty<'a>() -> Cow<'a, Json> {
    Cow::Owned(Json::Object(serde_json::Map::new()))
}

/// The text of what a tool has returned.
pub(super) fn text_of(content: &Json) -> String {
    said(content)
}
