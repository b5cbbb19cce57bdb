//! Codex: items in the form of OpenAI's Responses, and records of the session. An item does not name its
//! answer; what the answer has used comes after its items.

use serde_json::{Value as Json, json};

use super::line::{By, End, Fact, Line, Request, Turn, fact, number, text};
use crate::fold::transcript::said as text_in;
use crate::frame::ModelRequest;
use crate::text::from_json;

/// The beginnings of words that the host has written in place of the person.
const OF_HOST: [&str; 12] = [
    "<user_shell_command",
    "<environment_context",
    "<user_instructions",
    "<permissions",
    "<collaboration_mode",
    "<skills_instructions",
    "<turn_aborted",
    "<subagent_notification",
    "<hook_prompt",
    "<model_switch",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS",
];

/// Lines outside the conversation.
const BESIDE: &[&str] = &["inter_agent_communication*", "realtime_item", "retained_context", "world_state"];

pub(super) fn line(value: &Json) -> Option<Line> {
    // The first versions had no envelope: the head alone, and bare items.
    let Some(payload) = value.get("payload") else { return bare(value) };
    let kind = value.get("type")?.as_str()?;
    let mut line = match kind {
        "response_item" => item(payload)?,
        // A text that stands for everything before it: the model sees it as words.
        "compacted" => {
            let summary = text(payload, "message").to_owned();
            let words = json!({ "type": "message", "role": "user", "content": summary });
            let facts = vec![Fact::Compacted { tokens: 0, summary }];
            Line { messages: vec![words], turn: Turn::Words, by: By::Host, facts, ..Line::default() }
        }
        "turn_context" => Line { model: Some(text(payload, "model").to_owned()), ..Line::default() },
        "token_usage_record" => {
            let thread = payload.get("thread_id").and_then(Json::as_str).map(str::to_owned);
            Line { requests: vec![request(payload)?], thread, ..Line::default() }
        }
        "session_meta" => Line::of(head(payload)),
        "event_msg" => event(payload),
        other => Line::of_kind(other, BESIDE),
    };
    line.ordinal = value.get("ordinal").and_then(Json::as_u64);
    Some(line)
}

fn bare(value: &Json) -> Option<Line> {
    if value.get("record_type").is_some() {
        return Some(Line::aside());
    }
    if value.get("type").is_some() {
        return item(value);
    }
    (!text(value, "id").is_empty()).then(|| Line::of(head(value)))
}

fn head(head: &Json) -> Vec<Fact> {
    let spawned = "/source/subagent/thread_spawn/parent_thread_id";
    let parent = head.pointer(spawned).or_else(|| head.get("parent_thread_id")).or_else(|| head.get("forked_from_id"));
    let facts = [
        fact(Fact::Session, text(head, "id")),
        fact(Fact::Parent, parent.and_then(Json::as_str).unwrap_or_default()),
        fact(Fact::Folder, text(head, "cwd")),
        fact(Fact::Version, text(head, "cli_version")),
        Some(Fact::OwnFrom(number(head, "subagent_history_start_ordinal"))).filter(|from| *from != Fact::OwnFrom(0)),
    ];
    facts.into_iter().flatten().collect()
}

fn event(event: &Json) -> Line {
    let facts = match text(event, "type") {
        "user_message" => fact(Fact::Prompt, asked(text(event, "message"))),
        "task_started" | "turn_started" => Some(Fact::Begun),
        "task_complete" | "turn_complete" => {
            Some(Fact::Ended(match event.get("error").filter(|error| !error.is_null()) {
                Some(error) => End::Failed(error.as_str().map_or_else(|| error.to_string(), str::to_owned)),
                None => End::Done,
            }))
        }
        "thread_rolled_back" => Some(Fact::RolledBack(number(event, "num_turns"))),
        "turn_aborted" => Some(Fact::Ended(End::Interrupted)),
        "thread_name_updated" => fact(|title| Fact::Title { title, by_person: false }, text(event, "thread_name")),
        "collab_agent_spawn_end" => spawned(text(event, "call_id"), text(event, "new_thread_id")),
        "sub_agent_activity" if text(event, "kind") == "started" => {
            spawned(text(event, "event_id"), text(event, "agent_thread_id"))
        }
        "token_count" => return counted(event).unwrap_or_default(),
        _ => None,
    };
    Line::of(facts.into_iter().collect())
}

/// What the person asks, without what an editor has added before it.
fn asked(words: &str) -> &str {
    let is_added = words.trim_start().starts_with("# Context from my IDE setup");
    words.split_once("## My request for Codex:").filter(|_| is_added).map_or(words, |(_, asked)| asked.trim())
}

fn spawned(call: &str, agent: &str) -> Option<Fact> {
    fact(|id| Fact::Agent { call: call.to_owned(), id, goes_on: true }, agent)
}

/// What an answer has used, in versions that do not write a record of their own for it. The total
/// distinguishes a repeated count from a new one.
fn counted(event: &Json) -> Option<Line> {
    let info = event.get("info")?;
    let (total, last) = (info.get("total_token_usage")?, info.get("last_token_usage")?);
    if number(last, "input_tokens") + number(last, "output_tokens") == 0 {
        return None;
    }
    Some(Line { counts: vec![Request::new(&total.to_string(), used(last))], ..Line::default() })
}

fn item(item: &Json) -> Option<Line> {
    let kind = item.get("type")?.as_str()?;
    let call = text(item, "call_id").to_owned();
    let mut line = Line { messages: vec![item.clone()], ..Line::default() };
    line.turn = match (kind, text(item, "role")) {
        ("message", "user") => {
            let words = text_in(item);
            if OF_HOST.iter().any(|beginning| words.trim_start().starts_with(beginning)) {
                line.by = By::Host;
            }
            Turn::Words
        }
        ("message", "assistant") => Turn::Answer(None),
        // What the host says about its state.
        ("message", _) => return Some(Line::aside()),
        (kind, _) if kind.ends_with("_output") => {
            // The ID of the subagent that the call has started.
            let output = item.get("output").and_then(Json::as_str).and_then(|output| from_json::<Json>(output).ok());
            line.facts.extend(output.and_then(|output| spawned(&call, text(&output, "agent_id"))));
            line.outcomes.push(call);
            Turn::Outcomes
        }
        (kind, _) if kind.ends_with("_call") && !call.is_empty() => {
            line.calls.push(call);
            Turn::Answer(None)
        }
        _ => Turn::Answer(None),
    };
    Some(line)
}

fn request(record: &Json) -> Option<Request> {
    Some(Request::new(text(record, "response_id"), used(record.get("usage")?)))
}

fn used(usage: &Json) -> ModelRequest {
    let (read, written) = (number(usage, "cached_input_tokens"), number(usage, "cache_write_input_tokens"));
    ModelRequest {
        uncached_input: number(usage, "input_tokens").saturating_sub(read).saturating_sub(written),
        cache_read: read,
        cache_write: written,
        output: number(usage, "output_tokens"),
        ..ModelRequest::default()
    }
}
