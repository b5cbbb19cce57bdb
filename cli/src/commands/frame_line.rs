//! A frame in a list: its handle, status and title.

use std::io;

use callstack_core::text::{floor_char_boundary, one_line};
use callstack_core::{FrameStatus, Handle, Tree};
use schemars::JsonSchema;
use serde::Serialize;

use super::marks;
use crate::output::{FAINT, Line, Page, count, of_status};

/// Number of bytes of a title from which the line of a page is made.
const LOOKED_AT: usize = 4 * 1024;

/// A frame by its handle, with what a reader wants to know first.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameLine {
    pub handle: Handle,
    pub status: FrameStatus,
    pub title: String,
    /// Words of a team for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The person or agent that does the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
}

impl FrameLine {
    pub fn of(tree: &Tree, handle: Handle) -> Self {
        let node = tree.node(handle);
        let (labels, assignee) = (node.record().labels.clone(), node.record().assignee.clone());
        Self { handle, status: node.status(), title: node.title().to_owned(), labels, assignee }
    }

    /// The frame in a table.
    pub fn plain(&self) -> String {
        format!("{} {}", self.handle, one_line(&self.title))
    }

    /// The frame as a line of text, with its marks.
    pub fn line(&self, indentation: usize) -> Line {
        let line = self.line_with(indentation, &self.title);
        match marks::shown(self.assignee.as_deref(), &self.labels) {
            marks if marks.is_empty() => line,
            marks => line.styled(FAINT, format!("  {marks}")),
        }
    }

    /// Writes the frame as an entry of a list, with the frame above it.
    pub fn write_entry(&self, page: &mut Page<'_>, parent: Option<Handle>) -> io::Result<()> {
        let parent = parent.map(|parent| format!("  (below {parent})")).unwrap_or_default();
        page.line_with_end(self.line(0), Line::new().styled(FAINT, parent))
    }

    /// The frame as a line for a page of limited width. Titles can have megabytes, so only their beginning is
    /// looked at.
    pub fn beginning(&self, indentation: usize) -> Line {
        let title = &self.title[..floor_char_boundary(&self.title, LOOKED_AT)];
        let line = self.line_with(indentation, title);
        if title.len() < self.title.len() { line.plain("…") } else { line }
    }

    fn line_with(&self, indentation: usize, title: &str) -> Line {
        Line::new()
            .plain(" ".repeat(indentation))
            .styled(of_status(self.status), self.status.mark())
            .plain(format!(" {} ", self.handle))
            .said(title)
    }
}

/// Writes how many further frames a list leaves out.
pub fn left_out(page: &mut Page<'_>, more: usize) -> io::Result<()> {
    match more {
        0 => Ok(()),
        more => page.line(Line::new().plain(format!("... and {}", count(more, "more frame")))),
    }
}
