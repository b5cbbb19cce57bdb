//! The conversation that calls a tool: where it works, which calls are refused, and the texts that answers
//! share.

use super::{Called, Refusal};
use crate::context::{Guidance, Settings};
use crate::error::Error;
use crate::frame::{Actor, FrameStatus, Handle, Holder, HolderKind, Release, Told};
use crate::session::autonomy::{AutonomySettings, advise};
use crate::session::calls;
use crate::stack::Stack;
use crate::text::one_line;
use crate::tools::acting::Acting;
use crate::tools::beginning;
use crate::tree::{Command, Tree};
use crate::vocabulary::{Place, ToolNames, ToolRole};

/// The number of open frames that a refusal lists.
const LISTED: usize = 12;
/// The words before the frame in the prompt for a subagent. Claude Code makes a number of the first 21
/// characters of a prompt and puts it before the system prompt. These characters are the same for all
/// subagents, so that subagents read one another's prompt caches.
const HAND_OVER: &str = "Your task on the call stack is frame ";
/// The value of `frame` that begins another task.
const NEW: &str = "new";

/// A conversation that works with a stack: it gives the stack's commands.
///
/// ```
/// use callstack_core::tools::conversation::{self, Conversation};
/// use callstack_core::{Actor, HolderKind, Settings, Stack};
///
/// let stack = Stack::in_memory().as_actor(Actor::new(HolderKind::Conversation, "codex/1"));
/// let settings = Settings::default().tools(conversation::names(&[]));
/// let conversation = Conversation::new(&stack, &settings);
/// let called = conversation.call("push", r#"{"title": "Shop", "successCriteria": "All tests pass"}"#);
/// assert!(called.answer.text.unwrap().ends_with("You are in f1 (Shop)."));
/// assert_eq!(conversation.place().map(|frame| conversation.name(frame)).as_deref(), Some("f1 (Shop)"));
/// ```
pub struct Conversation<'a> {
    pub(super) stack: &'a Stack,
    pub(super) settings: &'a Settings,
    /// The name of the conversation. `None`: it is not known which conversation it is.
    pub(super) caller: Option<&'a str>,
    /// What the host tells about subagents.
    pub(super) reports: SubagentReports<'a>,
    /// When to advise the agent to push or to pop. `None`: never.
    pub(super) autonomy: Option<&'a AutonomySettings>,
}

/// What a host tells about the subagents of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SubagentReports<'a> {
    /// Nothing: a subagent has to end its frame itself.
    #[default]
    None,
    /// Their ends, with their last answers ([`Conversation::agent_ended`]).
    Ends,
    /// The same, but not which agent calls a tool: calls of subagents come in the name of the conversation
    /// that has started them. A call that names the frame of a subagent is a call of that subagent.
    EndsWithoutCallers,
    /// Everything: also with which prompts they start ([`Conversation::agent_prompted`]), so that the prompt
    /// for a subagent is one line.
    All {
        /// The kind of subagent that the host has for frames that are handed over. It works on files and has
        /// none of these tools, so its prompt is short. `None`: the host has no such kind.
        worker: Option<&'a str>,
    },
}

impl<'a> Conversation<'a> {
    /// The conversation that is the actor of a stack, see [`Stack::as_actor`]. Without a name, the
    /// conversation has to say in each call in which frame it works. Contexts are made with these settings,
    /// in which the tools should have the names of [`names`](super::names).
    pub fn new(stack: &'a Stack, settings: &'a Settings) -> Self {
        Self { stack, settings, caller: stack.actor().and_then(named), reports: SubagentReports::None, autonomy: None }
    }

    /// The same conversation, of a host that tells about subagents.
    #[must_use]
    pub fn reporting(self, reports: SubagentReports<'a>) -> Self {
        Self { reports, ..self }
    }

    /// The same conversation, which is advised in the answers of tools to push or to pop, when the records of
    /// its frame are a reason to do so. Each advice is given once while the conversation works in the frame.
    #[must_use]
    pub fn advised(self, autonomy: &'a AutonomySettings) -> Self {
        Self { autonomy: Some(autonomy), ..self }
    }

    pub(super) fn tells_all_of_agents(&self) -> bool {
        matches!(self.reports, SubagentReports::All { .. })
    }

