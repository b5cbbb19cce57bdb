//! One call of a tool: the stack, the frame of the caller, and the texts that answers share.

use std::fmt;
use std::sync::Arc;

use callstack_core::context::Guidance;
use callstack_core::frame::{Holder, Release};
use callstack_core::text::{floor_char_boundary, one_line};
use callstack_core::vocabulary::Place;
use callstack_core::{Actor, Error, FrameStatus, Handle, HolderKind, Settings, Stack, Tree};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use crate::clock::now;
use crate::holding::with_worker;

/// The longest title in an answer, in bytes. Titles are in the last line of each.
const LONGEST_TITLE: usize = 200;
/// The number of open frames that a refusal lists.
const LISTED: usize = 12;
/// The words before the frame in the prompt for a subagent, by which a hook knows which frame it is.
pub const HAND_OVER: &str = "Your task is frame ";
/// The value of `frame` that begins another task.
const NEW: &str = "new";

/// Why a call was refused.
#[derive(Debug)]
pub struct Refusal {
    /// The reason for the agent, which can contain titles and other texts.
    text: String,
    /// The kind of the reason, for the log.
    code: &'static str,
}

impl Refusal {
    /// The kind of the reason: that of the error, or a word for all that this server refuses by itself.
    pub fn code(&self) -> &'static str {
        self.code
    }
}

/// The reply of a tool to the agent.
#[derive(Debug)]
pub struct Reply {
    pub text: String,
    /// The blocked frame whose question somebody has to answer.
    pub asks: Option<Handle>,
}

impl Reply {
    /// The reply while the person is being asked. The frames stay at the beginning and in the last line.
    pub fn still_asked(mut self) -> Self {
        let end = self.text.find('\n').unwrap_or(self.text.len());
        self.text.insert_str(end, " The person is being asked: once they have answered, activate needs no answer.");
        self
    }
}

/// The answer of a tool. A refused call has changed nothing.
pub type Answer = Result<Reply, Refusal>;

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self { text, code: "refused" }
    }
}

impl From<&str> for Refusal {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        // An error can quote texts of frames, which must not pose as lines of ours.
        Self { text: one_line(&error.to_string()), code: error.code() }
    }
}

/// A call of a tool.
pub struct Call<'a> {
    /// The stack, whose commands the conversation gives.
    pub stack: &'a Stack,
    pub caller: Option<&'a Caller>,
    pub settings: &'a Settings,
    /// The request was cancelled, or its client has gone.
    pub cancelled: [CancellationToken; 2],
    /// Those of calls that may wait at the same time.
    pub waits: &'a Semaphore,
}

