//! A tree of frames for a session that no stack knows. It is made line by line.
//!
//! The rule: the session is a root. What a person asks is a frame, a *turn*: its title is the beginning of
//! the words, and its results are the last answer. A subagent is a frame below the turn that has called it.
//! Frames that the agent has pushed with the stack's tools are frames. Entries of to-do lists and compactions
//! are records below their turn. Nothing is invented.

mod agents;
mod branches;
mod calls;
mod entries;
mod requests;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value as Json, json};

use self::branches::Branches;
use super::copies::Copies;
use super::form::TranscriptForm;
use super::line::{By, End, Fact, Line, Request, Turn};
use super::parts::{Part, parts};
use crate::frame::{
    Change, Event, Frame, FrameRef, FrameStatus, Handle, Identity, NewFrame, Parent, PopStatus, Results,
};
use crate::text::{beginning, fnv_of, one_line};
use crate::tree::{Command, Draft, Tree, decide};

/// The longest ID of a session, and the length of a UUID, in characters.
const LONGEST_ID: usize = 200;
const UUID: usize = 36;
/// The longest title that is made of words, in characters.
const TITLE: usize = 72;
/// The number of left-out lines whose place is kept.
const MOST_LEFT_OUT: usize = 20;
/// The number of new kinds of lines that are counted, and the length of their names in characters.
const MOST_KINDS: usize = 50;
const LONGEST_KIND: usize = 60;
/// What the frames of to-do lists and of compactions are.
const ENTRY: &str = "to-do";
const COMPACTION: &str = "compaction";

/// What is known about a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SessionFacts {
    /// Its ID.
    pub id: String,
    /// The session or the thread that has started it, or that it continues.
    pub parent: Option<String>,
    /// The folder in which it has begun.
    pub folder: Option<String>,
    /// The version of the host that has written last.
    pub version: Option<String>,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// When it has begun, and when something was written last, in milliseconds since the Unix epoch.
    pub begun: u64,
    /// See `begun`.
    pub written: u64,
    /// Number of turns of the person.
    pub turns: usize,
    /// Number of subagents.
    pub agents: usize,
    /// Number of compactions.
    pub compactions: usize,
    /// Number of lines that do not have this host's form, or are damaged. They are left out.
    pub unknown: usize,
    /// The first of these lines that are in files.
    pub left_out: Vec<LeftOut>,
    /// The kinds of lines that no known version of the host writes, with the number of lines of each kind.
    /// They are taken for lines outside the conversation.
    pub new_kinds: BTreeMap<String, usize>,
}

/// A line of a file that was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The number of the file: 0, or what [`Session::add_agent`] has returned.
    pub file: usize,
    /// Where the line begins in it, in bytes.
    pub offset: u64,
}

/// A line of a session, read but not followed yet.
pub struct SessionLine {
    line: Line,
    time: Option<u64>,
}

impl SessionLine {
    /// When it was written, in milliseconds since the Unix epoch, if it says that.
    pub fn time(&self) -> Option<u64> {
        self.time
    }
}

/// A subagent with a file of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentFile {
    /// Its ID.
    pub id: String,
    /// The call that has started it.
    pub call: Option<String>,
    /// What it is to do, in a few words.
    pub title: Option<String>,
}

