//! `callstack export`: the stack as a file for other programs.

use std::io;
use std::path::PathBuf;

use callstack_core::{Event, EventQuery, StackState};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report, WrittenFile, number, refuse_own_file, write_file};

#[derive(Args)]
pub struct Arguments {
    /// The file to write. Default: the standard output.
    file: Option<PathBuf>,
    /// The frames as they are now, in the layout of state.json, or all events, each in JSON on a line.
    #[arg(long, value_enum, default_value_t = Format::State)]
    format: Format,
    /// Overwrite an existing file.
    #[arg(long, requires = "file")]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Format {
    /// The frames as they are now, in the layout of state.json.
    State,
    /// All events, each in JSON on a line.
    Events,
}

/// An exported stack.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Export {
    format: Format,
    /// The revision of the stack.
    revision: u64,
    /// The file that was written, and its size. Absent if the content is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<WrittenFile>,
    /// With the format `state`: the content of state.json.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    state: Option<StackState>,
    /// With the format `events`: all events.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<Event>>,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Export, Failure> {
    let stack = folder.open_to_read()?;
    let revision = stack.read(|tree| tree.revision());
    let mut export = Export { format: arguments.format, revision, file: None, state: None, events: None };
    match (&arguments.file, arguments.format) {
        (Some(file), format) => {
            refuse_own_file(&folder.existing()?, file)?;
            let failed = |error: serde_json::Error| Failure::of_file("write", file.display(), &error.into());
            let written = write_file(file, arguments.force, |writer| match format {
                Format::State => serde_json::to_writer(writer, &stack.state()).map_err(failed),
                Format::Events => Ok(stack.export_history(writer).map(drop)?),
            });
            export.file = Some(written?);
        }
        (None, Format::State) => export.state = Some(stack.state()),
        (None, Format::Events) => export.events = Some(stack.history(&EventQuery::default())?),
    }
    Ok(export)
}

impl Report for Export {
    const KIND: &'static str = "export";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if let Some(file) = &self.file {
            return page
                .line(Line::new().plain("wrote ").said(&file.path).plain(format!(", {} bytes", number(file.bytes))));
        }
        if let Some(state) = &self.state {
            return page.raw(&format!("{}\n", serde_json::to_string(state)?));
        }
        let mut events = self.events.iter().flatten();
        events.try_for_each(|event| page.raw(&format!("{}\n", serde_json::to_string(event)?)))
    }
}
