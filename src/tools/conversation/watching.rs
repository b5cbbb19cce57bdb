//! A conversation as other programs see it: a program between an agent and its model sees the requests, and a
//! hook sees the transcript that the host keeps. What was said goes into the logs of frames, and what was
//! used is recorded.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::caller::{Conversation, frame_in_prompt, is_handed_over};
use crate::error::Result;
use crate::fold::{AnswerPart, FoldSettings, Seen, Transcript, Wire, answered_transcript};
use crate::frame::{FrameRef, Handle, Holder, ModelRequest, TranscriptPosition};
use crate::store::LogQuery;
use crate::transcript::{LONGEST_TRANSCRIPT_LINE, TranscriptForm, TranscriptStep, read_transcript};
use crate::tree::{Command, TranscriptRead};

/// What a process knows about a conversation that it watches. It is empty at first, also after a restart: the
/// process finds in the logs what they have already.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// `None`: no request was seen.
    seen: Option<Seen>,
    /// The trees whose logs were compared with the conversation, by their roots.
    compared: HashSet<Handle>,
    /// The frame that was handed over to the conversation, from the words with which the conversation began.
    task: Option<Handle>,
    /// What was said in no frame. It goes into the log of the frame that begins next.
    before: Vec<Value>,
    /// What was used in no frame. It counts for the frame that begins next, too.
    used_before: Vec<ModelRequest>,
    /// The frame in which the conversation was last. What is said after the end of all its frames goes into
    /// the log of this frame when the conversation is not watched any more.
    last: Option<Handle>,
}

/// Number of frames of a tree whose logs are compared with a conversation that is seen for the first time.
/// These are the newest frames.
const COMPARED_FRAMES: usize = 64;
/// Number of entries of a fork, equal to the beginning of another conversation, from which they are a copy. A
/// single entry can be the same words said again.
const SHORTEST_COPY: usize = 2;
/// What a conversation has said in no frame is kept for the frame that it may begin, up to this size, in
/// bytes of its transcript. It is cut to this size when it is twice as long.
const KEPT_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 2 * KEPT_BYTES;

/// Number of items, and of requests, in no frame that are kept for the next frame. These are the newest ones.
const KEPT_BEFORE: usize = 1_000;