/// A session as a tree of frames, which grows line by line.
///
/// ```
/// use callstack_core::transcript::{Session, TranscriptForm};
///
/// let mut session = Session::new(TranscriptForm::Claude, "8d1f");
/// for line in [
///     r#"{"type": "user", "message": {"role": "user", "content": "Build the shop."}, "timestamp": "2026-01-15T00:00:00Z"}"#,
///     r#"{"type": "assistant", "message": {"id": "msg_1", "role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text",
///         "text": "It is built."}], "usage": {"input_tokens": 9, "output_tokens": 4}}, "timestamp": "2026-01-15T00:00:05Z"}"#,
/// ] {
///     session.follow_line(0, line.as_bytes());
/// }
/// session.settle(true);
/// let tree = session.tree();
/// let turn = tree.children(tree.roots()[0])[0];
/// let frame = tree.node(turn).record();
/// assert_eq!((&*frame.title, frame.results.as_deref()), ("Build the shop.", Some("It is built.")));
/// assert_eq!(tree.usage(turn).total[0].uncached_input, 9);
/// ```
pub struct Session {
    form: TranscriptForm,
    tree: Tree,
    events: Vec<Event>,
    now: u64,
    facts: SessionFacts,
    title_by_person: bool,
    root: Option<Handle>,
    /// The title of the root does not come from words.
    is_unnamed: bool,
    streams: Vec<Stream>,
    /// Calls of subagents: the frame, and the stream that tells about it, if there is one.
    agents: HashMap<String, AgentCall>,
    /// Requests that were counted.
    counted: HashSet<u64>,
    /// Records of a database that were followed.
    followed: HashSet<u64>,
    branches: Branches,
    /// The entries of logs, if they are wanted: of all frames, or of one.
    entries: Option<Entries>,
    frames: usize,
}

struct Entries {
    of: Option<String>,
    found: Vec<(Handle, Json)>,
    /// What was said before there was a frame.
    early: Vec<Json>,
}

struct AgentCall {
    frame: Handle,
    task: String,
    stream: Option<usize>,
    /// It continues after its call has an outcome.
    goes_on: bool,
}

/// What a file of the session has told: about the session itself, or about a subagent.
#[derive(Default)]
struct Stream {
    agent: Option<AgentFile>,
    /// The frame of the subagent.
    frame: Option<Handle>,
    turn: Option<Handle>,
    last_turn: Option<Handle>,
    /// Frames that the agent has begun in this turn with the stack's tools, with their handles in that stack.
    /// The innermost one is last.
    own: Vec<(String, Handle)>,
    calls: HashMap<String, OpenCall>,
    last_answer: String,
    /// How the turn has ended, unless it continues.
    end: Option<(End, u64)>,
    /// The model has answered without a call.
    is_answered: bool,
    prompt: Option<String>,
    request: Option<(Request, Handle)>,
    model: String,
    /// For Codex: which lines are copies.
    copies: Copies,
    /// The host has said that the turn has begun, and will say that it has ended.
    is_begun: bool,
    /// The answer that was followed last, and the number of its parts.
    answer: Option<(String, usize)>,
    /// Records, and not counts, tell what an answer has used; and the last count.
    has_records: bool,
    count: String,
    time: u64,
    /// When the last request was made.
    asked: u64,
    /// Entries of lists in this turn by their titles, and by their IDs in the host's list.
    list: HashMap<String, Handle>,
    titles: HashMap<String, String>,
    /// Entries that were done in earlier turns.
    done: HashSet<String>,
}

struct OpenCall {
    name: String,
    arguments: Json,
    time: u64,
    frame: Handle,
}

impl Session {
    /// A session from which nothing was read. `id`: its ID until a line tells it.
    pub fn new(form: TranscriptForm, id: impl Into<String>) -> Self {
        let id: String = id.into();
        Self {
            form,
            tree: Tree::new(),
            events: Vec::new(),
            now: 0,
            facts: SessionFacts { id: beginning(&id, LONGEST_ID).to_owned(), ..SessionFacts::default() },
            title_by_person: false,
            root: None,
            is_unnamed: false,
            streams: vec![Stream::default()],
            agents: HashMap::new(),
            counted: HashSet::new(),
            followed: HashSet::new(),
            branches: Branches::default(),
            entries: None,
            frames: 0,
        }
    }

    /// Adds the file of a subagent. Returns the number of the file; the session's own file has the number 0.
    pub fn add_agent(&mut self, agent: AgentFile) -> usize {
        self.streams.push(Stream { agent: Some(agent), ..Stream::default() });
        self.streams.len() - 1
    }

