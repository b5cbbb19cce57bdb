//! OpenCode: sessions whose messages have parts, exported or in its database. They are read as Anthropic's
//! messages. The answer of each step of the model is a message with its calls and their outcomes. A message
//! that has started subagents becomes two records, so that the records of the subagents are between these
//! two: the calls (`"half": "begun"`) at the beginning of the message, the rest (`"half": "ended"`) at its
//! end.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::AgentFile;
use super::line::{By, End, Fact, Line, Request, Turn, fact, list, number, text};
use super::pi::micro;
use crate::frame::ModelRequest;

/// A message with its parts, or the session's own record at `session`.
pub(super) fn line(value: &Json) -> Option<Line> {
    if let Some(session) = value.get("session") {
        return Some(Line::of(head(session)));
    }
    let info = value.get("info")?;
    match text(info, "role") {
        "user" => Some(said(value)),
        "assistant" => Some(answered(value, info)),
        _ => None,
    }
}

/// The records of a message, with the time of its end, or of its beginning.
pub(super) fn records(message: &Json) -> Vec<Json> {
    let time = |key: &str| message.pointer(&format!("/info/time/{key}")).filter(|time| time.is_u64());
    let (begun, ended) = (time("created"), time("completed").or_else(|| time("created")));
    let record = |half: Option<&str>, at: Option<&Json>| {
        let mut record = message.clone();
        record["half"] = json!(half);
        record["timestamp"] = json!(at);
        record
    };
    match list(message, "parts").any(|part| started(part).is_some()) {
        true => vec![record(Some("begun"), begun), record(Some("ended"), ended)],
        false => vec![record(None, ended)],
    }
}

/// True if a message can still change: an answer without an end, or words whose parts are not written yet.
pub(super) fn is_unfinished(message: &Json) -> bool {
    let info = &message["info"];
    match text(info, "role") {
        "assistant" => {
            info.pointer("/time/completed").is_none_or(Json::is_null) && info.get("error").is_none_or(Json::is_null)
        }
        _ => list(message, "parts").next().is_none(),
    }
}

/// The subagent that a call in a message has started.
fn started(part: &Json) -> Option<&str> {
    part.pointer("/state/metadata/sessionId").and_then(Json::as_str)
}

/// For each subagent, the call that has started it.
pub(super) fn calls_of_agents<'a>(messages: impl Iterator<Item = &'a Json>) -> HashMap<String, String> {
    let parts = messages.flat_map(|message| list(message, "parts"));
    let call = |part: &Json| Some((started(part)?.to_owned(), text(part, "callID").to_owned()));
    // A subagent that is called again resumes.
    parts.filter_map(call).fold(HashMap::new(), |mut calls, (agent, call)| {
        calls.entry(agent).or_insert(call);
        calls
    })
}

/// A session as a subagent.
pub(super) fn agent(session: &Json) -> AgentFile {
    let title = Some(text(session, "title")).filter(|title| !title.is_empty()).map(str::to_owned);
    AgentFile { id: text(session, "id").to_owned(), call: None, title }
}

fn head(session: &Json) -> Vec<Fact> {
    let title = text(session, "title");
    let is_made = !title.starts_with("New session - ") && !title.starts_with("Child session - ");
    let facts = [
        fact(Fact::Session, text(session, "id")),
        fact(Fact::Parent, text(session, "parentID")),
        fact(Fact::Folder, text(session, "directory")),
        fact(Fact::Version, text(session, "version")),
        fact(|title| Fact::Title { title, by_person: false }, title).filter(|_| is_made),
    ];
    facts.into_iter().flatten().collect()
}

fn said(value: &Json) -> Line {
    let is = |part: &Json, key: &str| part.get(key).is_some_and(|is| is == true);
    let texts = list(value, "parts").filter(|part| text(part, "type") == "text" && !is(part, "ignored"));
    let (of_host, of_person): (Vec<&Json>, Vec<&Json>) = texts.partition(|part| is(part, "synthetic"));
    let message = |parts: &[&Json]| json!({ "role": "user", "content": parts });
    match of_person.is_empty() {
        true => Line { messages: vec![message(&of_host)], turn: Turn::Words, by: By::Host, ..Line::default() },
        false => Line { messages: vec![message(&of_person)], turn: Turn::Words, ..Line::default() },
    }
}

