//! `callstack log`: what was said in the session of a frame.

use std::io;

use callstack_core::text::{lines, one_line, visible};
use callstack_core::{FrameRef, Handle, LogPage, LogQuery, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::changed::named_or_active;
use super::frame_line::FrameLine;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{EMPHASIS, FAINT, Line, Page, Report, count, moment};

/// Number of lines of a text that are shown, without `--full`.
const SHOWN_LINES: usize = 20;
/// The beginning of a call of a tool.
const CALL: &str = "  -> ";
/// The beginning of its further lines.
const BELOW_CALL: &str = "     ";

#[derive(Args)]
pub struct Arguments {
    /// The frame; or a session of an agent, by its file or its ID, followed by the frame. Default: the active
    /// frame.
    #[arg(value_name = "FRAME or SESSION")]
    pub frame: Option<FrameRef>,
    /// The frame of the session.
    #[arg(value_name = "FRAME", hide = true)]
    pub within: Option<FrameRef>,
    /// Only the last entries of those that match.
    #[arg(long, value_name = "ENTRIES")]
    tail: Option<usize>,
    /// Only entries that contain this text, ignoring case.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// The first entry of a range, counted from 1.
    #[arg(long, value_name = "ENTRY", default_value_t = 1, hide_default_value = true)]
    from: usize,
    /// The last entry of a range.
    #[arg(long, value_name = "ENTRY")]
    to: Option<usize>,
    /// Show texts with all of their lines. Default: the first 20 of each.
    #[arg(long)]
    full: bool,
    /// Write each entry as a line of JSON, as in the file. Characters that cannot be seen are escaped.
    #[arg(long)]
    raw: bool,
}

/// Entries of the log of a frame.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    frame: FrameLine,
    #[serde(flatten)]
    page: LogPage,
    /// True if the text shows each entry as it is in the file.
    #[serde(skip)]
    is_raw: bool,
    /// Maximum number of lines of each text of an entry.
    #[serde(skip)]
    most: usize,
}

pub fn run(arguments: Arguments, folder: &StackFolder) -> Result<Log, Failure> {
    let Arguments { frame, within: _, tail, search, from, to, full, raw } = arguments;
    let stack = folder.open_to_read()?;
    let handle = named_or_active(&stack, frame)?;
    let mut query = LogQuery::default();
    (query.from, query.to, query.search, query.tail) = (from, to, search, tail);
    let most = if full { usize::MAX } else { SHOWN_LINES };
    Ok(Log { is_raw: raw, ..Log::read(&stack, handle, &query, most)? })
}

impl Log {
    /// The newest entries of the log of a frame, as they are shown without options.
    pub fn newest(stack: &Stack, handle: Handle, entries: usize) -> Result<Self, Failure> {
        Self::read(stack, handle, &LogQuery::default().tail(entries), SHOWN_LINES)
    }

    fn read(stack: &Stack, handle: Handle, query: &LogQuery, most: usize) -> Result<Self, Failure> {
        let page = stack.log(handle).read(query)?;
        Ok(Self { frame: stack.read(|tree| FrameLine::of(tree, handle))?, page, is_raw: false, most })
    }

    /// The selected entries.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        self.page.lines.iter().map(|line| Entry { number: line.number, value: &line.entry, most: self.most })
    }

    /// True if the log has readable entries that are not selected.
    pub fn has_others(&self) -> bool {
        self.page.total > self.page.lines.len() + self.page.damaged.len()
    }

    /// Says that there are no entries, or that some cannot be read.
    pub fn missing(&self) -> Option<String> {
        let LogPage { lines, total, damaged, .. } = &self.page;
        if lines.is_empty() && *total == 0 {
            return Some("It has no log.".to_owned());
        }
        if lines.is_empty() && self.has_others() {
            return Some("No entry of its log matches.".to_owned());
        }
        let damaged = match damaged.len() {
            0 => return None,
            1 => "1 entry".to_owned(),
            several => format!("{several} entries"),
        };
        Some(format!("{damaged} cannot be read: cut off, or still being written."))
    }
}

