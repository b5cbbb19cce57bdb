//! The claims of workers, as the commands see them that a person or an agent runs.

use std::env;

use callstack_core::text::one_line;
use callstack_core::{ClaimedFrame, Error, FrameStatus, Handle, Stack, Tree};

use crate::commands::show::now;
use crate::folder::CLAIM_VARIABLES;
use crate::output::moment;

/// True if a worker has started this program for a frame of this stack, and still has it.
fn works_on(tree: &Tree, own: Option<&ClaimedFrame>, frame: Handle) -> bool {
    own.is_some_and(|own| own.handle == frame && tree.check_claim(own).is_ok())
}

/// Why nobody else goes on with a frame now: a worker has it. `None`: nothing keeps them from it.
pub fn with_worker(stack: &Stack, frame: Handle) -> Option<String> {
    stack.read(|tree| with_worker_in(tree, stack.own_claim(), frame))
}

/// As [`with_worker`], for code that has the tree. `own`: the claim for which this program was started.
fn with_worker_in(tree: &Tree, own: Option<&ClaimedFrame>, frame: Handle) -> Option<String> {
    if works_on(tree, own, frame) {
        return None;
    }
    let claim = tree.node(frame).record().worker_claim().filter(|_| tree.is_with_worker(frame, now()))?;
    Some(format!("the worker {} has {frame} until {}", one_line(&claim.worker), moment(claim.until)))
}

/// Goes on with a frame that is in_progress. It becomes the active one, and no worker gets it any more if its worker has let the
/// lease end. The commands of its own worker leave it where it is.
pub fn go_on(stack: &Stack, frame: Handle) -> Result<(), Error> {
    let is_left = stack.read(|tree| {
        let has_ended = tree.node(frame).record().worker_claim().is_some() && !tree.is_with_worker(frame, now());
        has_ended && !works_on(tree, stack.own_claim(), frame)
    });
    match is_left {
        true => stack.set_status(frame, FrameStatus::InProgress, None),
        false => stack.set_active(frame),
    }
}

/// The claim of the worker that has started this program for a frame: of which stack, the folder of the stack knows.
pub fn own_claim() -> Option<ClaimedFrame> {
    let [handle, worker, generation] = CLAIM_VARIABLES.map(|name| env::var(name).ok());
    // Generations begin with 1, so what cannot be read is refused as an earlier one.
    let generation = generation.and_then(|generation| generation.parse().ok()).unwrap_or(0);
    Some(ClaimedFrame { handle: handle?.parse().ok()?, worker: worker.unwrap_or_default(), generation, until: 0 })
}
