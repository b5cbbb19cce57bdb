//! pi: a tree of entries, one per line. The messages have a form of their own, and are read as Anthropic's
//! messages.

use serde_json::{Value as Json, json};

use super::line::{By, End, Fact, Line, Request, Turn, fact, list, number, text};
use crate::frame::ModelRequest;

pub(super) fn line(value: &Json) -> Option<Line> {
    match value.get("type")?.as_str()? {
        "session" => Some(Line::of(head(value))),
        "message" => message(value, value.get("message")?),
        "compaction" => Some(Line::of(vec![Fact::Compacted {
            tokens: number(value, "tokensBefore"),
            summary: text(value, "summary").to_owned(),
        }])),
        "model_change" => Some(Line { model: Some(text(value, "modelId").to_owned()), ..Line::default() }),
        "session_info" => {
            let title = fact(|title| Fact::Title { title, by_person: true }, text(value, "name"));
            Some(Line::of(title.into_iter().collect()))
        }
        other => Some(Line::of_kind(other, &["branch_summary", "custom*", "label", "thinking_level_change"])),
    }
}

fn head(head: &Json) -> Vec<Fact> {
    let version = head.get("version").map(ToString::to_string).unwrap_or_default();
    let facts = [
        fact(Fact::Session, text(head, "id")),
        fact(Fact::Parent, text(head, "parentSession")),
        fact(Fact::Folder, text(head, "cwd")),
        fact(|version| Fact::Version(format!("session {version}")), &version),
    ];
    facts.into_iter().flatten().collect()
}

fn message(entry: &Json, message: &Json) -> Option<Line> {
    let content = || message.get("content").cloned().unwrap_or_default();
    match text(message, "role") {
        "user" => {
            let message = json!({ "role": "user", "content": content() });
            Some(Line { messages: vec![message], turn: Turn::Words, ..Line::default() })
        }
        "assistant" => Some(answered(entry, message)),
        "toolResult" => {
            let id = text(message, "toolCallId").to_owned();
            let is_error = message.get("isError").is_some_and(|is| is == true);
            let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content(), "is_error": is_error });
            let message = json!({ "role": "user", "content": [block] });
            Some(Line {
                messages: vec![message],
                turn: Turn::Outcomes,
                outcomes: vec![id],
                by: By::Host,
                ..Line::default()
            })
        }
        "bashExecution" => {
            let said = format!("! {}\n{}", text(message, "command"), text(message, "output"));
            let message = json!({ "role": "user", "content": said });
            Some(Line { messages: vec![message], turn: Turn::Words, by: By::Host, ..Line::default() })
        }
        _ => Some(Line::aside()),
    }
}

fn answered(entry: &Json, message: &Json) -> Line {
    let mut calls = Vec::new();
    let blocks = list(message, "content").map(|block| match text(block, "type") {
        "toolCall" => {
            calls.push(text(block, "id").to_owned());
            json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": block["arguments"] })
        }
        _ => block.clone(),
    });
    let messages = vec![json!({ "role": "assistant", "content": blocks.collect::<Vec<_>>() })];
    let id = text(entry, "id");
    let stop = text(message, "stopReason");
    let request = message.get("usage").filter(|usage| usage.is_object()).map(|usage| {
        let used = ModelRequest {
            uncached_input: number(usage, "input"),
            cache_read: number(usage, "cacheRead"),
            cache_write: number(usage, "cacheWrite"),
            output: number(usage, "output"),
            cost_micro_usd: micro(usage.pointer("/cost/total")),
            failed: stop == "error",
            ..ModelRequest::new(text(message, "model"))
        };
        Request::new(id, used)
    });
    let ended = match stop {
        "aborted" => Some(End::Interrupted),
        "error" => Some(End::Failed(text(message, "errorMessage").to_owned())),
        _ => None,
    };
    Line {
        messages,
        turn: Turn::Answer(Some(id.to_owned())),
        requests: request.into_iter().collect(),
        is_last: matches!(stop, "stop" | "length"),
        facts: ended.map(Fact::Ended).into_iter().collect(),
        calls,
        ..Line::default()
    }
}

/// A cost in US dollars as millionths.
pub(super) fn micro(cost: Option<&Json>) -> u64 {
    cost.and_then(Json::as_f64).filter(|cost| *cost > 0.0).map_or(0, |cost| (cost * 1e6).round() as u64)
}
