//! A frame in a list: its handle, status and title.

use callstack_core::text::one_line;
use callstack_core::{FrameStatus, Handle, Tree};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Line, of_status};

/// A frame by its handle, with what a reader wants to know first.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameLine {
    pub handle: Handle,
    pub status: FrameStatus,
    pub title: String,
}

impl FrameLine {
    pub fn of(tree: &Tree, handle: Handle) -> Self {
        let node = tree.node(handle);
        Self { handle, status: node.status(), title: node.title().to_owned() }
    }

    /// The frame in a table.
    pub fn plain(&self) -> String {
        format!("{} {}", self.handle, one_line(&self.title))
    }

    /// The frame as a line of text.
    pub fn line(&self, indentation: usize) -> Line {
        Line::new()
            .plain(" ".repeat(indentation))
            .styled(of_status(self.status), self.status.mark())
            .plain(format!(" {} ", self.handle))
            .said(&self.title)
    }
}
