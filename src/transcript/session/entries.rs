//! What was said, in the form that the logs of frames have. It is collected only if the caller asks for it.

use serde_json::Value as Json;

use super::{Entries, Session};
use crate::frame::Handle;

impl Session {
    /// The entries since the last call, each with its frame, in the form that the logs of frames have.
    pub fn take_entries(&mut self) -> Vec<(Handle, Json)> {
        self.entries.as_mut().map(|entries| std::mem::take(&mut entries.found)).unwrap_or_default()
    }

    /// Collects the entries of the log of a frame with this ID, or of all frames.
    #[must_use]
    pub fn with_entries(mut self, of: Option<String>) -> Self {
        self.entries = Some(Entries { of, found: Vec::new(), early: Vec::new() });
        self
    }

    pub(super) fn log(&mut self, file: usize, entry: Json) {
        self.log_in(file, None, entry);
    }

    pub(super) fn log_in(&mut self, file: usize, frame: Option<Handle>, mut entry: Json) {
        if self.entries.is_none() {
            return;
        }
        entry["time"] = self.streams[file].time.into();
        // An entry makes no frame: the tree is the same whether entries are wanted or not.
        let has_place = self.root.is_some() && (frame.is_some() || self.has_place(file));
        if let Some(entries) = self.entries.as_mut().filter(|_| !has_place) {
            entries.early.push(entry);
            return;
        }
        let frame = frame.unwrap_or_else(|| self.place(file));
        self.keep_entry(frame, entry);
    }

    pub(super) fn has_place(&self, file: usize) -> bool {
        let stream = &self.streams[file];
        stream.turn.is_some() || stream.agent.is_none() && self.root.is_some()
    }

    pub(super) fn keep_entry(&mut self, frame: Handle, entry: Json) {
        let id = &self.tree.node(frame).record().session_id;
        if let Some(entries) = &mut self.entries
            && entries.of.as_ref().is_none_or(|of| of == id)
        {
            entries.found.push((frame, entry));
        }
    }

    /// Puts what was said before there was a frame into this frame.
    pub(super) fn keep_early(&mut self, frame: Handle) {
        let early = self.entries.as_mut().map(|entries| std::mem::take(&mut entries.early)).unwrap_or_default();
        early.into_iter().for_each(|entry| self.keep_entry(frame, entry));
    }
}
