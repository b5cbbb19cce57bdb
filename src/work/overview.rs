//! Where the work stands: what runs, what waits for a person or for other frames, and what can begin.

use std::collections::HashSet;

use crate::frame::{Frame, FrameStatus, Handle, ModelUsage, add_usage};
use crate::tree::Tree;
use crate::work::InTheWay;

/// Where the work below a frame stands, or all work. A frame is in one list at most.
///
/// ```
/// use callstack_core::{NewFrame, Stack};
///
/// let stack = Stack::in_memory();
/// let shop = stack.push(NewFrame::new("Shop").id("shop"))?;
/// let cart = stack.plan(NewFrame::new("Cart").id("cart").below(shop))?;
/// let total = stack.plan(NewFrame::new("Totals").id("totals").below(shop).depends_on("cart"))?;
/// let overview = stack.read(|tree| tree.overview(None))?;
/// assert_eq!((overview.running, overview.ready, overview.waiting), (vec![shop], vec![cart], vec![total]));
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Overview {
    /// Frames in progress with work of their own: nothing below them is in progress or blocked. In the order
    /// of the plan, as are the next three lists.
    pub running: Vec<Handle>,
    /// Frames whose work was interrupted or stopped, or put back by a worker, and has not resumed.
    pub interrupted: Vec<Handle>,
    /// Blocked frames that wait for an answer.
    pub asking: Vec<Handle>,
    /// Blocked frames that are answered, and have not resumed.
    pub answered: Vec<Handle>,
    /// Failed frames that need a decision, other ended frames that keep planned frames from beginning, and
    /// planned frames that wait for each other ([`InTheWay::circle`]).
    pub in_the_way: Vec<Handle>,
    /// The planned frames that can begin, the most urgent first.
    pub ready: Vec<Handle>,
    /// The other planned frames, in the order of the plan.
    pub waiting: Vec<Handle>,
    /// Number of completed frames in the trees that are not finished, or below the frame.
    pub completed: usize,
    /// Number of frames there, without invalidated ones and attempts that another one replaces.
    pub frames: usize,
    /// The sums of the requests to models there, an entry for each model.
    pub usage: Vec<ModelUsage>,
    /// What these requests have cost, in millionths of a US dollar: the cost that hosts have told, and an
    /// estimate of the requests after that.
    pub cost_micro_usd: u64,
}

impl Tree {
    /// Where the work below a frame stands, that frame included, or all work.
    pub fn overview(&self, below: Option<Handle>) -> Overview {
        let of_frame = below.into_iter().filter(|below| self.status(*below).is_unfinished());
        let scope: Vec<Handle> = match below {
            Some(below) => of_frame.chain(self.unfinished_below(below)).collect(),
            None => self.unfinished_in_order().collect(),
        };
        let ready: Vec<Handle> = self.ready_within(below).collect();
        let can_begin: HashSet<Handle> = ready.iter().copied().collect();
        let is_open = |handle: &&Handle| self.status(**handle).is_open();
        let above_open: HashSet<Handle> =
            scope.iter().filter(is_open).filter_map(|handle| self.parent(*handle)).collect();
        let InTheWay { ended, circle, .. } = self.in_the_way(below);
        // The others of a circle are in the lists of what has begun.
        let planned = circle.into_iter().filter(|handle| self.status(*handle) == FrameStatus::Planned);
        let mut in_the_way: Vec<Handle> = ended.into_iter().chain(planned).collect();
        in_the_way.sort_unstable();
        let mut overview = Overview { in_the_way, ..Overview::default() };
        for handle in scope {
            if self.status(handle) == FrameStatus::Planned {
                if !can_begin.contains(&handle) && overview.in_the_way.binary_search(&handle).is_err() {
                    overview.waiting.push(handle);
                }
                continue;
            }
            match self.begun_record(handle) {
                Some(record) if record.pending_answer().is_some() => overview.answered.push(handle),
                // A stop asks nothing.
                Some(record) if record.current_question().is_some_and(|question| question.interruption) => {
                    overview.interrupted.push(handle);
                }
                Some(record) if record.status == FrameStatus::Blocked => overview.asking.push(handle),
                Some(record) if record.is_interrupted() || is_let_go(record) => overview.interrupted.push(handle),
                // The work is done in frames below it.
                _ if above_open.contains(&handle) => {}
                _ => overview.running.push(handle),
            }
        }
        overview.ready = ready;
        let tops = below.map_or_else(|| self.unfinished_roots(), |below| vec![below]);
        for handle in tops.iter().flat_map(|top| self.subtree(*top)) {
            let status = self.status(handle);
            if status != FrameStatus::Invalidated && !self.is_retried(handle) {
                overview.frames += 1;
                overview.completed += usize::from(status == FrameStatus::Completed);
            }
        }
        for usage in tops.iter().map(|top| self.usage(*top)) {
            usage.total.iter().for_each(|model| add_usage(&mut overview.usage, model));
            overview.cost_micro_usd = overview.cost_micro_usd.saturating_add(usage.total_cost_micro_usd);
        }
        overview
    }
}

/// True for a frame of workers that has no worker now: its worker was interrupted, or has put it back.
fn is_let_go(record: &Frame) -> bool {
    record.worker().is_some() && record.held_by().is_none()
}

#[cfg(test)]
mod tests {
    use crate::frame::{Frame, FrameStatus, Handle};
    use crate::steps::{LINEAR, assert_grows, steps_of};
    use crate::tree::{Command, Tree, execute};

    #[test]
    fn the_overview_of_a_deep_plan_walks_up_once() {
        assert_grows(LINEAR, 500, |size| {
            let frame = |index: usize| Frame {
                session_id: format!("a{index}"),
                parent_session_id: index.checked_sub(1).map(|above| format!("a{above}")),
                title: "Task".into(),
                status: FrameStatus::Planned,
                depends_on: if index == size / 2 { vec!["lost".into()] } else { Vec::new() },
                ..Frame::default()
            };
            let lost = Frame {
                session_id: "lost".into(),
                status: FrameStatus::Failed,
                title: "Lost".into(),
                ..Frame::default()
            };
            let mut tree = Tree::new();
            execute(&mut tree, Command::Import { frames: (0..size).map(frame).chain([lost]).collect() });
            let (overview, steps) = steps_of(|| tree.overview(None));
            assert_eq!(overview.in_the_way, [Handle::from_index(size).unwrap()]);
            steps
        });
    }
}
