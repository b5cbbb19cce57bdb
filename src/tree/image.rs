//! A node of a tree as JSON: the record of the frame, its links as handles, its places and its revisions. The
//! nodes of a whole tree are rebuilt from the images of its frames.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::memory::Conversation;
use super::node::{Attempt, Before, Node};
use crate::archive::ArchivedFrame;
use crate::error::{Error, Result, SNAPSHOT};
use crate::frame::{Frame, Handle, Message, RunSettings};

/// The part of a node that does not follow from the other nodes of its tree.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Image<'a> {
    /// The record without its link fields.
    frame: Cow<'a, Frame>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Handle>,
    #[serde(default, skip_serializing_if = "is_empty")]
    depends_on: Cow<'a, [Handle]>,
    #[serde(default, skip_serializing_if = "is_empty")]
    dependents: Cow<'a, [Handle]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<Attempt>,
    /// Key of its place among its siblings.
    order: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_reordered: bool,
    /// Places of the start and of the finish in the tree's sequence.
    progress: [u64; 2],
    /// The revisions of the node, of its settled view, of its children, and of its finished children.
    revisions: [u64; 4],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Cow<'a, Before>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationImage<'a>>,
}

#[derive(Serialize, Deserialize)]
struct ConversationImage<'a> {
    messages: Vec<Cow<'a, Message>>,
    /// The settings of the run and the number of its steps.
    run: Option<(RunSettings, u64)>,
    tools: Cow<'a, str>,
    call: Option<Cow<'a, str>>,
}

fn is_empty(handles: &[Handle]) -> bool {
    handles.is_empty()
}

impl Node {
    /// The image of the node.
    pub(super) fn image(&self) -> String {
        let image = Image {
            frame: Cow::Borrowed(&self.frame),
            parent: self.parent,
            depends_on: Cow::Borrowed(self.dependencies()),
            dependents: Cow::Borrowed(self.dependents()),
            attempt: self.attempt.as_deref().copied(),
            order: self.order,
            is_reordered: self.is_reordered,
            progress: [self.started, self.finished],
            revisions: [self.revision, self.settled_revision, self.children_revision, self.finished_revision],
            before: self.before.as_deref().map(Cow::Borrowed),
            conversation: self.conversation.as_deref().map(|own| ConversationImage {
                messages: own.messages().iter().map(|message| Cow::Borrowed(&**message)).collect(),
                run: own.run().map(|run| (run.settings, run.steps)),
                tools: Cow::Borrowed(own.tools()),
                call: own.call().map(Cow::Borrowed),
            }),
        };
        serde_json::to_string(&image).expect("a node has only string keys and finite numbers")
    }

    /// The frames that the node names, except its parent and its children.
    fn linked(&self) -> impl Iterator<Item = Handle> + '_ {
        let attempt = self.attempt.as_deref().into_iter();
        let attempts =
            attempt.flat_map(|attempt| [Some(attempt.first), attempt.previous, attempt.next, Some(attempt.newest)]);
        self.dependencies().iter().chain(self.dependents()).copied().chain(attempts.flatten())
    }

    /// The node of an image, without the parts that follow from the other nodes of its tree.
    fn of_image(archived: &ArchivedFrame) -> Result<Self> {
        let ArchivedFrame { handle, changed, ref image, .. } = *archived;
        let image: Image<'_> = serde_json::from_str(image)
            .map_err(|error| Error::json(SNAPSHOT, format!("frame {handle}: {error}")).with_source(error))?;
        let mut node = Self::new(image.frame.into_owned(), image.parent, 0, handle);
        if !image.depends_on.is_empty() || !image.dependents.is_empty() {
            let waits = node.waits_mut();
            (waits.dependencies, waits.dependents) = (image.depends_on.into_owned(), image.dependents.into_owned());
        }
        node.attempt = image.attempt.map(Box::new);
        (node.order, node.is_reordered) = (image.order, image.is_reordered);
        [node.started, node.finished] = image.progress;
        [node.revision, node.settled_revision, node.children_revision, node.finished_revision] = image.revisions;
        node.changed = changed;
        node.before = image.before.map(|before| Box::new(before.into_owned()));
        node.conversation = image.conversation.map(|own| {
            let messages = own.messages.into_iter().map(Cow::into_owned);
            Box::new(Conversation::of_parts(messages, own.run, own.tools.into_owned(), own.call.map(Cow::into_owned)))
        });
        Ok(node)
    }
}

