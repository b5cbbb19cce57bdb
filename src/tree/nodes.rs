//! The nodes of a tree. Copies of a tree share their nodes until one of them changes a node.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use super::Node;

/// The nodes of a tree, in the order of their handles. A clone copies pointers. The first change of a shared node copies
/// that node.
#[derive(Debug, Clone, Default)]
pub(super) struct Nodes(Vec<Arc<Node>>);

impl Nodes {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Node> {
        self.0.get(index).map(|node| &**node)
    }

    pub(super) fn push(&mut self, node: Node) {
        self.0.push(Arc::new(node));
    }
}

impl Index<usize> for Nodes {
    type Output = Node;

    fn index(&self, index: usize) -> &Node {
        &self.0[index]
    }
}

impl IndexMut<usize> for Nodes {
    fn index_mut(&mut self, index: usize) -> &mut Node {
        Arc::make_mut(&mut self.0[index])
    }
}
