//! No matter what is done to the files: nothing acknowledged is lost, and nothing outside the folder changes.

#[cfg(unix)]
mod full_disk;
mod prepared;
#[cfg(unix)]
mod random;
#[cfg(unix)]
mod redirected;
#[cfg(feature = "session")]
mod repaired;
mod replaced;
#[cfg(unix)]
mod unlocked;

use std::path::Path;

use callstack_core::{NewFrame, Stack, StackOptions};
use support::Queries;

fn open(folder: &Path) -> Stack {
    Stack::open(folder, StackOptions::default()).unwrap()
}

fn push(stack: &Stack, id: &str) {
    stack.push(NewFrame::new("Work").id(id).root()).unwrap();
}

fn ids(stack: &Stack) -> Vec<String> {
    stack.state().unwrap().frames.into_iter().map(|frame| frame.session_id).collect()
}
