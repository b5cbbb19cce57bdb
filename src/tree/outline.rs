//! Trees as text for people, in two styles: with branches, marks and statistics, or indented by spaces.
//! The cost is linear in the number of frames, and the code does not recurse.

use std::borrow::Cow;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Scan, Tree};
use crate::error::Result;
use crate::frame::{FrameRef, FrameStatus, Handle, reference_to_id};
use crate::text::{beginning, one_line, visible};

/// Maximum number of levels that are drawn as indentation. Lines of deeper frames state their level instead,
/// because unlimited indentation would make the text of a deep tree quadratic.
const INDENTED_LEVELS: usize = 24;

/// The style of an outline. In JSON `"marked"` or `"indented"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OutlineStyle {
    /// Branches, a mark for each status, the active frame, a legend and statistics. The default.
    #[default]
    Marked,
    /// Two spaces per level, the status in brackets, and a summary below each frame that has results.
    Indented,
}

/// The options of an outline.
///
/// In JSON: `{"style": "marked", "root": "f2", "active": true, "details": false, "depth": 3, "width": 120}`.
/// Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OutlineOptions {
    /// The style. Default [`OutlineStyle::Marked`].
    pub style: OutlineStyle,
    /// Show only this frame and the frames below it. Default `None`: all frames.
    pub root: Option<FrameRef>,
    /// The frame of the reader. It is marked instead of the active frame, if it is open. Default `None`: the
    /// active frame.
    pub own: Option<FrameRef>,
    /// Mark the active frame, or the frame of the reader, and name it below the frames. Default true.
    pub active: bool,
    /// Show ID, criteria, results, artifacts, decisions, reason of the invalidation and duration below each
    /// frame. Default false.
    pub details: bool,
    /// Number of levels that are shown below the first one. Default `None`: all.
    pub depth: Option<usize>,
    /// Maximum length of a line, in characters; longer lines are cut and end in `…`. 0: no limit. Default
    /// 120.
    pub width: usize,
}

impl OutlineOptions {
    setters! {
        style: OutlineStyle,
        root: Option<FrameRef>,
        own: Option<FrameRef>,
        active: bool,
        details: bool,
        depth: Option<usize>,
        width: usize,
    }
}

impl Default for OutlineOptions {
    fn default() -> Self {
        Self {
            style: OutlineStyle::Marked,
            root: None,
            own: None,
            active: true,
            details: false,
            depth: None,
            width: 120,
        }
    }
}

