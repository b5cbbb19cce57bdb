//! `callstack push`: begins a frame.

use std::io;

use callstack_core::{FrameRef, Handle, NewFrame};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{EMPHASIS, Line, Page, Report};

#[derive(Args)]
pub struct Arguments {
    /// Short name of the frame, two to five words.
    title: String,
    /// Success criteria: checkable conditions for the completion of the frame.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    criteria: String,
    /// The same in few words, for prompts.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    criteria_compacted: String,
    /// The frame above. Default: the active frame.
    #[arg(long, value_name = "FRAME", conflicts_with = "root")]
    below: Option<FrameRef>,
    /// Begin a new tree.
    #[arg(long)]
    root: bool,
    /// A frame whose results this one needs. Can be repeated.
    #[arg(long, value_name = "FRAME")]
    depends_on: Vec<FrameRef>,
    /// ID of the frame, usually that of a session. Default: a generated one.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Create the stack if the folder has none: in the folder of --stack, else in .callstack of the working folder.
    #[arg(long)]
    new: bool,
}

/// The frame that was begun.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// The new frame. It is the active frame now.
    handle: Handle,
    /// The frame above it; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Handle>,
    title: String,
}

impl Report for Pushed {
    const KIND: &'static str = "pushed";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let below = self.parent.map(|parent| format!(" below {parent}")).unwrap_or_default();
        page.line(
            Line::new()
                .plain("began ")
                .styled(EMPHASIS, self.handle.to_string())
                .plain(below)
                .plain(": ")
                .said(&self.title),
        )
    }
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Pushed, Failure> {
    let stack = folder.open_or_create(arguments.new)?;
    let handle = stack.push(arguments.into())?;
    Ok(stack.read(|tree| {
        let node = tree.node(handle);
        Pushed { handle, parent: node.parent(), title: node.title().to_owned() }
    }))
}

impl From<Arguments> for NewFrame {
    fn from(arguments: Arguments) -> Self {
        let Arguments { title, criteria, criteria_compacted, below, root, depends_on, id, new: _ } = arguments;
        let mut frame = NewFrame::new(title).criteria(criteria).criteria_compacted(criteria_compacted);
        frame.session_id = id;
        frame.depends_on = depends_on;
        match below {
            Some(parent) => frame.below(parent),
            None if root => frame.root(),
            None => frame,
        }
    }
}
