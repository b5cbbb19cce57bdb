//! A run as a chart: the bar of each frame on its row, the requests, and the lanes of frames that ran at the
//! same time. The flame charts and the formats that show times are made from it.

mod lanes;
pub mod palette;
mod rows;

use callstack_core::frame::{FrameUsage, Span, TimedRequest, Timeline};
use callstack_core::{FrameStatus, Handle, Tree};

pub use lanes::{Edge, FreeLanes, lanes};

/// The frames of a stack with their bars, and the requests. All times are in milliseconds since the Unix
/// epoch.
pub struct Chart {
    /// Number of events in the history that the chart shows.
    pub revision: u64,
    /// The beginning of the first bar or request.
    pub from: u64,
    /// The end of the last bar or request. What has not ended lasts until the time of the newest event, not
    /// until now: the stack does not know whether an agent still works on it.
    pub to: u64,
    /// The frames, parents before their children and siblings in their order.
    pub frames: Vec<ChartFrame>,
    /// The requests, in the order of their ends.
    pub requests: Vec<TimedRequest>,
    /// Number of rows.
    pub rows: usize,
}

/// A frame in a chart.
pub struct ChartFrame {
    pub handle: Handle,
    /// `None` for the frames at the top of the chart.
    pub parent: Option<Handle>,
    /// Number of ancestors in the chart.
    pub level: usize,
    pub status: FrameStatus,
    pub title: String,
    /// The sums of its requests, and of the requests of the frames below it.
    pub usage: FrameUsage,
    /// `None` if the work on the frame has not begun.
    pub bar: Option<Bar>,
}

/// The bar of a frame that has begun.
pub struct Bar {
    pub from: u64,
    /// The end of the frame, or of the chart if it has not ended.
    pub to: u64,
    /// True if the frame has not ended.
    pub is_open: bool,
    /// The times in which it was blocked, within the bar.
    pub blocked: Vec<Span>,
    /// The row, counted from 0 at the top. It is below the row of the parent, and siblings of the same time
    /// have other rows.
    pub row: usize,
    /// The place in [`Chart::frames`] of the nearest ancestor that has a bar.
    pub parent: Option<usize>,
}

impl Chart {
    /// All frames. `timeline`: the timeline of the tree's stack, at least up to the revision of the tree.
    pub fn of(tree: &Tree, timeline: &Timeline) -> Self {
        Self::of_trees(tree, timeline, tree.roots(), timeline.requests().to_vec())
    }

    /// A frame and everything below it, as if there were nothing else.
    pub fn of_frame(tree: &Tree, timeline: &Timeline, frame: Handle) -> Self {
        let mut is_shown = vec![false; tree.len()];
        tree.subtree(frame).for_each(|handle| is_shown[handle.index()] = true);
        let belongs = |request: &&TimedRequest| is_shown.get(request.handle.index()).is_some_and(|shown| *shown);
        let requests: Vec<TimedRequest> = timeline.requests().iter().filter(belongs).cloned().collect();
        let mut chart = Self::of_trees(tree, timeline, &[frame], requests);
        let ends = chart.frames.iter().filter_map(|frame| frame.bar.as_ref()).map(|bar| bar.to);
        let last = ends.chain(chart.requests.iter().map(|request| request.ended_at)).max();
        chart.to = last.unwrap_or(chart.to);
        chart.from = chart.from.min(chart.to);
        chart
    }

    fn of_trees(tree: &Tree, timeline: &Timeline, roots: &[Handle], requests: Vec<TimedRequest>) -> Self {
        // An imported frame can begin or end after the newest event.
        let spans = || tree.handles().filter_map(|handle| timeline.spans(handle));
        let times = spans().flat_map(|spans| [spans.begun_at, spans.ended_at]).flatten();
        let last = times.chain(timeline.latest_time()).max().unwrap_or(0);
        // A run that has just begun lasts a millisecond, so that its open frames can be seen.
        let first = spans().filter_map(|spans| spans.begun_at).min();
        let to = first.map_or(last, |first| last.max(first.saturating_add(1)));
        let mut usages = tree.usage_by_frame();
        let mut frames: Vec<ChartFrame> = Vec::with_capacity(tree.len());
        // The places of the frames from a root down to the current one.
        let mut path: Vec<usize> = Vec::new();
        let top = roots.first().map_or(0, |root| tree.node(*root).depth());
        for handle in roots.iter().flat_map(|root| tree.subtree(*root)) {
            let node = tree.node(handle);
            let level = node.depth() - top;
            path.truncate(level);
            let above = path.iter().rev().copied().find(|place| frames[*place].bar.is_some());
            path.push(frames.len());
            frames.push(ChartFrame {
                handle,
                parent: node.parent().filter(|_| level > 0),
                level,
                status: node.status(),
                title: node.title().to_owned(),
                usage: std::mem::take(&mut usages[handle.index()]),
                bar: bar(timeline, handle, to, above),
            });
        }
        let begins = frames.iter().filter_map(|frame| frame.bar.as_ref()).map(|bar| bar.from);
        let from = begins.chain(requests.iter().map(|request| request.begun_at)).min().unwrap_or(to);
        let rows = rows::place(&mut frames);
        Self { revision: tree.revision(), from, to, frames, requests, rows }
    }
}

fn bar(timeline: &Timeline, handle: Handle, end: u64, parent: Option<usize>) -> Option<Bar> {
    let spans = timeline.spans(handle)?;
    let from = spans.begun_at?;
    // Clocks sometimes go back, but bars do not.
    let to = spans.ended_at.unwrap_or(end).max(from);
    let within = |span: &Span| {
        let begin = span.from.clamp(from, to);
        Span { from: begin, to: Some(span.to.unwrap_or(to).clamp(begin, to)) }
    };
    let blocked = spans.blocked.iter().map(within).collect();
    Some(Bar { from, to, is_open: spans.ended_at.is_none(), blocked, row: 0, parent })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A frame of a test: its level, and the beginning and the end of its bar.
    pub type Drawn = (usize, u64, u64);

    /// Frames of these levels and times, parents before their children.
    pub fn frames(drawn: &[Drawn]) -> Vec<ChartFrame> {
        let mut path: Vec<usize> = Vec::new();
        let frame = |(index, (level, from, to)): (usize, &Drawn)| {
            path.truncate(*level);
            let parent = path.last().copied();
            path.push(index);
            ChartFrame {
                handle: Handle::from_index(index).unwrap(),
                parent: parent.and_then(Handle::from_index),
                level: *level,
                status: FrameStatus::Completed,
                title: String::new(),
                usage: FrameUsage::default(),
                bar: Some(Bar { from: *from, to: *to, is_open: false, blocked: Vec::new(), row: 0, parent }),
            }
        };
        drawn.iter().enumerate().map(frame).collect()
    }
}