/// Makes the nodes of whole trees from all their archived frames. `len`: the number of existing frames.
///
/// # Errors
/// [`Error::Json`] for an image that cannot be read, for an image that names a frame that does not exist, and
/// for an image whose parent is not among the frames.
pub(super) fn nodes_of<'a>(frames: impl Iterator<Item = &'a ArchivedFrame>, len: usize) -> Result<Vec<(Handle, Node)>> {
    let nodes = frames.map(|frame| Ok((frame.handle, Node::of_image(frame)?)));
    let mut nodes = nodes.collect::<Result<Vec<_>>>()?;
    for (handle, node) in &nodes {
        if let Some(other) = node.linked().find(|other| other.index() >= len) {
            return Err(Error::json(SNAPSHOT, format!("frame {handle}: it names {other}, which is not there")));
        }
    }
    let places: HashMap<Handle, usize> =
        nodes.iter().enumerate().map(|(place, (handle, _))| (*handle, place)).collect();
    let mut parents = Vec::with_capacity(nodes.len());
    for (handle, node) in &nodes {
        let place = |parent: Handle| {
            let missing = || Error::json(SNAPSHOT, format!("frame {handle}: its parent {parent} is missing"));
            places.get(&parent).copied().ok_or_else(missing)
        };
        parents.push(node.parent.map(place).transpose()?);
    }
    for (place, parent) in parents.iter().enumerate() {
        if let Some(parent) = *parent {
            let handle = nodes[place].0;
            nodes[parent].1.children.push(handle);
        }
    }
    let order: HashMap<Handle, u64> = nodes.iter().map(|(handle, node)| (*handle, node.order)).collect();
    nodes.iter_mut().for_each(|(_, node)| node.children.sort_unstable_by_key(|child| order[child]));
    // Parents come before children. A node that is not reached has no root above it.
    let mut ways: Vec<usize> = (0..nodes.len()).filter(|place| parents[*place].is_none()).collect();
    let mut next = 0;
    while let Some(place) = ways.get(next).copied() {
        if let Some(parent) = parents[place] {
            let above = &nodes[parent].1;
            let first = &nodes[places[&above.jump]].1;
            let second = &nodes[places[&first.jump]].1;
            let is_even = above.depth - first.depth == first.depth - second.depth;
            let (depth, jump) = (above.depth + 1, if is_even { first.jump } else { nodes[parent].0 });
            (nodes[place].1.depth, nodes[place].1.jump) = (depth, jump);
        }
        ways.extend(nodes[place].1.children.iter().map(|child| places[child]));
        next += 1;
    }
    if ways.len() < nodes.len() {
        return Err(Error::json(SNAPSHOT, "frames are above each other".to_owned()));
    }
    // Children come before parents, because parents count them.
    for place in ways.into_iter().rev() {
        let Some(parent) = parents[place] else { continue };
        let (handle, child) = &nodes[place];
        let (handle, is_busy, finished) = (*handle, child.is_busy(), child.finished);
        let is_finished = child.status().is_finished() && child.retried_as().is_none();
        let delivered_at = child.frame.delivered_at;
        let parent = &mut nodes[parent].1;
        parent.busy_children += u32::from(is_busy);
        if is_finished {
            parent.finished_children.insert(finished, handle);
            let forgotten_at = parent.frame.forgotten_at;
            let is_held = delivered_at.is_some_and(|time| forgotten_at.is_none_or(|forgotten| time > forgotten));
            parent.held_children += u32::from(is_held);
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use crate::tree::state::tests::grown;

    /// The node as text. Images do not distinguish missing links from an empty list of links.
    fn content(tree: &Tree, handle: Handle) -> String {
        let no_links = "waits: Some(Waits { dependencies: [], dependents: [], left: Derived, counted: Derived })";
        format!("{:?}", tree.node(handle)).replace(no_links, "waits: None")
    }

    #[test]
    fn trees_are_the_same_after_a_way_through_their_images() {
        for seed in 0..100 {
            let tree = grown(seed);
            let frames: Vec<ArchivedFrame> = tree.handles().map(|handle| tree.archived_frame(handle)).collect();
            let nodes = nodes_of(frames.iter(), tree.len()).unwrap();
            for (handle, node) in nodes {
                assert_eq!(format!("{node:?}"), content(&tree, handle), "seed {seed}");
            }
        }
    }
}
