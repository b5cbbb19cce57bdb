//! Copilot CLI: events of its own form. The record of what an answer has used comes before the answer, and
//! names it.

use serde_json::{Value as Json, json};

use super::line::{By, End, Fact, Line, Request, Turn, fact, list, number, text};
use crate::frame::ModelRequest;

/// Events outside the conversation.
const BESIDE: &[&str] = &[
    "assistant.*",
    "command.*",
    "elicitation.*",
    "exit_plan_mode.*",
    "external_tool.*",
    "factory.*",
    "hook.*",
    "model.*",
    "pending_messages.*",
    "permission.*",
    "session.*",
    "skill.*",
    "subagent.*",
    "system.*",
    "tool.*",
    "user_input.*",
];

pub(super) fn line(value: &Json) -> Option<Line> {
    let kind = value.get("type")?.as_str()?;
    let data = value.get("data")?;
    // What a subagent says is not a part of this conversation. What it uses is a part of it.
    let agent = value.get("agentId").and_then(Json::as_str);
    let is_of_agent = agent.is_some();
    let line = match kind {
        "session.usage_record" => used(data.get("usage")?, is_of_agent),
        "user.message" => {
            let message = json!({ "role": "user", "content": text(data, "content") });
            let is_of_person = matches!(text(data, "source"), "" | "user")
                && data.get("isAutopilotContinuation").is_none_or(|is| is != true)
                && !text(data, "content").trim_start().starts_with("<system_notification>");
            let by = match (is_of_person || is_of_agent, text(data, "delivery")) {
                (false, _) => By::Host,
                (true, "steering") => By::PersonMeanwhile,
                (true, _) => By::Person,
            };
            Line { messages: vec![message], turn: Turn::Words, by, ..Line::default() }
        }
        "assistant.message" => answered(data),
        "tool.execution_complete" => ended(data),
        "session.start" | "session.resume" => Line::of(head(data)),
        "session.compaction_complete" => Line::of(vec![Fact::Compacted {
            tokens: number(data, "preCompactionTokens"),
            summary: text(data, "summaryContent").to_owned(),
        }]),
        "session.title_changed" => {
            Line::of(fact(|title| Fact::Title { title, by_person: false }, text(data, "title")).into_iter().collect())
        }
        "abort" => Line::of(vec![Fact::Ended(End::Interrupted)]),
        "subagent.completed" | "subagent.failed" => {
            let end = if kind == "subagent.failed" { End::Failed(text(data, "error").to_owned()) } else { End::Done };
            let agent = text(data, "toolCallId").to_owned();
            Line::of(vec![Fact::AgentEnded { agent, end, result: String::new() }])
        }
        other => Line::of_kind(other, BESIDE),
    };
    Some(Line { agent: agent.map(str::to_owned), ..line })
}

fn head(data: &Json) -> Vec<Fact> {
    let folder = data.pointer("/context/cwd").and_then(Json::as_str).unwrap_or_default();
    let facts = [
        fact(Fact::Session, text(data, "sessionId")),
        fact(Fact::Folder, folder),
        fact(Fact::Version, text(data, "copilotVersion")),
    ];
    facts.into_iter().flatten().collect()
}

fn used(usage: &Json, is_of_agent: bool) -> Line {
    let id = text(usage, "apiCallId").to_owned();
    let (read, written) = (number(usage, "cacheReadTokens"), number(usage, "cacheWriteTokens"));
    let request = ModelRequest {
        uncached_input: number(usage, "inputTokens").saturating_sub(read).saturating_sub(written),
        cache_read: read,
        cache_write: written,
        output: number(usage, "outputTokens"),
        duration: number(usage, "duration"),
        ..ModelRequest::new(text(usage, "model"))
    };
    let requests = vec![Request::new(&id, request)];
    let turn = if is_of_agent { Turn::Aside } else { Turn::Answer(Some(id)) };
    Line { requests, turn, ..Line::default() }
}

fn answered(data: &Json) -> Line {
    let mut calls = Vec::new();
    let mut written = Vec::new();
    for call in list(data, "toolRequests") {
        let (id, name) = (text(call, "toolCallId"), text(call, "name"));
        let arguments = call.get("arguments").map(Json::to_string).unwrap_or_default();
        calls.push(id.to_owned());
        written.push(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }));
    }
    let content = Some(text(data, "content")).filter(|content| !content.is_empty());
    let mut message = json!({ "role": "assistant", "content": content });
    if !written.is_empty() {
        message["tool_calls"] = written.into();
    }
    let id = Some(text(data, "apiCallId")).filter(|id| !id.is_empty()).unwrap_or_else(|| text(data, "messageId"));
    let is_last = calls.is_empty();
    Line { messages: vec![message], turn: Turn::Answer(Some(id.to_owned())), calls, is_last, ..Line::default() }
}

fn ended(data: &Json) -> Line {
    let call = text(data, "toolCallId");
    let content = ["/result/content", "/error/message"].iter().find_map(|place| data.pointer(place)?.as_str());
    let message = json!({ "role": "tool", "tool_call_id": call, "content": content.unwrap_or_default() });
    let message = if data.get("success").is_some_and(|is| is == false) { with_error(message) } else { message };
    Line { messages: vec![message], turn: Turn::Outcomes, outcomes: vec![call.to_owned()], ..Line::default() }
}

fn with_error(mut message: Json) -> Json {
    message["isError"] = true.into();
    message
}