fn answered(value: &Json, info: &Json) -> Line {
    let (id, half) = (text(info, "id"), text(value, "half"));
    let is_summary = info.get("summary").is_some_and(|is| is == true);
    let (mut blocks, mut outcomes, mut facts) = (Vec::new(), Vec::new(), Vec::new());
    let mut summary = String::new();
    for part in list(value, "parts") {
        match text(part, "type") {
            "text" | "reasoning" if half == "ended" => {}
            "text" if is_summary => summary.push_str(text(part, "text")),
            "text" => blocks.push(json!({ "type": "text", "text": part["text"] })),
            "reasoning" => blocks.push(json!({ "type": "thinking", "thinking": part["text"] })),
            "tool" => {
                let (call, state) = (text(part, "callID"), &part["state"]);
                if half != "ended" {
                    blocks
                        .push(json!({ "type": "tool_use", "id": call, "name": part["tool"], "input": state["input"] }));
                }
                if half == "begun" {
                    continue;
                }
                if let Some(agent) = started(part) {
                    facts.push(Fact::Agent { call: call.to_owned(), id: agent.to_owned(), goes_on: false });
                }
                let content = match text(state, "status") {
                    "completed" if text(part, "tool") == "task" => answer_of_agent(&state["output"]),
                    "completed" => state["output"].clone(),
                    "error" => state["error"].clone(),
                    // The call still runs, or the host was killed.
                    _ => continue,
                };
                let is_error = text(state, "status") == "error";
                outcomes.push(
                    json!({ "type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error }),
                );
            }
            _ => {}
        }
    }
    if is_summary {
        facts.push(Fact::Compacted { tokens: 0, summary });
    }
    let mut messages = vec![json!({ "role": "assistant", "content": blocks })];
    if !outcomes.is_empty() {
        messages.push(json!({ "role": "user", "content": outcomes }));
    }
    if half == "begun" {
        return Line { messages, turn: Turn::Answer(Some(id.to_owned())), facts, ..Line::default() };
    }
    let steps: Vec<&Json> = list(value, "parts").filter(|part| text(part, "type") == "step-finish").collect();
    let time = |key: &str| info.pointer(&format!("/time/{key}")).and_then(Json::as_u64);
    let duration = time("completed").zip(time("created")).map_or(0, |(end, begin)| end.saturating_sub(begin));
    let mut requests: Vec<Request> = match steps.is_empty() {
        true => info
            .get("tokens")
            .filter(|tokens| has_used(tokens))
            .map(|tokens| used(id, 0, tokens, info))
            .into_iter()
            .collect(),
        false => steps.iter().enumerate().map(|(step, part)| used(id, step, &part["tokens"], part)).collect(),
    };
    for request in &mut requests {
        request.used.model = text(info, "modelID").to_owned();
        request.used.duration = duration / steps.len().max(1) as u64;
    }
    let error = info.get("error").filter(|error| !error.is_null());
    let ended = error.map(|error| match text(error, "name") {
        "MessageAbortedError" => End::Interrupted,
        name => End::Failed(error.pointer("/data/message").and_then(Json::as_str).unwrap_or(name).to_owned()),
    });
    facts.extend(ended.map(Fact::Ended));
    let is_last = !is_summary && matches!(text(info, "finish"), "stop" | "length");
    Line { messages, turn: Turn::Answer(Some(id.to_owned())), requests, is_last, facts, ..Line::default() }
}

/// Messages of commands that a person has run have no request.
fn has_used(tokens: &Json) -> bool {
    ["/input", "/output", "/reasoning", "/cache/read", "/cache/write"]
        .iter()
        .any(|place| tokens.pointer(place).and_then(Json::as_f64).is_some_and(|number| number > 0.0))
}

/// What a subagent has answered, without what the host has put around it.
fn answer_of_agent(output: &Json) -> Json {
    let text = output.as_str().unwrap_or_default();
    let within = || Some(text.split_once("<task_result>")?.1.split_once("</task_result>")?.0.trim());
    within().map_or_else(|| output.clone(), Json::from)
}

fn used(id: &str, step: usize, tokens: &Json, costs: &Json) -> Request {
    let cache = tokens.get("cache").unwrap_or(&Json::Null);
    let (input, output, reasoning) = (number(tokens, "input"), number(tokens, "output"), number(tokens, "reasoning"));
    let (read, written) = (number(cache, "read"), number(cache, "write"));
    // Older versions count reasoning as a part of the output; their total shows that.
    let is_within = reasoning > 0 && number(tokens, "total") == input + output + read + written;
    let used = ModelRequest {
        uncached_input: input,
        cache_read: read,
        cache_write: written,
        output: if is_within { output.saturating_sub(reasoning) } else { output },
        reasoning,
        cost_micro_usd: micro(costs.get("cost")),
        ..ModelRequest::default()
    };
    Request::new(&format!("{id}/{step}"), used)
}
