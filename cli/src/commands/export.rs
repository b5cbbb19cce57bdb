//! `callstack export`: the stack as a file for other programs.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use callstack_core::frame::Timeline;
use callstack_core::{Event, EventQuery, FrameRef, Handle, LogQuery, Stack, StackState};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tempfile::Builder;

use crate::chart::Chart;
use crate::exit::Exit;
use crate::export::{Run, atif, chrome, otlp, speedscope, svg};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report, number};

#[derive(Args)]
pub struct Arguments {
    /// The file to write. Default: the standard output.
    file: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = Format::State)]
    format: Format,
    /// Only this frame, and what is below it. Not for the formats `state` and `events`, which are whole stacks.
    #[arg(long)]
    frame: Option<FrameRef>,
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
    /// A picture of the run: frames over time, and the tokens of requests.
    Svg,
    /// Profiles for speedscope: times, and tokens.
    Speedscope,
    /// A trace for Perfetto and for chrome://tracing.
    Chrome,
    /// Traces for OpenTelemetry, in the JSON of OTLP files.
    Otlp,
    /// A trajectory in the Agent Trajectory Interchange Format.
    Atif,
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
    /// With all other formats: the document, as its format has it. A picture is a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    document: Option<Document>,
}

/// The document of a format that shows a run.
#[derive(Serialize)]
#[serde(untagged)]
enum Document {
    Svg(String),
    Speedscope(speedscope::File),
    Chrome(chrome::Trace),
    Otlp(otlp::Traces),
    Atif(Box<atif::Trajectory>),
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
    let frame = arguments.frame.as_ref().map(|frame| stack.resolve(frame.clone())).transpose()?;
    if let Some(file) = &arguments.file {
        refuse_own_file(&folder.existing()?, file)?;
    }
    let format = arguments.format;
    let content = content(&stack, format, frame)?;
    let mut export = Export { format, revision, file: None, state: None, events: None, document: None };
    match (&arguments.file, content) {
        (Some(file), content) => export.file = Some(write_file(&stack, file, &content, arguments.force)?),
        (None, Content::State) => export.state = Some(stack.state()),
        (None, Content::Events) => export.events = Some(stack.history(&EventQuery::default())?),
        (None, Content::Document(document)) => export.document = Some(document),
    }
    Ok(export)
}

/// What is written. States and events are read while they are written.
enum Content {
    State,
    Events,
    Document(Document),
}

fn content(stack: &Stack, format: Format, frame: Option<Handle>) -> Result<Content, Failure> {
    let document = match (format, frame) {
        (Format::State | Format::Events, Some(_)) => {
            let message = "a state and events are those of a whole stack";
            return Err(
                Failure::new(Exit::Usage, "whole_stack", message).next("leave --frame out, or choose another --format")
            );
        }
        (Format::State, None) => return Ok(Content::State),
        (Format::Events, None) => return Ok(Content::Events),
        (Format::Svg, _) => Document::Svg(of_run(stack, frame, svg::picture)?),
        (Format::Speedscope, _) => Document::Speedscope(of_run(stack, frame, speedscope::file)?),
        (Format::Chrome, _) => Document::Chrome(of_run(stack, frame, chrome::trace)?),
        (Format::Otlp, _) => Document::Otlp(of_run(stack, frame, otlp::traces)?),
        (Format::Atif, _) => {
            let logs = logs(stack, frame);
            Document::Atif(Box::new(of_run(stack, frame, |run| atif::trajectory(run, &logs))?))
        }
    };
    Ok(Content::Document(document))
}

/// What a format makes of all frames, or of a frame and what is below it.
fn of_run<T>(stack: &Stack, frame: Option<Handle>, make: impl FnOnce(&Run<'_>) -> T) -> Result<T, Failure> {
    let mut timeline = Timeline::default();
    stack.update_timeline(&mut timeline)?;
    Ok(stack.read(|tree| {
        let chart = match frame {
            Some(frame) => Chart::of_frame(tree, &timeline, frame),
            None => Chart::of(tree, &timeline),
        };
        make(&Run { tree, chart: &chart })
    }))
}

/// The logs of the frames. One that does not exist is empty.
fn logs(stack: &Stack, frame: Option<Handle>) -> atif::Logs {
    let frames: Vec<Handle> =
        stack.read(|tree| frame.map_or(tree.handles().collect(), |frame| tree.subtree(frame).collect()));
    let log = |frame: Handle| {
        let read = stack.log(frame).read(&LogQuery::default());
        let entries = read.map(|page| page.lines.into_iter().map(|line| line.entry).collect());
        (frame, entries.map_err(|error| error.to_string()))
    };
    frames.into_iter().map(log).collect()
}

impl Content {
    /// `name`: the name of the file, for errors.
    fn write(&self, stack: &Stack, name: &str, writer: &mut impl Write) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::of_file("write", name, &error);
        match self {
            Self::State => serde_json::to_writer(writer, &stack.state()).map_err(|error| failed(error.into())),
            Self::Events => Ok(stack.export_history(writer).map(drop)?),
            Self::Document(Document::Svg(picture)) => writer.write_all(picture.as_bytes()).map_err(failed),
            Self::Document(document) => serde_json::to_writer(writer, document).map_err(|error| failed(error.into())),
        }
    }
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
fn write_file(stack: &Stack, path: &Path, content: &Content, is_forced: bool) -> Result<WrittenFile, Failure> {
    let name = path.display().to_string();
    if !is_forced && path.exists() {
        return Err(exists(&name));
    }
    let failed = |error: io::Error| Failure::of_file("write", &name, &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The errors of the file name nothing but the reason: `failed` names the file that the user wants.
    let file = Builder::new().make_in(folder, |path| File::create_new(path)).map_err(failed)?;
    let mut writer = BufWriter::new(file.as_file());
    content.write(stack, &name, &mut writer)?;
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
        match &self.document {
            Some(Document::Svg(picture)) => return page.raw(picture),
            Some(document) => return page.raw(&format!("{}\n", serde_json::to_string(document)?)),
            None => {}
        }
        let mut events = self.events.iter().flatten();
        events.try_for_each(|event| page.raw(&format!("{}\n", serde_json::to_string(event)?)))
    }
}