impl Conversation<'_> {
    /// Records what a request says that was not recorded before. Each item goes into the log of the frame in
    /// which the conversation was, with the present time. What was said in no frame goes into the log of the
    /// next frame, because it usually is the task of that frame; so does what was used. `answer`: the parts
    /// of the answer. Also records what the request has used, for the frame in which the conversation is. All
    /// of it is one commit. Returns that frame; `None` if the conversation is in no frame, and nothing was
    /// recorded. If a request offers the model none of the stack's tools, such as a request for a title, only
    /// its usage is recorded, unless it is a request of a subagent.
    ///
    /// ```
    /// use callstack_core::fold::{FoldSettings, Wire};
    /// use callstack_core::frame::ModelRequest;
    /// use callstack_core::tools::conversation::{Conversation, Watched};
    /// use callstack_core::{Actor, HolderKind, NewFrame, Settings, Stack};
    ///
    /// let stack = Stack::in_memory().as_actor(Actor::new(HolderKind::Conversation, "codex/1"));
    /// let shop = stack.push(NewFrame::new("Shop"))?;
    /// let settings = Settings::default();
    /// let conversation = Conversation::new(&stack, &settings);
    /// let request = r#"{"messages": [{"role": "user", "content": "Build the shop."}], "tools": [{"name": "mcp__callstack__push"}]}"#;
    /// let (fold, mut watched) = (FoldSettings::default(), Watched::default());
    /// let usage = ModelRequest { output: 210, ..ModelRequest::new("large") };
    /// let place = conversation.watch(Wire::Anthropic, request, &[], &fold, Some(usage), &mut watched)?;
    /// assert_eq!(place, Some(shop));
    /// assert_eq!(stack.usage(shop)?.total[0].output, 210);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The storage errors. After an error nothing was recorded, and the next request records it.
    pub fn watch(
        &self,
        wire: Wire,
        request: &str,
        answer: &[AnswerPart],
        settings: &FoldSettings,
        usage: Option<ModelRequest>,
        watched: &mut Watched,
    ) -> Result<Option<Handle>> {
        let before_this = watched.seen.clone().unwrap_or_else(|| Seen::of(self.caller.unwrap_or_default()));
        let mut seen = before_this.clone();
        let said = answered_transcript(wire, request, answer, settings, &mut seen).unwrap_or_default();
        // What a host asks in addition to the conversation, such as a title for it, is not a part of what was
        // said. Its costs count.
        let is_subagent = self.stack.actor().is_some_and(|actor| !actor.caller.is_empty());
        let model = said.model.clone();
        let (said, seen) = match said.has_tools || is_subagent {
            true => (said, seen),
            false => (Transcript::default(), before_this),
        };
        if let Some(prompt) = said.items.iter().rev().find(|item| item.entry["role"] == "user") {
            self.agent_seen(prompt.entry["text"].as_str().unwrap_or_default())?;
        }
        // A conversation that names no frame is where the stack knows it to be: another conversation began
        // its frame, or the frame began before a compaction.
        let task = watched.task.or_else(|| said.items.iter().find_map(|item| self.task_in(&item.entry)));
        let place = self.place().or(task);
        let known = |frame: Option<Handle>| if said.has_frames { frame } else { frame.or(place) };
        let exists = |frame: &Handle| self.stack.look(|tree| frame.index() < tree.len());
        let mut logs: BTreeMap<Handle, Vec<Value>> = BTreeMap::new();
        let mut before = watched.before.clone();
        let now = self.stack.now();
        let asked = now.saturating_sub(usage.as_ref().map_or(0, |usage| usage.duration));
        let mut last = watched.last;
        for mut item in said.items {
            item.entry["time"] = if item.is_answer { now } else { asked }.into();
            before.push(item.entry);
            if let Some(frame) = known(item.frame).filter(exists) {
                logs.entry(frame).or_default().append(&mut before);
                last = Some(frame);
            }
        }
        before.drain(..before.len().saturating_sub(KEPT_BEFORE));
        if !self.stack.keeps_logs() {
            logs.clear();
        }
        // What an earlier process has logged, in any frame.
        let roots: BTreeSet<Handle> = logs.keys().map(|frame| self.stack.look(|tree| tree.root(*frame))).collect();
        let new: Vec<Handle> = roots.into_iter().filter(|root| !watched.compared.contains(root)).collect();
        for root in &new {
            let logged = self.logged_below(*root)?;
            let is_new = |entry: &Value| entry["id"].as_str().is_none_or(|id| !logged.contains(id));
            logs.values_mut().for_each(|entries| entries.retain(is_new));
            for (frame, entries) in
                logs.iter_mut().filter(|(frame, _)| self.stack.look(|tree| tree.root(**frame)) == *root)
            {
                self.take_copies(*frame, entries)?;
            }
        }
        logs.retain(|_, entries| !entries.is_empty());
        let here = known(said.place).filter(exists);
        let mut used = watched.used_before.clone();
        used.extend(usage.map(|usage| match (usage.model.is_empty(), model) {
            (true, Some(model)) => ModelRequest { model, ..usage },
            _ => usage,
        }));
        used.drain(..used.len().saturating_sub(KEPT_BEFORE));
        let usage = match here {
            Some(frame) => used.drain(..).map(|request| (FrameRef::from(frame), request)).collect(),
            None => Vec::new(),
        };
        if !usage.is_empty() || !logs.is_empty() {
            let logs = logs.into_iter().map(|(frame, entries)| (frame.into(), entries)).collect();
            self.stack.execute(Command::RecordConversation { logs, usage, transcript: None })?;
        }
        (watched.seen, watched.before, watched.used_before) = (Some(seen), before, used);
        (watched.task, watched.last) = (task, here.or(last));
        watched.compared.extend(new);
        Ok(here)
    }

    /// Records what was said and used after the end of all frames of a conversation, in the last of these
    /// frames, when the conversation is not watched any more.
    ///
    /// # Errors
    /// The storage errors.
    pub fn watched(&self, watched: Watched) -> Result<()> {
        let Some(last) = watched.last.map(FrameRef::from) else { return Ok(()) };
        let usage: Vec<_> = watched.used_before.into_iter().map(|request| (last.clone(), request)).collect();
        let mut entries = if self.stack.keeps_logs() { watched.before } else { Vec::new() };
        if !entries.is_empty() {
            // The program that watched before this one has recorded the end of its part, too.
            let root = self.stack.resolve(last.clone()).map(|last| self.stack.look(|tree| tree.root(last)))?;
            let logged = self.logged_below(root)?;
            entries.retain(|entry| entry["id"].as_str().is_none_or(|id| !logged.contains(id)));
        }
        match usage.is_empty() && entries.is_empty() {
            true => Ok(()),
            false => self
                .stack
                .execute(Command::RecordConversation { logs: vec![(last, entries)], usage, transcript: None })
                .map(drop),
        }
    }

    /// The place from which the transcript of the conversation has to be read next, in bytes.
    pub fn transcript_offset(&self) -> u64 {
        self.transcript_position().map_or(0, |position| position.offset)
    }

    fn transcript_position(&self) -> Option<TranscriptPosition> {
        let caller = self.caller?;
        self.stack.look(|tree| tree.transcript(caller).map(|(_, position)| position.clone()))
    }

    /// Records what a part of the transcript of the conversation says, as [`Conversation::watch`] does for
    /// requests. Each item goes into the log of its frame, with the time at which it was written, and what
    /// each answer has used is recorded. All of it is one commit, which also remembers how far the transcript
    /// was read. `text` begins at `offset`: the offset of [`Conversation::transcript_offset`], or 0 for a
    /// file that was rewritten. `is_over`: the turn of the agent has ended; what was said last in no frame
    /// then goes into the log of the last frame. If another process reads the same part at the same time, it
    /// is recorded once.
    ///
    /// # Errors
    /// The storage errors. After an error nothing was recorded.
    pub fn read_transcript(
        &self,
        form: TranscriptForm,
        offset: u64,
        text: &[u8],
        is_over: bool,
        settings: &FoldSettings,
    ) -> Result<ReadPart> {
        let Some(caller) = self.caller else { return Ok(ReadPart { unknown: 0, offset }) };
        let (before, known) = self.stack.look(|tree| {
            let known = tree.transcript(caller);
            let before = known.map(|(_, position)| position.offset);
            let here = known.filter(|(_, position)| position.offset == offset);
            (before, here.map(|(frame, position)| (frame, position.clone())))
        });
        let is_new = known.is_none();
        let (last, from) = match known {
            Some((frame, from)) => (Some(frame).filter(|_| !from.is_outside), from),
            None => (None, TranscriptPosition { offset, ..TranscriptPosition::default() }),
        };
        let part = read_transcript(form, text, &from, is_over, settings, caller);
        let behind = offset + text.len() as u64;
        let mut reading = Reading::new(self, last, &part.steps, behind.saturating_sub(KEPT_BYTES));
        part.steps.into_iter().for_each(|step| reading.add(step));
        // Then what comes after the last frame is not read repeatedly.
        if is_over || behind.saturating_sub(reading.end.as_ref().map_or(offset, |(_, end)| end.offset)) > MOST_BYTES {
            reading.end();
        }
        let end = match reading.end {
            Some(end) => Some(end),
            None => self.outside(reading.outside, &from, part.end, text.len() as u64),
        };
        let Some((frame, position)) = end else { return Ok(ReadPart { unknown: 0, offset }) };
        let (mut logs, mut usage) = (reading.logs, reading.usage);
        let mut logged = HashSet::new();
        if is_new {
            // A program that has watched the requests may have recorded it already.
            let frames = logs.keys().map(|frame| self.stack.look(|tree| tree.root(*frame)));
            for root in frames.collect::<BTreeSet<_>>() {
                logged.extend(self.logged_below(root)?);
            }
            let is_new = |entry: &Value| entry["id"].as_str().is_none_or(|id| !logged.contains(id));
            logs.values_mut().for_each(|entries| entries.retain(is_new));
        }
        for (frame, entries) in &mut logs {
            // A fork repeats what was said in the frames of other conversations.
            if is_new || self.is_of_another(*frame) {
                let copies = self.take_copies(*frame, entries)?;
                logged.extend(copies.iter().filter_map(|copy| copy["id"].as_str().map(str::to_owned)));
            }
        }
        usage.retain(|used| !used.ids.iter().any(|id| logged.contains(id)));
        if !self.stack.keeps_logs() {
            logs.clear();
        }
        logs.retain(|_, entries| !entries.is_empty());
        let goes_on_at = position.offset;
        let events = self.stack.execute(Command::RecordConversation {
            logs: logs.into_iter().map(|(frame, entries)| (frame.into(), entries)).collect(),
            usage: usage.into_iter().map(|used| (used.frame.into(), used.request)).collect(),
            transcript: Some(TranscriptRead::new(frame, caller, before, position)),
        })?;
        Ok(match events.is_empty() {
            true => ReadPart { unknown: 0, offset: self.transcript_offset() },
            false => ReadPart { unknown: part.unknown, offset: goes_on_at },
        })
    }

    /// The place where the reading continues, for a conversation that has said much in no frame, or for a
    /// line that is too long. The newest part of it is kept for the frame that it may begin.
    fn outside(
        &self,
        far: Option<TranscriptPosition>,
        from: &TranscriptPosition,
        end: TranscriptPosition,
        length: u64,
    ) -> Option<(Handle, TranscriptPosition)> {
        let end = match far {
            Some(far) if length > MOST_BYTES => far,
            _ if end.is_within_line || from.is_within_line || length >= LONGEST_TRANSCRIPT_LINE as u64 => end,
            _ => return None,
        };
        let first = Handle::from_index(0).filter(|_| self.stack.look(|tree| !tree.is_empty()))?;
        Some((first, TranscriptPosition { is_outside: true, ..end }))
    }

    /// The IDs in the logs of a tree.
    fn logged_below(&self, root: Handle) -> Result<HashSet<String>> {
        let has_log = |frame: &Handle| self.stack.look(|tree| tree.node(*frame).record().log_path.is_some());
        let mut frames: Vec<Handle> = self.stack.look(|tree| tree.subtree(root).collect());
        frames.retain(has_log);
        frames.sort_unstable();
        let mut logged = HashSet::new();
        for frame in frames.into_iter().rev().take(COMPARED_FRAMES) {
            logged.extend(self.stack.logged_ids(&frame.into())?);
        }
        Ok(logged)
    }

    /// True if another conversation than this one has worked in a frame last.
    fn is_of_another(&self, frame: Handle) -> bool {
        let is_own = |holder: &Holder| self.caller.is_some_and(|caller| holder.name == caller);
        !self.stack.look(|tree| tree.node(frame).record().holder.as_deref().is_some_and(is_own))
    }

    /// Removes what a fork has copied from another conversation: its first entries in a frame, as long as
    /// each of them is in the log of the frame already. Returns them.
    fn take_copies(&self, frame: Handle, entries: &mut Vec<Value>) -> Result<Vec<Value>> {
        let has_log = self.stack.look(|tree| tree.node(frame).record().log_path.is_some());
        if !has_log || entries.len() < SHORTEST_COPY {
            return Ok(Vec::new());
        }
        let mut logged: HashMap<String, usize> = HashMap::new();
        for line in self.stack.log(frame).read(&LogQuery::default())?.lines {
            *logged.entry(said(line.entry)).or_default() += 1;
        }
        let is_copy = |entry: &&Value| {
            let left = logged.get_mut(&said((*entry).clone()));
            left.is_some_and(|left| left.checked_sub(1).map(|less| *left = less).is_some())
        };
        let copied = entries.iter().take_while(is_copy).count();
        Ok(entries.drain(..if copied < SHORTEST_COPY { 0 } else { copied }).collect())
    }

    /// The frame that words hand over: its subagent need not enter it.
    fn task_in(&self, entry: &Value) -> Option<Handle> {
        let words = entry["text"].as_str().filter(|_| entry["role"] == "user")?;
        let frame = frame_in_prompt(words)?;
        self.stack.look(|tree| (frame.index() < tree.len() && is_handed_over(tree, frame)).then_some(frame))
    }
}

