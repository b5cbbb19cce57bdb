//! The session that calls a tool, and functions that several tools share.

use super::acting::Acting;
use super::{Reply, beginning};
use crate::context::Guidance;
use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle, Parent};
use crate::session::calls::{self, CallOptions, CallPlace, listed, told_task};
use crate::session::{Effect, Turn, call_title};
use crate::stack::{Stack, Turns};
use crate::text::hanging_indent;
use crate::tree::{Command, Outline, OutlineOptions, Tree, drawn};
use crate::vocabulary::{BELOW_FRAME, ToolNames, ToolRole};

/// The session that calls a tool, and the effects that the host must carry out.
pub(super) struct Caller<'a> {
    pub(super) stack: &'a Stack,
    pub(super) session_id: &'a str,
    turns: &'a Turns<'a>,
    effects: Vec<Effect>,
    /// What people are told about the call: its title, and the frames whose ends it reports.
    told: Option<(String, Vec<Handle>)>,
}

/// A frame that has begun or resumed in the conversation of the caller.
pub(super) struct Begun {
    frame: Handle,
    /// True if it was planned before.
    is_new: bool,
    /// True if the conversation holds everything that the frame needs.
    is_known: bool,
    /// The frames below it in which the conversation was.
    interrupted: Vec<Handle>,
    /// The frame above it, if the conversation was in another frame than that one.
    parent: Option<Handle>,
}

impl Begun {
    /// The same frame, marked as new: an earlier command of the call has begun it.
    pub(super) fn retried(self) -> Self {
        Self { is_new: true, ..self }
    }
}

impl<'a> Caller<'a> {
    pub(super) fn new(turns: &'a Turns<'a>, session_id: &'a str) -> Self {
        Self { stack: turns.stack, session_id, turns, effects: Vec::new(), told: None }
    }

    /// Returns the effects for the host. Log lines that were added in the meantime are last.
    pub(super) fn into_effects(mut self) -> Vec<Effect> {
        self.turn(|_| ());
        self.effects
    }

    /// Sets what people are told about the call.
    pub(super) fn tell(&mut self, title: &str, ended: Vec<Handle>) {
        self.told = Some((call_title::line(title), ended));
    }

    /// What people are told about the call, if it is not the first line of its answer.
    pub(super) fn told(&mut self) -> Option<(String, Vec<Handle>)> {
        self.told.take()
    }

    /// A frame in a title, such as `f4 Shopping cart`.
    pub(super) fn in_title(&self, frame: Handle) -> String {
        self.stack.look(|tree| call_title::name(tree, frame))
    }

