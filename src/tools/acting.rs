//! What the tools of both tables do: the tools of sessions (`stack_frame_pop`) and the tools of conversations
//! (`pop`). A table has the wording of a tool and of its answer. What happens, and what is refused, is here.
//! What differs by the caller is in [`Acting`].

use super::beginning;
use super::popping::{Ended, Ending, Next};
use crate::error::Error;
use crate::frame::{FrameStatus, Handle, NewFrame, Parent, Results};
use crate::session::calls::{self, listed};
use crate::stack::{Invalidated, Popped, Stack};
use crate::tree::Tree;
use crate::vocabulary::{ToolNames, ToolRole};

/// The caller of a tool: a session of a host, or a conversation without a session.
pub(super) trait Acting {
    /// Why a call is refused.
    type Refusal: From<Error>;

    /// The stack, whose commands are those of the caller.
    fn stack(&self) -> Stack;

    /// The names of the tools that the caller has.
    fn names(&mut self) -> ToolNames;

    /// The frame that an argument names.
    fn named(&self, name: &str) -> Result<Handle, Self::Refusal>;

    /// The frame that an argument names; without an argument the frame of the caller.
    fn meant(&self, name: Option<&str>) -> Result<Handle, Self::Refusal>;

    /// Checks that the caller may end a frame.
    fn check_ends(&self, frame: Handle) -> Result<(), Self::Refusal>;

    /// Checks that the caller can begin a frame in the call that ends another one. `value`: how the caller
    /// has asked for that.
    fn check_goes_on(&mut self, value: &str) -> Result<(), Self::Refusal>;

    /// Checks that the caller may begin a frame.
    fn check_begins(&mut self, frame: Handle) -> Result<(), Self::Refusal>;

    /// True if a frame is the whole task of the caller, and another agent waits for its results.
    fn is_task(&self, frame: Handle) -> bool;
}

/// What a call of `pop` asks for.
pub(super) struct Pop {
    pub(super) frame: Option<String>,
    pub(super) status: Ended,
    pub(super) results: Results,
    pub(super) question: Option<String>,
    pub(super) next: Next,
    pub(super) anyway: bool,
}

/// Finishes or blocks a frame, and begins the next one.
///
/// # Errors
/// As [`Ending::new`], [`Next::checked`] and [`Ending::carry_out`]; those of the caller. After an error
/// nothing has changed.
pub(super) fn pop<A: Acting>(caller: &mut A, asked: Pop) -> Result<Popped, A::Refusal> {
    let Pop { frame, status, results, question, next, anyway } = asked;
    let frame = caller.meant(frame.as_deref())?;
    caller.check_ends(frame)?;
    let ending = Ending::new(status, results, question)?;
    if let Some(value) = next.asked() {
        caller.check_goes_on(value)?;
    }
    let named = next.name().map(|name| caller.named(name)).transpose()?;
    let (stack, is_task) = (caller.stack(), caller.is_task(frame));
    let next = next.checked(&stack, (frame, status, is_task), named, |next| caller.check_begins(next))?;
    Ok(ending.carry_out(&stack, frame, next, anyway)?)
}

/// Takes a frame out of the plan. Returns what else is out of the plan, and the answer about it.
///
/// # Errors
/// As [`Stack::invalidate`]; those of the caller.
pub(super) fn invalidate<A: Acting>(
    caller: &mut A,
    frame: Option<&str>,
    reason: String,
) -> Result<(Handle, Invalidated, String), A::Refusal> {
    // A caller that names the frame does not have to work in it.
    let frame = frame.map_or_else(|| caller.meant(None), |name| caller.named(name))?;
    caller.check_ends(frame)?;
    let stack = caller.stack();
    let done = stack.invalidate(frame, reason)?;
    let tools = caller.names();
    let text = stack.look(|tree| out_of_the_plan(tree, frame, &done, &tools));
    Ok((frame, done, text))
}

/// The frame that a call of `push` asks for, and the frames on which it depends. `words`: see
/// [`beginning::new_frame`].
///
/// # Errors
/// Those of the caller for a name.
pub(super) fn new_frame<A: Acting>(
    caller: &A,
    words: [String; 4],
    depends_on: &[String],
    parent: Option<Handle>,
) -> Result<(NewFrame, Vec<Handle>), A::Refusal> {
    let awaited = depends_on.iter().map(|name| caller.named(name)).collect::<Result<Vec<Handle>, _>>()?;
    let parent = parent.map_or(Parent::Root, |parent| Parent::Frame(parent.into()));
    Ok((NewFrame { parent, ..beginning::new_frame(words, awaited.clone()) }, awaited))
}

/// The answer about a frame that was taken out of the plan: what else is out of the plan, and what is left.
fn out_of_the_plan(tree: &Tree, frame: Handle, done: &Invalidated, tools: &ToolNames) -> String {
    let mut text = format!("{} is out of the plan.", calls::name(tree, frame));
    let is_planned = |frame: &Handle| tree.node(*frame).status() == FrameStatus::Planned;
    let (planned, begun): (Vec<Handle>, Vec<Handle>) = done.dependents.iter().partition(|frame| is_planned(frame));
    let rewire = match tools.get(ToolRole::Edit) {
        Some(edit) => format!("; {edit} (dependsOn) gives them other dependencies"),
        None => "; replan them without it, or begin them anyway".to_owned(),
    };
    for (what, frames, then) in [
        ("So are the planned frames below it", done.invalidated.get(1..).unwrap_or_default(), ""),
        ("Still open below it", &done.still_open, ""),
        ("It was needed by frames that have begun", &begun, ""),
        ("Planned frames depend on it", &planned, &*rewire),
    ] {
        if !frames.is_empty() {
            text.push_str(&format!(" {what}: {}{then}.", listed(frames)));
        }
    }
    text
}
