//! The rules of providers for requests, written a second time in this file: pairs of calls and outcomes,
//! their order, thinking, and the marks of caches. Sources: the documentation of tool use, extended thinking
//! and prompt caching of Anthropic; of function calling and reasoning items of OpenAI; of function calling
//! and thought signatures of Gemini.

use callstack_core::fold::Wire;
use serde_json::Value;

/// Returns the reason why a provider would refuse a request.
pub fn problem(wire: Wire, request: &str) -> Option<String> {
    let Ok(request) = serde_json::from_str::<Value>(request) else { return Some("it is not JSON".into()) };
    match wire {
        Wire::Anthropic => anthropic(&request),
        Wire::Responses => responses(&request),
        Wire::Chat => chat(&request),
        Wire::Gemini => gemini(&request),
        Wire::Opencode => opencode(&request),
        Wire::Pi => pi(&request),
        other => Some(format!("{other} has no rules")),
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn is(value: &Value, key: &str, expected: &str) -> bool {
    value[key] == expected
}

/// The values of a key in the entries of this kind that have the key.
fn all<'a>(entries: &'a [Value], kind: &str, key: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| is(entry, "type", kind)).map(|entry| &entry[key]).collect()
}

fn anthropic(request: &Value) -> Option<String> {
    let messages = list(request, "messages");
    if !messages.first().is_some_and(|message| is(message, "role", "user")) {
        return Some("the first message is not the user's".into());
    }
    let mut marks = 0;
    for (place, message) in messages.iter().enumerate() {
        let content = list(message, "content");
        if message["content"].is_array() && content.is_empty() {
            return Some(format!("message {place} is empty"));
        }
        marks += content.iter().filter(|block| block["cache_control"].is_object()).count();
        let next = messages.get(place + 1).map_or(&[][..], |message| list(message, "content"));
        if is(message, "role", "assistant") {
            let calls = all(content, "tool_use", "id");
            let leading = next.iter().take_while(|block| is(block, "type", "tool_result")).count();
            let outcomes = all(&next[..leading], "tool_result", "tool_use_id");
            let is_last = place + 1 == messages.len();
            if !is_last && (calls.len() != outcomes.len() || calls.iter().any(|id| !outcomes.contains(id))) {
                return Some(format!("the calls of message {place} are {calls:?}, their outcomes {outcomes:?}"));
            }
            let is_thinking = |block: &&Value| is(block, "type", "thinking");
            let mut said = content.iter().filter(|block| !is(block, "type", "compaction"));
            if content.iter().any(|block| is_thinking(&block)) && !said.next().is_some_and(|block| is_thinking(&block))
            {
                return Some(format!("message {place} does not begin with its thinking"));
            }
            if messages.get(place + 1).is_some_and(|message| is(message, "role", "assistant")) {
                return Some(format!("two messages of the model stand together: {place}"));
            }
        } else if is(message, "role", "system") {
            let next = messages.get(place + 1);
            let is_behind_user = place.checked_sub(1).is_some_and(|before| is(&messages[before], "role", "user"));
            if !is_behind_user || next.is_some_and(|next| !is(next, "role", "assistant")) {
                return Some(format!("the message {place} of the system is not between the user's and the model's"));
            }
        } else {
            let before = place.checked_sub(1).map_or(&[][..], |place| list(&messages[place], "content"));
            let calls = all(before, "tool_use", "id");
            if let Some(id) = all(content, "tool_result", "tool_use_id").iter().find(|id| !calls.contains(id)) {
                return Some(format!("the outcome {id} of message {place} has no call before it"));
            }
        }
    }
    (marks > 4).then(|| format!("there are {marks} marks"))
}

fn responses(request: &Value) -> Option<String> {
    let input = list(request, "input");
    let is_by_model = |item: &Value| {
        item["type"].as_str().is_some_and(|kind| kind.ends_with("_call")) || is(item, "role", "assistant")
    };
    let mut open: Vec<&Value> = Vec::new();
    for (place, item) in input.iter().enumerate() {
        match item["type"].as_str() {
            Some("function_call") => open.push(&item["call_id"]),
            Some("function_call_output") => match open.iter().position(|id| *id == &item["call_id"]) {
                Some(found) => drop(open.remove(found)),
                None => return Some(format!("the outcome {} has no call before it", item["call_id"])),
            },
            Some("reasoning") if place + 1 < input.len() && !is_by_model(&input[place + 1]) => {
                return Some(format!("the reasoning {place} has nothing behind it"));
            }
            Some("message") if is(item, "role", "user") && !open.is_empty() => {
                return Some(format!("the calls {open:?} have no outcome"));
            }
            _ => {}
        }
    }
    let may_be_open = input.last().is_none_or(|last| is(last, "type", "function_call"));
    (!open.is_empty() && !may_be_open).then(|| format!("the calls {open:?} have no outcome"))
}

