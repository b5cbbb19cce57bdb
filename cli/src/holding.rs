//! Who holds a frame, for the commands that a person or an agent runs.

use std::env;

use callstack_core::text::one_line;
use callstack_core::{Actor, Error, Handle, Hold, HolderKind, Stack, Tree};

use crate::clock::now;
use crate::output::moment;

/// The variables in which a command that works on a frame finds its hold: the handle of the frame, the name
/// of the worker, and the generation.
pub const HOLD_VARIABLES: [&str; 3] = ["CALLSTACK_FRAME", "CALLSTACK_WORKER", "CALLSTACK_GENERATION"];

/// True if a worker has started this program for a frame of this stack, and still has the frame.
fn works_on(tree: &Tree, own: Option<&Actor>, frame: Handle) -> bool {
    let is_of_frame = |own: &&Actor| own.frame() == Some(frame);
    own.filter(is_of_frame).is_some_and(|own| tree.check_hold(own).is_ok())
}

/// Why no other actor continues a frame now: a worker has it. `None`: nothing keeps other actors from it.
pub fn with_worker(stack: &Stack, frame: Handle) -> Result<Option<String>, Error> {
    stack.read(|tree| {
        let holder = tree.holder(frame, now()).filter(|holder| holder.kind == HolderKind::Worker)?;
        let until = holder.until.map_or(String::new(), |until| format!(" until {}", moment(until)));
        let why = || format!("the worker {} has {frame}{until}", one_line(&holder.name));
        (!works_on(tree, stack.actor(), frame)).then(why)
    })
}

/// The hold of the worker that has started this program for a frame. The folder of the stack knows to which
/// stack it belongs.
pub fn own_hold() -> Option<Hold> {
    let [handle, worker, generation] = HOLD_VARIABLES.map(|name| env::var(name).ok());
    // Generations begin with 1, so a generation that cannot be read is refused as an earlier one.
    let generation = generation.and_then(|generation| generation.parse().ok()).unwrap_or(0);
    let (kind, name) = (HolderKind::Worker, worker.unwrap_or_default());
    Some(Hold { handle: handle?.parse().ok()?, kind, name, generation, until: 0, tries: 0 })
}
