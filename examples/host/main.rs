//! A host: one agent, whose conversation goes through the frames of a stack. Its model is a script; put yours
//! into [`ask`].
//!
//! ```sh
//! cargo run --example host
//! ```

use std::error::Error;

use callstack_core::fold::{FoldSettings, Wire, fold};
use callstack_core::stack::HostSettings;
use callstack_core::tree::outline;
use callstack_core::{OutlineOptions, Stack, tools};
use serde_json::{Value, json};

const SESSION: &str = "chat";
/// What the own tool of this host answers.
const ORDERS: &str = "order 1: a lamp, 40 EUR, paid\n";

fn main() -> Result<(), Box<dyn Error>> {
    let stack = Stack::in_memory(); // or Stack::open(".callstack", …), then it lasts
    let report = |event: Value| -> Result<(), Box<dyn Error>> {
        perform(&serde_json::to_value(stack.host().report(serde_json::from_value(event)?))?);
        Ok(())
    };

    // The agent works on all its frames in one conversation, which this host folds.
    let (settings, _) = HostSettings::from_environment(r#"{"calls": {"in": "conversation"}}"#);
    stack.host().configure(settings);
    let tools = tools::offered(&stack.host().settings());

    // A session begins, and a person writes: the session is a frame now.
    let wish = "Write a report on the shop";
    report(json!({ "kind": "sessionCreated", "sessionID": SESSION, "title": wish }))?;
    report(json!({ "kind": "message", "sessionID": SESSION, "messageID": "m1", "role": "user", "text": wish }))?;
    let mut messages = vec![json!({ "role": "user", "content": wish })];

    for request in 1.. {
        // Before each request: the context of the frame in which the conversation is, and the folded
        // conversation.
        let found = stack.host().context(SESSION)?.ok_or("the session has no frame")?;
        let conversation = json!({ "messages": messages }).to_string();
        let folded = fold(Wire::Chat, &conversation, &FoldSettings::default());
        let reply = ask(request, &found.context.stable, &folded.text, &found.context.volatile, &tools);
        println!("request {request}: {} of {} bytes of messages", folded.text.len(), conversation.len());
        messages.push(reply.clone());

        let calls = reply["tool_calls"].as_array().cloned().unwrap_or_default();
        for call in &calls {
            let (name, arguments) = (text(&call["function"]["name"]), text(&call["function"]["arguments"]));
            let content = if name == "read_orders" {
                report(json!({ "kind": "toolExecuted", "sessionID": SESSION, "tool": name, "answer": ORDERS }))?;
                json!(ORDERS.repeat(50))
            } else {
                // The answer is a text for the model, also if the call was refused.
                let answer = serde_json::to_value(tools::call(&stack, SESSION, name, arguments))?;
                perform(&answer["effects"]);
                answer["text"].clone()
            };
            messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": content }));
        }
        if calls.is_empty() {
            break;
        }
    }
    report(json!({ "kind": "sessionIdle", "sessionID": SESSION }))?;
    println!("{}", stack.read(|tree| outline(tree, &OutlineOptions::default()))??);
    Ok(())
}

/// What the library asks the host to do. A host with several sessions also creates, prompts and aborts them
/// here.
fn perform(effects: &Value) {
    for effect in effects.as_array().into_iter().flatten().filter(|effect| effect["kind"] == "log") {
        eprintln!("{}: {} {}", text(&effect["level"]), text(&effect["message"]), effect["data"]["handle"]);
    }
}

/// The model. `system` belongs into the system prompt, `now` after the newest message.
fn ask(request: usize, _system: &str, _messages: &str, _now: &str, _tools: &[tools::Tool]) -> Value {
    let call = |name: &str, arguments: Value| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "role": "assistant", "tool_calls": [{ "id": format!("call_{request}"), "type": "function", "function": function }] })
    };
    let (title, results) = ("Count the orders", "There are 42 orders, 3 of them unpaid.");
    match request {
        1 => call(
            "stack_frame_push",
            json!({ "title": title, "successCriteria": "Known", "successCriteriaCompacted": "Known" }),
        ),
        2 => call("read_orders", json!({})),
        3 => call(
            "stack_frame_pop",
            json!({ "status": "completed", "results": results, "resultsCompacted": "42 orders" }),
        ),
        _ => json!({ "role": "assistant", "content": "The shop has 42 orders." }),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
