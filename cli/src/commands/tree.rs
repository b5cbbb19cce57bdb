//! `callstack tree`: the frames as a tree.

use std::collections::BTreeMap;
use std::io;

use callstack_core::text::one_line;
use callstack_core::{FrameRef, FrameStatus, Handle, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{EMPHASIS, FAINT, Line, Page, Report, count, of_status};

/// Maximum number of levels that are drawn as indentation. Lines of deeper frames state their level.
const INDENTED_LEVELS: usize = 24;
/// The room of a line in addition to its indentation, in columns. A narrow terminal gets less indentation,
/// but two levels.
const LEAST_ROOM: usize = 32;
/// The width of a level, in columns.
const BRANCH: usize = 4;
/// Number of finished siblings in a row that are shown, the last ones.
const SHOWN_FINISHED: usize = 3;

#[derive(Args)]
pub struct Arguments {
    /// Show only this frame and the frames below it. Or a session of an agent: its file or its ID, see
    /// `callstack sessions`.
    #[arg(value_name = "FRAME or SESSION")]
    pub frame: Option<FrameRef>,
    /// The same frame, if a session is named.
    #[arg(long, value_name = "FRAME", conflicts_with = "frame")]
    root: Option<FrameRef>,
    /// Number of levels that are shown below the first one.
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Show only frames of this status, and the frames above them: planned, in_progress, blocked, completed,
    /// failed, invalidated; or open, unfinished, finished. Can be repeated, or be a list with commas.
    #[arg(long, short, value_name = "STATUS", value_delimiter = ',', value_parser = statuses)]
    status: Vec<Statuses>,
    /// Draw the frames below finished frames, all finished frames in a row, and the frames that are out of
    /// the plan. JSON always has them.
    #[arg(long, short)]
    all: bool,
    /// Show what each frame has returned, or found so far, in short.
    #[arg(long)]
    summaries: bool,
}

/// The frames of a stack, parents before their children.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameTree {
    /// Number of events in the history that this tree shows.
    revision: u64,
    /// The active frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<Handle>,
    /// Number of frames by status, of all frames that `--root` selects.
    counts: BTreeMap<FrameStatus, usize>,
    frames: Vec<TreeFrame>,
    #[serde(skip)]
    is_whole: bool,
}

