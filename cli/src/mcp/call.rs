//! One call of a tool: the stack, the frame of the caller, and the texts that answers share.

use std::fmt;
use std::sync::Arc;

use callstack_core::context::Guidance;
use callstack_core::text::one_line;
use callstack_core::{Error, FrameStatus, Handle, Settings, Stack};
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::callers::Callers;

/// The number of open frames that a refusal lists.
const LISTED: usize = 12;
/// The value of `frame` that begins another task.
const NEW: &str = "new";

/// Why a call was refused, for the agent.
#[derive(Debug)]
pub struct Refusal(String);

/// The answer of a tool. A refused call has changed nothing.
pub type Answer = Result<String, Refusal>;

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Refusal {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

/// A call of a tool.
pub struct Call<'a> {
    pub stack: &'a Stack,
    pub callers: &'a Callers,
    pub caller: Option<&'a Caller>,
    pub settings: &'a Settings,
    pub cancelled: CancellationToken,
}

impl Call<'_> {
    /// The frame that an argument names.
    pub fn resolve(&self, name: &str) -> Result<Handle, Refusal> {
        self.stack.resolve(name).map_err(|error| format!("{error}.{}", self.open_frames()).into())
    }

    /// The frame in which the conversation works: the nearest open one from the one that it has entered last, or that has its
    /// ID.
    pub fn bound(&self) -> Option<Handle> {
        let caller = self.caller?;
        self.stack.read(|tree| self.callers.open_frame(caller, tree))
    }

    /// The frame from which a call works: the named one, else that of the conversation. `None`: a new task begins.
    ///
    /// # Errors
    /// If nobody knows which of the open frames the caller means.
    pub fn place(&self, named: Option<&str>) -> Result<Option<Handle>, Refusal> {
        match named {
            Some(NEW) => return Ok(None),
            Some(name) => return self.resolve(name).map(Some),
            None => {}
        }
        if let Some(caller) = self.caller
            && let Some(over) = self.stack.read(|tree| self.callers.closed_task(caller, tree))
        {
            return Err(format!(
                "your task {} is over: end your turn with its results; frame says where else you work, or \"{NEW}\" begins \
                 another task",
                self.name(over)
            )
            .into());
        }
        let bound = self.bound();
        let open = self.open_frames();
        match bound.is_none() && self.caller.is_none() && !open.is_empty() {
            true => {
                Err(format!("say from which frame you work: frame is a handle, or \"{NEW}\" for another task.{open}")
                    .into())
            }
            false => Ok(bound),
        }
    }

    /// The frame in which a call works.
    ///
    /// # Errors
    /// If none is named and the conversation is in none.
    pub fn own(&self, named: Option<&str>) -> Result<Handle, Refusal> {
        if let Some(name) = named {
            return self.resolve(name);
        }
        self.bound().ok_or_else(|| {
            let open = self.open_frames();
            let what =
                if open.is_empty() { "push begins one" } else { "name one by its handle: frame; or push begins one" };
            format!("this conversation is in no frame: {what}.{open}").into()
        })
    }

    /// The frames below a root, or all, that were handed over and are not finished.
    pub fn handed_over(&self, root: Option<Handle>) -> Vec<Handle> {
        self.stack.read(|tree| {
            let open =
                [FrameStatus::InProgress, FrameStatus::Blocked].into_iter().flat_map(|status| tree.with_status(status));
            let is_below = |frame: &Handle| root.is_none_or(|root| tree.root(*frame) == root);
            open.filter(|frame| is_below(frame) && self.callers.is_handed_over(*frame)).collect()
        })
    }

    /// The open frames with a beginning, for texts that ask for one; empty if there are none.
    pub fn open_frames(&self) -> String {
        self.stack.read(|tree| {
            let mut open: Vec<Handle> = [FrameStatus::InProgress, FrameStatus::Blocked]
                .into_iter()
                .flat_map(|status| tree.with_status(status))
                .collect();
            open.sort_unstable();
            let more = open.len().saturating_sub(LISTED);
            let names =
                open.iter().rev().take(LISTED).map(|frame| name(tree.node(*frame).title(), *frame)).collect::<Vec<_>>();
            match (names.is_empty(), more) {
                (true, _) => String::new(),
                (_, 0) => format!(" Open frames: {}.", names.join(", ")),
                _ => format!(" Open frames: {}, and {more} older ones (status with all).", names.join(", ")),
            }
        })
    }

    /// Notes that the conversation works in a frame from now on. Its own frame does not change if the work in this one was
    /// handed over to a subagent that the host does not tell apart from it.
    pub fn enter(&self, frame: Handle) {
        if let Some(caller) = self.caller
            && self.callers.handed_over_by(frame).as_ref() != Some(caller)
        {
            // The handle in the answer is enough to go on.
            let _ = self.callers.enter(caller, frame);
        }
    }

    /// Notes that the work in a frame is handed over to a subagent.
    pub fn hand_over(&self, frame: Handle) {
        // The prompt names the frame in each call.
        let _ = self.callers.note_handed_over(frame, self.caller);
    }

    /// Refuses to enter a frame in which another conversation works, or that this one has handed over.
    pub fn check_free(&self, frame: Handle) -> Result<(), Refusal> {
        let worker = self.callers.worker(frame);
        let is_others = worker.as_ref().is_some_and(|worker| Some(worker) != self.caller);
        match is_others {
            true => Err(format!(
                "another conversation works in {}: status {{\"of\": \"{frame}\", \"wait\": 25}} waits for it; if it has ended, go on \
                 there with takeOver",
                self.name(frame)
            )
            .into()),
            false => Ok(()),
        }
    }

    /// Notes that the conversation has left a frame, for the one above it. Returns true if the frame was handed over to it:
    /// then its task is over.
    pub fn leave(&self, frame: Handle, parent: Option<Handle>) -> bool {
        let is_handed_over = self.callers.is_handed_over(frame);
        if let Some(caller) = self.caller
            && self.callers.frame(caller) == Some(frame)
            && !is_handed_over
        {
            let _ = self.callers.set_frame(caller, parent);
        }
        is_handed_over
    }

    /// The context of a frame, with the advice on the work with the stack or without it.
    pub fn context(&self, frame: Handle, guidance: Guidance) -> Result<String, Refusal> {
        let settings = self.settings.clone().guidance(guidance);
        Ok(Arc::unwrap_or_clone(self.stack.context(frame, &settings)?).xml)
    }

    /// True if a blocked frame has its answer.
    pub fn is_answered(&self, frame: Handle) -> bool {
        self.stack.read(|tree| tree.node(frame).record().pending_answer().is_some())
    }

    /// The frames below a frame that are open or planned, at most a dozen.
    pub fn unfinished_below(&self, frame: Handle) -> Vec<Handle> {
        let is_left = |status: FrameStatus| status.is_open() || status == FrameStatus::Planned;
        self.stack.read(|tree| {
            tree.descendants(frame).filter(|below| is_left(tree.node(*below).status())).take(LISTED).collect()
        })
    }

    /// The first planned child of a frame that can begin.
    pub fn next_ready(&self, parent: Handle) -> Option<Handle> {
        self.stack.read(|tree| {
            let can_begin =
                |child: &Handle| tree.node(*child).status() == FrameStatus::Planned && tree.check_ready(*child).is_ok();
            tree.node(parent).children().iter().copied().find(can_begin)
        })
    }

    /// The handle and title of a frame, such as `f1 (Shop)`.
    pub fn name(&self, frame: Handle) -> String {
        self.stack.read(|tree| name(tree.node(frame).title(), frame))
    }

    /// The prompt with which a subagent begins the work in a frame.
    pub fn prompt(&self, frame: Handle) -> String {
        let name = self.name(frame);
        let criteria = self.stack.read(|tree| tree.node(frame).record().success_criteria.clone());
        format!(
            "{name} has begun, for a subagent. Give it this prompt:\n\
             Your task is frame {name} of the call stack. First call the tool activate of the MCP server callstack with \
             {{\"frame\": \"{frame}\"}}: its answer shows all that you need. Pass \"frame\": \"{frame}\" in every other call of \
             these tools. At the end call pop with your results, then answer with them.\n\
             Success criteria: {criteria}"
        )
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// An answer that ends with the frame in which the conversation is: compaction may have removed every other mention.
    pub fn answer_from(&self, own: Option<Handle>, text: impl Into<String>) -> Answer {
        let mut text = text.into();
        let end = match own {
            Some(own) if self.bound() == Some(own) => format!("You are in {}.", self.name(own)),
            Some(own) => format!("This was for {}: pass \"frame\": \"{own}\" to go on in it.", self.name(own)),
            None => "You are in no frame.".to_owned(),
        };
        text.truncate(text.trim_end().len());
        text.push('\n');
        text.push_str(&end);
        Ok(text)
    }
}

/// A frame with its title, such as `f1 (Shop)`, in one line: nothing in a title can pose as another line of the answer.
pub fn name(title: &str, frame: Handle) -> String {
    format!("{frame} ({})", one_line(title))
}

/// The handles that a text names.
pub fn handles_in(text: &str) -> impl Iterator<Item = Handle> + '_ {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| word.len() < 12).filter_map(|word| word.parse().ok())
}

/// Handles with commas between them.
pub fn listed(frames: &[Handle]) -> String {
    frames.iter().map(Handle::to_string).collect::<Vec<_>>().join(", ")
}
