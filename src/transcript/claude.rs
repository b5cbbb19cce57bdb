//! Claude Code: a line for each block of a message, in the form of Anthropic's Messages, and lines about the
//! session.

use serde_json::{Value as Json, json};

use super::line::{By, End, Fact, Line, Request, Turn, about, fact, list, number, text};
use crate::fold::transcript::said as text_in;
use crate::frame::ModelRequest;

/// The model of messages that Claude Code has made itself.
const MADE_UP: &str = "<synthetic>";

/// The beginnings of words that the host has written in place of the person.
const OF_HOST: [&str; 15] = [
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<teammate-message",
    "<agent-message",
    "<cross-session-message",
    "<channel ",
    "<user-prompt-submit-hook>",
    "<system-reminder>",
    "<session-start-hook>",
    "Stop hook feedback:",
    "Caveat: The messages below were generated",
    "This session is being continued from a previous conversation",
    "[Request interrupted by user",
];
/// Commands that the program carries out itself, without a turn of the agent.
const OF_PROGRAM: [&str; 22] = [
    "add-dir",
    "agents",
    "bug",
    "clear",
    "compact",
    "config",
    "context",
    "cost",
    "doctor",
    "exit",
    "export",
    "help",
    "hooks",
    "login",
    "logout",
    "mcp",
    "memory",
    "model",
    "permissions",
    "resume",
    "status",
    "usage",
];
/// What the host shows the model before what the person has written.
const BEFORE_WORDS: [&str; 4] = ["ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder"];

/// Lines outside the conversation. For the program the last line of a kind counts; this library uses none of
/// them.
const BESIDE: &[&str] = &[
    "agent-*",
    "api-request*",
    "atis-latch",
    "attribution-snapshot",
    "content-replacement",
    "cost-state",
    "file-history-*",
    "fork-context-*",
    "last-prompt",
    "marble-origami-*",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "speculation-accept",
    "summary",
    "tag",
    "tools-used",
    "worktree-state",
];

pub(super) fn line(value: &Json) -> Option<Line> {
    let kind = value.get("type")?.as_str()?;
    // A copy of what another session has said.
    if value.get("forkedFrom").is_some_and(|origin| !origin.is_null()) {
        return Some(Line::of(
            fact(Fact::Parent, value.pointer("/forkedFrom/sessionId").and_then(Json::as_str).unwrap_or_default())
                .into_iter()
                .collect(),
        ));
    }
    let mut line = match kind {
        "user" => said(value, value.get("message")?)?,
        "assistant" => answered(value, value.get("message")?)?,
        "attachment" => queued(value.get("attachment")?).unwrap_or_default(),
        "system" => Line::of(system(value)),
        "ai-title" => Line::of(title(text(value, "aiTitle"), false)),
        "custom-title" => Line::of(title(text(value, "customTitle"), true)),
        other => Line::of_kind(other, BESIDE),
    };
    if matches!(kind, "user" | "assistant") {
        line.facts.splice(0..0, about(value));
    }
    Some(line)
}

fn title(title: &str, by_person: bool) -> Vec<Fact> {
    fact(|title| Fact::Title { title, by_person }, title).into_iter().collect()
}

fn system(value: &Json) -> Vec<Fact> {
    match text(value, "subtype") {
        "compact_boundary" => {
            let tokens = value.pointer("/compactMetadata/preTokens").and_then(Json::as_u64).unwrap_or_default();
            vec![Fact::Compacted { tokens, summary: String::new() }]
        }
        _ => Vec::new(),
    }
}

fn said(value: &Json, message: &Json) -> Option<Line> {
    let content = message.get("content")?;
    let is_outcome = |block: &&Json| text(block, "type") == "tool_result";
    let outcomes: Vec<String> =
        list(message, "content").filter(is_outcome).map(|block| text(block, "tool_use_id").to_owned()).collect();
    let turn = if outcomes.is_empty() { Turn::Words } else { Turn::Outcomes };
    let mut line = Line { turn, by: By::Host, ..Line::default() };
    if let Some(call) = outcomes.first() {
        let result = value.get("toolUseResult").unwrap_or(&Json::Null);
        line.facts.extend(agent(call, result).or_else(|| launched(call, &text_in(content))));
    } else {
        let words = text_in(content);
        line.facts.extend(notified(&words));
        let origin = value.pointer("/origin/kind").and_then(Json::as_str);
        let is_meta = ["isMeta", "isCompactSummary"].iter().any(|key| value.get(*key).is_some_and(|is| is == true));
        let is_of_program = origin.is_some_and(|kind| kind != "human") || text(value, "promptSource") == "system";
        if words.trim_start().starts_with("[Request interrupted by user") {
            line.facts.push(Fact::Ended(End::Interrupted));
        } else if !is_meta && !is_of_program {
            let own = spoken(&words);
            line.by = if own.is_empty() { By::Host } else { By::Person };
            // The entry of the log has everything that the model was shown.
            line.facts.extend(Some(Fact::Prompt(own.clone())).filter(|_| !own.is_empty() && own != words.trim()));
        }
    }
    line.messages.push(json!({ "role": "user", "content": content }));
    line.outcomes = outcomes;
    Some(line)
}

