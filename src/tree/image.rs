//! A node of a tree as JSON: the record of the frame, its links as handles, its places and its revisions. The
//! nodes of a whole tree are rebuilt from the images of its frames.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::memory::Conversation;
use super::node::{Attempt, Before, Node};
use super::relations::{Member, Relations};
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

    /// The node of an image, without the parts that follow from the other nodes of its tree. `len`: the number
    /// of existing frames.
    ///
    /// # Errors
    /// [`Error::Json`] if the image cannot be read, or names a frame that does not exist.
    pub(super) fn of_image(handle: Handle, changed: u64, image: &str, len: usize) -> Result<Self> {
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
        let missing = node.linked().find(|other| other.index() >= len);
        missing.map_or(Ok(node), |other| {
            Err(Error::json(SNAPSHOT, format!("frame {handle}: it names {other}, which is not there")))
        })
    }
}

/// Makes the nodes of whole trees from all their archived frames. `len`: the number of existing frames.
///
/// # Errors
/// [`Error::Json`] for an image that cannot be read, for an image that names a frame that does not exist, and
/// for an image whose parent is not among the frames.
pub(super) fn nodes_of<'a>(frames: impl Iterator<Item = &'a ArchivedFrame>, len: usize) -> Result<Vec<(Handle, Node)>> {
    let node = |frame: &ArchivedFrame| Node::of_image(frame.handle, frame.changed, &frame.image, len);
    let nodes = frames.map(|frame| Ok((frame.handle, node(frame)?)));
    let mut nodes = nodes.collect::<Result<Vec<_>>>()?;
    nodes.sort_unstable_by_key(|(handle, _)| *handle);
    let members: Vec<Member> = nodes.iter().map(|(handle, node)| Member::of(*handle, node)).collect();
    let relations = Relations::of(&members)?;
    nodes.iter_mut().enumerate().for_each(|(place, (_, node))| relations.give_to(place, node));
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
