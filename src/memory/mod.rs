//! Agent memory: runs of agents that manage their own registers, stack and heap, and the prompts for their
//! models.
//!
//! A *run* is the work of one agent on one task. Its frames are frames of the tree: the root is the task, the
//! tool `push_frame` creates a child, and `pop_frame` finishes it. Each frame has its own conversation. A
//! model sees only the conversation of the current frame, the chunks of the heap and, depending on the
//! [`MemoryModel`], the registers. Everything is stored as events, so a run continues at the same point after
//! its process was killed.
//!
//! With [`RunSettings::shared_results`], the default, a frame also begins with the results of the finished
//! frames around it. The results of a frame are its result, its artifacts and its decisions. A model gives
//! them with `pop_frame`. The host records the files that its tools write, with
//! [`Stack::add_artifact`](crate::Stack::add_artifact) in [`RunStatus::frame`]. The tool `read_frame_log`
//! reads what was said in another frame of the run.
//!
//! A host drives a run in a loop. [`Run::next`](crate::stack::Run::next) returns the next thing to do: ask a
//! model, answer a tool call, or stop.
//!
//! [`MemoryModel`]: crate::frame::MemoryModel
//! [`RunSettings::shared_results`]: crate::frame::RunSettings::shared_results
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
//! run.reply(Reply::new("", vec![call]))?;
//! let Next::Call(call) = run.next()? else { panic!("the call is next") };
//! let pop = Operation::Pop { result: "Hello".into(), artifacts: Vec::new(), decisions: Vec::new() };
//! run.operate(&call.id, Ok(pop))?;
//! assert!(matches!(run.next()?, Next::Over { results, .. } if results == "Hello"));
//! # Ok::<(), callstack_core::Error>(())
//! ```
//!
//! The rules and limits are those of the specification's two documents on working memory. The tools of a run
//! ([`memory_tools`](crate::tools::memory_tools): `push_frame`, `pop_frame`, …) have fixed names, because the
//! host gives the model exactly these tools; [`NewRun::tools`] describes the host's other tools. Hosts
//! without runs can use the heap too: contexts show the chunks that a frame sees.
//!
//! This layer reads trees and returns the events that change them. It uses no clock, no disk and no network;
//! times are parameters.

mod command;
mod heap;
mod machine;
mod prompt;
mod section;
mod step;
mod window;

pub(crate) use command::{RunCommand, decide};
pub use machine::{NewRun, Operation, Reply};
#[cfg(feature = "tools")]
pub(crate) use machine::{stored, updated};
pub use prompt::system_prompt;
pub use step::{Next, Prompt, RunStatus};
pub(crate) use step::{next, status};
pub use window::{ContextWindow, Fit};
