//! What a call says about a frame that begins or resumes, or that has to wait for others, for every kind of
//! caller.

use crate::context::Settings;
use crate::error::Result;
use crate::frame::{FrameRef, FrameStatus, Handle, Identity, NewFrame};
use crate::session::calls::{listed, name};
use crate::stack::{Reopened, Stack};
use crate::tree::{Parts, Tree};
use crate::vocabulary::{ToolNames, ToolRole};

/// A frame from the arguments of a call: title, criteria, the criteria in one line, task; and the frames on
/// which it depends.
pub(super) fn new_frame<F: Into<FrameRef>>(words: [String; 4], depends_on: Vec<F>) -> NewFrame {
    let [title, success_criteria, success_criteria_compacted, task] = words;
    let identity = Identity { title, success_criteria, success_criteria_compacted };
    let depends_on = depends_on.into_iter().map(Into::into).collect();
    NewFrame { identity, task, depends_on, ..NewFrame::default() }
}

/// Checks that a frame that begins, or is retried, has what it needs, unless it is to begin anyway. A new
/// attempt needs what the attempt before it has needed. `is_answered`: the call answers the frame, if it
/// waits to begin.
///
/// # Errors
/// As [`Tree::check_ready`].
pub(super) fn check_ready(tree: &Tree, frame: Handle, is_anew: bool, is_answered: bool, anyway: bool) -> Result<()> {
    let record = tree.node(frame).record();
    let begins = is_anew || record.status == FrameStatus::Planned || record.waits_to_begin();
    match begins {
        false if record.status.is_unfinished() => tree.check_is_work(frame),
        true if anyway => tree.check_is_work(frame),
        true if is_answered => tree.check_answered(frame),
        true => tree.check_ready(frame),
        false => Ok(()),
    }
}

/// The answer about a frame that has begun or resumed in the conversation of the caller.
pub(super) fn told(tree: &Tree, frame: Handle, is_new: bool, tools: &ToolNames) -> String {
    let state = if is_new { "has begun" } else { "is in progress" };
    let finish = tools.get(ToolRole::Pop).map_or("finish it".to_owned(), |pop| format!("finish it with {pop}"));
    format!("{} {state}: work in it now, then {finish}.", name(tree, frame))
}

/// Says which frames have used the results of a reopened frame, because their agents are not told. Empty if
/// there are none.
pub(super) fn used_by(reopened: &Reopened) -> String {
    match &reopened.begun[..] {
        [] => String::new(),
        begun => format!(
            " Its results were used by frames that have begun or ended: {}; look whether they hold.",
            listed(begun)
        ),
    }
}

/// An answer with a sentence after its first line.
pub(super) fn with_sentence(mut answer: String, sentence: &str) -> String {
    let end = answer.find('\n').unwrap_or(answer.len());
    answer.insert_str(end, sentence);
    answer
}

/// The context of a frame that has begun. If there is no room for it, a text that says so.
pub(super) fn context(stack: &Stack, frame: Handle, settings: &Settings) -> String {
    let shown = stack.context(frame, settings);
    shown.map_or_else(|error| format!("Without its context: {error}"), |context| context.xml.trim_end().to_owned())
}

/// The first of the planned frames that can begin.
pub(super) fn first(tree: &Tree, planned: &[Handle]) -> Option<Handle> {
    planned.iter().copied().find(|frame| tree.can_begin(*frame, Parts::Within).is_ok())
}

/// The advice to begin with the first frame of a plan.
pub(super) fn begin_with(first: Handle, tools: &ToolNames) -> String {
    let begin = tools.get(ToolRole::Activate).map_or(String::new(), |activate| format!("{activate} "));
    format!("Begin with {begin}{first}.")
}

/// The answer about a frame that was planned or edited: how it begins, or what it waits for.
pub(super) fn in_the_plan(tree: &Tree, frame: Handle, done: &str, tools: &ToolNames) -> String {
    let waits_for: Vec<Handle> = tree.waits_for(frame).collect();
    let name = name(tree, frame);
    match (&waits_for[..], tools.get(ToolRole::Activate)) {
        ([], Some(activate)) => format!("{name} is {done}. Begin it with {activate} {frame}."),
        ([], None) => format!("{name} is {done}."),
        _ => format!("{name} is {done}. It waits for {}.", listed(&waits_for)),
    }
}
