//! Events that other processes have decided: each event is checked, noted for the mirror, and applied.

use super::outdated::note;
use crate::error::Result;
use crate::frame::Event;
use crate::store::mirror::Mirror;
use crate::tree::Tree;

/// Applies an event of another process, if it fits.
pub(super) fn follow(mirror: Option<&mut Mirror>, tree: &mut Tree, event: Event) -> Result<()> {
    check_fits(tree, &event)?;
    apply_fitting(mirror, tree, event, false)
}

/// Checks that an event can be the next one of the history, and loads what it changes.
pub(super) fn check_fits(tree: &Tree, event: &Event) -> Result<()> {
    tree.checked(|tree| tree.check_next(event))??;
    tree.prepare(event)
}

/// Applies an event that fits. `own`: this process writes the files of its frame.
pub(super) fn apply_fitting(mirror: Option<&mut Mirror>, tree: &mut Tree, event: Event, own: bool) -> Result<()> {
    note(mirror, tree, &event, own);
    let before = tree.failures();
    tree.apply_owned(event);
    // If frames could not be read, the tree with this event is not used: see `catch_up`.
    tree.failure_since(before).map_or(Ok(()), Err)
}
