//! The sheet that the key `c` opens: the workers and sessions with their frames, and the cost of the last
//! hour.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use callstack_core::frame::{ModelUsage, TimedRequest, Timeline};
use callstack_core::{Error, Handle, Stack, Tree};

use super::short::{age, title};
use crate::output::table::{self, Row};
use crate::output::{EMPHASIS, FAINT, Line, Lines, Page, count, number, of_status, us_dollars};

/// How far back costs are counted, in milliseconds.
const HOUR: u64 = 3_600_000;
/// Maximum number of frames in each list.
const MOST: usize = 200;
/// Number of frames that the costs name.
const COSTLIEST: usize = 5;
/// Maximum number of lines.
const MOST_LINES: usize = 1_000;

/// The lines of the sheet. They are made again when the stack has changed, and each second.
#[derive(Default)]
pub struct AtWork {
    source: Option<(u64, u64, usize)>,
    /// The times of all requests, read once and then followed.
    timeline: Timeline,
    lines: Vec<Line>,
}

/// A frame in progress, and who works on it.
struct Working {
    frame: Handle,
    by: String,
    since: Option<u64>,
}

impl AtWork {
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Makes the lines, unless they are up to date.
    ///
    /// # Errors
    /// The errors of the stack's history.
    pub fn update(&mut self, stack: &Stack, now: u64, width: usize) -> Result<(), Error> {
        let source = Some((stack.read(|tree| tree.revision())?, now / 1_000, width));
        if self.source == source {
            return Ok(());
        }
        stack.history().update_timeline(&mut self.timeline)?;
        let since = now.saturating_sub(HOUR);
        let requests: Vec<&TimedRequest> =
            self.timeline.requests().iter().filter(|timed| timed.ended_at >= since).collect();
        let mut lines = Lines::at_most(MOST_LINES);
        let mut page = Page::collecting(&mut lines, width);
        stack.read(|tree| {
            // A list that is longer than the sheet is cut.
            let _ = working(tree, now, &mut page);
            let _ = costs(tree, &requests, &mut page);
        })?;
        (self.source, self.lines) = (source, lines.lines);
        Ok(())
    }
}

/// Writes who works on which frame.
fn working(tree: &Tree, now: u64, page: &mut Page<'_>) -> io::Result<()> {
    let mut all: Vec<Working> = tree.held().filter_map(|frame| held(tree, frame, now)).collect();
    let is_held = |frame: &Handle| all.iter().any(|working| working.frame == *frame);
    let others: Vec<Handle> = tree.overview(None).running.into_iter().filter(|frame| !is_held(frame)).collect();
    all.extend(others.into_iter().map(|frame| not_held(tree, frame)));
    let heading = match all.len() {
        0 => "No frame is worked on".to_owned(),
        frames => format!("At work on {}", count(frames, "frame")),
    };
    page.line(Line::new().styled(EMPHASIS, heading))?;
    for Working { frame, by, since } in all.iter().take(MOST) {
        let status = tree.node(*frame).status();
        let since = since.map_or(String::new(), |since| format!("  {}", age(now.saturating_sub(since))));
        let line = Line::new().plain(" ").styled(of_status(status), status.mark());
        let line = line.plain(format!(" {frame} ")).said(&title(tree, *frame));
        page.line_with_end(line, Line::new().styled(FAINT, format!("  {by}{since}")))?;
    }
    if all.len() > MOST {
        page.line(Line::new().styled(FAINT, format!(" and {} more", all.len() - MOST)))?;
    }
    page.gap()
}

/// A frame that is held now.
fn held(tree: &Tree, frame: Handle, now: u64) -> Option<Working> {
    let holder = tree.holder(frame, now)?;
    Some(Working { frame, by: holder.described(), since: Some(holder.since) })
}

/// A frame in progress that no holder has now: a person works on it, or its holder was not heard of in time.
fn not_held(tree: &Tree, frame: Handle) -> Working {
    let lapsed = tree.node(frame).record().held_by();
    let by = lapsed.map_or("by hand".to_owned(), |holder| format!("{}, not heard of", holder.described()));
    Working { frame, by, since: lapsed.map(|holder| holder.since) }
}

/// Writes what the last hour has cost, by models, and by the frames with the most tokens.
fn costs(tree: &Tree, requests: &[&TimedRequest], page: &mut Page<'_>) -> io::Result<()> {
    let usage = ModelUsage::sums(requests.iter().map(|timed| &timed.request));
    let mut tokens: BTreeMap<Handle, u64> = BTreeMap::new();
    for timed in requests {
        let sum = tokens.entry(timed.handle).or_default();
        *sum = sum.saturating_add(ModelUsage::from(&timed.request).tokens());
    }
    let mut by_frame: Vec<(Handle, u64)> = tokens.into_iter().collect();
    by_frame.sort_by_key(|(frame, tokens)| (Reverse(*tokens), *frame));
    page.line(Line::new().styled(EMPHASIS, "The last hour"))?;
    if usage.is_empty() {
        return page.line(Line::new().plain(" no request to a model"));
    }
    let row = |label: String, usage: &[ModelUsage]| {
        let sum: ModelUsage = usage.iter().sum();
        let cost = match tree.cost_of(usage) {
            0 => String::new(),
            cost => us_dollars(cost),
        };
        Row { label, cells: vec![number(sum.requests), number(sum.input()), number(sum.answer()), cost] }
    };
    let name = |model: &str| if model.is_empty() { " unknown model".to_owned() } else { format!(" {model}") };
    let mut rows: Vec<Row> = usage.iter().map(|model| row(name(&model.model), std::slice::from_ref(model))).collect();
    if rows.len() > 1 {
        rows.push(row(" together".to_owned(), &usage));
    }
    table::write(page, &["requests", "tokens in", "tokens out", "cost"], &rows)?;
    page.gap()?;
    for (frame, tokens) in by_frame.into_iter().take(COSTLIEST) {
        let line = Line::new().plain(format!(" {frame} ")).said(&title(tree, frame));
        page.line_with_end(line, Line::new().styled(FAINT, format!("  {} tokens", number(tokens))))?;
    }
    Ok(())
}
