//! `callstack runs`: the runs of agents, and their end.

use callstack_core::{Handle, Stack};

use crate::exit::Exit;
use crate::failure::Failure;

/// Finds a run by its handle, ID or title, or by those of one of its frames.
pub fn find_run(stack: &Stack, name: &str) -> Result<Handle, Failure> {
    let frame = stack.resolve(name)?;
    let run = stack.read(|tree| tree.run(frame).map(|(run, _)| run));
    run.ok_or_else(|| {
        Failure::new(Exit::Refused, "no_run", format!("{frame} belongs to no run"))
            .next("callstack runs lists the runs")
    })
}

/// Ends a run that nobody wants to resume: invalidates its open frames, the newest first. Its history stays.
pub fn drop_run(stack: &Stack, run: Handle, reason: &str) -> callstack_core::Result<Vec<Handle>> {
    let current = stack.run(run).status()?.frame;
    let frames: Vec<Handle> = stack.read(|tree| {
        let mut lineage: Vec<Handle> = tree.lineage(current).take_while(|frame| *frame != run).collect();
        lineage.push(run);
        lineage.retain(|frame| tree.node(*frame).status().is_open());
        lineage
    });
    for frame in &frames {
        stack.invalidate(*frame, reason)?;
    }
    Ok(frames)
}
