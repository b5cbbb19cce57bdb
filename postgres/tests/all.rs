//! The tests of the store in PostgreSQL, with a real server.
#![cfg(unix)]

mod basics;
mod lost_connections;
mod networks;
mod server;
mod shared;
