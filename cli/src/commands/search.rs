//! `callstack search`: frames by the words of their texts.

use std::io;

use callstack_core::search::{FoundFrames, SearchField, SearchQuery};
use callstack_core::{Error, FrameRef};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::next;
use super::frame_line::left_out;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input::misused;
use crate::output::{FAINT, Line, Page, Report, of_status};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    /// Words. A frame is found if, for each of these words, one word of the frame's texts begins with it, in
    /// any letter case.
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,
    /// Only frames below this one.
    #[arg(long, value_name = "FRAME")]
    below: Option<FrameRef>,
    /// Also what was said and done in the frames.
    #[arg(long)]
    logs: bool,
    /// Maximum number of frames: the best ones.
    #[arg(long, short = 'n', value_name = "FRAMES", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

/// The frames that were found, the best first.
#[derive(Serialize, JsonSchema)]
pub struct Search {
    #[serde(flatten)]
    found: FoundFrames,
    #[serde(skip)]
    with_logs: bool,
    #[serde(skip)]
    same_stack: SameStack,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Search, Failure> {
    let stack = folder.open_to_read()?;
    let query = SearchQuery::new(arguments.words.join(" ")).below(arguments.below.clone());
    let found = stack.search(&query.logs(arguments.logs).limit(arguments.limit as usize));
    let found = found.map_err(|error| match error {
        Error::Empty { .. } => misused("the words have no letter and no digit, by which texts are found"),
        error => error.into(),
    })?;
    Ok(Search { found, with_logs: arguments.logs, same_stack: folder.same_stack() })
}

impl Report for Search {
    const KIND: &'static str = "found";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Some(first) = self.found.frames.first() else {
            let logs = if self.with_logs { "" } else { ", --logs looks into logs too" };
            return page.line(Line::new().plain(format!("No frame has these words{logs}.")));
        };
        for found in &self.found.frames {
            let mark = Line::new().styled(of_status(found.status), found.status.mark());
            page.line(mark.plain(format!(" {} ", found.handle)).said(&found.title))?;
            let place = found.line.map_or(String::new(), |line| format!(" {line}"));
            if found.field != SearchField::Title {
                let name = format!("    {}{place}: ", found.field.name());
                page.line(Line::new().styled(FAINT, name).said(&found.excerpt))?;
            }
        }
        left_out(page, self.found.more)?;
        let step = match first.line {
            Some(line) => format!("callstack log {} --from {line} --to {line}", first.handle),
            None => format!("callstack show {}", first.handle),
        };
        next(page, &self.same_stack, step)
    }
}
