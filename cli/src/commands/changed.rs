//! What writing commands have in common: the frame that they mean if none is named, the frame in their
//! reports, and the last lines of their reports.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;

use callstack_core::{FrameRef, FrameStatus, Handle, Stack, Tree};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{EMPHASIS, Line, Page};
use crate::same_stack::SameStack;

/// Maximum number of frames that a line names.
const NAMED: usize = 12;

/// A frame after a change.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFrame {
    pub handle: Handle,
    /// The frame above it; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Handle>,
    pub status: FrameStatus,
    pub title: String,
}

impl ChangedFrame {
    pub fn of(tree: &Tree, handle: Handle) -> Self {
        let node = tree.node(handle);
        Self { handle, parent: node.parent(), status: node.status(), title: node.title().to_owned() }
    }

    /// The line that says what was done: `began f2 below f1: Shopping cart`.
    pub fn line(&self, done: &str) -> Line {
        let below = self.parent.map(|parent| format!(" below {parent}")).unwrap_or_default();
        self.line_with(done, &below)
    }

    /// As [`ChangedFrame::line`], with other words after the handle.
    pub fn line_with(&self, done: &str, behind: &str) -> Line {
        Line::new()
            .plain(format!("{done} "))
            .styled(EMPHASIS, self.handle.to_string())
            .plain(format!("{behind}: "))
            .said(&self.title)
    }
}

/// The frame that a command means: the named one, or the active one.
///
/// # Errors
/// If none is named and none is active; the errors of [`Stack::resolve`].
pub fn named_or_active(stack: &Stack, named: Option<FrameRef>) -> Result<Handle, Failure> {
    chosen(stack, named, "no frame is active; name the frame")
}

/// As [`named_or_active`], for commands that name the frame with `--frame`.
pub fn frame_or_active(stack: &Stack, named: Option<FrameRef>) -> Result<Handle, Failure> {
    chosen(stack, named, "no frame is active; name the frame with --frame FRAME")
}

fn chosen(stack: &Stack, named: Option<FrameRef>, missing: &str) -> Result<Handle, Failure> {
    match named {
        Some(frame) => Ok(stack.resolve(frame)?),
        None => stack.active().ok_or_else(|| {
            Failure::new(Exit::Refused, "no_active_frame", missing)
                .next("`callstack tree` shows the frames with their handles")
        }),
    }
}

/// Writes a line that lists frames, if there are any: `still open below it: f4, f5`.
pub fn list(page: &mut Page<'_>, label: &str, frames: &[Handle]) -> io::Result<()> {
    if frames.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = frames.iter().take(NAMED).map(Handle::to_string).collect();
    let more = match frames.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    page.text(0, &format!("{label}: {}{more}", named.join(", ")))
}

/// Writes the command that is useful next, on the same stack.
pub fn next(page: &mut Page<'_>, same_stack: &SameStack, step: impl Display) -> io::Result<()> {
    page.notice("next", &same_stack.named_in(&step.to_string()))
}

/// A text as a word of a shell's command line.
pub fn quoted(text: &str) -> Cow<'_, str> {
    // Fails only for a character that no argument can contain.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}
