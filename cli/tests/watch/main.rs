//! `callstack watch` on the full screen, in a real pseudo-terminal.

mod acting;
mod ending;
mod looking;
mod picture;
mod scene;
mod screens;
