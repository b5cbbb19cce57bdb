//! The last commands of persons, which can be taken back.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Tree, titles};
use crate::frame::{Change, Event, FrameBefore, Handle};

/// The number of commands that are remembered.
const MOST: usize = 20;

/// A command that a person has given.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Given {
    /// The revision of its event.
    pub(super) revision: u64,
    /// The time of its event.
    pub(super) time: u64,
    /// The frame that it was about.
    pub(super) handle: Handle,
    pub(super) command: String,
    pub(super) by: String,
    pub(super) was_active: Option<Handle>,
    /// The active frame after it.
    pub(super) active: Option<Handle>,
    /// The number of frames after it.
    pub(super) frames: usize,
    /// What the changed frames were before, each with the digest of what it has left. `None`: it cannot be taken back.
    pub(super) before: Option<Vec<(FrameBefore, u64)>>,
}

impl Given {
    /// The frames that it names.
    pub(super) fn named(&self) -> impl Iterator<Item = &Handle> {
        let before = self.before.iter().flatten().map(|(before, _)| &before.frame);
        before.chain(&self.was_active).chain(&self.active).chain([&self.handle])
    }
}

impl Tree {
    /// Remembers a command of a person, the events of which were applied.
    pub(super) fn remember_command(&mut self, event: &Event) {
        let Change::Commanded { command, by, was_active, before } = &event.change else { return };
        let known = |before: &&FrameBefore| before.frame.index() < self.len();
        let before = before
            .as_ref()
            .map(|before| before.iter().filter(known).map(|before| (before.clone(), digest(self, before))).collect());
        self.given.push_back(Given {
            revision: event.revision,
            time: event.time,
            handle: event.handle,
            command: command.clone(),
            by: by.clone(),
            was_active: *was_active,
            active: self.active,
            frames: self.len(),
            before,
        });
        if self.given.len() > MOST {
            self.given.pop_front();
        }
    }

    /// Forgets a command that was taken back.
    pub(super) fn forget_command(&mut self, revision: u64) {
        self.given.retain(|given| given.revision != revision);
    }

    /// What the last commands of persons were, the newest last: each with the name of the person.
    pub fn commands_of_persons(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.given.iter().map(|given| (given.command.as_str(), given.by.as_str()))
    }

    pub(super) fn given(&self) -> &VecDeque<Given> {
        &self.given
    }
}

/// A number that changes when what a command has changed in a frame changes again.
pub(super) fn digest(tree: &Tree, before: &FrameBefore) -> u64 {
    let node = tree.node(before.frame);
    let record = node.record();
    let has_ended = |above: Handle| !tree.node(above).status().is_unfinished();
    let left = match before.is_new {
        true => json!([record.status, record.results, record.title, record.success_criteria, record.task]),
        false => json!([
            record.with_same_keys(&before.values),
            before.edit.is_some().then(|| (node.parent(), node.dependencies())),
            before.status().is_some() && node.parent().is_some_and(has_ended)
        ]),
    };
    titles::hash(&left.to_string())
}
