//! The output of commands. Each command returns one value: its JSON is for scripts, its text for people. Data goes to the
//! standard output, everything else to the standard error.

mod moment;
mod page;
mod reader;
mod style;
pub mod table;

use std::io::{self, BufWriter, Write};

use anstream::AutoStream;
use schemars::JsonSchema;
use serde::Serialize;

pub use moment::{duration, moment};
pub use page::{Line, Page, count, number, width_of_errors};
pub use reader::wait_for_reader;
pub use style::{EMPHASIS, FAINT, mark, of_status};

use crate::failure::Failure;

/// The version of the envelope and of the data of all kinds. It changes when a key is removed or changes its meaning;
/// new keys do not change it.
pub const SCHEMA_VERSION: u32 = 1;

/// What a command returns.
pub trait Report: Serialize + JsonSchema {
    /// The name of the data in the envelope. It never changes.
    const KIND: &'static str;

    /// Writes the text for people.
    ///
    /// # Errors
    /// Those of the standard output.
    fn write(&self, page: &mut Page<'_>) -> io::Result<()>;
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
    /// Those of the standard output.
    pub fn report<R: Report>(self, report: &R) -> Result<(), Failure> {
        let mut writer = BufWriter::with_capacity(1 << 16, AutoStream::auto(io::stdout().lock()));
        self.write(report, &mut writer, page::width_of_output())?;
        Ok(writer.flush()?)
    }

    /// Writes a report as one line of JSON, or as its text, and hands it on at once: for commands that go on.
    ///
    /// # Errors
    /// Those of the standard output.
    pub fn stream<R: Report>(self, report: &R) -> Result<(), Failure> {
        let mut writer = BufWriter::new(AutoStream::auto(io::stdout().lock()));
        match self.is_json {
            true => {
                serde_json::to_writer(&mut writer, &envelope(report)).map_err(io::Error::from)?;
                writeln!(writer)?;
            }
            false => report.write(&mut Page::new(&mut writer, page::width_of_output()))?,
        }
        Ok(writer.flush()?)
    }

    /// Writes a failure to the standard error. That this fails too cannot be said anywhere.
    pub fn failure(self, failure: &Failure) {
        let mut writer = AutoStream::auto(io::stderr().lock());
        let _ = self.write(failure, &mut writer, width_of_errors());
    }

    fn write<R: Report>(self, report: &R, writer: &mut impl Write, width: usize) -> io::Result<()> {
        if !self.is_json {
            return report.write(&mut Page::new(writer, width));
        }
        serde_json::to_writer_pretty(&mut *writer, &envelope(report))?;
        writeln!(writer)
    }
}

fn envelope<R: Report>(report: &R) -> Envelope<'_, R> {
    Envelope { schema_version: SCHEMA_VERSION, kind: R::KIND, data: report }
}
