//! The contents of the documented files, made from a tree.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};

use crate::error::Result;
use crate::frame::{Frame, Handle, StateDocument};
use crate::import::{PLAN_FILE, plan_file};
use crate::store::mirror::Source;
use crate::tree::{Scan, Tree};

/// The files of a tree. Finished trees that are not in memory are loaded one by one.
pub(in crate::stack) struct TreeFiles<'a> {
    tree: &'a Tree,
    scan: RefCell<Scan<'a>>,
    /// True: `state.json` has all frames. False: the `state.json` of a large tree leaves out the finished
    /// trees.
    is_whole: bool,
}

impl<'a> TreeFiles<'a> {
    pub(in crate::stack) fn new(tree: &'a Tree, is_whole: bool) -> Self {
        Self { tree, scan: RefCell::new(Scan::of(tree)), is_whole }
    }

    /// Writes the state with all frames, frame by frame.
    fn write_whole_state(&self, writer: &mut dyn Write) -> io::Result<()> {
        let ids = RefCell::new(HashMap::new());
        let frames = self.tree.handles().zip(self.tree.records()).map(|(handle, frame)| {
            if frame.parent_session_id.is_none() {
                ids.borrow_mut().insert(handle, frame.session_id.clone());
            }
            frame
        });
        let roots = || self.tree.roots().iter().filter_map(|root| ids.borrow_mut().remove(root)).collect();
        Ok(serde_json::to_writer(writer, &StateDocument::new(&self.tree.state_head(), frames, &roots))?)
    }
}

impl Source for TreeFiles<'_> {
    fn frame(&self, handle: Handle) -> Result<Frame> {
        self.scan.borrow_mut().at(handle).checked(|tree| tree.frame(handle))
    }

    fn owner(&self, session_id: &str) -> Result<Option<Handle>> {
        self.tree.checked(|tree| tree.by_id(session_id))
    }

    fn revision(&self) -> u64 {
        self.tree.revision()
    }

    fn plan_name(&self) -> &'static str {
        PLAN_FILE
    }

    fn plan(&self) -> Result<String> {
        self.tree.checked(plan_file)
    }

    fn write_state(&self, writer: &mut dyn Write) -> io::Result<()> {
        let written = self.tree.checked(|tree| {
            let parts = (!self.is_whole).then(|| tree.state_without_finished()).flatten();
            match parts {
                Some(state) => Ok(serde_json::to_writer(writer, &state)?),
                None => self.write_whole_state(writer),
            }
        });
        written.map_err(io::Error::other)?
    }
}