fn chat(request: &Value) -> Option<String> {
    let messages = list(request, "messages");
    let mut open: Vec<&Value> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if is(message, "role", "tool") {
            match open.iter().position(|id| *id == &message["tool_call_id"]) {
                Some(found) => drop(open.remove(found)),
                None => return Some(format!("the outcome {} has no call before it", message["tool_call_id"])),
            }
            continue;
        }
        if !open.is_empty() {
            return Some(format!("the calls {open:?} have no outcome before message {place}"));
        }
        if is(message, "role", "assistant") {
            let calls = list(message, "tool_calls");
            if message["tool_calls"].is_array() && calls.is_empty() {
                return Some(format!("message {place} has an empty list of calls"));
            }
            if calls.is_empty() && message["content"].is_null() {
                return Some(format!("message {place} says nothing"));
            }
            open = calls.iter().map(|call| &call["id"]).collect();
        }
    }
    let may_be_open = messages.last().is_none_or(|last| is(last, "role", "assistant"));
    (!open.is_empty() && !may_be_open).then(|| format!("the calls {open:?} have no outcome"))
}

fn gemini(request: &Value) -> Option<String> {
    let contents = list(request, "contents");
    for (place, content) in contents.iter().enumerate() {
        let parts = list(content, "parts");
        if parts.is_empty() {
            return Some(format!("content {place} is empty"));
        }
        let names = |content: Option<&Value>, key: &str| -> Vec<Value> {
            let parts = content.map_or(&[][..], |content| list(content, "parts"));
            let mut names: Vec<Value> =
                parts.iter().filter(|part| part[key].is_object()).map(|part| part[key]["name"].clone()).collect();
            names.sort_by_key(Value::to_string);
            names
        };
        let calls = names(Some(content), "functionCall");
        let outcomes = names(contents.get(place + 1), "functionResponse");
        if place + 1 < contents.len() && calls != outcomes {
            return Some(format!("the calls of content {place} are {calls:?}, their outcomes {outcomes:?}"));
        }
        if place == 0 && !names(Some(content), "functionResponse").is_empty() {
            return Some("the conversation begins with an outcome".into());
        }
        let first = parts.iter().find(|part| part["functionCall"].is_object());
        if first.is_some_and(|first| first["thoughtSignature"].is_null()) {
            return Some(format!("the first call of content {place} is not signed"));
        }
    }
    None
}

fn opencode(request: &Value) -> Option<String> {
    let messages = request.as_array()?;
    let empty = messages.iter().position(|message| list(message, "parts").is_empty());
    empty.map(|place| format!("message {place} is empty"))
}

fn pi(request: &Value) -> Option<String> {
    let mut open: Vec<&Value> = Vec::new();
    for (place, message) in request.as_array()?.iter().enumerate() {
        if is(message, "role", "toolResult") {
            match open.iter().position(|id| *id == &message["toolCallId"]) {
                Some(found) => drop(open.remove(found)),
                None => return Some(format!("the outcome {} has no call before it", message["toolCallId"])),
            }
        } else if is(message, "role", "assistant") {
            let content = list(message, "content");
            if content.is_empty() {
                return Some(format!("message {place} is empty"));
            }
            open = all(content, "toolCall", "id");
        }
    }
    None
}

#[test]
fn requests_that_providers_refuse_are_found() {
    for (wire, request) in [
        (
            Wire::Anthropic,
            r#"{"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}]}"#,
        ),
        (Wire::Responses, r#"{"input": [{"type": "function_call_output", "call_id": "1"}]}"#),
        (Wire::Responses, r#"{"input": [{"type": "reasoning"}, {"type": "message", "role": "user"}]}"#),
        (Wire::Chat, r#"{"messages": [{"role": "tool", "tool_call_id": "1"}]}"#),
        (Wire::Gemini, r#"{"contents": [{"parts": [{"functionCall": {"name": "a"}}]}]}"#),
        (Wire::Opencode, r#"[{"parts": []}]"#),
        (Wire::Pi, r#"[{"role": "toolResult", "toolCallId": "1"}]"#),
        (Wire::Pi, "{"),
    ] {
        assert!(problem(wire, request).is_some(), "{wire}: {request}");
    }
}
