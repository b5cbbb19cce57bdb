//! Keeps the stacks of [`callstack_core`] in PostgreSQL, version 15 or newer, so that agents on many machines
//! share them.
//!
//! The engine is the same as with a folder: this crate is a [`Store`](callstack_core::Store), and decides
//! nothing about frames. [`OpenUrl::open_url`] opens a stack; [`PostgresServer`] shares connections between
//! many stacks. An owner of the database makes the schema once, with `callstack postgres migrate URL` or
//! [`migrate`], and lets roles use it with [`grant`].
//!
//! ```no_run
//! use callstack_core::{NewFrame, Stack, StackOptions};
//! use callstack_postgres::OpenUrl;
//!
//! let stack = Stack::open_url("postgres://agents:secret@db.example/agents/shop", StackOptions::default())?;
//! let root = stack.push(NewFrame::new("Build a shop"))?;
//! # Ok::<(), callstack_core::Error>(())
//! ```
//!
//! With the feature `capi` the crate has the C function `callstack_open_url` in addition to those of
//! `callstack.h`: `make native-postgres` builds the library.
//!
//! # Guarantees
//! A command is one transaction. It locks the stack's row, so that it is decided on all earlier commits, and
//! revisions have no gaps. It takes two round trips. If the connection breaks while it commits, the store
//! connects again, waits until the server has ended the broken transaction, and looks whether its events are
//! there: a command is never lost and never done twice. If the server cannot be reached before the time limit
//! of the call, the error says that the outcome is unknown
//! ([`Error::Disconnected`](callstack_core::Error::Disconnected)). The statements work through PgBouncer in
//! transaction mode.
#![cfg_attr(not(feature = "capi"), forbid(unsafe_code))]
#![deny(missing_docs)]

mod archive;
#[cfg(feature = "capi")]
mod capi;
mod compaction;
mod connection;
mod errors;
mod listener;
mod logs;
mod options;
mod pool;
mod reader;
mod schema;
mod server;
mod store;
mod tls;
mod transaction;
mod url;
mod words;

pub use listener::Listener;
pub use options::PostgresOptions;
pub use schema::{Access, Grant, Migrated, grant, grants, migrate, revoke};
pub use server::{OpenUrl, PostgresServer};
pub use store::PostgresStore;
pub use url::{DEFAULT_TENANT, StackUrl};
