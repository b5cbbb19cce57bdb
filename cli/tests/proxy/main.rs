//! Tests of `callstack proxy`, as an agent and a provider see it.
#![cfg(unix)]

mod answers;
mod callers;
mod certificates;
mod faults;
mod network;
mod requests;
mod running;
mod watching;
mod world;
