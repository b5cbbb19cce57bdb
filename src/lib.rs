//! callstack-core gives LLM agents a call stack instead of a chat log.
//!
//! An agent's work is a tree of frames: push a frame for a sub-task, pop it with results. Before each request
//! to a model the host asks for the context of the current frame: a small XML text with the frame's
//! ancestors, the relevant siblings and the plan.
//!
//! ```
//! use callstack_core::{NewFrame, PopStatus, Results, Settings, Stack};
//!
//! let stack = Stack::in_memory();
//! let root = stack.push(NewFrame::new("Build a shop").id("ses_1").criteria("Customers can pay"))?;
//! let cart = stack.push(NewFrame::new("Shopping cart").id("ses_2").below(root))?;
//! let results = Results::new("Cart with totals in src/cart.rs").compacted("src/cart.rs: Cart::total()");
//! stack.pop(cart, PopStatus::Completed, results)?;
//! let pay = stack.push(NewFrame::new("Pay for the cart").id("ses_3").below(root))?;
//! println!("{}", stack.context(pay, &Settings::default())?.xml);
//! # Ok::<(), callstack_core::Error>(())
//! ```
//!
//! # Layers
//! Each module is a layer. A module may use only the modules listed before it.
//!
//! | module | content |
//! |---|---|
//! | [`frame`] | a frame: handle, status and the table of transitions, record, events |
//! | [`error`] | the errors: one variant for each problem that a caller can act on |
//! | [`vocabulary`] | the names of the agent's tools in the host, and which it offers |
//! | [`tree`] | the tree of frames: queries, and every change as *decide* and *apply* |
//! | [`context`] | the context of a frame: tokens, relevance, selection, XML, cache |
//! | [`fold`] | a request to a model -> the same request without what its finished frames have said |
//! | [`transcript`] | sessions of agents as their hosts keep them -> logs and usage of frames; a tree of a session |
//! | [`memory`] | runs: agents that manage their own memory (registers, stack and heap) |
//! | [`import`] | plans of other tools as frames |
//! | `session` | host events and the actions that follow from them; with the feature `session` |
//! | [`store`] | persistence of a tree: the store of its events, the documented files, logs |
//! | [`stack`] | [`Stack`], the type that hosts use |
//! | `tools` | the agent's tools: a table of names, schemas, handlers and texts; with the feature `tools` |
//! | `capi` | the C interface; with the feature `capi` |
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `sqlite` | yes | `SqliteStore` and `Stack::open`. Without it no C compiler is needed |
//! | `session` | yes, by `tools` | the module `session`, and the methods of [`Stack`] for hosts with sessions |
//! | `tools` | yes | the agent's tools; includes `session` |
//! | `markdown` | no | `import::checklist`, which reads check lists in Markdown |
//! | `tokenizer` | no | `context::O200k`, which counts tokens with the o200k vocabulary instead of estimating |
//! | `schema` | no | JSON Schemas of records, events and results: they implement `schemars::JsonSchema` |
//! | `capi` | no | the C functions of `include/callstack.h`, the only unsafe code (except one call on macOS); includes `sqlite` and `tools` |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "capi", all(feature = "sqlite", target_vendor = "apple"))), forbid(unsafe_code))]
#![deny(missing_docs)]

#[macro_use]
mod setters;

pub mod archive;
#[cfg(feature = "capi")]
pub mod capi;
pub mod context;
mod dense;
pub mod error;
mod error_source;
pub mod fold;
pub mod frame;
pub mod import;
mod json;
mod keys;
mod keywords;
pub mod memory;
mod ordered;
pub mod search;
#[cfg(feature = "session")]
pub mod session;
pub mod stack;
mod steps;
pub mod store;
pub mod text;
mod threads;
#[cfg(feature = "tools")]
pub mod tools;
pub mod transcript;
pub mod tree;
mod variables;
pub mod vocabulary;
pub mod work;

pub use context::{Budget, Context, Guidance, Settings};
pub use error::{BudgetUnit, Error, ErrorClass, Result};
pub use frame::{
    Actor, Change, Event, Finish, Frame, FrameEdit, FrameRef, FrameStatus, Handle, Hold, HolderKind, Identity,
    NewFrame, NewHold, Parent, PopStatus, Priority, Repair, Results, StackState,
};
#[cfg(feature = "session")]
pub use stack::HostSettings;
pub use stack::{Mirroring, Stack, StackOptions};
pub use store::{
    Durability, EventQuery, HistoryReader, LogLimits, LogPage, LogQuery, LogReader, MemoryStore, MirrorStatus, Store,
    read_history,
};
#[cfg(feature = "sqlite")]
pub use store::{SqliteOptions, SqliteStore};
pub use tree::{Command, Commit, Node, OutlineOptions, OutlineStyle, Records, Tree, decide};
#[cfg(feature = "session")]
pub use vocabulary::ToolSet;
pub use vocabulary::{ToolNames, ToolRole};

/// Compiles and runs the code of the README with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
