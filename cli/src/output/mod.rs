//! The output of commands. Each command returns one value: its JSON is for scripts, its text for people. Data
//! goes to the standard output, everything else to the standard error.

mod file;
mod json;
mod moment;
mod page;
mod reader;
mod style;
pub mod table;
mod terminal;

use std::io::{self, BufWriter, Write};

use callstack_core::text::escape_hidden;
use schemars::JsonSchema;
use serde::Serialize;

pub use file::{WrittenFile, refuse_own_file, write_file};
pub use json::EscapedJson;
pub use moment::{duration, moment, past, timestamp};
pub use page::{Line, Lines, Medium, Page, count, money, number, us_dollars};
pub use reader::wait_for_reader;
pub use style::{EMPHASIS, FAINT, of_status};
#[cfg(all(unix, feature = "agent"))]
pub use terminal::{harmless, say};

use crate::failure::Failure;

/// The version of the envelope and of the data of all kinds. It changes when a key is removed or changes its
/// meaning; new keys do not change it.
pub const SCHEMA_VERSION: u32 = 1;

/// What a command returns.
pub trait Report: Serialize + JsonSchema {
    /// The name of the data in the envelope. It never changes.
    const KIND: &'static str;

    /// Writes the text for people.
    ///
    /// # Errors
    /// The errors of the standard output.
    fn write(&self, page: &mut Page<'_>) -> io::Result<()>;
}

impl Report for Failure {
    const KIND: &'static str = "error";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.notice("error", self.message())?;
        match self.next_step() {
            Some(step) => page.notice("next", step),
            None => Ok(()),
        }
    }
}

/// The JSON of every command: `{"schemaVersion": 1, "kind": "tree", "data": …}`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a, T> {
    schema_version: u32,
    kind: &'a str,
    data: &'a T,
}

/// Where and how reports are written.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub is_json: bool,
}

impl Output {
    /// Writes the result of a command to the standard output.
    ///
    /// # Errors
    /// The errors of the standard output.
    pub fn report<R: Report>(self, report: &R) -> Result<(), Failure> {
        let mut writer = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        self.write(report, &mut writer, Medium::output())?;
        Ok(writer.flush()?)
    }

    /// As [`Output::report`], for a command that has changed the stack.
    pub fn report_change<R: Report>(self, report: &R) -> Result<(), Failure> {
        self.report(report).map_err(|failure| match failure.is_closed_pipe() {
            true => failure,
            false => failure.after_change(),
        })
    }

    /// True if texts for other programs go to the standard output unchanged: without an envelope, and not to
    /// a terminal.
    pub fn is_stream(self) -> bool {
        !self.is_json && !Medium::output().is_terminal
    }

    /// Writes a report as one line of JSON, or as its text, and sends it at once: for commands that continue
    /// to run.
    ///
    /// # Errors
    /// The errors of the standard output.
    pub fn stream<R: Report>(self, report: &R) -> Result<(), Failure> {
        let (mut writer, medium) = (BufWriter::new(io::stdout().lock()), Medium::output());
        match self.is_json {
            true => writeln!(
                writer,
                "{}",
                escape_hidden(&serde_json::to_string(&envelope(report)).map_err(io::Error::from)?)
            )?,
            false => report.write(&mut Page::new(&mut writer, medium))?,
        }
        Ok(writer.flush()?)
    }

    /// Writes a report in one line to the standard error, next to the output of another program. If this
    /// fails, the failure cannot be reported anywhere.
    #[cfg(feature = "proxy")]
    pub fn aside<R: Report>(self, report: &R) {
        let (mut errors, medium) = (io::stderr().lock(), Medium::errors());
        let _ = match self.is_json {
            true => serde_json::to_writer(&mut errors, &envelope(report))
                .map_err(io::Error::from)
                .and_then(|()| writeln!(errors)),
            false => report.write(&mut Page::new(&mut errors, medium)),
        };
    }

    /// Writes a failure to the standard error. If this fails too, that cannot be reported anywhere.
    pub fn failure(self, failure: &Failure) {
        let _ = self.write(failure, &mut io::stderr().lock(), Medium::errors());
    }

    fn write<R: Report>(self, report: &R, writer: &mut impl Write, medium: Medium) -> io::Result<()> {
        match self.is_json {
            true => writeln!(writer, "{}", escape_hidden(&serde_json::to_string_pretty(&envelope(report))?)),
            false => report.write(&mut Page::new(writer, medium)),
        }
    }
}

/// Writes a note about the work of a command to the standard error. It can contain texts of frames. A closed
/// standard error is not a problem.
pub fn note(message: &str) {
    let mut errors = io::stderr().lock();
    let _ = Page::new(&mut errors, Medium::errors()).notice("note", message);
}

fn envelope<R: Report>(report: &R) -> Envelope<'_, R> {
    Envelope { schema_version: SCHEMA_VERSION, kind: R::KIND, data: report }
}