/// The content of an entry, no matter when it was written and which ID it has.
fn said(mut entry: Value) -> String {
    if let Some(fields) = entry.as_object_mut() {
        fields.retain(|key, _| key != "id" && key != "time");
    }
    entry.to_string()
}

/// A part of a transcript on its way into the logs and the usage of frames.
struct Reading<'a> {
    conversation: &'a Conversation<'a>,
    /// The frame in which the stack knows the conversation to be.
    place: Option<Handle>,
    /// The frame that something was recorded in last.
    last: Option<Handle>,
    /// What was said and used in no frame. It counts for the next frame, or at the end of a turn for the last
    /// frame.
    before: Vec<Value>,
    used_before: Vec<(ModelRequest, Vec<String>)>,
    /// The position after the last step that was read.
    position: Option<TranscriptPosition>,
    logs: BTreeMap<Handle, Vec<Value>>,
    usage: Vec<Used>,
    /// How far it is recorded, and in which frame.
    end: Option<(Handle, TranscriptPosition)>,
    /// If nothing is recorded, the reading continues after the last step that ends before this offset.
    kept_from: u64,
    outside: Option<TranscriptPosition>,
}

/// The outcome of reading a part of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadPart {
    /// Number of recorded lines that were not understood.
    pub unknown: usize,
    /// The place where the reading continues, in bytes. If the part ends within a step, it is the place where
    /// the reading was.
    pub offset: u64,
}

