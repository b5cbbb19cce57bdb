//! The memory of agents that manage it themselves: registers, stack and heap, and what a model is asked in a step.
//!
//! A *run* is an agent at work. Its frames are frames of the tree: the root is the task, a push makes a child, a pop
//! finishes it. Each frame has a conversation of its own, and a model sees that of the present frame alone, with the
//! chunks of the heap and, if it has them, its registers. All of it is events, so a run that was killed goes on where it
//! was.
//!
//! A host drives a run by asking what comes next ([`Run::next`](crate::stack::Run::next)): ask a model, deal with a
//! call, or stop.
//!
//! ```
//! use callstack_core::Stack;
//! use callstack_core::frame::ToolCall;
//! use callstack_core::memory::{NewRun, Next, Operation, Reply};
//!
//! let stack = Stack::in_memory();
//! let root = stack.start_run(NewRun::new("Say hello"))?;
//! let run = stack.run(root);
//! let Next::Ask(prompt) = run.next()? else { panic!("a run begins with a question") };
//! assert!(prompt.messages[0].text().starts_with("Say hello"));
//! // The model answers with a call of pop_frame.
//! let call = ToolCall { id: "call_1".into(), name: "pop_frame".into(), arguments: r#"{"result": "Hello"}"#.into() };
//! run.reply(Reply { text: String::new(), calls: vec![call] })?;
//! let Next::Call(call) = run.next()? else { panic!("the call is next") };
//! run.operate(&call.id, Ok(Operation::Pop { result: "Hello".into() }))?;
//! assert!(matches!(run.next()?, Next::Over { results, .. } if results == "Hello"));
//! # Ok::<(), callstack_core::Error>(())
//! ```
//!
//! Rules and limits are those of the specification's two documents on working memory. The heap is for other hosts,
//! too: contexts show the chunks that a frame sees.
//!
//! This floor reads trees and says by which events they change. It knows no clock, no disk and no network.

mod command;
mod heap;
mod machine;
mod prompt;
mod step;

pub(crate) use command::{RunCommand, decide};
pub use machine::{NewRun, Operation, Reply};
#[cfg(feature = "tools")]
pub(crate) use machine::{stored, updated};
pub use prompt::system_prompt;
pub use step::{Next, Prompt, RunStatus};
pub(crate) use step::{next, status};