impl Report for Log {
    const KIND: &'static str = "log";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.is_raw {
            return self.page.lines.iter().try_for_each(|line| page.json(&line.entry.to_string()));
        }
        page.line(self.frame.line(0))?;
        for entry in self.entries() {
            page.gap()?;
            entry.write(page)?;
        }
        let Some(missing) = self.missing() else { return Ok(()) };
        if !self.page.lines.is_empty() {
            page.gap()?;
        }
        page.line(Line::new().plain(missing))
    }
}

/// An entry of a log. Hosts write messages of different forms; what is not known is shown as JSON.
pub struct Entry<'a> {
    /// The line of the log.
    number: usize,
    value: &'a Value,
    /// Maximum number of lines of each text.
    most: usize,
}

impl Entry<'_> {
    pub fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let number = self.number;
        let Some(role) = text_of(self.value, "role") else {
            page.line(Line::new().styled(FAINT, format!("{number}")))?;
            return self.text(page, &self.value.to_string());
        };
        let mut header = Line::new().styled(FAINT, format!("{number} ")).styled(EMPHASIS, "").said(role);
        if let Some(name) = text_of(self.value, "name") {
            header = header.plain(" ").said(name);
        }
        if self.value["isError"] == true {
            header = header.plain(" (failed)");
        }
        if self.value["summary"] == true {
            header = header.plain(" (summary of a compaction)");
        }
        let time = self.value["time"].as_u64().map(|time| format!("  {}", moment(time))).unwrap_or_default();
        page.line_with_end(header, Line::new().styled(FAINT, time))?;
        self.text(page, text_of(self.value, "text").unwrap_or_default())?;
        // The calls of a run, and the parts of a message of OpenCode.
        for call in items(self.value, "calls") {
            self.call(page, &call["name"], &call["arguments"])?;
        }
        items(self.value, "parts").iter().try_for_each(|part| self.part(page, part))
    }

    fn part(&self, page: &mut Page<'_>, part: &Value) -> io::Result<()> {
        match part["type"].as_str() {
            Some("tool") => {
                let state = &part["state"];
                self.call(page, &part["tool"], &state["input"])?;
                let failed = text_of(state, "error").map(|error| format!("failed: {error}"));
                self.text(page, failed.as_deref().or(text_of(state, "output")).unwrap_or_default())
            }
            Some("reasoning") => {
                page.line(Line::new().styled(FAINT, "  (reasoning)"))?;
                self.text(page, text_of(part, "text").unwrap_or_default())
            }
            // Texts are in the text of the message. Other parts are marks of the host.
            _ => Ok(()),
        }
    }

    /// Writes a call of a tool. Its lines are cut at the width of the page. With `--full` they are not even
    /// wrapped, because that drops spaces, and arguments contain code.
    fn call(&self, page: &mut Page<'_>, name: &Value, arguments: &Value) -> io::Result<()> {
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        let call = format!("{} {arguments}", one_line(name.as_str().unwrap_or("?")));
        let all: Vec<&str> = lines(&call).collect();
        let begins = std::iter::once(CALL).chain(std::iter::repeat(BELOW_CALL));
        for (begin, line) in begins.zip(&all).take(self.most) {
            match self.most {
                usize::MAX => page.raw(&format!("{begin}{}\n", visible(line)))?,
                _ => page.line(Line::new().styled(EMPHASIS, begin).plain(visible(line)))?,
            }
        }
        self.left_out(page, BELOW_CALL, all.len())
    }

    fn text(&self, page: &mut Page<'_>, text: &str) -> io::Result<()> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let all: Vec<&str> = lines(text).collect();
        page.text(2, &all[..all.len().min(self.most)].join("\n"))?;
        self.left_out(page, "  ", all.len())
    }

    /// Says how many lines of a text are left out, if some are.
    fn left_out(&self, page: &mut Page<'_>, indentation: &str, lines: usize) -> io::Result<()> {
        match lines.saturating_sub(self.most) {
            0 => Ok(()),
            left => {
                let left = count(left, "more line");
                page.line(Line::new().styled(FAINT, format!("{indentation}... {left}; --full shows all")))
            }
        }
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value[key].as_str()
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}
