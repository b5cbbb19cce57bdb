//! Plays a part of a plan with the engine, as it happened: a case and its earlier siblings are planned in the
//! order in which they were created, then the siblings are finished in their order, and the case is started.
//! The report of its context says what the engine considers relevant.

use std::collections::HashSet;
use std::sync::Arc;

use callstack_core::context::{Entry, Section};
use callstack_core::{Frame, FrameStatus, Handle, PopStatus, Result, Results, Settings, Stack, StackOptions};

use crate::plan::Task;

/// Maximum length of the compacted criteria and results, which are cut from the full ones, in characters.
const CRITERIA: usize = 150;
const RESULTS: usize = 400;
const ROOT: &str = "(root)";

/// Which dependencies the frames declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// None.
    Hidden,
    /// Those of the finished frames among their siblings that had finished before them.
    Known,
    /// Also those of the ancestors of the case. The case itself never declares any.
    Inherited,
}

/// A stack on which the ancestors of a case are in progress, and their earlier siblings are finished.
pub struct Replay {
    stack: Stack,
    labels: Labels,
    /// The parent of the case.
    parent: String,
}

impl Replay {
    /// `ancestors` are the frames above the case, the furthest first. Without them, the case stands below the
    /// root.
    pub fn new(labels: Labels, ancestors: &[Task]) -> Result<Self> {
        let stack = Stack::with_options(StackOptions::default().clock(Arc::new(|| 1)));
        let root = Frame { title: "The plan".into(), session_id: ROOT.into(), ..Frame::default() };
        stack.import(vec![Frame { status: FrameStatus::InProgress, ..root }])?;
        let mut replay = Self { stack, labels, parent: ROOT.into() };
        for ancestor in ancestors {
            replay.start(ancestor.frame, &ancestor.earlier, labels == Labels::Inherited)?;
            replay.parent.clone_from(&ancestor.frame.session_id);
        }
        Ok(replay)
    }

    /// Starts the case with its earlier siblings, and returns the entries of one section of its context.
    pub fn case(&self, frame: &Frame, earlier: &[&Frame], section: Section, settings: &Settings) -> Result<Vec<Entry>> {
        let handle = self.start(frame, earlier, false)?;
        let report = self.stack.context_uncached(handle, settings)?.report;
        Ok(report.entries.into_iter().filter(|entry| entry.section == section).collect())
    }

    /// The IDs of the frames of these entries, best first.
    pub fn ranked(&self, mut entries: Vec<Entry>) -> Result<Vec<String>> {
        entries.sort_by(|one, other| other.score.total_cmp(&one.score).then(other.handle.cmp(&one.handle)));
        entries.iter().map(|entry| self.id(entry)).collect()
    }

    /// The ID of the frame of an entry.
    pub fn id(&self, entry: &Entry) -> Result<String> {
        self.stack.frame(entry.handle).map(|frame| frame.session_id)
    }

    /// Plans a frame and its earlier siblings, finishes these, and starts the frame.
    fn start(&self, frame: &Frame, earlier: &[&Frame], declares: bool) -> Result<Handle> {
        let mut finished = HashSet::new();
        let mut planned = Vec::new();
        for sibling in earlier {
            planned.push(self.planned(sibling, &finished, self.labels != Labels::Hidden));
            finished.insert(sibling.session_id.as_str());
        }
        planned.push(self.planned(frame, &finished, declares));
        planned.sort_by_key(|frame| frame.created_at);
        self.stack.import(planned)?;
        for sibling in earlier {
            self.stack.activate(id(sibling))?;
            // All tasks count as done here, so the details of unfinished tasks also become results.
            let details = sibling.extra.get("details").and_then(|details| details.as_str());
            let results = sibling.results.as_deref().or(details).unwrap_or_default();
            let results = Results::new(results).compacted(beginning(results, RESULTS));
            self.stack.pop(id(sibling), PopStatus::Completed, results)?;
        }
        self.stack.activate(id(frame))?;
        self.stack.resolve(id(frame))
    }

    /// The frame as it is planned: without results, and, if it `declares` them, with its dependencies among
    /// `finished`.
    fn planned(&self, frame: &Frame, finished: &HashSet<&str>, declares: bool) -> Frame {
        let depends_on = frame.depends_on.iter().filter(|id| declares && finished.contains(id.as_str()));
        Frame {
            title: if frame.title.trim().is_empty() { "(untitled)".into() } else { frame.title.clone() },
            session_id: frame.session_id.clone(),
            parent_session_id: Some(self.parent.clone()),
            success_criteria: frame.success_criteria.clone(),
            success_criteria_compacted: beginning(&frame.success_criteria, CRITERIA),
            created_at: frame.created_at,
            depends_on: depends_on.cloned().collect(),
            ..Frame::default()
        }
    }
}

/// A reference to the frame by its ID, whatever form the ID has.
fn id(frame: &Frame) -> String {
    format!("id:{}", frame.session_id)
}

fn beginning(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}
