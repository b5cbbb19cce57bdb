//! callstack-core gives LLM agents a call stack instead of a chat log.
//!
//! Work lives in a tree of frames: push a frame for a sub-task, pop it with results. Before each
//! model call the host asks for the frame's context and gets a small XML text with its ancestors,
//! the siblings that matter, the plan, and nothing else.
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
//! # The floors
//! Each may know those above it in this list, and none below.
//!
//! | module | what it is |
//! |---|---|
//! | [`frame`] | what a frame is: handle, status and the table of transitions, record, events |
//! | [`error`] | one variant for each thing a caller can do something about |
//! | [`vocabulary`] | the names of the agent's tools, as the host has registered them |
//! | [`tree`] | frames together: queries, and every change as *decide* and *apply* |
//! | [`context`] | from a tree to a prompt: tokens, relevance, selection, XML, cache |
//! | [`memory`] | registers, heap, and the stack machine of agents that manage their own memory |
//! | [`import`] | plans of other tools as frames |
//! | `session` | what a host tells of its sessions, and what to make of it; with the feature `session` |
//! | [`store`] | where a tree lasts: the store of its events, the documented files, logs |
//! | [`stack`] | [`Stack`], the façade that hosts hold |
//! | `tools` | the agent's tools: one table of names, schemas, handlers and texts; with the feature `tools` |
//! | `capi` | the same for C, and for whatever calls C; only with the feature `capi` |
//!
//! # Features
//! `sqlite` (default) adds [`SqliteStore`] and [`Stack::open`]; without it the crate is the engine in
//! memory, and needs no C compiler. `session` (default) adds what is made of a host's sessions, and `tools`
//! (default) the agent's tools. `tokenizer`
//! adds [`context::O200k`], which counts with the o200k vocabulary instead of estimating. `capi` adds the C
//! functions of `include/callstack.h`; the only unsafe code is there. `agent` is what the program `callstack` needs, and
//! adds nothing to the library.

#![cfg_attr(not(feature = "capi"), forbid(unsafe_code))]
#![deny(missing_docs)]

#[macro_use]
mod setters;

#[cfg(feature = "capi")]
pub mod capi;
pub mod context;
pub mod error;
mod error_source;
pub mod frame;
pub mod import;
mod keywords;
pub mod memory;
#[cfg(feature = "session")]
pub mod session;
pub mod stack;
pub mod store;
mod text;
#[cfg(feature = "tools")]
pub mod tools;
pub mod tree;
mod variables;
pub mod vocabulary;

pub use context::{Budget, Context, Guidance, Settings};
pub use error::{Error, Result};
pub use frame::{
    Change, Event, Frame, FrameRef, FrameStatus, Handle, Identity, NewFrame, Parent, PopStatus, Repair, Results,
    StackState,
};
#[cfg(feature = "session")]
pub use stack::HostSettings;
pub use stack::{Stack, StackOptions};
pub use store::{Durability, EventQuery, LogPage, LogQuery, MemoryStore, MirrorStatus, Store, read_history};
#[cfg(feature = "sqlite")]
pub use store::{SqliteOptions, SqliteStore};
pub use tree::{Command, Commit, Node, OutlineOptions, OutlineStyle, Tree, decide};
pub use vocabulary::{ToolNames, ToolRole};

/// The README's code is compiled and run with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
