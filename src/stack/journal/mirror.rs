//! The mirror: when each of its files is written, and what queries return about it.

use super::catch_up::catch_up;
use super::outdated::list_changed;
use super::{Journal, TreeFiles};
use crate::error::Result;
use crate::import::PLAN_FILE;
use crate::stack::deadline::Deadline;
use crate::stack::shared_tree::SharedTree;
use crate::stack::span_clock::SpanClock;
use crate::store::mirror::{Due, MirrorStatus, Portion};

/// The state of the mirror that queries return.
#[derive(Default)]
pub(in crate::stack) struct MirrorView {
    /// `None` if the stack has no mirror.
    pub(in crate::stack) status: Option<MirrorStatus>,
    /// The time at which the next files are due, on the clock for spans. `None` if they are up to date.
    pub(in crate::stack) deadline: Option<u64>,
}

/// The files of the mirror to write.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::stack) enum MirrorScope {
    /// If commands write files: the files of the frames that this process has changed. A small portion.
    ChangedFrames,
    /// If `state.json` is due, and not left to other processes: the files of all changed frames, and then
    /// `state.json`. Else the files of the frames that the last commands have changed, and the files that
    /// wait, when they are due. A small portion.
    Due,
    /// As `Due`, in calls with another purpose: only if commands write files.
    DueBeside,
    /// As `DueBeside`, but `state.json` is due less often, because the caller waits for a command.
    DueInCommand,
    /// All files, unless `state.json` is left to other processes: then the files of the frames that this
    /// process has changed.
    Rest,
    /// As `Rest`, but only a portion, for the end of a process.
    Last,
    /// All files.
    All,
}

impl Journal {
    /// Writes the files of the mirror that are in the scope. Waits until another process has written,
    /// up to the deadline.
    ///
    /// # Errors
    /// The errors of the files, and of the store when it reads new events. The mirror's status keeps them.
    /// Commands ignore them; [`Files::flush`](crate::stack::Files::flush) returns them.
    pub(in crate::stack) fn write_mirror(
        &mut self,
        tree: &SharedTree,
        clock: &SpanClock,
        scope: MirrorScope,
        deadline: &Deadline,
    ) -> Result<()> {
        self.check_sound()?;
        let (leaves_state, writes_beside) = (self.leaves_state(tree), self.mirrors_with_commands);
        let Self { store: Some(store), mirror: Some(mirror), is_incomplete, .. } = self else { return Ok(()) };
        let is_behind = !mirror.is_current(tree.read().revision());
        let clock = || clock.now();
        mirror.look(clock());
        let is_beside =
            matches!(scope, MirrorScope::ChangedFrames | MirrorScope::DueBeside | MirrorScope::DueInCommand);
        if is_beside && !writes_beside {
            return Ok(());
        }
        let due = match scope {
            _ if !is_behind => Due::Fresh,
            MirrorScope::ChangedFrames => Due::Fresh,
            MirrorScope::Due | MirrorScope::DueBeside | MirrorScope::DueInCommand => {
                let due = mirror.due(clock(), scope == MirrorScope::DueInCommand);
                if leaves_state { due.min(Due::Waiting) } else { due }
            }
            MirrorScope::Rest | MirrorScope::Last if leaves_state => Due::Waiting,
            MirrorScope::Rest | MirrorScope::Last | MirrorScope::All => Due::Everything,
        };
        let is_in_turn = scope != MirrorScope::ChangedFrames;
        let wants_plan = is_in_turn && mirror.wants_plan(PLAN_FILE, tree.read().revision());
        if due == Due::Fresh && !mirror.is_prompt() && !wants_plan {
            return Ok(());
        }
        let portion = match scope {
            MirrorScope::Rest | MirrorScope::All => Portion::ALL,
            MirrorScope::Due => Portion::POLL,
            _ => Portion::COMMAND,
        };
        let written = mirror.locked(&clock, deadline.remaining(), |mirror| {
            // Other processes may have committed since. An older text must not replace theirs.
            if store.has_news(deadline.remaining())? {
                catch_up(&mut **store, Some(mirror), tree, is_incomplete, deadline)?;
            }
            let written = tree.lend(|tree| match due {
                Due::Fresh => mirror.write_fresh(&clock, &TreeFiles::new(tree, false), portion),
                Due::Waiting => mirror.write_waiting(&clock, &TreeFiles::new(tree, false), portion),
                Due::Everything => {
                    mirror.follow_others(tree.revision());
                    if mirror.has_unlisted() {
                        list_changed(&mut **store, mirror, tree, deadline)?;
                    }
                    mirror.write_all(&clock, &TreeFiles::new(tree, false), portion)
                }
            });
            // The documented files do not wait for it.
            let planned =
                if wants_plan { tree.lend(|tree| mirror.write_plan(&TreeFiles::new(tree, false))) } else { Ok(()) };
            written.and(planned)
        });
        self.noting_damage(written)
    }

    /// The state of the mirror, for queries. Computed while no other command runs.
    pub(in crate::stack) fn mirror_view(&self, tree: &SharedTree) -> MirrorView {
        let Some(mirror) = &self.mirror else { return MirrorView::default() };
        let status = mirror.status();
        let deadline = || mirror.deadline(tree.read().revision(), self.leaves_state(tree));
        MirrorView {
            status: Some(MirrorStatus { error: self.damage.clone().or(status.error), ..status }),
            deadline: if self.damage.is_none() { deadline() } else { None },
        }
    }

    /// True if the tree is so large that `state.json` is left to other processes.
    fn leaves_state(&self, tree: &SharedTree) -> bool {
        tree.read().len() > self.state_file_frames
    }

    /// Removes the `state.json` from which this history was begun, if this process leaves the new one to
    /// other processes. The original is in `before-import/`.
    pub(in crate::stack) fn remove_earlier_state(&mut self, tree: &SharedTree) {
        let leaves_state = self.leaves_state(tree);
        if let Some(mirror) = self.mirror.as_mut().filter(|_| leaves_state) {
            // If it stays, it is only out of date.
            let _ = mirror.remove_earlier_state();
        }
    }
}