/// A frame in a tree.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TreeFrame {
    handle: Handle,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Handle>,
    /// Number of levels below the first one that is shown.
    level: usize,
    status: FrameStatus,
    title: String,
    /// What the frame is, in a word, if it is not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_work: Option<String>,
    /// Which attempt at its work the frame is, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<Attempt>,
    /// What a blocked frame waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    /// The answer of a blocked frame that has not been resumed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// The dependencies of a planned frame that are not completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for_frames: Vec<Handle>,
    /// The results, or the results so far, in short; with `--summaries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Why the frame was invalidated, unless it was invalidated together with its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    invalidation_reason: Option<String>,
    /// True if the holder of the frame has ended, or has not been heard of.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    /// Why it is interrupted.
    #[serde(skip)]
    interruption: String,
    /// Number of frames below this one that are not in the list, because of `--depth`.
    #[serde(skip_serializing_if = "is_zero")]
    hidden_below: usize,
    /// True if the frame is listed only because a frame below it has a status that `--status` selects.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    leads: bool,
    /// True if neither the frame nor a frame below it is planned, in_progress or blocked.
    #[serde(skip)]
    is_over: bool,
    /// True if the frame is out of the plan, and nothing below it is unfinished.
    #[serde(skip)]
    is_out: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Attempt {
    /// Its number, counted from 1.
    number: usize,
    /// Number of all attempts.
    of: usize,
    /// The next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    retried_as: Option<Handle>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The statuses that a word means.
pub type Statuses = &'static [FrameStatus];

/// Reads a word for statuses.
pub fn statuses(word: &str) -> Result<Statuses, String> {
    let names = FrameStatus::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ");
    FrameStatus::named(word.trim()).ok_or_else(|| format!("a status is {names}; or open, unfinished, finished"))
}

/// `is_json`: the frames are written as JSON, not drawn.
pub fn run(arguments: &Arguments, folder: &StackFolder, is_json: bool) -> Result<FrameTree, Failure> {
    let stack = folder.open_to_read()?;
    let has_choice = arguments.all || arguments.summaries || !arguments.status.is_empty();
    // Everything in a session is new to the reader.
    let is_whole = has_choice || folder.has_session();
    Ok(stack.read(|tree| FrameTree::of(tree, arguments, is_whole, is_json))??)
}

impl FrameTree {
    fn of(tree: &Tree, arguments: &Arguments, is_whole: bool, is_json: bool) -> callstack_core::Result<Self> {
        let roots = match arguments.frame.as_ref().or(arguments.root.as_ref()) {
            Some(root) => vec![tree.resolve(root)?],
            None => tree.roots().to_vec(),
        };
        let first_level = roots.first().map_or(0, |root| tree.depth(*root));
        let mut counts = BTreeMap::new();
        let mut frames: Vec<TreeFrame> = Vec::new();
        // The places in the list of the frames above the current one.
        let mut path: Vec<usize> = Vec::new();
        // The level of a finished frame, while frames below it are read. They are counted, and not drawn.
        let mut over = usize::MAX;
        for handle in roots.iter().flat_map(|root| tree.subtree(*root)) {
            *counts.entry(tree.status(handle)).or_insert(0) += 1;
            let level = tree.depth(handle) - first_level;
            path.truncate(level);
            if arguments.depth.is_some_and(|depth| level > depth) {
                path.last().into_iter().for_each(|place| frames[*place].hidden_below += 1);
                continue;
            }
            path.push(frames.len());
            if level > over {
                frames.push(TreeFrame::not_drawn(tree, handle, level));
                continue;
            }
            let frame = TreeFrame::of(tree, handle, level, arguments.summaries);
            over = if frame.is_over && !is_whole && !is_json { level } else { usize::MAX };
            frames.push(frame);
        }
        if !arguments.status.is_empty() {
            frames = selected(frames, &arguments.status.concat());
        }
        Ok(Self { revision: tree.revision(), active: tree.active(), counts, frames, is_whole })
    }
}

/// The frames with one of these statuses, and those above them.
fn selected(frames: Vec<TreeFrame>, statuses: &[FrameStatus]) -> Vec<TreeFrame> {
    let mut kept = Vec::new();
    // A frame leads to a frame that was kept, if the kept frame is one level below it, before any frame of
    // its own level.
    let mut wanted_level = 0;
    for mut frame in frames.into_iter().rev() {
        frame.leads = !statuses.contains(&frame.status);
        let leads_to_kept = frame.level < wanted_level;
        if leads_to_kept || !frame.leads {
            wanted_level = frame.level;
            kept.push(frame);
        }
    }
    kept.reverse();
    kept
}

impl TreeFrame {
    /// A frame below a finished one, which is counted and not drawn.
    fn not_drawn(tree: &Tree, handle: Handle, level: usize) -> Self {
        Self {
            handle,
            parent: None,
            level,
            status: tree.status(handle),
            title: String::new(),
            no_work: None,
            attempt: None,
            waits_for: None,
            answer: None,
            waits_for_frames: Vec::new(),
            summary: None,
            invalidation_reason: None,
            interrupted: false,
            interruption: String::new(),
            hidden_below: 0,
            leads: false,
            is_over: true,
            is_out: tree.is_out_of_sight(handle),
        }
    }

    fn of(tree: &Tree, handle: Handle, level: usize, with_summary: bool) -> Self {
        let node = tree.node(handle);
        let frame = node.record();
        let newest = tree.node(tree.newest_attempt(handle)).attempt();
        let attempt = || Attempt { number: node.attempt(), of: newest, retried_as: node.retried_as() };
        let text = |text: &str| (!text.trim().is_empty()).then(|| text.to_owned());
        let is_with_parent = node.parent().is_some_and(|parent| {
            let above = tree.node(parent).record();
            above.status == FrameStatus::Invalidated && above.invalidated_at == frame.invalidated_at
        });
        // A person has to decide what becomes of it, as long as the frame above it is unfinished.
        let is_in_the_way = frame.status == FrameStatus::Failed
            && node.retried_as().is_none()
            && node.parent().is_some_and(|parent| tree.node(parent).status().is_unfinished());
        Self {
            parent: node.parent(),
            title: frame.title.clone(),
            no_work: frame.no_work.clone(),
            attempt: (newest > 1).then(attempt),
            waits_for: text(frame.waits_for()),
            answer: frame.pending_answer().map(str::to_owned),
            waits_for_frames: match frame.status {
                FrameStatus::Planned => tree.unfinished_dependencies(handle).collect(),
                _ => Vec::new(),
            },
            summary: Some(frame.dense_results()).filter(|_| with_summary).and_then(text),
            invalidation_reason: frame.invalidation_reason.as_deref().filter(|_| !is_with_parent).and_then(text),
            interrupted: frame.is_interrupted(),
            interruption: if frame.is_interrupted() { frame.interruption() } else { String::new() },
            is_over: !frame.status.is_unfinished() && !node.has_unfinished_below() && !is_in_the_way,
            ..Self::not_drawn(tree, handle, level)
        }
    }
}

impl Report for FrameTree {
    const KIND: &'static str = "tree";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.counts.is_empty() {
            return page.line(Line::new().plain("No frames yet. `callstack push TITLE` begins the first one."));
        }
        if self.frames.is_empty() {
            page.line(Line::new().plain("No frame has this status."))?;
        }
        let drawn = self.drawn();
        if drawn.is_empty() && !self.frames.is_empty() {
            page.line(Line::new().plain("All of it is out of the plan. `callstack tree --all` shows it."))?;
        }
        Drawing { tree: self, frames: &drawn, is_last: Vec::new() }.draw(page)?;
        page.gap()?;
        let mut counts = Line::new().plain(count(self.counts.values().sum(), "frame"));
        for (index, (status, count)) in self.counts.iter().enumerate() {
            let separator = if index == 0 { ": " } else { ", " };
            counts = counts.plain(format!("{separator}{count} ")).styled(of_status(*status), status.to_string());
        }
        if drawn.len() < self.frames.len() {
            counts = counts.styled(FAINT, "  (--all shows what is out of the plan)");
        }
        page.line(counts)
    }
}

