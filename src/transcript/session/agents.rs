//! Subagents: to which frame and to which call the file of a subagent belongs.

use std::collections::HashMap;

use super::{AgentCall, End, Session};
use crate::frame::Handle;
use crate::transcript::AgentFile;

impl Session {
    /// The number of the subagent with this ID.
    pub(super) fn stream_of(&self, agent: &str) -> Option<usize> {
        self.streams.iter().position(|stream| stream.agent.as_ref().is_some_and(|known| known.id == agent))
    }

    /// Notes the calls that have started subagents. `calls`: the calls by the IDs of the subagents.
    pub(in crate::transcript) fn note_calls(&mut self, calls: &HashMap<String, String>) {
        for agent in self.streams.iter_mut().filter_map(|stream| stream.agent.as_mut()) {
            agent.call = agent.call.take().or_else(|| calls.get(&agent.id).cloned());
        }
    }

    /// The number of a subagent whose lines are in the file of the session.
    pub(super) fn inline_agent(&mut self, id: &str) -> usize {
        self.stream_of(id)
            .unwrap_or_else(|| self.add_agent(AgentFile { id: id.to_owned(), call: Some(id.to_owned()), title: None }))
    }

    /// The frame of the subagent of a file. `words`: what the subagent was told first.
    pub(super) fn agent_frame(&mut self, file: usize, words: &str) -> Handle {
        if let Some(frame) = self.streams[file].frame {
            return frame;
        }
        let agent = self.streams[file].agent.clone().unwrap_or_default();
        let same_words =
            |call: &AgentCall| call.stream.is_none() && !words.is_empty() && call.task.trim() == words.trim();
        let by_call = agent.call.clone().filter(|call| self.agents.contains_key(call));
        let mut by_words: Vec<(&String, Handle)> =
            self.agents.iter().filter(|(_, call)| same_words(call)).map(|(id, call)| (id, call.frame)).collect();
        by_words.sort_by_key(|(_, frame)| *frame);
        let call = by_call.or_else(|| by_words.first().map(|(id, _)| (*id).clone()));
        let frame = match call.and_then(|call| self.agents.get_mut(&call)) {
            Some(call) => {
                call.stream = Some(file);
                call.frame
            }
            None => {
                let above = self.place(0);
                let id = format!("{}.agent-{}", self.root_id(), agent.id);
                self.facts.agents += 1;
                self.push(id, above, agent.title.as_deref().unwrap_or_default(), "", words).unwrap_or(above)
            }
        };
        let stream = &mut self.streams[file];
        (stream.frame, stream.turn) = (Some(frame), Some(frame));
        frame
    }

    /// A call has named the subagent that it has started.
    pub(super) fn started(&mut self, call: &str, id: &str, goes_on: bool) {
        let stream = self.stream_of(id).filter(|file| self.streams[*file].frame.is_none());
        let Some(known) = self.agents.get_mut(call) else { return };
        known.goes_on = goes_on;
        if let Some(file) = stream {
            known.stream = Some(file);
            let frame = known.frame;
            (self.streams[file].frame, self.streams[file].turn) = (Some(frame), Some(frame));
        }
    }

    pub(super) fn agent_ended(&mut self, agent: &str, end: End, result: String) {
        let by_stream = self.stream_of(agent).and_then(|file| self.streams[file].frame);
        let frame = by_stream.or_else(|| self.agents.get(agent).map(|call| call.frame));
        if let Some(frame) = frame.filter(|frame| self.is_open(*frame)) {
            self.end_frame(frame, &end, result);
        }
    }
}
