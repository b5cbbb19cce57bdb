//! Tests of hosts with sessions, and of the tools of their agents.

#[cfg(feature = "tools")]
mod advice;
mod answers;
#[cfg(all(feature = "sqlite", feature = "tools"))]
mod commits;
#[cfg(all(feature = "sqlite", feature = "tools"))]
mod conversation;
mod endings;
mod host;
#[cfg(feature = "tools")]
mod host_model;
#[cfg(all(feature = "sqlite", feature = "tools"))]
mod logs;
#[cfg(feature = "tools")]
mod plans;
#[cfg(feature = "tools")]
mod retries;
#[cfg(feature = "tools")]
mod roots;
#[cfg(all(feature = "sqlite", feature = "tools"))]
mod running;
mod sessions;
#[cfg(feature = "tools")]
mod set_back;
#[cfg(feature = "tools")]
mod tools;
mod topics;
mod usage;