    /// What is known about the session.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// The form of its files.
    pub fn form(&self) -> TranscriptForm {
        self.form
    }

    /// The tree as far as it was read.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn untaken(&self) -> &[Event] {
        &self.events
    }

    /// Reads a line. `None`: it says nothing, or it cannot be understood. A line that cannot be understood is
    /// counted.
    pub fn read_line(&mut self, line: &[u8]) -> Option<SessionLine> {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            return None;
        }
        let value: Option<Json> = crate::text::from_json(text.trim_start_matches('\u{feff}')).ok();
        let line = value.and_then(|value| self.read_record(&value));
        self.facts.unknown += usize::from(line.is_none());
        line
    }

    /// Reads a record that is not a line of its own, such as a message in a document.
    pub fn read_record(&self, value: &Json) -> Option<SessionLine> {
        let mut line = self.form.line(value)?;
        if self.form == TranscriptForm::Claude && value.get("isSidechain").is_some_and(|is| is == true) {
            line.agent = Some(super::line::text(value, "agentId").to_owned());
        }
        if let Some((node, after)) = self.form.branch() {
            let name = |key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
            (line.node, line.after) = (name(node), name(after));
        }
        Some(SessionLine { time: super::line::time(value), line })
    }

    /// True if a record of a database was followed before. From now on it counts as followed.
    pub(super) fn is_followed(&mut self, name: &str) -> bool {
        !self.followed.insert(fnv_of(name))
    }

    fn note_new_kind(&mut self, kind: &str) {
        let kind = beginning(kind, LONGEST_KIND);
        let kinds = &mut self.facts.new_kinds;
        if let Some(number) = kinds.get_mut(kind) {
            *number += 1;
        } else if kinds.len() < MOST_KINDS {
            kinds.insert(kind.to_owned(), 1);
        }
    }

    /// Notes a line of a file that was left out.
    pub(super) fn note_left_out(&mut self, file: usize, offset: u64) {
        if self.facts.left_out.len() < MOST_LEFT_OUT {
            self.facts.left_out.push(LeftOut { file, offset });
        }
    }

    pub(super) fn count_unknown(&mut self) {
        self.facts.unknown += 1;
    }

    /// Reads and follows a line of a file. Lines of several files come in the order of their times.
    pub fn follow_line(&mut self, file: usize, line: &[u8]) {
        if let Some(line) = self.read_line(line) {
            self.follow(file, line);
        }
    }

    /// Follows a line of a file: what it says happens in the tree.
    pub fn follow(&mut self, file: usize, line: SessionLine) {
        let SessionLine { line, time } = line;
        let file = line.agent.as_ref().filter(|_| file == 0).map_or(file, |agent| self.inline_agent(agent));
        if self.form == TranscriptForm::Codex && self.streams[file].copies.follow(&line, time) {
            return;
        }
        let stream = &mut self.streams[file];
        stream.time = time.unwrap_or(stream.time).max(stream.time);
        self.now = self.now.max(stream.time);
        if self.facts.begun == 0 {
            self.facts.begun = stream.time;
        }
        self.facts.written = self.facts.written.max(stream.time);
        self.end_others(file);
        let Line { messages, turn, by, requests, counts, model, facts, is_last, node, after, new_kind, .. } = line;
        if let Some(kind) = new_kind {
            self.note_new_kind(&kind);
        }
        let turns = self.facts.turns;
        let skipped = self.skipped(file, &turn);
        if let Some(model) = model {
            self.streams[file].model = model;
        }
        if matches!(turn, Turn::Answer(_)) {
            self.streams[file].prompt = None;
        }
        // What the person has written is a part of the message.
        let is_told = facts.iter().any(|fact| matches!(fact, Fact::Prompt(_))) && !messages.is_empty();
        let (ends, others): (Vec<Fact>, Vec<Fact>) = facts.into_iter().partition(|fact| matches!(fact, Fact::Ended(_)));
        others.into_iter().for_each(|fact| self.note(file, fact));
        let mut followed = 0;
        for part in messages.iter().flat_map(parts) {
            followed += 1;
            match part {
                Part::Words(words) if is_told => self.log(file, json!({ "role": "user", "text": words })),
                part if followed > skipped => self.follow_part(file, part, by),
                _ => {}
            }
        }
        ends.into_iter().for_each(|fact| self.note(file, fact));
        if file == 0 {
            self.note_branch(node.as_deref(), after.as_deref(), turns);
        }
        if let Turn::Answer(Some(id)) = &turn {
            self.streams[file].answer = Some((id.clone(), followed.max(skipped)));
        }
        if is_last && self.streams[file].end.is_none() {
            let time = self.streams[file].time;
            self.streams[file].end = Some((End::Done, time));
        }
        if matches!(turn, Turn::Words | Turn::Outcomes) {
            self.streams[file].asked = self.streams[file].time;
        }
        for request in requests {
            self.streams[file].has_records = true;
            self.note_request(file, request);
        }
        for count in counts {
            let is_new = !self.streams[file].has_records && self.streams[file].count != count.id;
            if is_new {
                self.streams[file].count.clone_from(&count.id);
                self.note_request(file, Request { id: String::new(), ..count });
            }
        }
    }

    /// The number of parts of an answer that were followed before. Gemini CLI writes an answer again when its
    /// calls have ended.
    fn skipped(&self, file: usize, turn: &Turn) -> usize {
        let known = self.streams[file].answer.as_ref().filter(|_| self.form == TranscriptForm::Gemini);
        match (turn, known) {
            (Turn::Answer(Some(id)), Some((known, parts))) if id == known => *parts,
            _ => 0,
        }
    }

    /// Ends the turns that have ended, because nothing more was read. `is_over`: no process writes the
    /// session any more, so a turn that has not ended was interrupted. Lines that are read later continue
    /// from here.
    pub fn settle(&mut self, is_over: bool) {
        for file in (0..self.streams.len()).rev() {
            // Later lines of an answer tell more about what it has used.
            if is_over || self.streams[file].end.is_some() {
                self.count_request(file);
            }
            let stream = &self.streams[file];
            if stream.is_answered && !stream.is_begun && stream.end.is_none() && is_over {
                let time = self.streams[file].time;
                self.streams[file].end = Some((End::Done, time));
            }
            self.end_turn(file);
        }
        self.leave_branches();
        if let Some(root) = self.root {
            let title = self.facts.title.clone().unwrap_or_default();
            if !title.trim().is_empty() && self.tree.node(root).title() != title {
                self.name(root, &title);
            }
        }
        if is_over {
            self.end_session();
        }
    }

    fn name(&mut self, root: Handle, title: &str) {
        let identity = Identity { title: shortened(title), ..Identity::default() };
        self.command(Command::Identify { frame: root.into(), identity, provisional: true });
    }

    fn end_session(&mut self) {
        let Some(root) = self.root else { return };
        let is_left = |frame: &Handle| {
            self.is_open(*frame) && *frame != root && self.tree.node(*frame).record().no_work.is_none()
        };
        let open: Vec<Handle> = self.tree.subtree(root).filter(is_left).collect();
        let said: HashMap<Handle, String> =
            self.streams.iter().filter_map(|stream| Some((stream.turn?, stream.last_answer.clone()))).collect();
        let host = self.form.host();
        for frame in open.into_iter().rev() {
            let so_far = said.get(&frame).filter(|text| !text.trim().is_empty()).cloned();
            let question = format!("The session of {host} has ended in the middle of this.");
            self.command(Command::Block {
                frame: frame.into(),
                question: Some(question),
                results: so_far.map(Results::from),
                interruption: true,
            });
        }
        let is_left = |frame: Handle| {
            let node = self.tree.node(frame);
            frame != root && node.status().is_unfinished() && node.record().no_work.is_none()
        };
        let is_left = self.tree.subtree(root).any(is_left);
        if self.is_open(root) && !is_left {
            let results = self.streams[0].last_answer.clone();
            self.command(pop(root, PopStatus::Completed, results));
        }
    }

    fn is_open(&self, frame: Handle) -> bool {
        self.tree.node(frame).status().is_open()
    }

    /// Carries out a command. A command that does not fit what was read before is left out: a transcript can
    /// say anything.
    fn command(&mut self, command: Command) -> Option<Handle> {
        let commit = decide(&self.tree, command, self.now).ok()?;
        let first = commit.events.first().map(|event| event.handle);
        self.apply(commit.events);
        first
    }

    fn change(&mut self, frame: Handle, change: Change) {
        let mut draft = Draft::new(&self.tree, self.now);
        draft.push(frame, change);
        let events = draft.finish().events;
        self.apply(events);
    }

    fn apply(&mut self, events: Vec<Event>) {
        events.iter().for_each(|event| self.tree.apply(event));
        self.events.extend(events);
    }

    /// A new ID below the ID of the session.
    fn new_id(&mut self, kind: char) -> String {
        self.frames += 1;
        format!("{}.{kind}{}", self.root_id(), self.frames)
    }

    fn root_id(&self) -> String {
        format!("{}/{}", self.form, self.facts.id)
    }

    fn root(&mut self, words: &str) -> Handle {
        if let Some(root) = self.root {
            if !self.is_open(root) {
                self.command(Command::Reopen { frame: root.into(), reason: "The session continues.".to_owned() });
            }
            if self.is_unnamed && !words.trim().is_empty() {
                self.is_unnamed = false;
                self.name(root, words);
            }
            return root;
        }
        let title = self.facts.title.clone().unwrap_or_else(|| words.to_owned());
        let title = if title.trim().is_empty() { format!("Session of {}", self.form.host()) } else { title };
        let (id, created) = (self.root_id(), shortened(&title));
        let handle = Handle::from_index(self.tree.len());
        self.command(Command::Ensure { session_id: id, title: Some(created), parent: None });
        let handle = handle.unwrap_or_else(|| self.tree.roots()[0]);
        self.root = Some(handle);
        self.is_unnamed = words.trim().is_empty();
        self.keep_early(handle);
        handle
    }

    fn push(&mut self, id: String, parent: Handle, title: &str, criteria: &str, task: &str) -> Option<Handle> {
        let title = if title.trim().is_empty() { shortened(task) } else { shortened(title) };
        let title = if title.is_empty() { "(without words)".to_owned() } else { title };
        let frame = NewFrame {
            parent: Parent::Frame(parent.into()),
            task: beginning(task, Frame::LONGEST_TASK).to_owned(),
            ..NewFrame::new(title).id(id).criteria(criteria)
        };
        self.command(Command::Push(frame))
    }

    /// The frame in which the agent of a file works.
    fn place(&mut self, file: usize) -> Handle {
        let stream = &self.streams[file];
        match stream.own.last().map(|(_, frame)| *frame).or(stream.turn) {
            Some(frame) => frame,
            None if stream.agent.is_some() => self.agent_frame(file, ""),
            None => self.root(""),
        }
    }

    fn note(&mut self, file: usize, fact: Fact) {
        let is_own = file == 0;
        match fact {
            // The file of a session of Claude Code can have lines of other sessions. The file's name is the
            // ID of its own session.
            Fact::Session(_) if self.form == TranscriptForm::Claude && self.facts.id.len() == UUID => {}
            Fact::Session(id) if is_own && self.root.is_none() => self.facts.id = beginning(&id, LONGEST_ID).to_owned(),
            Fact::Parent(id) if is_own => self.facts.parent = Some(id),
            Fact::Folder(folder) if is_own => drop(self.facts.folder.get_or_insert(folder)),
            Fact::Version(version) if is_own => self.facts.version = Some(version),
            Fact::Title { title, by_person } if is_own && (by_person || !self.title_by_person) => {
                (self.facts.title, self.title_by_person) = (Some(one_line(&title)), by_person);
            }
            Fact::Prompt(words) => self.words(file, &words, By::Person),
            Fact::Begun => {
                let stream = &mut self.streams[file];
                if stream.turn.is_some() && stream.end.is_none() && is_own {
                    let end = if stream.is_answered { End::Done } else { End::Left };
                    stream.end = Some((end, stream.time));
                }
                self.end_turn(file);
                self.streams[file].is_begun = true;
            }
            // An agent that has ended is not interrupted any more.
            Fact::Ended(End::Interrupted) if matches!(self.streams[file].end, Some((End::Done, _))) => {}
            Fact::Ended(end) => {
                self.streams[file].is_begun = false;
                let time = self.streams[file].time;
                self.streams[file].end = Some((end, time));
            }
            Fact::Rewound(line) if is_own => self.rewound(&line),
            Fact::RolledBack(turns) if is_own => self.rolled_back(turns),
            Fact::Compacted { tokens, summary } => self.compacted(file, tokens, &summary),
            Fact::Agent { call, id, goes_on } => self.started(&call, &id, goes_on),
            Fact::AgentEnded { agent, end, result } => self.agent_ended(&agent, end, result),
            _ => {}
        }
    }

    fn end_frame(&mut self, frame: Handle, end: &End, results: String) {
        let (status, results) = match end {
            End::Done => (PopStatus::Completed, results),
            End::Left => (PopStatus::Failed, joined("The session continued without an end of this.", &results)),
            End::Interrupted => (PopStatus::Failed, joined("Interrupted by the person.", &results)),
            End::Failed(why) => (PopStatus::Failed, joined(why, &results)),
        };
        self.command(pop(frame, status, results));
    }

    /// Ends the turns of other files that have ended before this line.
    fn end_others(&mut self, file: usize) {
        for other in 0..self.streams.len() {
            if other != file && self.streams[other].end.is_some() {
                self.end_turn(other);
            }
        }
    }

    /// Ends the turn of a file, if its end was read.
    fn end_turn(&mut self, file: usize) {
        let Some((end, time)) = self.streams[file].end.take() else { return };
        self.count_request(file);
        let stream = &mut self.streams[file];
        let turn = stream.turn;
        if stream.agent.is_none() {
            stream.turn = None;
        }
        stream.last_turn = turn.or(stream.last_turn);
        stream.own.clear();
        let results = std::mem::take(&mut stream.last_answer);
        let time = time.max(self.last_time());
        let now = std::mem::replace(&mut self.now, time);
        if let Some(turn) = turn.filter(|turn| self.is_open(*turn)) {
            self.end_frame(turn, &end, results.clone());
        }
        self.now = now.max(self.now);
        self.streams[file].last_answer = results;
    }

    fn last_time(&self) -> u64 {
        self.events.last().map_or(0, |event| event.time)
    }

    /// Words of a person, or of the host.
    fn words(&mut self, file: usize, words: &str, by: By) {
        let stream = &self.streams[file];
        if by == By::Host || words.trim().is_empty() {
            return;
        }
        if stream.prompt.as_deref() == Some(words.trim()) {
            // Some hosts write the words twice, in two forms.
            return;
        }
        let goes_on = stream.turn.is_some() && stream.end.is_none();
        if stream.agent.is_some() {
            // Old versions write all subagents into one stream without a name.
            let is_next = stream.agent.as_ref().is_some_and(|agent| agent.id.is_empty()) && !goes_on;
            if is_next {
                self.streams[file].frame = None;
            }
            if self.streams[file].frame.is_none() {
                self.agent_frame(file, words);
            } else if let Some(frame) = self.streams[file].frame.filter(|frame| !self.is_open(*frame) && !goes_on) {
                self.command(Command::Reopen { frame: frame.into(), reason: shortened(words) });
            }
            self.streams[file].end = None;
        } else if !(goes_on && (by == By::PersonMeanwhile || stream.is_begun)) {
            if goes_on {
                let end = if stream.is_answered { End::Done } else { End::Left };
                self.streams[file].end = Some((end, self.streams[file].time));
            }
            self.end_turn(file);
            let root = self.root(words);
            let of_list: Vec<(String, Handle)> = self.streams[file].list.drain().collect();
            let is_done = |entry: Handle| self.tree.node(entry).status() == FrameStatus::Completed;
            let done: Vec<String> =
                of_list.into_iter().filter(|(_, entry)| is_done(*entry)).map(|(title, _)| title).collect();
            self.streams[file].done.extend(done);
            self.facts.turns += 1;
            let id = format!("{}.t{}", self.root_id(), self.facts.turns);
            let turn = self.push(id, root, "", "", words).unwrap_or(root);
            self.branches.begun(turn);
            let stream = &mut self.streams[file];
            (stream.turn, stream.end) = (Some(turn), None);
            stream.last_answer.clear();
        }
        let stream = &mut self.streams[file];
        stream.prompt = Some(words.trim().to_owned());
        stream.is_answered = false;
    }

    fn follow_part(&mut self, file: usize, part: Part<'_>, by: By) {
        match part {
            Part::Words(words) => {
                self.words(file, &words, by);
                let role = if by == By::Host { "host" } else { "user" };
                self.log(file, json!({ "role": role, "text": words }));
            }
            Part::Answer(text) => {
                self.goes_on(file);
                self.log(file, json!({ "role": "assistant", "text": text }));
                let stream = &mut self.streams[file];
                (stream.last_answer, stream.is_answered, stream.prompt) = (text, true, None);
            }
            Part::Reasoning(text) => {
                self.goes_on(file);
                if !text.is_empty() {
                    self.log(
                        file,
                        json!({ "role": "assistant", "text": "", "parts": [{ "type": "reasoning", "text": text }] }),
                    );
                }
            }
            Part::Call { id, name, arguments } => {
                self.goes_on(file);
                (self.streams[file].is_answered, self.streams[file].prompt) = (false, None);
                self.call(file, id, &name, arguments.into_owned());
            }
            Part::Outcome { call, content, is_error } => self.outcome(file, call, &content, is_error),
        }
    }

    /// There is more of an answer: the turn has not ended, or it resumes.
    fn goes_on(&mut self, file: usize) {
        let stream = &mut self.streams[file];
        stream.end = None;
        // What the host has said, such as the end of a subagent, lets the last turn resume.
        if let (None, None, Some(last)) = (stream.turn, &stream.agent, stream.last_turn) {
            stream.turn = Some(last);
            let root = self.root("");
            for frame in [root, last] {
                if !self.tree.node(frame).status().is_unfinished() {
                    self.command(Command::Reopen { frame: frame.into(), reason: "It continues.".to_owned() });
                }
            }
        }
        let stream = &self.streams[file];
        if let Some(turn) = stream.turn.filter(|turn| self.tree.node(*turn).status() == FrameStatus::Blocked) {
            self.command(Command::SetStatus {
                frame: turn.into(),
                status: FrameStatus::InProgress,
                results: None,
                results_compacted: None,
            });
        }
    }
}

fn pop(frame: Handle, status: PopStatus, results: String) -> Command {
    Command::Pop { frame: FrameRef::from(frame), status, results: Results::from(results) }
}

/// The beginning of words as a title.
fn shortened(words: &str) -> String {
    let words = one_line(words);
    let words = words.trim();
    if words.chars().count() <= TITLE {
        return words.to_owned();
    }
    let cut = beginning(words, TITLE - 1);
    let whole = cut.rfind(' ').filter(|end| *end > TITLE / 2).map_or(cut, |end| &cut[..end]);
    format!("{}…", whole.trim_end())
}

fn joined(first: &str, then: &str) -> String {
    if then.trim().is_empty() { first.to_owned() } else { format!("{first}\n{then}") }
}
