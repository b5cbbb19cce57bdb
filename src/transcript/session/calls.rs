//! What the calls of tools do to the tree: subagents that begin, entries of to-do lists, files, frames of the
//! stack's own tools.

use serde_json::{Value as Json, json};

use super::{AgentCall, COMPACTION, ENTRY, End, OpenCall, Session, TITLE, pop, shortened};
use crate::frame::{Change, Frame, FrameStatus, Handle, PopStatus};
use crate::text::beginning;
use crate::transcript::called::{self, ListChange};
use crate::transcript::parts::text_of;
use crate::tree::{Command, Records};
use crate::vocabulary::ToolNames;
use crate::vocabulary::calls::{CallNames, CallRole, SERVER};

impl Session {
    pub(super) fn call(&mut self, file: usize, id: &str, name: &str, arguments: Json) {
        let place = self.place(file);
        self.log(
            file,
            json!({ "role": "assistant", "text": "", "calls": [{ "id": id, "name": name, "arguments": arguments }] }),
        );
        if let Some((agent, frame)) = self.resumed(name, &arguments) {
            let call = AgentCall { frame, task: String::new(), stream: Some(agent), goes_on: false };
            self.agents.insert(id.to_owned(), call);
        } else if let Some(started) = called::started(name, &arguments) {
            let frame_id = format!("{}.call-{id}", self.root_id());
            self.facts.agents += 1;
            if let Some(frame) = self.push(frame_id, place, &started.title, "", &started.task) {
                let call = AgentCall { frame, task: started.task, stream: None, goes_on: false };
                self.agents.insert(id.to_owned(), call);
            }
        }
        match called::list_change(name, &arguments) {
            Some(ListChange::Whole(entries)) => {
                for (title, status) in entries {
                    self.entry(file, &title, status);
                }
            }
            Some(ListChange::Status(entry, status)) => {
                if let Some(title) = self.streams[file].titles.get(&entry).cloned() {
                    self.entry(file, &title, status);
                }
            }
            Some(ListChange::Entry(title)) => self.entry(file, &title, FrameStatus::Planned),
            None => {}
        }
        let time = self.streams[file].time;
        self.streams[file]
            .calls
            .insert(id.to_owned(), OpenCall { name: name.to_owned(), arguments, time, frame: place });
    }

    /// The subagent that a call resumes, and its frame. The frame resumes too.
    fn resumed(&mut self, name: &str, arguments: &Json) -> Option<(usize, Handle)> {
        called::started(name, arguments)?;
        let keys = ["resume", "task_id", "session_id", "agent_id"];
        let named = keys.iter().find_map(|key| arguments.get(key)?.as_str())?;
        let agent = self.stream_of(named)?;
        let frame = self.streams[agent].frame?;
        if !self.is_open(frame) {
            self.command(Command::Reopen { frame: frame.into(), reason: "It was called again.".to_owned() });
        }
        Some((agent, frame))
    }

    /// An entry of the agent's to-do list, as a record below the turn.
    pub(super) fn entry(&mut self, file: usize, title: &str, wanted: FrameStatus) {
        if self.streams[file].done.contains(title) && wanted == FrameStatus::Completed {
            return;
        }
        let entry = match self.streams[file].list.get(title).copied() {
            Some(entry) => entry,
            None => {
                let parent = self.streams[file].turn.unwrap_or_else(|| self.root.unwrap_or_else(|| self.root("")));
                let id = self.new_id('l');
                let Some(entry) =
                    self.record(id, parent, &shortened(title), ENTRY, FrameStatus::Planned, String::new())
                else {
                    return;
                };
                self.streams[file].list.insert(title.to_owned(), entry);
                entry
            }
        };
        // An entry that was not begun is begun before it ends.
        for status in [FrameStatus::InProgress, wanted] {
            let from = self.tree.node(entry).status();
            let is_between = status == FrameStatus::InProgress && wanted != status;
            let is_way = from == FrameStatus::Planned && !from.can_become(wanted);
            if from != status && from.can_become(status) && (!is_between || is_way) {
                let reason = "The agent has taken it from its list.".to_owned();
                self.change(
                    entry,
                    match status {
                        FrameStatus::Invalidated => Change::Invalidated { reason },
                        _ => Change::StatusChanged { status, results: None, results_compacted: None },
                    },
                );
            }
        }
    }

    /// Adds a frame that is a record and not work.
    pub(super) fn record(
        &mut self,
        id: String,
        parent: Handle,
        title: &str,
        what: &str,
        status: FrameStatus,
        results: String,
    ) -> Option<Handle> {
        let parent_session_id = Some(self.tree.node(parent).record().session_id.clone());
        let frame = Frame {
            session_id: id,
            parent_session_id,
            title: title.to_owned(),
            no_work: Some(what.to_owned()),
            status,
            results: Some(results).filter(|results| !results.is_empty()),
            created_at: self.now,
            updated_at: self.now,
            ..Frame::default()
        };
        let handle = Handle::from_index(self.tree.len());
        self.command(Command::Import { frames: vec![frame] }).and(handle)
    }