impl FrameTree {
    /// The frames that are drawn: without the frames that are out of the plan, and without the frames below
    /// these.
    fn drawn(&self) -> Vec<&TreeFrame> {
        let mut out = usize::MAX;
        let is_drawn = |frame: &&TreeFrame| {
            if frame.level <= out {
                out = if frame.is_out && !self.is_whole { frame.level } else { usize::MAX };
            }
            out == usize::MAX
        };
        self.frames.iter().filter(is_drawn).collect()
    }
}

/// The drawing of a tree, as far as it is done.
struct Drawing<'a> {
    tree: &'a FrameTree,
    frames: &'a [&'a TreeFrame],
    /// For each level of the current frame: true if no sibling follows.
    is_last: Vec<bool>,
}

impl Drawing<'_> {
    fn draw(&mut self, page: &mut Page<'_>) -> io::Result<()> {
        let frames = self.frames;
        let ends = ends(frames);
        let mut place = 0;
        while place < frames.len() {
            let frame = frames[place];
            let left_out = if self.tree.is_whole { 0 } else { finished_before_the_last(frames, &ends, place) };
            if left_out > 1 {
                self.enter(frame.level, false);
                self.remark(page, &format!("... {} that are finished", count(left_out, "frame")), true)?;
                for _ in 0..left_out {
                    place = ends[place];
                }
                continue;
            }
            self.enter(frame.level, frames.get(ends[place]).is_none_or(|next| next.level < frame.level));
            self.frame(page, frame)?;
            let is_collapsed = frame.is_over && !self.tree.is_whole && ends[place] > place + 1;
            let hidden = frame.hidden_below + if is_collapsed { hidden(&frames[place..ends[place]]) } else { 0 };
            if hidden > 0 {
                self.remark(page, &format!("... {hidden} below"), false)?;
            }
            place = if is_collapsed { ends[place] } else { place + 1 };
        }
        Ok(())
    }

    fn enter(&mut self, level: usize, is_last: bool) {
        self.is_last.truncate(level);
        self.is_last.push(is_last);
    }

    fn frame(&self, page: &mut Page<'_>, frame: &TreeFrame) -> io::Result<()> {
        let style = if frame.leads { FAINT } else { of_status(frame.status) };
        let line = self
            .branch(true, page.width())
            .styled(style, frame.status.mark())
            .plain(format!(" {} ", frame.handle))
            .said(&frame.title);
        let mut end = Line::new();
        if let Some(word) = &frame.no_work {
            end = end.plain(format!("  ({})", one_line(word)));
        }
        if let Some(Attempt { number, of, retried_as }) = &frame.attempt {
            let next = retried_as.map(|next| format!(", retried as {next}")).unwrap_or_default();
            end = end.plain(format!("  (attempt {number} of {of}{next})"));
        }
        if self.tree.active == Some(frame.handle) {
            end = end.styled(EMPHASIS, "  <-- ACTIVE");
        }
        page.line_with_end(line, end)?;
        if let Some(awaited) = &frame.waits_for {
            self.remark(page, &format!("Waits for: {awaited}"), false)?;
        }
        if let Some(answer) = &frame.answer {
            self.remark(page, &format!("Answered: {answer}"), false)?;
        }
        if !frame.waits_for_frames.is_empty() {
            let handles: Vec<String> = frame.waits_for_frames.iter().map(Handle::to_string).collect();
            self.remark(page, &format!("Waits for: {}", handles.join(", ")), false)?;
        }
        if let Some(summary) = &frame.summary {
            self.remark(page, &format!("Summary: {}", one_line(summary)), false)?;
        }
        if frame.interrupted {
            self.remark(page, &format!("It was interrupted: {}", frame.interruption), false)?;
        }
        match &frame.invalidation_reason {
            Some(reason) => self.remark(page, &format!("Invalidated: {reason}"), false),
            None => Ok(()),
        }
    }

    /// Writes a line that is not a frame: below the current frame, or in the place of frames.
    fn remark(&self, page: &mut Page<'_>, text: &str, is_in_place: bool) -> io::Result<()> {
        let indentation = if is_in_place { "" } else { "    " };
        let branch = self.branch(is_in_place, page.width());
        page.line(branch.plain(indentation).said(text))
    }

    /// The branches before a line.
    fn branch(&self, is_frame: bool, width: usize) -> Line {
        let level = self.is_last.len() - 1;
        let indented = (width.saturating_sub(LEAST_ROOM) / BRANCH).clamp(2, INDENTED_LEVELS);
        let mut branch = String::new();
        for (index, is_last) in self.is_last.iter().enumerate().take(indented + 1).skip(1) {
            branch.push_str(match (is_frame && index == level, is_last) {
                (true, true) => "`-- ",
                (true, false) => "|-- ",
                (false, true) => "    ",
                (false, false) => "|   ",
            });
        }
        if level > indented {
            branch.push_str(&format!("(level {level}) "));
        }
        Line::new().styled(FAINT, branch)
    }
}

/// For each frame the place after the last frame below it.
fn ends(frames: &[&TreeFrame]) -> Vec<usize> {
    let mut ends = vec![frames.len(); frames.len()];
    let mut open: Vec<usize> = Vec::new();
    for (place, frame) in frames.iter().enumerate() {
        while let Some(above) = open.pop_if(|above| frames[*above].level >= frame.level) {
            ends[above] = place;
        }
        open.push(place);
    }
    ends
}

/// How many finished siblings in a row, from this place on, come before the last ones that are shown. 0 if
/// the siblings before this place were left out.
fn finished_before_the_last(frames: &[&TreeFrame], ends: &[usize], place: usize) -> usize {
    let level = frames[place].level;
    let mut next = place;
    let mut count: usize = 0;
    while frames.get(next).is_some_and(|frame| frame.level == level && frame.is_over) {
        count += 1;
        next = ends[next];
    }
    count.saturating_sub(SHOWN_FINISHED)
}

/// The number of frames below the first of these.
fn hidden(frames: &[&TreeFrame]) -> usize {
    frames[1..].iter().map(|frame| 1 + frame.hidden_below).sum()
}
