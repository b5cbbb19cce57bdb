//! The tests of the store in PostgreSQL, with a real server.
#![cfg(unix)]

mod basics;
mod server;
mod shared;
