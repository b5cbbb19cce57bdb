//! The last commands of persons, which can be taken back.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Tree, titles};
use crate::frame::{Change, Event, Handle, TreeBefore};

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
    /// The active frame after the command.
    pub(super) active: Option<Handle>,
    /// The number of frames after the command.
    pub(super) frames: usize,
    /// The state of the tree before the command. `None`: the command cannot be taken back.
    pub(super) before: Option<Box<TreeBefore>>,
    /// One number for each frame in `before`, and then one for each frame that the command has added. The
    /// number changes when the things that the command has left in that frame change.
    pub(super) left: Vec<u64>,
}

impl Given {
    /// The frames that the command names.
    pub(super) fn named(&self) -> impl Iterator<Item = Handle> {
        let before = self.before.iter();
        let frames = before.clone().flat_map(|before| before.frames.iter().map(|before| before.frame));
        let others = before.flat_map(|before| before.active.into_iter().chain(before.added.into_iter().flatten()));
        frames.chain(others).chain(self.active).chain([self.handle])
    }
}

impl Tree {
    /// Remembers a command of a person. The events of the command were applied.
    pub(super) fn remember_command(&mut self, event: &Event) {
        let Change::Commanded { command, by, before } = &event.change else { return };
        let given = Given {
            revision: event.revision,
            time: event.time,
            handle: event.handle,
            command: command.clone(),
            by: by.clone(),
            active: self.active,
            frames: self.len(),
            before: before.clone(),
            left: before.as_deref().map_or_else(Vec::new, |before| left_by(self, before)),
        };
        if given.named().all(|frame| frame.index() < self.len()) {
            self.given.push_back(given);
        }
        if self.given.len() > MOST {
            self.given.pop_front();
        }
    }

    /// Forgets a command that was taken back.
    pub(super) fn forget_command(&mut self, revision: u64) {
        self.given.retain(|given| given.revision != revision);
    }

    pub(super) fn given(&self) -> &VecDeque<Given> {
        &self.given
    }
}

/// The numbers for the things that a command has left: see [`Given::left`].
pub(super) fn left_by(tree: &Tree, before: &TreeBefore) -> Vec<u64> {
    let is_known = |handle: Handle| handle.index() < tree.len();
    let has_ended = |above: Handle| !tree.node(above).status().is_unfinished();
    // Below a frame that is planned or has ended, only actors that worked there before can work.
    let is_open = |child: &&Handle| tree.node(**child).status().is_open();
    let changed = before.frames.iter().filter(|before| is_known(before.frame)).map(|before| {
        let node = tree.node(before.frame);
        digest(&json!([
            node.status(),
            node.record().values(before.values.keys().map(String::as_str)),
            before.edit.is_some().then(|| (node.parent(), node.dependencies())),
            before.status().is_some() && node.parent().is_some_and(has_ended),
            before.status().map(|_| node.children().iter().filter(is_open).collect::<Vec<_>>())
        ]))
    });
    let added = before.added().filter(|handle| is_known(*handle)).map(|handle| {
        let node = tree.node(handle);
        let record = node.record();
        let requests: u64 = record.usage.iter().map(|usage| usage.requests).sum();
        let is_done = |child: &&Handle| tree.node(**child).status().is_finished();
        digest(&json!([
            [
                json!(record.status),
                json!(record.results),
                json!(record.title),
                json!(record.success_criteria),
                json!(record.task)
            ],
            [record.artifacts.len(), record.decisions.len(), record.heap.len(), record.questions.len()],
            (
                requests,
                node.children().iter().filter(is_done).count(),
                record.held_by().map(|holder| holder.generation)
            ),
            (
                node.parent(),
                node.dependencies(),
                record.priority,
                &record.labels,
                &record.assignee,
                &record.limits,
                &record.log_path
            )
        ]))
    });
    changed.chain(added).collect()
}

fn digest(left: &Value) -> u64 {
    titles::hash(&left.to_string())
}
