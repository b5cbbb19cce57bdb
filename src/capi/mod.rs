//! The C interface: everything that a [`Stack`](crate::Stack) offers, for C and for languages that can call
//! C.
//!
//! cbindgen generates `include/callstack.h` from this folder and from `cbindgen.toml`, which holds the
//! contract with the caller. `build.rs` lists the files in the order of the header. The code keeps the
//! contract in this way:
//!
//! - Every function is a plain `extern "C"` function whose work is in a closure; `guard` converts errors and
//!   panics to codes. (Functions are not made by macros, because cbindgen does not expand macros.)
//! - Only [`text`], [`error`] and [`stack`] convert pointers to references. They return an error for a null
//!   pointer, a length that no object can have, and bytes that are not UTF-8.
//! - The other duties of the caller (a text is as long as its length says, a stack has not been closed) are
//!   the safety condition of each function.

#![allow(unsafe_code, reason = "pointers come from C; only this folder handles them")]
#![allow(clippy::missing_safety_doc, reason = "all functions have the same condition, which the header states once")]

#[cfg(test)]
mod abi_tests;
#[cfg(test)]
mod api_tests;
pub mod code;
pub mod command;
pub mod context;
pub mod error;
pub mod fold;
mod guard;
#[cfg(test)]
mod header_tests;
pub mod history;
pub mod holding;
pub mod host;
mod known_settings;
pub mod limits;
pub mod logs;
pub mod memory;
pub mod query;
mod record;
pub mod stack;
pub mod text;
pub mod version;
