//! Where the work stands: what runs, what waits for whom, and what can begin.

use std::collections::HashSet;

use crate::frame::{FrameStatus, Handle, ModelUsage, add_usage};
use crate::tree::Tree;

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
    /// Frames in progress on which somebody works: nothing below them is in progress or blocked. In creation order, as the next three.
    pub running: Vec<Handle>,
    /// Frames whose work was interrupted or stopped, and with which nobody has gone on.
    pub interrupted: Vec<Handle>,
    /// Blocked frames that wait for an answer.
    pub asking: Vec<Handle>,
    /// Blocked frames that are answered, and with which nobody has gone on.
    pub answered: Vec<Handle>,
    /// Failed frames for which somebody has to do something, and other frames that have ended and keep planned ones from beginning.
    pub in_the_way: Vec<Handle>,
    /// The planned frames that can begin, the most urgent first.
    pub ready: Vec<Handle>,
    /// The other planned frames, in the order of the plan.
    pub waiting: Vec<Handle>,
    /// Number of completed frames in the trees that are not finished, or below the frame.
    pub completed: usize,
    /// Number of frames there, without invalidated ones and attempts that were begun anew.
    pub frames: usize,
    /// The sums of the requests to models there, an entry for each model.
    pub usage: Vec<ModelUsage>,
    /// What these have cost, in millionths of a US dollar: what hosts have told, and an estimate of the requests after that.
    pub cost_micro_usd: u64,
}

impl Tree {
    /// Where the work below a frame stands, that frame included, or all work.
    pub fn overview(&self, below: Option<Handle>) -> Overview {
        let is_meant = |handle: &Handle| below.is_none_or(|below| *handle == below || self.is_ancestor(below, *handle));
        let open = |status| self.with_status(status).filter(is_meant).collect::<Vec<_>>();
        let [in_progress, blocked] = [FrameStatus::InProgress, FrameStatus::Blocked].map(open);
        let above_open: HashSet<Handle> =
            in_progress.iter().chain(&blocked).filter_map(|handle| self.node(*handle).parent()).collect();
        let (mut interrupted, in_progress): (Vec<Handle>, Vec<Handle>) =
            in_progress.into_iter().partition(|handle| self.node(*handle).record().is_interrupted());
        let (answered, unanswered): (Vec<Handle>, Vec<Handle>) =
            blocked.into_iter().partition(|handle| self.node(*handle).record().pending_answer().is_some());
        let is_stopped = |handle: &Handle| {
            self.node(*handle).record().current_question().is_some_and(|question| question.interruption)
        };
        let (stopped, asking) = unanswered.into_iter().partition(is_stopped);
        interrupted.extend::<Vec<Handle>>(stopped);
        interrupted.sort_unstable();
        let ready: Vec<Handle> = self.ready().filter(is_meant).collect();
        let can_begin: HashSet<Handle> = ready.iter().copied().collect();
        let is_waiting =
            |handle: &Handle| self.node(*handle).status() == FrameStatus::Planned && !can_begin.contains(handle);
        let waiting = self.unfinished_in_order().filter(is_meant).filter(is_waiting).collect();
        let tops = below.map_or_else(|| self.unfinished_roots(), |below| vec![below]);
        let counted = tops.iter().flat_map(|top| self.subtree(*top)).filter(|handle| {
            let node = self.node(*handle);
            node.status() != FrameStatus::Invalidated && node.retried_as().is_none()
        });
        let usages = tops.iter().map(|top| self.usage(*top)).collect::<Vec<_>>();
        let mut usage = Vec::new();
        usages.iter().flat_map(|usage| &usage.total).for_each(|model| add_usage(&mut usage, model));
        let (mut completed, mut frames) = (0, 0);
        for handle in counted {
            frames += 1;
            completed += usize::from(self.node(handle).status() == FrameStatus::Completed);
        }
        Overview {
            running: in_progress.into_iter().filter(|handle| !above_open.contains(handle)).collect(),
            interrupted,
            asking,
            answered,
            in_the_way: self.in_the_way(below).ended,
            ready,
            waiting,
            completed,
            frames,
            usage,
            cost_micro_usd: usages.iter().map(|usage| usage.total_cost_micro_usd).fold(0, u64::saturating_add),
        }
    }
}
