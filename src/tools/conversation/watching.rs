//! A conversation as the requests to its model show it: what was said goes into the logs of frames, and what was used is recorded. For a program
//! between an agent and its model.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::caller::{Conversation, frame_in_prompt, is_handed_over};
use crate::error::Result;
use crate::fold::{FoldSettings, Seen, Transcript, Wire, answered_transcript};
use crate::frame::{FrameRef, Handle, ModelRequest};
use crate::tree::Command;

/// What a process knows of a conversation that it watches. It begins empty, also after a restart: what the logs have already is found there.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// `None`: no request was seen.
    seen: Option<Seen>,
    /// The trees whose logs were compared with the conversation, by their roots.
    compared: HashSet<Handle>,
    /// The frame that was handed over to the conversation, by the words with which it began.
    task: Option<Handle>,
    /// What was said in no frame: it is in the log of the frame that begins next.
    before: Vec<Value>,
    /// What was used in no frame, which counts for that one too.
    used_before: Vec<ModelRequest>,
    /// The frame in which the conversation was last: what is said behind the end of all its frames is in its log when nobody watches any more.
    last: Option<Handle>,
}

/// Number of frames of a tree whose logs are compared with a conversation that is seen for the first time, the newest.
const COMPARED_FRAMES: usize = 64;

/// Number of items, and of requests, in no frame that are kept for the next one, the newest.
const KEPT_BEFORE: usize = 1_000;

impl Conversation<'_> {
    /// Records what a request says that was not recorded before: each item in the log of the frame in which the conversation was, with the time
    /// of now. What was said in no frame is in the log of the next one, whose task it is as a rule; so is what was used. `answer`: the
    /// texts of the answer. Records what the request has used too, for the frame in which the conversation is. All of it is one commit. Returns that frame;
    /// `None` if the conversation is in none, and nothing was recorded. Of a request that offers the model none of the stack's tools, such as
    /// one for a title, only the usage is recorded, unless it is a subagent's.
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
    /// The storage errors. Nothing was recorded then, and the next request records it.
    pub fn watch(
        &self,
        wire: Wire,
        request: &str,
        answer: &[String],
        settings: &FoldSettings,
        usage: Option<ModelRequest>,
        watched: &mut Watched,
    ) -> Result<Option<Handle>> {
        let before_this = watched.seen.clone().unwrap_or_else(|| Seen::of(self.caller.unwrap_or_default()));
        let mut seen = before_this.clone();
        let said = answered_transcript(wire, request, answer, settings, &mut seen).unwrap_or_default();
        // What a host asks beside the conversation, such as a title for it, is no part of what was said. Its costs are.
        let is_subagent = self.stack.actor().is_some_and(|actor| !actor.caller.is_empty());
        let model = said.model.clone();
        let (said, seen) = match said.has_tools || is_subagent {
            true => (said, seen),
            false => (Transcript::default(), before_this),
        };
        // A conversation that names no frame is where the stack knows it to be: its frame was begun by another one, or before a compaction.
        let task = watched.task.or_else(|| said.items.iter().find_map(|item| self.task_in(&item.entry)));
        let place = self.place().or(task);
        let known = |frame: Option<Handle>| if said.has_frames { frame } else { frame.or(place) };
        let exists = |frame: &Handle| self.stack.read(|tree| frame.index() < tree.len());
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
        // What a process before this one has logged, in whatever frame.
        let roots: BTreeSet<Handle> = logs.keys().map(|frame| self.stack.read(|tree| tree.root(*frame))).collect();
        let new: Vec<Handle> = roots.into_iter().filter(|root| !watched.compared.contains(root)).collect();
        for root in &new {
            let logged = self.logged_below(*root)?;
            let is_new = |entry: &Value| entry["id"].as_str().is_none_or(|id| !logged.contains(id));
            logs.values_mut().for_each(|entries| entries.retain(is_new));
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
            self.stack.execute(Command::RecordConversation { logs, usage })?;
        }
        (watched.seen, watched.before, watched.used_before) = (Some(seen), before, used);
        (watched.task, watched.last) = (task, here.or(last));
        watched.compared.extend(new);
        Ok(here)
    }

    /// Records what was said and used behind the end of all frames of a conversation, in the last one of them, when nobody watches it any more.
    ///
    /// # Errors
    /// The storage errors.
    pub fn watched(&self, watched: Watched) -> Result<()> {
        let Some(last) = watched.last.map(FrameRef::from) else { return Ok(()) };
        let usage: Vec<_> = watched.used_before.into_iter().map(|request| (last.clone(), request)).collect();
        let entries = if self.stack.keeps_logs() { watched.before } else { Vec::new() };
        match usage.is_empty() && entries.is_empty() {
            true => Ok(()),
            false => self.stack.execute(Command::RecordConversation { logs: vec![(last, entries)], usage }).map(drop),
        }
    }

    /// The IDs in the logs of a tree.
    fn logged_below(&self, root: Handle) -> Result<HashSet<String>> {
        let has_log = |frame: &Handle| self.stack.read(|tree| tree.node(*frame).record().log_path.is_some());
        let mut frames: Vec<Handle> = self.stack.read(|tree| tree.subtree(root).collect());
        frames.retain(has_log);
        frames.sort_unstable();
        let mut logged = HashSet::new();
        for frame in frames.into_iter().rev().take(COMPARED_FRAMES) {
            logged.extend(self.stack.logged_ids(&frame.into())?);
        }
        Ok(logged)
    }

    /// The frame that words hand over: its subagent need not enter it.
    fn task_in(&self, entry: &Value) -> Option<Handle> {
        let words = entry["text"].as_str().filter(|_| entry["role"] == "user")?;
        let frame = frame_in_prompt(words)?;
        self.stack.read(|tree| (frame.index() < tree.len() && is_handed_over(tree, frame)).then_some(frame))
    }
}
