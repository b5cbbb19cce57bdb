//! `callstack export`: the stack as a file for other programs.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use callstack_core::{Event, EventQuery, Stack, StackState};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tempfile::Builder;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report, number};

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

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WrittenFile {
    path: String,
    bytes: u64,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Export, Failure> {
    let stack = folder.open_to_read()?;
    let revision = stack.read(|tree| tree.revision());
    let mut export = Export { format: arguments.format, revision, file: None, state: None, events: None };
    match (&arguments.file, arguments.format) {
        (Some(file), format) => {
            refuse_own_file(&folder.existing()?, file)?;
            export.file = Some(write_file(&stack, file, format, arguments.force)?);
        }
        (None, Format::State) => export.state = Some(stack.state()),
        (None, Format::Events) => export.events = Some(stack.history(&EventQuery::default())?),
    }
    Ok(export)
}

/// Refuses a file in the stack's own folder, where it could take the place of the database.
fn refuse_own_file(stack: &Path, file: &Path) -> Result<(), Failure> {
    let parent = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A folder that cannot be found is reported when the file is written.
    let is_within =
        stack.canonicalize().is_ok_and(|stack| parent.canonicalize().is_ok_and(|parent| parent.starts_with(stack)));
    match is_within {
        true => {
            Err(Failure::new(Exit::Refused, "own_file", format!("{} is in the folder of the stack", file.display()))
                .next("name a file outside of it"))
        }
        false => Ok(()),
    }
}

/// Writes the file as a whole or not at all.
fn write_file(stack: &Stack, path: &Path, format: Format, is_forced: bool) -> Result<WrittenFile, Failure> {
    let name = path.display().to_string();
    if !is_forced && path.exists() {
        return Err(exists(&name));
    }
    let failed = |error: io::Error| Failure::of_file("write", &name, &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The errors of the file name nothing but the reason: `failed` names the file that the user wants.
    let file = Builder::new().make_in(folder, |path| File::create_new(path)).map_err(failed)?;
    let mut writer = BufWriter::new(file.as_file());
    match format {
        Format::State => serde_json::to_writer(&mut writer, &stack.state()).map_err(|error| failed(error.into()))?,
        Format::Events => drop(stack.export_history(&mut writer)?),
    }
    writer.flush().map_err(failed)?;
    drop(writer);
    let persisted = if is_forced { file.persist(path) } else { file.persist_noclobber(path) };
    if let Err(error) = persisted {
        let is_taken = error.error.kind() == io::ErrorKind::AlreadyExists;
        return Err(if is_taken { exists(&name) } else { failed(error.error) });
    }
    let bytes = fs::metadata(path).map_err(failed)?.len();
    Ok(WrittenFile { path: name, bytes })
}

fn exists(name: &str) -> Failure {
    Failure::new(Exit::Refused, "exists", format!("{name} exists"))
        .next("overwrite it with --force, or name another file")
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
