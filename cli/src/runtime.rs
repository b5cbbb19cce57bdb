//! The asynchronous runtime of the commands that need one. No other command starts one.

use tokio::runtime::{Builder, Runtime};

use crate::exit::Exit;
use crate::failure::Failure;

/// A runtime on this thread. `user`: the part of the program that needs it, for errors.
pub fn runtime(user: &str) -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::new(Exit::Failed, "io", format!("the runtime of the {user} cannot be started: {error}"))
    })
}
