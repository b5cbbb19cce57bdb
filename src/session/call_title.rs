//! The titles of tool calls: one line for people that says what a call was about and how it ended.

use crate::frame::{FrameStatus, Handle};
use crate::text::{beginning, one_line};
use crate::tree::Tree;

/// Maximum length of a title, in characters.
const LONGEST: usize = 160;

/// A title for a call about a frame, such as `f4 Shopping cart → completed: Cart::total()`. While an agent
/// works on the frame, the title has no end.
pub fn of_frame(tree: &Tree, handle: Handle) -> String {
    let frame = tree.node(handle).record();
    let said = match frame.status {
        FrameStatus::Blocked if !frame.waits_for().trim().is_empty() => frame.waits_for(),
        _ => frame.dense_results(),
    };
    let end = match (frame.status, said.trim()) {
        (FrameStatus::InProgress, _) => String::new(),
        (status, "") => format!(" → {status}"),
        (status, said) => format!(" → {status}: {said}"),
    };
    line(&format!("{}{end}", name(tree, handle)))
}

/// A frame in a title, such as `f4 Shopping cart`.
pub fn name(tree: &Tree, handle: Handle) -> String {
    format!("{handle} {}", tree.node(handle).title())
}

/// A text as a title: on one line, and cut to the maximum length.
pub fn line(text: &str) -> String {
    let line = one_line(text);
    match beginning(&line, LONGEST).len() == line.len() {
        true => line,
        false => format!("{}…", beginning(&line, LONGEST - 1).trim_end()),
    }
}

/// Returns the frames that have ended, or wait for an answer. A call that has worked on these frames reports
/// this.
pub fn ended(tree: &Tree, frames: &[Handle]) -> Vec<Handle> {
    let is_over = |frame: &&Handle| {
        let status = tree.node(**frame).status();
        !matches!(status, FrameStatus::Planned | FrameStatus::InProgress)
    };
    frames.iter().filter(is_over).copied().collect()
}