/// Returns a tree as text for people.
///
/// ```
/// use callstack_core::tree::outline;
/// use callstack_core::{NewFrame, OutlineOptions, Stack};
///
/// let stack = Stack::in_memory();
/// let root = stack.push(NewFrame::new("Build the app").id("ses_1"))?;
/// stack.plan(NewFrame::new("Write the docs").below(root))?;
/// let text = stack.read(|tree| outline(tree, &OutlineOptions::default()))??;
/// assert!(text.contains("[>] f1 Build the app  <-- ACTIVE"));
/// assert!(text.contains("`-- [ ] f2 Write the docs"));
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::UnknownFrame`](crate::Error::UnknownFrame) or
/// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame) for [`OutlineOptions::root`] or
/// [`OutlineOptions::own`].
pub fn outline(tree: &Tree, options: &OutlineOptions) -> Result<String> {
    drawn(tree, options).map(|outline| outline.text)
}

/// Same as [`outline`], together with the number of frames.
///
/// # Errors
/// As [`outline`].
pub(crate) fn drawn(tree: &Tree, options: &OutlineOptions) -> Result<Outline> {
    let first = match &options.root {
        Some(root) => vec![tree.resolve(root)?],
        None => tree.roots().to_vec(),
    };
    let marked = match &options.own {
        Some(own) => Some(tree.resolve(own)?).filter(|own| tree.node(*own).status().is_open()),
        None => tree.active(),
    };
    let mut page = Outline::default();
    if options.style == OutlineStyle::Indented {
        page.text.push_str("=== Frame Tree ===\n");
    } else if tree.is_empty() {
        page.text.push_str("No frames yet. Push the first one.\n");
        return Ok(page);
    }
    let mut scan = Scan::of(tree);
    for (place, top) in first.iter().enumerate() {
        let drawing = Drawing { tree: scan.at(*top), options, marked, page: &mut page, last: Vec::new() };
        drawing.draw(*top, place + 1 == first.len());
    }
    match options.style {
        OutlineStyle::Marked => {
            page.end();
            if options.active {
                page.name_active(marked.map(|handle| (handle, tree.node(handle).title())), options.width);
            }
        }
        OutlineStyle::Indented => page.text.push_str("==================\n"),
    }
    Ok(page)
}

/// An outline, up to the point to which it is drawn.
#[derive(Default)]
pub(crate) struct Outline {
    pub(crate) text: String,
    /// The number of frames with each status, including those below the depth limit.
    counts: [usize; FrameStatus::ALL.len()],
}

impl Outline {
    /// The number of frames, such as `3: 1 planned, 2 completed`, with a word after the total.
    pub(crate) fn counted(&self, word: &str) -> String {
        let total: usize = self.counts.iter().sum();
        let mut counted = format!("{total}{word}");
        let named = FrameStatus::ALL.iter().zip(self.counts).filter(|(_, count)| *count > 0);
        for (index, (status, count)) in named.enumerate() {
            let _ = write!(counted, "{} {count} {status}", if index == 0 { ":" } else { "," });
        }
        counted
    }

    /// Writes the part below the frames: the legend and the counts.
    fn end(&mut self) {
        self.text.push_str("\nLegend:");
        for status in FrameStatus::ALL {
            let _ = write!(self.text, " {} {status}", status.mark());
        }
        let _ = writeln!(self.text, "\nFrames: {}", self.counted(""));
    }

    /// Names the active frame, with its title.
    fn name_active(&mut self, active: Option<(Handle, &str)>, width: usize) {
        let line = match active {
            Some((handle, title)) => format!("Active: {handle} {}", one_line(title)),
            None => "Active: none".to_owned(),
        };
        self.text.push_str(&cut(&line, width));
        self.text.push('\n');
    }
}

/// The drawing of a frame of the first level, and of the frames below it.
struct Drawing<'a> {
    tree: &'a Tree,
    options: &'a OutlineOptions,
    /// The frame that is marked as the active one.
    marked: Option<Handle>,
    page: &'a mut Outline,
    /// For each level of the current path: true if the frame is the last of its siblings.
    last: Vec<bool>,
}

impl Drawing<'_> {
    /// Draws the frames, parents before children. `is_last`: no other frame of the first level follows.
    fn draw(mut self, top: Handle, is_last: bool) {
        let tree = self.tree;
        let limit = self.options.depth.unwrap_or(usize::MAX);
        let mut pending = vec![(top, 0, is_last)];
        while let Some((handle, depth, is_last)) = pending.pop() {
            self.last.truncate(depth);
            self.last.push(is_last);
            self.page.counts[tree.status(handle) as usize] += 1;
            self.frame(handle);
            let children = tree.children(handle);
            let last = children.len().wrapping_sub(1);
            if depth < limit {
                let below = children.iter().enumerate().rev();
                pending.extend(below.map(|(index, child)| (*child, depth + 1, index == last)));
            } else if !children.is_empty() {
                let mut hidden = 0;
                for below in tree.descendants(handle) {
                    self.page.counts[tree.status(below) as usize] += 1;
                    hidden += 1;
                }
                self.line(false, &format!("... {hidden} more below {handle}"), "");
            }
        }
    }

    /// Writes the lines of a frame.
    fn frame(&mut self, handle: Handle) {
        let node = self.tree.node(handle);
        let word = node.record().no_work.as_deref().and_then(said).map(|word| format!("  ({word})"));
        let attempt = word.unwrap_or_default() + &self.attempt(handle);
        // Titles have no two spaces in a row, so a title cannot end like this.
        let is_marked = self.options.active && self.marked == Some(handle);
        let mark = |mark| if is_marked { mark } else { "" };
        let is_marked_style = self.options.style == OutlineStyle::Marked;
        let (line, mark) = match is_marked_style {
            true => (format!("{} {handle} {}", node.status().mark(), one_line(node.title())), mark("  <-- ACTIVE")),
            false => (format!("[{}] {}", node.status(), one_line(node.title())), mark("  <-- CURRENT")),
        };
        self.line(true, &line, &format!("{attempt}{mark}"));
        self.waiting(handle);
        if self.options.details {
            self.details(handle);
        } else if let Some(summary) = self.results(handle).filter(|_| !is_marked_style) {
            self.line(false, &format!("Summary: {summary}"), "");
        }
    }

    /// Says which attempt at its work a frame is, if the frame was retried or is a retry. If it was retried,
    /// also names the next attempt.
    fn attempt(&self, handle: Handle) -> String {
        let node = self.tree.node(handle);
        let newest = self.tree.node(self.tree.newest_attempt(handle)).attempt();
        match node.retried_as() {
            Some(next) => format!("  (attempt {} of {newest}, retried as {next})", node.attempt()),
            None if newest > 1 => format!("  (attempt {newest} of {newest})"),
            None => String::new(),
        }
    }

    /// The results on one line, unless they say what a blocked frame waits for.
    fn results(&self, handle: Handle) -> Option<String> {
        let frame = self.tree.node(handle).record();
        said(frame.dense_results()).filter(|_| frame.status != FrameStatus::Blocked || frame.has_partial_results())
    }

    /// Says what a blocked frame waits for, which frames a planned frame waits for, and why an invalidated
    /// frame is out of the plan, unless it was invalidated together with its parent.
    fn waiting(&mut self, handle: Handle) {
        let frame = self.tree.node(handle).record();
        let awaited = match frame.status {
            FrameStatus::Blocked => said(frame.waits_for()),
            FrameStatus::Planned => self.awaited(handle),
            _ => None,
        };
        if let Some(awaited) = awaited {
            let label = if frame.is_salvaged() { "" } else { "Waits for: " };
            self.line(false, &format!("{label}{awaited}"), "");
        }
        if frame.is_interrupted() {
            self.line(false, &format!("It was interrupted: {}", one_line(&frame.interruption())), "");
        }
        let above = self.tree.node(handle).parent().map(|parent| self.tree.node(parent).record());
        let is_cascade = above.is_some_and(|above| {
            above.status == FrameStatus::Invalidated && above.invalidated_at == frame.invalidated_at
        });
        if let Some(reason) = frame.invalidation_reason.as_deref().filter(|_| !is_cascade).and_then(said) {
            self.line(false, &format!("Invalidated: {reason}"), "");
        }
        if let Some(answer) = frame.pending_answer().and_then(said) {
            self.line(false, &format!("Answered: {answer}"), "");
        }
    }

    /// The frames that a planned frame waits for, as many as the line has room for.
    fn awaited(&self, handle: Handle) -> Option<String> {
        if !self.tree.has_open_needs(handle) {
            return None;
        }
        // A character has at most four bytes.
        let most = if self.options.width == 0 { usize::MAX } else { 4 * self.options.width };
        let mut named: Vec<String> = Vec::new();
        let mut length = 0;
        for dependency in self.tree.unfinished_dependencies(handle) {
            let node = self.tree.node(dependency);
            let name = format!("{dependency} {} ({})", one_line(node.title()), node.status());
            length += name.len();
            named.push(name);
            if length > most {
                break;
            }
        }
        join(&named, ", ")
    }

    fn details(&mut self, handle: Handle) {
        let (frame, results) = (self.tree.node(handle).record(), self.results(handle));
        let mut detail = |name: &str, text: Option<String>| {
            if let Some(text) = text {
                self.line(false, &format!("{name}: {text}"), "");
            }
        };
        // Unlike in other texts, runs of spaces are kept, because they are part of the ID.
        let is_line_end = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
        let id = reference_to_id(&frame.session_id).replace(is_line_end, " ");
        detail("ID", Some(visible(&id).into_owned()));
        detail("Criteria", said(frame.dense_criteria()));
        detail("Results", results);
        detail("Artifacts", join(&frame.artifacts, ", "));
        detail("Decisions", join(&frame.decisions, "; "));
        let taken = frame.updated_at.saturating_sub(frame.begun_at.unwrap_or(frame.created_at));
        let has_begun = frame.status != FrameStatus::Planned;
        detail("Time", (taken > 0 && has_begun).then(|| format_duration(taken)));
    }

    /// Writes a line with its indentation: the line of a frame, or a detail below it.
    fn line(&mut self, is_frame: bool, text: &str, suffix: &str) {
        let depth = self.last.len() - 1;
        let mut line = String::new();
        let marked = self.options.style == OutlineStyle::Marked;
        for (level, last) in self.last.iter().enumerate().take(INDENTED_LEVELS + 1) {
            let own = level == depth;
            line.push_str(match (marked, level, own, is_frame, *last) {
                (false, 0, ..) | (true, 0, true, ..) | (true, 0, false, ..) => "",
                (false, ..) => "  ",
                (true, _, true, true, true) => "`-- ",
                (true, _, true, true, false) => "|-- ",
                (true, _, _, _, true) => "    ",
                (true, _, _, _, false) => "|   ",
            });
        }
        if depth > INDENTED_LEVELS {
            let _ = write!(line, "(level {depth}) ");
        }
        if !is_frame {
            line.push_str(if marked { "    " } else { "  " });
        }
        line.push_str(text);
        let room = match self.options.width {
            0 => 0,
            width => width.saturating_sub(suffix.chars().count()).max(1),
        };
        self.page.text.push_str(&cut(&line, room));
        self.page.text.push_str(suffix);
        self.page.text.push('\n');
    }
}

/// A text as one line; `None` if it is blank.
fn said(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| one_line(text))
}

fn join(texts: &[String], separator: &str) -> Option<String> {
    (!texts.is_empty()).then(|| one_line(&texts.join(separator)))
}

/// Cuts a line to `width` characters; a line that was cut ends in `…`. 0: no limit.
fn cut(line: &str, width: usize) -> Cow<'_, str> {
    if width == 0 || beginning(line, width).len() == line.len() {
        return line.into();
    }
    format!("{}…", beginning(line, width - 1)).into()
}

/// Formats a duration in milliseconds for people: `850ms`, `12.3s`, `4m 10s`, `2h 5m`.
///
/// ```
/// use callstack_core::tree::format_duration;
/// assert_eq!(format_duration(850), "850ms");
/// assert_eq!(format_duration(12_300), "12.3s");
/// assert_eq!(format_duration(250_000), "4m 10s");
/// assert_eq!(format_duration(7_500_000), "2h 5m");
/// ```
pub fn format_duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match milliseconds {
        0..1000 => format!("{milliseconds}ms"),
        1000..60_000 => format!("{seconds}.{}s", milliseconds % 1000 / 100),
        60_000..3_600_000 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}