/// What a request has used.
struct Used {
    frame: Handle,
    request: ModelRequest,
    /// The IDs of the entries of the step that it belongs to.
    ids: Vec<String>,
}

impl<'a> Reading<'a> {
    fn new(conversation: &'a Conversation<'a>, last: Option<Handle>, steps: &[TranscriptStep], kept_from: u64) -> Self {
        let mut entries = steps.iter().flat_map(|step| &step.items);
        let task = || entries.find_map(|(_, entry)| conversation.task_in(entry));
        // The place of a subagent has ended with the subagent.
        let ended = || {
            let agent = conversation.stack.actor().filter(|actor| !actor.caller.is_empty())?;
            conversation.stack.look(|tree| tree.place_of(&agent.name))
        };
        Self {
            conversation,
            // A conversation that names no frame is where the stack knows it to be.
            place: conversation.place().or_else(ended).or_else(task),
            last,
            before: Vec::new(),
            used_before: Vec::new(),
            position: None,
            logs: BTreeMap::new(),
            usage: Vec::new(),
            end: None,
            kept_from,
            outside: None,
        }
    }

    fn add(&mut self, step: TranscriptStep) {
        let TranscriptStep { items, requests, ended, end, .. } = step;
        let stack = self.conversation.stack;
        let guessed = if end.has_frames { None } else { self.place.or(ended) };
        let known =
            |frame: Option<Handle>| frame.or(guessed).filter(|frame| stack.look(|tree| frame.index() < tree.len()));
        let ids: Vec<String> = items.iter().filter_map(|(_, entry)| entry["id"].as_str().map(str::to_owned)).collect();
        let mut here = None;
        for (frame, entry) in items {
            self.before.push(entry);
            if let Some(frame) = known(frame) {
                self.logs.entry(frame).or_default().append(&mut self.before);
                here = Some(frame);
            }
        }
        for (frame, request) in requests {
            match known(frame) {
                Some(frame) => {
                    here = here.or(Some(frame));
                    self.usage.push(Used { frame, request, ids: ids.clone() });
                }
                None => self.used_before.push((request, ids.clone())),
            }
        }
        if end.offset <= self.kept_from {
            self.outside = Some(end.clone());
        }
        self.position = Some(end);
        if let Some(here) = here {
            self.record_before(here);
        }
    }

    /// Counts what was said in no frame for this frame.
    fn record_before(&mut self, frame: Handle) {
        if !self.before.is_empty() {
            self.logs.entry(frame).or_default().append(&mut self.before);
        }
        let used = self.used_before.drain(..).map(|(request, ids)| Used { frame, request, ids });
        self.usage.extend(used);
        self.last = Some(frame);
        self.end = self.position.clone().map(|position| (frame, position));
    }

    /// At the end of a turn: counts what was said and used in no frame for the last frame.
    fn end(&mut self) {
        if let Some(last) = self.last.filter(|_| !self.before.is_empty() || !self.used_before.is_empty()) {
            self.record_before(last);
        }
    }
}