    /// Runs `decide` with a turn, carries out the actions of the turn, and keeps the effects for the host.
    pub(super) fn turn<T>(&mut self, decide: impl FnOnce(&mut Turn<'_>) -> T) -> T {
        let (value, effects) = self.turns.turn(decide);
        self.effects.extend(effects);
        value
    }

    /// Returns the host's names of the tools that it offers.
    pub(super) fn tools(&mut self) -> ToolNames {
        self.turn(|turn| turn.sessions.tools.clone())
    }

    /// Returns a function from the name of a tool in this library to the host's name; `None` if the host does
    /// not offer the tool.
    pub(super) fn naming(&self) -> impl Fn(&str) -> Option<String> {
        let settings = self.stack.host().settings();
        move |tool| settings.tools.contains(tool).then(|| settings.context.tools.of_tool(tool)).flatten()
    }

    /// Returns the frame in which the conversation of the calling session is, if the session has one.
    pub(super) fn own(&self) -> Option<Handle> {
        self.stack.host().place(self.session_id)
    }

    /// Where the frames that agents of this host begin are worked on.
    pub(super) fn call_place(&mut self) -> CallPlace {
        self.turn(|turn| turn.sessions.calls.settings.r#in)
    }

    /// True if the frame of a call is worked on in the conversation of the caller: the host folds
    /// conversations, and no other call of the same message has begun a frame there.
    pub(super) fn works_here(&mut self) -> bool {
        let session_id = self.session_id;
        self.call_place() == CallPlace::Conversation && self.turn(|turn| turn.beside(session_id).is_none())
    }

    /// Checks that a call can begin a frame in the conversation of the caller, which its argument `name` asks
    /// for.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub(super) fn check_works_here(&mut self, name: &str, value: &str) -> Result<()> {
        let expected = match self.call_place() {
            CallPlace::Conversation if self.works_here() => return Ok(()),
            CallPlace::Conversation => "left out: another call of the same message has begun a frame",
            CallPlace::Session => "left out: frames begin in sessions of their own",
        };
        Err(Error::Setting { name: name.into(), value: value.into(), expected })
    }

    /// The frame of the calling session itself. Its conversation may have left it for a frame below.
    pub(super) fn own_frame(&self) -> Option<Handle> {
        self.stack.look(|tree| tree.by_id(self.session_id))
    }

    /// True if the conversation of the caller can begin or resume a frame: the frame of its session, or a
    /// frame without a session of its own.
    pub(super) fn can_enter(&self, frame: Handle) -> bool {
        self.stack.look(|tree| {
            let record = tree.node(frame).record();
            tree.by_id(self.session_id) == Some(frame) || !record.has_session() || record.conversation().is_some()
        })
    }

    /// The advice on what comes after a frame that the caller has popped, if the caller works on the parent;
    /// empty if there is none.
    pub(super) fn advice_after(&mut self, frame: Handle) -> String {
        let tools = self.tools();
        let next = self.stack.look(|tree| calls::next(tree, frame, &tools));
        next.map_or(String::new(), |next| format!(" {next}"))
    }

    /// Checks that the conversation of the caller can begin a frame.
    ///
    /// # Errors
    /// [`Error::TooDeep`].
    pub(super) fn check_enter(&mut self, frame: Handle) -> Result<()> {
        self.turn(|turn| turn.check_depth(turn.tree.node(frame).parent()))
    }

    /// Begins or resumes a frame in the conversation of the caller.
    ///
    /// # Errors
    /// [`Error::TooDeep`], [`Error::Held`], [`Error::Transition`].
    pub(super) fn enter(&mut self, frame: Handle) -> Result<Begun> {
        let session_id = self.session_id;
        let (is_own, status) = self.stack.look(|tree| {
            let node = tree.node(frame);
            (node.session_id() == session_id, node.status())
        });
        if is_own && status != FrameStatus::InProgress {
            let (frame, status) = (frame.into(), FrameStatus::InProgress);
            self.stack.execute(Command::SetStatus { frame, status, results: None, results_compacted: None })?;
        } else if !is_own {
            self.check_enter(frame)?;
            self.stack.execute(Command::Enter { frame: frame.into(), session_id: session_id.to_owned() })?;
        }
        let from = self.own();
        let parent = self.stack.look(|tree| tree.node(frame).parent()).filter(|parent| Some(*parent) != from);
        let (is_known, interrupted) =
            self.turn(|turn| (turn.knows(session_id, frame), turn.entered(session_id, frame)));
        Ok(Begun { frame, is_new: status == FrameStatus::Planned, is_known, interrupted, parent })
    }

    /// The answer for a frame that has begun in the conversation of the caller: what is to be done there.
    /// `has_criteria`: also its criteria. If the conversation does not hold everything that the frame needs,
    /// the answer has the context of the frame.
    pub(super) fn begun(&mut self, begun: Begun, has_criteria: bool) -> String {
        let Begun { frame, is_new, is_known, interrupted, parent } = begun;
        let tools = self.tools();
        let mut text = self.stack.look(|tree| beginning::told(tree, frame, is_new, &tools));
        if !interrupted.is_empty() {
            text.push_str(&format!(" Interrupted below it: {}.", listed(&interrupted)));
        }
        let parts: Vec<Handle> = self.stack.look(|tree| {
            let children = tree.children(frame).iter().copied();
            children.filter(|child| tree.node(*child).status() == FrameStatus::Planned).collect()
        });
        if !parts.is_empty() {
            text.push_str(&format!(" Planned below it: {}.", listed(&parts)));
        }
        if let Some(parent) = parent.filter(|_| interrupted.is_empty()) {
            text.push_str(&format!("{BELOW_FRAME}{}.", self.name(parent)));
        }
        let ([criteria, task], [asked, answer]) = self.stack.look(|tree| {
            let record = tree.node(frame).record();
            let answered =
                record.questions.last().and_then(|asked| Some([asked.question.clone(), asked.answer.clone()?]));
            let task = told_task(tree, frame, &tools);
            ([record.success_criteria.trim().to_owned(), task], answered.unwrap_or_default())
        });
        let is_told = has_criteria || !is_known;
        let [criteria, task] = [criteria, task].map(|words| if is_told { String::new() } else { words });
        let said = [
            ("What is to be done", task),
            ("It is done when", criteria),
            ("It was asked", asked),
            ("The answer", answer),
        ];
        for (what, words) in said {
            if !words.is_empty() {
                text.push_str(&format!("\n{what}: {}", hanging_indent(&words)));
            }
        }
        if !is_known {
            let settings = self.stack.host().settings().context.guidance(Guidance::None);
            text.push_str(&format!("\n{}", beginning::context(self.stack, frame, &settings)));
        }
        text
    }

    /// See [`beginning::in_the_plan`].
    pub(super) fn in_the_plan(&mut self, frame: Handle, done: &str) -> String {
        let tools = self.tools();
        self.stack.look(|tree| beginning::in_the_plan(tree, frame, done, &tools))
    }

    /// Begins or resumes a frame in the conversation of the caller, and answers with what is to be done: see
    /// [`Caller::begun`].
    ///
    /// # Errors
    /// As [`Caller::enter`].
    pub(super) fn begin_here(&mut self, frame: Handle, has_criteria: bool) -> Result<Reply> {
        let begun = self.enter(frame)?;
        self.tell(&self.in_title(frame), Vec::new());
        let text = self.begun(begun, has_criteria);
        Ok(self.placed(text))
    }

    /// Why a call about the frame of the conversation is refused: the conversation is in another frame than
    /// its model knows.
    pub(super) fn misled(&mut self) -> Option<String> {
        let session_id = self.session_id;
        let frame = self.turn(|turn| turn.misled(session_id))?;
        let why = match self.stack.look(|tree| tree.node(frame).status()) {
            FrameStatus::InProgress => "another conversation works on it".to_owned(),
            status => format!("that is {status}"),
        };
        let name = self.name(frame);
        let place = self.own().map_or("in no frame".to_owned(), |own| format!("in {}", self.name(own)));
        Some(format!(
            "not done, because this conversation is not in {name} any more: {why}. You are {place} now. Call again what you want to do \
             there"
        ))
    }

    /// Notes that frames have ended or were blocked: the conversation of the caller is back in the frame from
    /// which it came.
    pub(super) fn left(&mut self) {
        let session_id = self.session_id;
        self.turn(|turn| turn.left(session_id));
    }

    /// An answer whose end names the frame in which the conversation is now, where conversations are folded.
    pub(super) fn placed(&mut self, mut text: String) -> Reply {
        let session_id = self.session_id;
        text.push_str(&self.turn(|turn| {
            turn.placed(session_id);
            turn.sessions.place_line(session_id, turn.tree)
        }));
        Reply::Text(text)
    }

    /// The parent of a frame that is pushed and does not begin in the conversation: the frame in which the
    /// model was when it wrote its message. Another call of the same message may have begun a frame since.
    ///
    /// # Errors
    /// As [`Caller::parent`].
    pub(super) fn parent_beside(&mut self) -> Result<Option<Handle>> {
        let session_id = self.session_id;
        let from = self.turn(|turn| turn.beside(session_id));
        match from.and_then(|from| self.stack.look(|tree| tree.nearest_open(from))) {
            Some(open) => Ok(Some(open)),
            None => self.parent(),
        }
    }

    /// Returns the frame that an argument names. If several frames have the title, the one in the tree of the
    /// calling session is meant.
    ///
    /// # Errors
    /// As [`Stack::resolve`].
    pub(super) fn resolve(&self, name: &str) -> Result<Handle> {
        self.stack.resolve_near(name, self.own())
    }

    /// Returns the frame that an argument names; without an argument, the frame of the calling session.
    ///
    /// # Errors
    /// As [`Stack::resolve`]; [`Error::NoFrame`] if the session has no frame.
    pub(super) fn named_or_own(&self, name: Option<&str>) -> Result<Handle> {
        match name {
            Some(name) => self.resolve(name),
            None => self.own().ok_or_else(|| Error::NoFrame { session_id: self.session_id.to_owned() }),
        }
    }

    /// Returns the frame for which the calling session works: its own frame, or if it has none, the frame of
    /// the nearest session above it that has one.
    pub(super) fn served(&mut self) -> Option<Handle> {
        let session_id = self.session_id;
        self.turn(|turn| turn.sessions.served(session_id, turn.tree))
    }

    /// Returns the default parent of a new frame: the nearest open frame, from the one for which the calling
    /// session works upwards. `None`: the new frame is a root.
    ///
    /// # Errors
    /// [`Error::ParentClosed`] if all these frames are closed: the task of this session is over.
    pub(super) fn parent(&mut self) -> Result<Option<Handle>> {
        let Some(served) = self.served() else { return Ok(None) };
        let parent = |tree: &Tree| match tree.nearest_open(served) {
            Some(open) => Ok(Some(open)),
            None => Err(Error::ParentClosed { handle: served, status: tree.node(served).status() }),
        };
        self.stack.read(parent)?
    }

    /// Returns the parent that an argument names; without an argument, the default one.
    ///
    /// # Errors
    /// As [`Caller::resolve`] and [`Caller::parent`].
    pub(super) fn named_parent(&mut self, name: Option<String>) -> Result<Parent> {
        let found = |parent: Option<Handle>| parent.map_or(Parent::Root, |parent| Parent::Frame(parent.into()));
        match name {
            Some(name) => self.resolve(&name).map(Some),
            None => self.parent(),
        }
        .map(found)
    }

    /// Returns the frame that is meant as the parent. `None`: there is no parent, the new frame is a root.
    ///
    /// # Errors
    /// As [`Stack::resolve`].
    pub(super) fn resolved(&self, parent: &Parent) -> Result<Option<Handle>> {
        match parent {
            Parent::Frame(frame) => self.stack.resolve(frame.clone()).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the outline of the caller's tree with the caller's mark, and one line that counts the other
    /// trees. With `all`, or if the caller works for no frame, returns the outline of all trees.
    ///
    /// # Errors
    /// As [`outline`](crate::tree::outline).
    pub(super) fn outline(&mut self, all: bool, options: OutlineOptions) -> Result<Outline> {
        let drawn = |options: &OutlineOptions| self.stack.read(|tree| drawn(tree, options))?;
        let Some(own) = self.served() else { return drawn(&options) };
        let (root, others) = self.stack.look(|tree| {
            let root = tree.root(own);
            let mut others = tree.root_statuses();
            others[tree.node(root).status() as usize] -= 1;
            (root, others)
        });
        let number: usize = others.iter().sum();
        let is_whole_tree = options.root.is_none() && !all;
        let shown = if is_whole_tree { Some(root.into()) } else { options.root.clone() };
        let mut outline = drawn(&options.root(shown).own(Some(own.into())))?;
        if is_whole_tree && number > 0 {
            let counted = FrameStatus::ALL.iter().zip(others).filter(|(_, count)| *count > 0);
            let counts = counted.map(|(status, count)| format!("{count} {status}")).collect::<Vec<_>>().join(", ");
            let see = ["stack_status", "stack_tree"].into_iter().find_map(self.naming());
            let see = see.map_or(String::new(), |tool| format!("; {tool} with \"all\": true shows them"));
            outline.text.push_str(&format!("Trees of other sessions: {number} ({counts}){see}.\n"));
        }
        Ok(outline)
    }

    /// Returns the handle and title of a frame, such as `f1 (Shop)`.
    pub(super) fn name(&self, handle: Handle) -> String {
        self.stack.look(|tree| calls::name(tree, handle))
    }

    /// The options of a call by this session.
    pub(super) fn options(&self, background: bool, time_limit: Option<u64>) -> CallOptions {
        CallOptions::new(self.session_id).background(background).time_limit(time_limit)
    }

    /// Runs a frame in its own session.
    ///
    /// # Errors
    /// As [`Turn::call`].
    pub(super) fn call(&mut self, handle: Handle, options: CallOptions) -> Result<Reply> {
        let background = options.background;
        let call = self.turn(|turn| turn.call(handle, options))?;
        if !background {
            return Ok(Reply::Later(call));
        }
        self.tell(&format!("{} in the background", self.in_title(handle)), Vec::new());
        let look = match self.tools().get(ToolRole::Details) {
            Some(details) => format!("; {details} {handle} shows its progress"),
            None => String::new(),
        };
        Ok(Reply::Text(format!("{} is being started in the background{look}.", self.name(handle))))
    }

    /// Reports that frames were finished or invalidated; [`Turn::finished`] reports one frame.
    pub(super) fn finished(&mut self, frames: &[Handle]) {
        let own = self.session_id;
        self.turn(|turn| {
            for frame in frames {
                let session_id = turn.tree.node(*frame).session_id();
                turn.finished(session_id, session_id == own);
            }
        });
    }
}

impl Acting for Caller<'_> {
    type Refusal = Error;

    fn stack(&self) -> Stack {
        self.stack.clone()
    }

    fn names(&mut self) -> ToolNames {
        self.tools()
    }

    fn named(&self, name: &str) -> Result<Handle> {
        self.resolve(name)
    }

    fn meant(&self, name: Option<&str>) -> Result<Handle> {
        self.named_or_own(name)
    }

    /// The caller is a host, which has the stack itself and decides for all of its sessions.
    fn check_ends(&self, _: Handle) -> Result<()> {
        Ok(())
    }

    fn check_goes_on(&mut self, value: &str) -> Result<()> {
        self.check_works_here("next", value)
    }

    fn check_begins(&mut self, frame: Handle) -> Result<()> {
        let session_id = self.session_id;
        self.turn(|turn| turn.check_callable(frame, session_id))
    }

    fn is_task(&self, frame: Handle) -> bool {
        self.own_frame() == Some(frame) && self.stack.look(|tree| tree.node(frame).parent().is_some())
    }
}
