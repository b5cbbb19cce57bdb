//! Commands that record data of a frame: its ID, results so far, artifacts, decisions, requests to models,
//! and its log.

use std::collections::HashSet;

use serde_json::Value;

use super::{check_name, not_empty};
use crate::error::{Error, Result};
use crate::frame::{Change, Frame, Handle, ModelRequest, Results, SummaryRequest, is_too_deep, own_log_path};
use crate::tree::{Draft, Records};

impl Draft<'_> {
    /// Replaces the frame's ID. The frame's own log is renamed together with it, because the log's file is
    /// named after the ID.
    pub(super) fn replace_id(&mut self, handle: Handle, session_id: String) -> Result<()> {
        check_name("sessionID", &session_id, Frame::LONGEST_ID)?;
        match self.tree.by_id(&session_id) {
            Some(other) if other == handle => return Ok(()),
            Some(other) => return Err(Error::DuplicateId { session_id, handle: other }),
            None => {}
        }
        let frame = self.tree.node(handle).record();
        let old_log = own_log_path(&frame.session_id, handle);
        let new_log = own_log_path(&session_id, handle);
        self.push(handle, Change::IdReplaced { session_id });
        if frame.log_path.as_ref() == Some(&old_log) && new_log != old_log {
            self.push(handle, Change::LogMoved { log_path: new_log });
        }
        Ok(())
    }

    pub(super) fn summarize(&mut self, handle: Handle, results: Results) -> Result<()> {
        let status = self.tree.node(handle).status();
        if !status.is_open() {
            return Err(Error::ResultsFixed { handle, status });
        }
        not_empty("results", &results.full)?;
        self.push(handle, Change::Summarized { results: results.full, results_compacted: results.compacted });
        Ok(())
    }

    /// Records a request for a summary, which only an open frame can have, or the end of such a request.
    pub(super) fn request_summary(&mut self, handle: Handle, request: Option<SummaryRequest>) -> Result<()> {
        let frame = self.tree.node(handle).record();
        if request.is_some() && !frame.status.is_open() {
            return Err(Error::ResultsFixed { handle, status: frame.status });
        }
        let request = request.map(Box::new);
        if frame.summary_request != request {
            self.push(handle, Change::SummaryRequested { request });
        }
        Ok(())
    }

    /// Records that the parent's conversation has the results of a frame, unless that is known already, or
    /// the frame was retried.
    pub(super) fn deliver(&mut self, handle: Handle) -> Result<()> {
        let status = self.tree.node(handle).status();
        if !status.is_finished() {
            return Err(Error::NotFinished { handle, status });
        }
        if self.tree.is_finished_child(handle) && !self.tree.is_held(handle) {
            self.push(handle, Change::Delivered {});
        }
        Ok(())
    }

    /// Records that the conversation of a frame was replaced, unless the conversation held no results of
    /// children.
    pub(super) fn forget(&mut self, handle: Handle) {
        if self.tree.node(handle).held_children() > 0 {
            self.push(handle, Change::Forgotten {});
        }
    }

    pub(super) fn record(&mut self, handle: Handle, records: Records) -> Result<()> {
        let Records { artifacts, decisions, results } = records;
        let mut seen = HashSet::new();
        for artifact in artifacts {
            not_empty("artifact", &artifact)?;
            if !self.tree.node(handle).has_artifact(&artifact) && seen.insert(artifact.clone()) {
                self.push(handle, Change::ArtifactAdded { artifact });
            }
        }
        for decision in decisions {
            not_empty("decision", &decision)?;
            self.push(handle, Change::DecisionAdded { decision });
        }
        results.map_or(Ok(()), |results| self.summarize(handle, results))
    }

    pub(super) fn record_usage(&mut self, handle: Handle, request: Box<ModelRequest>) {
        self.push(handle, Change::UsageRecorded { model_request: request });
    }

    pub(super) fn set_log_path(&mut self, handle: Handle, log_path: String) -> Result<()> {
        not_empty("logPath", &log_path)?;
        if self.tree.node(handle).record().log_path.as_ref() != Some(&log_path) {
            self.push(handle, Change::LogPathSet { log_path });
        }
        Ok(())
    }

    pub(super) fn append_entries(&mut self, handle: Handle, entries: Vec<Value>) -> Result<()> {
        if entries.iter().any(is_too_deep) {
            return Err(Error::json("the log entry", "it is nested more than 100 levels deep"));
        }
        self.append_log(handle, own_log_path(self.tree.node(handle).session_id(), handle), entries, false);
        Ok(())
    }
}
