//! Tests of `callstack agent`: they run the program with a scripted model on loopback.

mod context;
mod problems;
mod results;
mod resuming;
mod scene;
mod terminal;
mod usage;
mod working;
mod workspace;