/// What the person has said in words that the host may have added to. Empty: nothing.
fn spoken(words: &str) -> String {
    let mut rest = words.trim();
    while let Some(name) = BEFORE_WORDS.iter().find(|name| rest.starts_with(&format!("<{name}>"))) {
        let end = format!("</{name}>");
        let Some((_, behind)) = rest.split_once(&end) else { return String::new() };
        rest = behind.trim_start();
    }
    if OF_HOST.iter().any(|beginning| rest.starts_with(beginning)) {
        return String::new();
    }
    let within = |name: &str| {
        let (_, behind) = rest.split_once(&format!("<{name}>"))?;
        Some(behind.split_once(&format!("</{name}>"))?.0.trim())
    };
    if rest.starts_with("<command-") {
        let command = within("command-name").or_else(|| within("command-message")).unwrap_or_default();
        if OF_PROGRAM.contains(&command.trim_start_matches('/')) {
            return String::new();
        }
        return format!("{command} {}", within("command-args").unwrap_or_default()).trim().to_owned();
    }
    if rest.starts_with("<bash-input>") {
        return format!("! {}", within("bash-input").unwrap_or_default());
    }
    rest.to_owned()
}

/// The subagent that an outcome tells about.
fn agent(call: &str, result: &Json) -> Option<Fact> {
    let id = Some(text(result, "agentId")).filter(|id| !id.is_empty())?;
    let goes_on = text(result, "status") == "async_launched" || result.get("isAsync").is_some_and(|is| is == true);
    Some(Fact::Agent { call: call.to_owned(), id: id.to_owned(), goes_on })
}

/// The same, from the words of an outcome.
fn launched(call: &str, words: &str) -> Option<Fact> {
    let (_, named) = words.strip_prefix("Async agent launched")?.split_once("agentId: ")?;
    let id = named.split(|character: char| !character.is_ascii_alphanumeric()).next()?.to_owned();
    Some(Fact::Agent { call: call.to_owned(), id, goes_on: true })
}

/// The end of a subagent, if the words are a note of the host about it.
fn notified(words: &str) -> Option<Fact> {
    let words = words.trim_start().strip_prefix("<task-notification>")?;
    let within = |name: &str| {
        let (_, behind) = words.split_once(&format!("<{name}>"))?;
        Some(behind.split_once(&format!("</{name}>"))?.0.trim().to_owned())
    };
    let end = match within("status").as_deref() {
        Some("completed") | None => End::Done,
        Some(status) => End::Failed(format!("The subagent was {status}.")),
    };
    let result = within("result").or_else(|| within("summary")).unwrap_or_default();
    Some(Fact::AgentEnded { agent: within("task-id")?, end, result })
}

fn answered(line: &Json, message: &Json) -> Option<Line> {
    let content = message.get("content")?;
    if line.get("isApiErrorMessage").is_some_and(|is_error| is_error == true) {
        let id = text(line, "uuid").to_owned();
        let failed = ModelRequest { failed: true, ..ModelRequest::default() };
        return Some(Line {
            requests: vec![Request::new(&id, failed)],
            turn: Turn::Answer(Some(id)),
            facts: vec![Fact::Ended(End::Failed(text_in(content)))],
            ..Line::default()
        });
    }
    let id = match text(message, "id") {
        "" => text(line, "uuid"),
        id => id,
    };
    let is_call = |block: &&Json| text(block, "type") == "tool_use";
    let calls = list(message, "content").filter(is_call).map(|block| text(block, "id").to_owned()).collect();
    let usage = message.get("usage").filter(|usage| usage.is_object() && text(message, "model") != MADE_UP);
    let request = usage.map(|usage| {
        let used = ModelRequest {
            uncached_input: number(usage, "input_tokens"),
            cache_read: number(usage, "cache_read_input_tokens"),
            cache_write: number(usage, "cache_creation_input_tokens"),
            cache_write_hour: usage
                .get("cache_creation")
                .map_or(0, |written| number(written, "ephemeral_1h_input_tokens")),
            output: number(usage, "output_tokens"),
            ..ModelRequest::new(text(message, "model"))
        };
        Request::new(id, used)
    });
    let ends = matches!(text(message, "stop_reason"), "end_turn" | "stop_sequence" | "refusal" | "max_tokens");
    Some(Line {
        messages: vec![json!({ "role": "assistant", "content": content })],
        turn: Turn::Answer(Some(id.to_owned())),
        requests: request.into_iter().collect(),
        calls,
        is_last: ends,
        ..Line::default()
    })
}

/// What the person has written while the agent worked.
fn queued(attachment: &Json) -> Option<Line> {
    let prompt = attachment.get("prompt").filter(|_| text(attachment, "type") == "queued_command")?;
    let message = json!({ "role": "user", "content": prompt });
    let is_notice = text(attachment, "commandMode") == "task-notification";
    let by = if is_notice { By::Host } else { By::PersonMeanwhile };
    let facts = notified(&text_in(prompt)).into_iter().collect();
    Some(Line { messages: vec![message], turn: Turn::Words, by, facts, ..Line::default() })
}