    /// The frame that an argument names.
    ///
    /// # Errors
    /// A refusal that lists the open frames.
    pub fn resolve(&self, name: &str) -> Result<Handle, Refusal> {
        self.stack.resolve(name).map_err(|error| {
            let refusal = Refusal::from(error);
            Refusal { text: format!("{refusal}.{}", self.open_frames()), ..refusal }
        })
    }

    /// The open frame in which the conversation works. `None` also if it has lost its own frame.
    pub fn place(&self) -> Option<Handle> {
        self.stack.look(|tree| place(tree, self.stack.actor()?))
    }

    /// Refuses a call without a frame if the conversation has lost its own frame: it must know that before it
    /// continues to work.
    fn check_lost(&self) -> Result<(), Refusal> {
        let lost = self.caller.and_then(|caller| self.stack.look(|tree| tree.lost_place(caller)));
        lost.map_or(Ok(()), |frame| Err(self.lost(frame)))
    }

    /// Refuses to work in a frame that another actor has blocked while the conversation worked in it, also if
    /// the call names it.
    fn check_blocked(&self, frame: Handle) -> Result<(), Refusal> {
        let is_own = |holder: &Holder| holder.name.is_empty() || self.caller.is_none_or(|caller| caller == holder.name);
        let is_stopped = self.stack.look(|tree| {
            let frame = tree.node(frame).record();
            let holder = frame.holder.as_deref().filter(|holder| holder.kind == HolderKind::Conversation);
            let released = holder.filter(|holder| is_own(holder)).and_then(|holder| holder.released.as_ref());
            frame.status == FrameStatus::Blocked
                && released.is_some_and(|released| matches!(released.how, Release::Stopped { .. }))
        });
        if is_stopped { Err(self.lost(frame)) } else { Ok(()) }
    }

    /// Says why the conversation cannot continue in its frame, and what it can do.
    fn lost(&self, frame: Handle) -> Refusal {
        let name = self.name(frame);
        let (status, above, is_task, waits_for) = self.stack.look(|tree| {
            let record = tree.node(frame).record();
            let above = match record.status.is_open() {
                true => tree.nearest_open(tree.node(frame).parent().unwrap_or(frame)).filter(|above| *above != frame),
                false => tree.nearest_open(frame),
            };
            (record.status, above, is_handed_over(tree, frame), one_line(record.waits_for()))
        });
        let elsewhere = match above {
            Some(above) => format!("activate {{\"frame\": \"{above}\"}} resumes the frame above it"),
            None => format!("push with \"frame\": \"{NEW}\" begins another task"),
        };
        match status {
            FrameStatus::Blocked if self.is_answered(frame) => format!(
                "another actor has blocked {name}, in which you were, and it has an answer: activate {{\"frame\": \"{frame}\"}} resumes \
                 it"
            ),
            FrameStatus::Blocked => format!(
                "another actor has blocked {name}, in which you were: {waits_for}\nDo not continue: tell the user and end your turn. When it \
                 is answered, activate {{\"frame\": \"{frame}\"}} resumes it; {elsewhere}"
            ),
            FrameStatus::InProgress => {
                format!("you were in {name}, and another actor has taken it over: leave it to them; {elsewhere}")
            }
            _ if is_task => format!(
                "your task {name} is {status}: end your turn with its results; or say as frame where else you work, or \"{NEW}\" for \
                 another task"
            ),
            _ => format!("you were in {name}, which another actor has set to {status}: {elsewhere}"),
        }
        .into()
    }

