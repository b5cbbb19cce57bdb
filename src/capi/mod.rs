//! The C ABI: everything a [`Stack`](crate::Stack) can do, for C and for whatever calls C.
//!
//! `include/callstack.h` is made of this folder and holds the contract; `build.rs` says in which order.
//! This is how the contract is kept:
//!
//! - Every function is plain and `extern "C"`, with its work in a closure: `guard` turns errors and
//!   panics into codes. (The header's generator does not see through macros.)
//! - Pointers become references in [`text`], [`error`] and [`stack`] alone. A null pointer, a length
//!   that no object can have and bytes that are no UTF-8 are errors there.
//! - Whatever else the header asks of the caller (that a text is as long as its length says, that a
//!   stack has not been closed) is the safety condition of each function.

#![allow(unsafe_code, reason = "pointers come from C; this is the only folder where they do")]
#![allow(clippy::missing_safety_doc, reason = "all have the same condition, which the header states once")]

pub mod code;
pub mod command;
pub mod context;
pub mod error;
mod guard;
#[cfg(test)]
mod header_tests;
pub mod history;
pub mod host;
pub mod logs;
pub mod memory;
#[cfg(test)]
mod panic_tests;
pub mod query;
pub mod stack;
pub mod text;
pub mod version;
