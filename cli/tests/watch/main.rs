//! `callstack watch` on the full screen, in a real pseudo-terminal.

// Only on Unix: signals, and the modes of its terminals.
#![cfg(unix)]

mod acting;
mod ending;
mod looking;
mod picture;
mod scene;
mod screens;