    /// The frame from which a call works: the named frame, else the frame of the conversation. `None`: a new
    /// task begins.
    ///
    /// # Errors
    /// If it is not known which of the open frames the caller means; if the frame of the conversation is
    /// closed.
    pub(super) fn begins_from(&self, named: Option<&str>) -> Result<Option<Handle>, Refusal> {
        match named {
            Some(NEW) => return Ok(None),
            Some(_) => return self.own(named).map(Some),
            None => self.check_lost()?,
        }
        let bound = self.place();
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
    /// If no frame is named and the conversation is in none, or has lost its frame; if another actor has
    /// stopped its work there.
    pub(super) fn own(&self, named: Option<&str>) -> Result<Handle, Refusal> {
        if let Some(name) = named {
            let frame = self.resolve(name)?;
            return self.check_blocked(frame).map(|()| frame);
        }
        self.check_lost()?;
        self.place().ok_or_else(|| {
            let open = self.open_frames();
            let what = match open.is_empty() {
                true => "push begins one",
                false => "name one by its handle: frame; or push begins one",
            };
            format!("this conversation is in no frame: {what}.{open}").into()
        })
    }

    /// The frame that a call shows: the named frame, else the frame of the conversation.
    ///
    /// # Errors
    /// If no frame is named and the conversation is in none, or has lost its frame.
    pub fn shown(&self, named: Option<&str>) -> Result<Handle, Refusal> {
        named.map_or_else(|| self.own(None), |name| self.resolve(name))
    }

    /// The frames below a root, or of all trees, that were handed over and are not finished.
    pub(super) fn handed_over(&self, root: Option<Handle>) -> Vec<Handle> {
        self.stack.look(|tree| {
            let is_below = |frame: &Handle| root.is_none_or(|root| tree.root(*frame) == root);
            open(tree).filter(|frame| is_below(frame) && is_handed_over(tree, *frame)).collect()
        })
    }

    /// The open frames after a few words that introduce them, for texts that ask for a frame; empty if there
    /// are none.
    pub(super) fn open_frames(&self) -> String {
        self.stack.look(|tree| {
            let open = newest_open(tree);
            let more = open.len().saturating_sub(LISTED);
            let names = open.iter().take(LISTED).map(|frame| calls::name(tree, *frame)).collect::<Vec<_>>();
            match (names.is_empty(), more) {
                (true, _) => String::new(),
                (_, 0) => format!(" Open frames: {}.", names.join(", ")),
                _ => format!(" Open frames: {}, and {more} older ones (status with all).", names.join(", ")),
            }
        })
    }

    /// The same stack, for the conversation with what it says in this call.
    pub(super) fn as_actor(&self, change: impl FnOnce(Actor) -> Actor) -> Stack {
        let actor = self.stack.actor().cloned().unwrap_or_else(|| Actor::new(HolderKind::Conversation, ""));
        self.stack.as_actor(change(actor))
    }

    /// Refuses to enter a frame in which another conversation or the command of a worker works.
    pub(super) fn check_free(&self, frame: Handle) -> Result<(), Refusal> {
        self.check_takes(frame, false)
    }

    /// As [`Conversation::check_free`]. With `takes_over` the conversation takes over frames in which another
    /// conversation or a person works.
    pub(super) fn check_takes(&self, frame: Handle, takes_over: bool) -> Result<(), Refusal> {
        let actor = self.stack.actor().cloned().map(|actor| actor.taking_over(takes_over));
        let now = self.stack.now();
        let held = self.stack.look(|tree| tree.check_free(frame, actor.as_ref(), now));
        let Err(Error::Held { by, .. }) = held else { return Ok(held?) };
        let kind = self.stack.look(|tree| tree.node(frame).record().held_by().map(|holder| holder.kind));
        let wait = format!("status {{\"of\": \"{frame}\", \"wait\": 25}} waits for it");
        let name = self.name(frame);
        Err(match kind {
            Some(HolderKind::Conversation) => {
                format!("another conversation works in {name}: {wait}; if it has ended, resume {frame} with takeOver")
            }
            Some(HolderKind::Person) => {
                format!("{} works in {name}: {wait}, or resume {frame} with takeOver", one_line(&by))
            }
            _ => format!("{} runs {name}: {wait}, or work on another frame", one_line(&by)),
        }
        .into())
    }

    /// The refusal of a command about a frame. If another actor was faster, it says so.
    pub(super) fn refused(&self, frame: Handle, error: Error) -> Refusal {
        match error {
            Error::Held { .. } | Error::Transition { .. } => {
                self.check_free(frame).err().unwrap_or_else(|| error.into())
            }
            other => other.into(),
        }
    }

    /// True if the work in a frame that has ended was the whole task of the conversation: the frame was
    /// handed over to it.
    pub(super) fn is_over(&self, frame: Handle) -> bool {
        let is_task = |holder: &Holder| holder.is_delegated() && self.caller.is_none_or(|caller| caller == holder.name);
        self.stack.look(|tree| tree.node(frame).record().holder.as_deref().is_some_and(is_task))
    }

    /// The frame with which an answer ends: the frame of the conversation. For a caller without a name it is
    /// the frame above its work, and the caller passes that handle in its next calls.
    pub(super) fn place_after(&self, above: Option<Handle>) -> Option<Handle> {
        self.place().or(above.filter(|_| self.caller.is_none()))
    }

    /// The context of a frame, with or without the advice on the work with the stack.
    ///
    /// # Errors
    /// A refusal, for the errors of [`Stack::context`].
    pub fn context(&self, frame: Handle, guidance: Guidance) -> Result<String, Refusal> {
        let settings = self.settings.clone().guidance(guidance);
        Ok(self.stack.context(frame, &settings)?.xml.clone())
    }

    /// True if a blocked frame has its answer.
    pub(super) fn is_answered(&self, frame: Handle) -> bool {
        self.stack.look(|tree| tree.node(frame).record().pending_answer().is_some())
    }

    /// The frames below a frame that are open or planned, at most a dozen.
    pub(super) fn unfinished_below(&self, frame: Handle) -> Vec<Handle> {
        self.stack.look(|tree| tree.unfinished_below(frame).take(LISTED).collect())
    }

    /// The answer for a frame that has begun or resumed, in which the conversation works now.
    pub(super) fn begun_frame(&self, frame: Handle, is_new: bool) -> String {
        let told = self.stack.look(|tree| beginning::told(tree, frame, is_new, &self.settings.tools));
        let settings = self.settings.clone().guidance(Guidance::None);
        format!("{told}\n{}", beginning::context(self.stack, frame, &settings))
    }

    /// The handle and title of a frame, such as `f1 (Shop)`.
    pub fn name(&self, frame: Handle) -> String {
        self.stack.look(|tree| calls::name(tree, frame))
    }

    /// The answer that hands frames over: with the prompts for the subagents.
    pub(super) fn handed(&self, frames: &[Handle]) -> String {
        let begun = |frame: &Handle| format!("{} has begun, for a subagent.", self.name(*frame));
        let SubagentReports::All { worker } = self.reports else {
            let prompt =
                |frame: &Handle| format!("{} Give it this prompt:\n{}", begun(frame), self.prompt(*frame, true));
            return frames.iter().map(prompt).collect::<Vec<_>>().join("\n");
        };
        let kind = worker.map_or_else(String::new, |worker| {
            format!(" of the type {worker} (it can read, write and run; of another type if it needs other tools)")
        });
        let (which, lines) = match frames {
            [_] => ("with this prompt", "it"),
            _ => ("for each, with these prompts", "them"),
        };
        let begun = frames.iter().map(begun).collect::<Vec<_>>().join(" ");
        let lines = format!(
            "{begun} Start one{kind} {which}, word for word; all that it needs is added to {lines}, and its last answer will be the results of the \
             frame:"
        );
        let prompts = frames.iter().map(|frame| format!("\n{}", self.task_line(*frame)));
        lines + &prompts.collect::<String>()
    }

    /// The prompt with which a subagent works in a frame. `has_tools`: it can call the tools of the stack.
    pub(super) fn prompt(&self, frame: Handle, has_tools: bool) -> String {
        let mut settings = self.settings.clone().guidance(Guidance::None);
        let ends_by_answer = self.reports != SubagentReports::None;
        if !has_tools {
            settings.tools = ToolNames::none();
        } else if ends_by_answer {
            // Its answer ends its work, not a call.
            settings.tools = settings.tools.without(ToolRole::Pop);
        }
        let context = beginning::context(self.stack, frame, &settings);
        let calls = match has_tools {
            true => format!("Pass \"frame\": \"{frame}\" in your calls of the tools of the MCP server callstack. "),
            false => String::new(),
        };
        let end = match ends_by_answer {
            true => format!(
                "End with an answer that says what exists now, where, and how it is used: that is recorded as the results of {frame}."
            ),
            false => "At the end call pop with your results, then answer with them.".to_owned(),
        };
        format!("{} What you need for it:\n{context}\n{calls}{end}", self.task_line(frame))
    }

    pub(super) fn task_line(&self, frame: Handle) -> String {
        format!("{HAND_OVER}{}.", self.name(frame))
    }

    /// An answer that ends with the frame in which the conversation is: compaction may have removed every
    /// other mention.
    pub(super) fn answer_from(&self, own: Option<Handle>, text: impl Into<String>) -> Called {
        let mut text = text.into();
        let name = own.map(|own| self.name(own)).unwrap_or_default();
        let place = match own {
            Some(own) if self.place() == Some(own) => Place::In(&name),
            Some(own) => Place::Of(own, &name),
            None => Place::Nowhere,
        };
        text.truncate(text.trim_end().len());
        if let Some(advice) = own.and_then(|own| self.advice(own)) {
            text.push_str(&format!("\n{advice}"));
        }
        text.push_str(&format!("\n{place}"));
        Called::from(text)
    }
}

impl Conversation<'_> {
    /// The advice to push or to pop in a frame in which the conversation works, unless it was given before.
    fn advice(&self, own: Handle) -> Option<String> {
        let autonomy = self.autonomy.filter(|_| self.place() == Some(own))?;
        let advised = self.stack.look(|tree| advise(tree, own, autonomy))?;
        let told = Told::Advice(advised.decision.as_str());
        let noted = self.stack.execute(Command::Tell { frame: own.into(), told });
        noted.is_ok_and(|events| !events.is_empty()).then(|| advised.suggestion(own, &self.settings.tools))
    }
}

