//! Tests of stacks on disk: histories, files, faults and processes.

mod database;
#[cfg(feature = "tools")]
mod faults;
#[cfg(feature = "tools")]
mod health;
mod histories;
#[cfg(feature = "tools")]
mod holding;
mod later;
mod layout;
mod logs;
mod panics;
mod places;
mod plan_files;
mod processes;
mod searches;
#[cfg(all(unix, feature = "tools"))]
mod with_less;
#[cfg(feature = "tools")]
mod years;