    pub(super) fn outcome(&mut self, file: usize, id: &str, content: &Json, is_error: bool) {
        let call = self.streams[file].calls.remove(id);
        let text = text_of(content);
        let name = call.as_ref().map_or("", |call| call.name.as_str());
        let mut entry = json!({ "role": "tool", "name": name, "call": id, "text": text });
        if is_error {
            entry["isError"] = true.into();
        }
        if let Some(call) = call.as_ref().filter(|call| call.time > 0) {
            entry["duration"] = self.streams[file].time.saturating_sub(call.time).into();
        }
        let frame = call.as_ref().map(|call| call.frame);
        self.log_in(file, frame, entry);
        let Some(call) = call else { return };
        if let Some(ListChange::Entry(title)) = called::list_change(&call.name, &call.arguments)
            && let Some(entry) = called::entry_id(&text)
        {
            self.streams[file].titles.insert(entry, title);
        }
        if !is_error {
            let artifacts = called::written(&call.name, &call.arguments);
            let records = Records::of_artifacts(artifacts);
            self.command(Command::Record { frame: call.frame.into(), records });
            self.follow_own(file, &call, &text);
        }
        if let Some(agent) = self.agents.get(id).filter(|agent| !agent.goes_on) {
            let (frame, stream) = (agent.frame, agent.stream);
            stream.into_iter().for_each(|stream| self.count_request(stream));
            if self.is_open(frame) {
                let end = if is_error { End::Failed(beginning(&text, TITLE).to_owned()) } else { End::Done };
                self.end_frame(frame, &end, text);
            }
        }
    }

    /// What a call of the stack's own tools has done. `answer`: the answer of the tool. It names the frame
    /// that has begun: `f3 (Cart) has begun`.
    pub(super) fn follow_own(&mut self, file: usize, call: &OpenCall, answer: &str) {
        let names = ToolNames::default();
        let role = CallNames::new(&names, SERVER).role("", &call.name);
        let given = |key: &str| call.arguments.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        match role {
            Some(CallRole::Push | CallRole::Activate) => {
                let begun = begun(answer);
                let title = begun.as_ref().map_or_else(|| given("title"), |(_, title)| title.clone());
                if title.is_empty() {
                    return;
                }
                let place = self.place(file);
                let id = self.new_id('p');
                let pushed = self.push(id, place, &title, &given("successCriteria"), &given("task"));
                let handle = begun.map(|(handle, _)| handle).unwrap_or_default();
                self.streams[file].own.extend(pushed.map(|frame| (handle, frame)));
            }
            Some(CallRole::Pop) => {
                let named = ["frame", "sessionID"].iter().map(|key| given(key)).find(|name| !name.is_empty());
                let is = |(handle, frame): &(String, Handle)| {
                    named.as_ref().is_some_and(|named| named == handle || *named == self.tree.node(*frame).title())
                };
                let own = &self.streams[file].own;
                let place = own.iter().rposition(is).or_else(|| own.len().checked_sub(1));
                let Some(place) = place.filter(|_| named.is_none() || own.iter().any(is)) else { return };
                let (_, frame) = self.streams[file].own.remove(place);
                let status = match &*given("status") {
                    "failed" => PopStatus::Failed,
                    "blocked" => PopStatus::Blocked,
                    _ => PopStatus::Completed,
                };
                self.command(pop(frame, status, given("results")));
            }
            _ => {}
        }
    }

    pub(super) fn compacted(&mut self, file: usize, tokens: u64, summary: &str) {
        self.facts.compactions += 1;
        let parent = self.streams[file].turn.unwrap_or_else(|| self.root(""));
        let title = if tokens > 0 { format!("Compaction of {tokens} tokens") } else { "Compaction".to_owned() };
        let id = self.new_id('c');
        self.record(id, parent, &title, COMPACTION, FrameStatus::Completed, summary.to_owned());
    }
}

/// The frame that has begun, with its title, from the answer of a tool of the stack.
fn begun(answer: &str) -> Option<(String, String)> {
    let (named, _) = answer.split_once(") has begun")?;
    let start = named.rfind('\n').map_or(0, |end| end + 1);
    let (handle, title) = named[start..].split_once(" (")?;
    let is_handle = handle.strip_prefix('f').is_some_and(|number| number.parse::<u32>().is_ok());
    is_handle.then(|| (handle.to_owned(), title.to_owned()))
}
