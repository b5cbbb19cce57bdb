//! Tests of stacks on disk: histories, files, faults and processes.

mod database;
#[cfg(feature = "tools")]
mod faults;
mod histories;
mod layout;
mod logs;
mod panics;
#[cfg(unix)]
mod processes;