impl Call<'_> {
    /// The frame that an argument names.
    pub fn resolve(&self, name: &str) -> Result<Handle, Refusal> {
        self.stack.resolve(name).map_err(|error| {
            let refusal = Refusal::from(error);
            Refusal { text: format!("{refusal}.{}", self.open_frames()), ..refusal }
        })
    }

    /// The open frame in which the conversation works.
    pub fn bound(&self) -> Option<Handle> {
        self.stack.read(|tree| place(tree, self.caller, self.stack.actor()))
    }

    /// Refuses a call without a frame if the conversation has lost its own: it must know that before it works on.
    fn check_lost(&self) -> Result<(), Refusal> {
        let lost = self.caller.and_then(|caller| self.stack.read(|tree| tree.lost_place(caller.as_str())));
        lost.map_or(Ok(()), |frame| Err(self.lost(frame)))
    }

    /// Refuses to work in a frame that somebody else has blocked while the conversation worked in it, also if the call names it.
    fn check_blocked(&self, frame: Handle) -> Result<(), Refusal> {
        let is_own = |holder: &Holder| {
            let is_unnamed = holder.name.is_empty() || self.caller.is_none();
            is_unnamed || self.caller.is_some_and(|caller| caller.as_str() == holder.name)
        };
        let is_stopped = self.stack.read(|tree| {
            let frame = tree.node(frame).record();
            let holder = frame.holder.as_deref().filter(|holder| holder.kind == HolderKind::Conversation);
            let released = holder.filter(|holder| is_own(holder)).and_then(|holder| holder.released.as_ref());
            frame.status == FrameStatus::Blocked
                && released.is_some_and(|released| matches!(released.how, Release::Stopped { .. }))
        });
        if is_stopped { Err(self.lost(frame)) } else { Ok(()) }
    }

    /// Says why the conversation cannot go on in its frame, and what it can do.
    fn lost(&self, frame: Handle) -> Refusal {
        let name = self.name(frame);
        let (status, above, is_task, waits_for) = self.stack.read(|tree| {
            let record = tree.node(frame).record();
            let above = match record.status.is_open() {
                true => tree.nearest_open(tree.node(frame).parent().unwrap_or(frame)).filter(|above| *above != frame),
                false => tree.nearest_open(frame),
            };
            (record.status, above, is_handed_over(tree, frame), one_line(record.waits_for()))
        });
        let elsewhere = match above {
            Some(above) => format!("activate {{\"frame\": \"{above}\"}} goes on in the frame above it"),
            None => format!("push with \"frame\": \"{NEW}\" begins another task"),
        };
        match status {
            FrameStatus::Blocked if self.is_answered(frame) => format!(
                "somebody else has blocked {name}, in which you were, and it has an answer: activate {{\"frame\": \"{frame}\"}} goes on with \
                 it"
            ),
            FrameStatus::Blocked => format!(
                "somebody else has blocked {name}, in which you were: {waits_for}\nDo not go on with it: tell the user and end your turn. When it \
                 is answered, activate {{\"frame\": \"{frame}\"}} goes on; {elsewhere}"
            ),
            FrameStatus::InProgress => {
                format!("you were in {name}, and somebody else has taken it over: leave it to them; {elsewhere}")
            }
            _ if is_task => format!(
                "your task {name} is {status}: end your turn with its results; or say as frame where else you work, or \"{NEW}\" for \
                 another task"
            ),
            _ => format!("you were in {name}, which somebody else has set to {status}: {elsewhere}"),
        }
        .into()
    }

    /// The frame from which a call works: the named one, else that of the conversation. `None`: a new task begins.
    ///
    /// # Errors
    /// If nobody knows which of the open frames the caller means; if the frame of the conversation is closed.
    pub fn place(&self, named: Option<&str>) -> Result<Option<Handle>, Refusal> {
        match named {
            Some(NEW) => return Ok(None),
            Some(name) => {
                let frame = self.resolve(name)?;
                return self.check_blocked(frame).map(|()| Some(frame));
            }
            None => self.check_lost()?,
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
    /// If none is named and the conversation is in none, or has lost it; if somebody else has stopped its work there.
    pub fn own(&self, named: Option<&str>) -> Result<Handle, Refusal> {
        if let Some(name) = named {
            let frame = self.resolve(name)?;
            return self.check_blocked(frame).map(|()| frame);
        }
        self.check_lost()?;
        self.bound().ok_or_else(|| {
            let open = self.open_frames();
            let what = match open.is_empty() {
                true => "push begins one",
                false => "name one by its handle: frame; or push begins one",
            };
            format!("this conversation is in no frame: {what}.{open}").into()
        })
    }

    /// The frame that a call shows: the named one, else that of the conversation.
    ///
    /// # Errors
    /// If none is named and the conversation is in none, or has lost it.
    pub fn shown(&self, named: Option<&str>) -> Result<Handle, Refusal> {
        named.map_or_else(|| self.own(None), |name| self.resolve(name))
    }

    /// The frames below a root, or all, that were handed over and are not finished.
    pub fn handed_over(&self, root: Option<Handle>) -> Vec<Handle> {
        self.stack.read(|tree| {
            let is_below = |frame: &Handle| root.is_none_or(|root| tree.root(*frame) == root);
            open(tree).filter(|frame| is_below(frame) && is_handed_over(tree, *frame)).collect()
        })
    }

    /// The open frames with a beginning, for texts that ask for one; empty if there are none.
    pub fn open_frames(&self) -> String {
        self.stack.read(|tree| {
            let open = newest_open(tree);
            let more = open.len().saturating_sub(LISTED);
            let names =
                open.iter().take(LISTED).map(|frame| name(tree.node(*frame).title(), *frame)).collect::<Vec<_>>();
            match (names.is_empty(), more) {
                (true, _) => String::new(),
                (_, 0) => format!(" Open frames: {}.", names.join(", ")),
                _ => format!(" Open frames: {}, and {more} older ones (status with all).", names.join(", ")),
            }
        })
    }

    /// The same stack, for the conversation as it says in this call.
    pub fn as_actor(&self, change: impl FnOnce(Actor) -> Actor) -> Stack {
        let actor = self.stack.actor().cloned().unwrap_or_else(|| Actor::new(HolderKind::Conversation, ""));
        self.stack.as_actor(change(actor))
    }

    /// Refuses to enter a frame that the command of a worker works on.
    pub fn check_no_worker(&self, frame: Handle) -> Result<(), Refusal> {
        with_worker(self.stack, frame).map_or(Ok(()), |why| {
            let wait = format!("status {{\"of\": \"{frame}\", \"wait\": 25}} waits for it");
            Err(format!("{why}: {wait}, or work on another frame").into())
        })
    }

    /// Refuses to enter a frame in which another conversation works, or the command of a worker.
    pub fn check_free(&self, frame: Handle) -> Result<(), Refusal> {
        self.check_takes(frame, false)
    }

    /// As [`Call::check_free`], for a conversation that takes over what others work in by themselves, if `takes_over`.
    pub fn check_takes(&self, frame: Handle, takes_over: bool) -> Result<(), Refusal> {
        self.check_no_worker(frame)?;
        let actor = self.stack.actor().cloned().map(|actor| actor.taking_over(takes_over));
        let held = self.stack.read(|tree| tree.check_free(frame, actor.as_ref(), now()));
        let Err(Error::Held { by, .. }) = held else { return Ok(held?) };
        let kind = self.stack.read(|tree| tree.node(frame).record().held_by().map(|holder| holder.kind));
        let wait = format!("status {{\"of\": \"{frame}\", \"wait\": 25}} waits for it");
        let name = self.name(frame);
        Err(match kind {
            Some(HolderKind::Conversation) => {
                format!("another conversation works in {name}: {wait}; if it has ended, go on there with takeOver")
            }
            Some(HolderKind::Person) => {
                format!("{} works in {name}: {wait}, or go on there with takeOver", one_line(&by))
            }
            _ => format!("{} runs {name}: {wait}, or work on another frame", one_line(&by)),
        }
        .into())
    }

    /// The refusal of a command about a frame. If somebody else was faster, it says so.
    pub fn refused(&self, frame: Handle, error: Error) -> Refusal {
        match error {
            Error::Held { .. } | Error::Transition { .. } => {
                self.check_free(frame).err().unwrap_or_else(|| error.into())
            }
            other => other.into(),
        }
    }

    /// True if the work in a frame that has ended was all of the task of the conversation: it was handed over to it.
    pub fn is_over(&self, frame: Handle) -> bool {
        self.stack.read(|tree| {
            let holder = tree.node(frame).record().holder.as_deref();
            let is_own = |name: &str| self.caller.is_none_or(|caller| caller.as_str() == name);
            holder.is_some_and(|holder| holder.is_delegated() && is_own(&holder.name))
        })
    }

    /// The frame with which an answer ends: that of the conversation, and for a caller without a name the one above its work, whose handle
    /// it passes in its next calls.
    pub fn place_after(&self, above: Option<Handle>) -> Option<Handle> {
        self.bound().or(above.filter(|_| self.caller.is_none()))
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

    /// The answer for a frame that has begun, in which the conversation works now.
    pub fn begun(&self, frame: Handle) -> Result<String, Refusal> {
        let context = self.context(frame, Guidance::None)?;
        Ok(format!("{} is in progress: work in it now, then pop it.\n{context}", self.name(frame)))
    }

    /// The handle and title of a frame, such as `f1 (Shop)`.
    pub fn name(&self, frame: Handle) -> String {
        self.stack.read(|tree| name(tree.node(frame).title(), frame))
    }

    /// The prompt with which a subagent begins the work in a frame.
    pub fn prompt(&self, frame: Handle) -> String {
        let name = self.name(frame);
        let criteria = self.stack.read(|tree| tree.node(frame).record().success_criteria.clone());
        let criteria = indented(&criteria);
        format!(
            "{name} has begun, for a subagent. Give it this prompt:\n\
             {HAND_OVER}{name} of the call stack. First call the tool activate of the MCP server callstack with \
             {{\"frame\": \"{frame}\"}}: its answer shows all that you need. Pass \"frame\": \"{frame}\" in every other call of \
             these tools. At the end call pop with your results, then answer with them.\n\
             Success criteria:{criteria}"
        )
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.iter().any(CancellationToken::is_cancelled)
    }

    /// An answer that ends with the frame in which the conversation is: compaction may have removed every other mention.
    pub fn answer_from(&self, own: Option<Handle>, text: impl Into<String>) -> Answer {
        let mut text = text.into();
        let name = own.map(|own| self.name(own)).unwrap_or_default();
        let place = match own {
            Some(own) if self.bound() == Some(own) => Place::In(&name),
            Some(own) => Place::Of(own, &name),
            None => Place::Nowhere,
        };
        text.truncate(text.trim_end().len());
        text.push_str(&format!("\n{place}"));
        Ok(Reply { text, asks: None })
    }
}

/// The open frame in which a conversation works. `None` also if it has lost its own.
pub fn place(tree: &Tree, caller: Option<&Caller>, actor: Option<&Actor>) -> Option<Handle> {
    if caller.is_some_and(|caller| tree.lost_place(caller.as_str()).is_some()) {
        return None;
    }
    // A host with its own stack gives a session a frame, and its conversation can be in one below.
    let of_host =
        |caller: &Caller| tree.by_id(caller.id()).map(|own| tree.in_conversation(caller.id()).pop().unwrap_or(own));
    // The command of a worker works on the frame of that.
    let of_worker = || actor.and_then(Actor::frame);
    let own = caller.and_then(|caller| tree.place_of(caller.as_str()).or_else(|| of_host(caller)));
    own.or_else(of_worker).filter(|frame| frame.index() < tree.len() && tree.node(*frame).status().is_open())
}

/// True if the work in a frame was handed over to a subagent.
pub fn is_handed_over(tree: &Tree, frame: Handle) -> bool {
    tree.node(frame).record().holder.as_deref().is_some_and(callstack_core::frame::Holder::is_delegated)
}

/// A frame with its title, such as `f1 (Shop)`, in one line: nothing in a title can pose as another line of the answer. A long
/// title is cut.
pub fn name(title: &str, frame: Handle) -> String {
    let title = one_line(title);
    let shown = &title[..floor_char_boundary(&title, LONGEST_TITLE)];
    let cut = if shown.len() < title.len() { " …" } else { "" };
    format!("{frame} ({shown}{cut})")
}

/// The lines of a text, each with an indent, so that none can pose as one of ours.
pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("\n  {}", one_line(line))).collect()
}

/// The frames that are in progress or blocked.
fn open(tree: &Tree) -> impl Iterator<Item = Handle> + '_ {
    [FrameStatus::InProgress, FrameStatus::Blocked].into_iter().flat_map(|status| tree.with_status(status))
}

/// The frames that are in progress or blocked, newest first.
pub fn newest_open(tree: &Tree) -> Vec<Handle> {
    let mut open: Vec<Handle> = open(tree).collect();
    open.sort_unstable_by(|one, other| other.cmp(one));
    open
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