impl Acting for &Conversation<'_> {
    type Refusal = Refusal;

    fn stack(&self) -> Stack {
        self.stack.clone()
    }

    fn names(&mut self) -> ToolNames {
        self.settings.tools.clone()
    }

    fn named(&self, name: &str) -> Result<Handle, Refusal> {
        self.resolve(name)
    }

    fn meant(&self, name: Option<&str>) -> Result<Handle, Refusal> {
        self.own(name)
    }

    fn check_ends(&self, frame: Handle) -> Result<(), Refusal> {
        self.check_free(frame)
    }

    fn check_goes_on(&mut self, _: &str) -> Result<(), Refusal> {
        Ok(())
    }

    fn check_begins(&mut self, frame: Handle) -> Result<(), Refusal> {
        self.check_free(frame)
    }

    fn is_task(&self, frame: Handle) -> bool {
        self.stack.look(|tree| is_handed_over(tree, frame))
    }
}

/// The open frame in which a conversation works. `None` also if it has lost its own frame.
pub fn place(tree: &Tree, actor: &Actor) -> Option<Handle> {
    let caller = named(actor);
    if caller.is_some_and(|caller| tree.lost_place(caller).is_some()) {
        return None;
    }
    // A host with its own stack gives a session a frame, and the session's conversation can be in a frame
    // below it.
    let of_host = |caller: &str| {
        let id = caller.split_once('/').map_or(caller, |(_, id)| id);
        tree.by_id(id).map(|own| tree.in_conversation(id).pop().unwrap_or(own))
    };
    let own = caller.and_then(|caller| tree.place_of(caller).or_else(|| of_host(caller)));
    // The command of a worker works on the worker's frame, or in a frame below it. Frames that its
    // conversation has elsewhere are not meant.
    let is_within = |worker: Handle, own: Handle| own == worker || tree.ancestors(own).any(|above| above == worker);
    let place = match actor.frame().filter(|frame| frame.index() < tree.len()) {
        Some(worker) => own.filter(|own| is_within(worker, *own)).or(Some(worker)),
        None => own,
    };
    place.filter(|frame| frame.index() < tree.len() && tree.node(*frame).status().is_open())
}

/// The name of the conversation that an actor is.
fn named(actor: &Actor) -> Option<&str> {
    (actor.kind == HolderKind::Conversation && !actor.name.is_empty()).then_some(&*actor.name)
}

/// The frame that was handed over with a prompt, if a tool has written the prompt. Other frames in it are
/// only mentioned.
pub(super) fn frame_in_prompt(prompt: &str) -> Option<Handle> {
    let (_, rest) = prompt.split_once(HAND_OVER)?;
    let mut words = rest.split(|character: char| !character.is_ascii_alphanumeric());
    words.find_map(|word| word.parse().ok())
}

/// True if the work in a frame was handed over to a subagent.
pub(super) fn is_handed_over(tree: &Tree, frame: Handle) -> bool {
    tree.node(frame).record().holder.as_deref().is_some_and(Holder::is_delegated)
}

/// The lines of a text, each with an indent, so that none of them looks like a line of an answer.
pub(super) fn indented(text: &str) -> String {
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
