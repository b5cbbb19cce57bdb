//! An agent that manages its own memory: frames with conversations of their own, and a heap. Its model is a
//! script; put yours into [`ask`], and its tools into [`execute`].
//!
//! ```sh
//! cargo run --example agent
//! ```

use callstack_core::frame::ToolCall;
use callstack_core::memory::{NewRun, Next, Reply};
use callstack_core::{Result, Stack, tools};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let stack = Stack::in_memory(); // or Stack::open(".callstack", …), then the run continues after a crash
    let run = stack
        .start_run(NewRun::new("Add the numbers of the orders").tools("- count(): returns the number of orders"))?;
    loop {
        match tools::advance_run(&stack, run)? {
            // The model is asked: the system prompt is the same in each step, the messages are those of the
            // current frame.
            Next::Ask(prompt) => {
                let length: usize = prompt.messages.iter().map(|message| json!(message).to_string().len()).sum();
                println!(
                    "step {} in {}: {} messages, {length} bytes",
                    prompt.step,
                    prompt.frame,
                    prompt.messages.len()
                );
                stack.run(run).reply(ask(prompt.step))?;
            }
            // A tool of yours. The calls that concern memory are carried out by the library.
            Next::Call(call) => stack.run(run).answer(&call.id, execute(&call), false)?,
            Next::Over { status, results } => {
                println!("{status}: {results}");
                return Ok(());
            }
            _ => unreachable!("this version has no other step"),
        }
    }
}

/// The model: it pushes a frame, counts there, keeps the number, pops the frame, and ends.
fn ask(step: u64) -> Reply {
    let call = |name: &str, arguments: Value| {
        let (id, arguments) = (format!("call_{step}"), arguments.to_string());
        Reply::new("", vec![ToolCall { id, name: name.to_owned(), arguments }])
    };
    match step {
        1 => {
            call("push_frame", json!({ "name": "count", "objective": "Count the orders", "return_spec": "the number" }))
        }
        2 => call("count", json!({})),
        3 => call("heap_alloc", json!({ "name": "orders", "content": "42" })),
        4 => call("pop_frame", json!({ "result": "There are 42 orders." })),
        _ => call("pop_frame", json!({ "result": "The sum is 42." })),
    }
}

/// The tools of the agent.
fn execute(call: &ToolCall) -> &'static str {
    match call.name.as_str() {
        "count" => "42",
        _ => "there is no such tool",
    }
}
