//! `callstack export`: writes the stack as a file for other programs, or writes what was done into the file
//! of a plan.

use std::error;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use callstack_core::frame::Timeline;
use callstack_core::import::{self, Becomes, ExportedPlan, PlanChange, PlanConflict};
use callstack_core::{Error, Event, EventQuery, FrameRef, Handle, LogQuery, Stack, StackState, Tree};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::import::{in_word, write_conflicts};
use crate::chart::Chart;
use crate::exit::Exit;
use crate::export::{Run, atif, chrome, markdown, otlp, speedscope, svg, table};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{EscapedJson, Line, Output, Page, Report, WrittenFile, note, number, refuse_own_file, write_file};
use crate::view;

/// Maximum number of frames that the text names.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct Arguments {
    /// The file to write. Default: the standard output. With the formats `beads` and `task-master` it is the
    /// file that was imported: what was done since is written into it. To export a session of an agent: its
    /// file or its ID, followed by the file to write.
    #[arg(value_name = "FILE or SESSION")]
    pub file: Option<PathBuf>,
    /// The file to write, after a session.
    #[arg(value_name = "FILE", hide = true)]
    pub to: Option<PathBuf>,
    /// The format of the file.
    #[arg(long, value_enum, default_value_t = Format::State)]
    format: Format,
    /// Only this frame, and the frames below it. Not for the formats `state`, `events` and `html`, which show
    /// whole stacks.
    #[arg(long)]
    frame: Option<FrameRef>,
    /// Overwrite an existing file.
    #[arg(long, requires = "file")]
    force: bool,
    /// With the formats `beads` and `task-master`: the text that the import has put before the IDs of the
    /// file.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    prefix: String,
}

#[derive(Clone, Copy, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Format {
    /// The frames as they are now, in the layout of state.json.
    State,
    /// All events, each in JSON on a line.
    Events,
    /// The page of `callstack view`: a flame chart for a browser.
    Html,
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
    /// A report in Markdown, for an issue, a pull request or a mail: the plan as a check list with results,
    /// decisions, costs.
    Markdown,
    /// A table of the frames, for programs that calculate.
    Csv,
    /// Statuses, results and new frames, written into the issues.jsonl of Beads that was imported. Everything
    /// else in it stays as it is.
    Beads,
    /// The same for the tasks.json of Task Master.
    TaskMaster,
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
    /// With all other formats: the document in its format. Pages, pictures, reports and tables are texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    document: Option<Document>,
    /// With the formats `beads` and `task-master`: what was written into the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<WrittenPlan>,
}

/// The report of an export into the file of a plan.
#[derive(Serialize, JsonSchema)]
struct WrittenPlan {
    /// The frames whose records were changed.
    written: Vec<PlanChange>,
    /// The frames that are new in the file.
    added: Vec<PlanChange>,
    /// The changes that were not written: the file has other values since the import.
    conflicts: Vec<PlanConflict>,
}

/// The document of a format that shows a run.
#[derive(Serialize)]
#[serde(untagged)]
enum Document {
    /// A page, a picture, a report or a table.
    Text(String),
    Speedscope(speedscope::File),
    Chrome(chrome::Trace),
    Otlp(otlp::Traces),
    Atif(Box<atif::Trajectory>),
}

pub fn run(arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    if matches!(arguments.format, Format::Beads | Format::TaskMaster) {
        return write_back(arguments, folder, output);
    }
    let stack = folder.open_to_read()?;
    let revision = stack.read(|tree| tree.revision())?;
    let frame = arguments.frame.as_ref().map(|frame| stack.resolve(frame.clone())).transpose()?;
    if let Some(file) = &arguments.file {
        refuse_own_file(folder.files()?.as_deref(), file)?;
    }
    let format = arguments.format;
    let content = content(&stack, format, frame, folder.has_conversations())?;
    let mut export = Export { format, revision, file: None, state: None, events: None, document: None, plan: None };
    match (&arguments.file, content) {
        // A stack can be larger than the memory.
        (None, content @ (Content::State | Content::Events)) if output.is_stream() => {
            let mut writer = BufWriter::with_capacity(1 << 16, io::stdout().lock());
            content.write(&stack, "the standard output", &mut writer)?;
            if let Content::State = content {
                writeln!(writer)?;
            }
            writer.flush()?;
            return Ok(Exit::Done);
        }
        (Some(file), content) => {
            export.file = Some(write_file(file, arguments.force, |writer| {
                content.write(&stack, &file.display().to_string(), writer)
            })?)
        }
        (None, Content::State) => {
            export.state = Some(stack.read(Tree::state)?);
        }
        (None, Content::Events) => {
            let events = stack.history().events(&EventQuery::default())?;
            warn_of_compaction(events.len() as u64, &stack)?;
            export.events = Some(events);
        }
        (None, Content::Document(document)) => export.document = Some(document),
    }
    output.report(&export)?;
    Ok(Exit::Done)
}

/// The failure of an export into the file of a plan if no file is named.
fn needs_file(format: Format) -> Failure {
    let named = format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let failure = Failure::new(Exit::Usage, "no_file", format!("--format {named} needs the file that was imported"));
    failure.next(format!("callstack export --format {named} FILE"))
}

/// Writes what was done into the file of a plan.
fn write_back(arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    let format = arguments.format;
    let named = format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let refused = |code: &'static str, message: String| Failure::new(Exit::Refused, code, message);
    let Some(file) = &arguments.file else { return Err(needs_file(format)) };
    if arguments.frame.is_some() {
        let message = format!("--frame cannot be used with --format {named}, which writes a whole plan");
        return Err(Failure::new(Exit::Usage, "whole_stack", message).next("leave --frame out"));
    }
    refuse_own_file(folder.files()?.as_deref(), file)?;
    let name = file.display().to_string();
    let read = || fs::read(file).map_err(|error| Failure::of_file("read", &name, &error));
    let before = read()?;
    let text = str::from_utf8(&before).map_err(|_| {
        refused("no_utf8", format!("{name} is not in UTF-8")).next("save it in UTF-8, import it again, and export then")
    })?;
    let found = import::Format::of(text)?;
    let is_meant = match format {
        Format::Beads => found == import::Format::Beads,
        _ => found == import::Format::TaskMaster,
    };
    if !is_meant {
        return Err(
            refused("other_format", format!("{name} is not a file of {named}")).next("give the --format of the file")
        );
    }
    let stack = folder.open_to_write()?;
    let exported = stack.read(|tree| import::export(tree, text, &arguments.prefix))??;
    let written = match exported.text == text {
        true => None,
        false => Some(write_file(file, true, |writer| {
            if read()? != before {
                return Err(refused("changed", format!("{name} has changed while it was exported")).next("try again"));
            }
            writer.write_all(exported.text.as_bytes()).map_err(|error| Failure::of_file("write", &name, &error))
        })?),
    };
    stack.note_export(&exported)?;
    let ExportedPlan { written: changed, added, conflicts, .. } = exported;
    let plan = Some(WrittenPlan { written: changed, added, conflicts });
    let revision = stack.read(|tree| tree.revision())?;
    output.report(&Export { format, revision, file: written, state: None, events: None, document: None, plan })?;
    Ok(Exit::Done)
}

/// Says that a compaction has removed events, and where the frames of these events are written.
fn warn_of_compaction(events: u64, stack: &Stack) -> Result<(), Failure> {
    if events < stack.read(|tree| tree.revision())? {
        note(
            "a compaction has removed earlier events; without --json, their frames are written in their place, and \
             `callstack import` makes this stack again",
        );
    }
    Ok(())
}

/// The content of the export. States and events are read while they are written.
enum Content {
    State,
    Events,
    Document(Document),
}

/// `with_logs`: true if a page has what was said in the frames.
fn content(stack: &Stack, format: Format, frame: Option<Handle>, with_logs: bool) -> Result<Content, Failure> {
    let document = match (format, frame) {
        (Format::State | Format::Events | Format::Html, Some(_)) => {
            let name = format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
            let message = format!("--frame cannot be used with --format {name}, which has the whole stack");
            return Err(
                Failure::new(Exit::Usage, "whole_stack", message).next("leave --frame out, or choose another --format")
            );
        }
        (Format::State, None) => return Ok(Content::State),
        (Format::Events, None) => return Ok(Content::Events),
        (Format::Html, None) => Document::Text(view::page(stack, None, with_logs)?.0),
        (Format::Svg, _) => Document::Text(of_run(stack, frame, svg::picture)?),
        (Format::Markdown, _) => Document::Text(stack.read(|tree| markdown::report(tree, frame))?),
        (Format::Csv, _) => Document::Text(
            stack
                .read(|tree| table::table(tree, frame))?
                .map_err(|error| Failure::new(Exit::Failed, "io", format!("the table cannot be written: {error}")))?,
        ),
        (Format::Speedscope, _) => Document::Speedscope(of_run(stack, frame, speedscope::file)?),
        (Format::Chrome, _) => Document::Chrome(of_run(stack, frame, chrome::trace)?),
        (Format::Otlp, _) => Document::Otlp(of_run(stack, frame, otlp::traces)?),
        (Format::Beads | Format::TaskMaster, _) => return Err(needs_file(format)),
        (Format::Atif, _) => {
            let logs = logs(stack, frame)?;
            Document::Atif(Box::new(of_run(stack, frame, |run| atif::trajectory(run, &logs))?))
        }
    };
    Ok(Content::Document(document))
}

/// Makes the document of a format, of all frames or of a frame and those below it.
fn of_run<T>(stack: &Stack, frame: Option<Handle>, make: impl FnOnce(&Run<'_>) -> T) -> Result<T, Failure> {
    let mut timeline = Timeline::default();
    stack.history().update_timeline(&mut timeline)?;
    Ok(stack.read(|tree| {
        let chart = match frame {
            Some(frame) => Chart::of_frame(tree, &timeline, frame),
            None => Chart::of(tree, &timeline),
        };
        make(&Run { tree, chart: &chart })
    })?)
}

/// The logs of the frames. A log that does not exist is empty.
fn logs(stack: &Stack, frame: Option<Handle>) -> Result<atif::Logs, Failure> {
    let frames: Vec<Handle> =
        stack.read(|tree| frame.map_or(tree.handles().collect(), |frame| tree.subtree(frame).collect()))?;
    let log = |frame: Handle| {
        let read = stack.log(frame).read(&LogQuery::default());
        let entries = read.map(|page| page.lines.into_iter().map(|line| line.entry).collect());
        (frame, entries.map_err(|error| error.to_string()))
    };
    Ok(frames.into_iter().map(log).collect())
}

impl Content {
    /// `name`: the name of the file, for errors.
    fn write(&self, stack: &Stack, name: &str, writer: &mut impl Write) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::of_file("write", name, &error);
        if let Self::Document(Document::Text(text)) = self {
            return writer.write_all(text.as_bytes()).map_err(failed);
        }
        let mut json = BufWriter::with_capacity(1 << 16, EscapedJson::new(writer));
        match self {
            Self::State => stack.files().export_state(&mut json).map_err(not_written),
            Self::Events => stack.history().export(&mut json).map(drop).map_err(not_written),
            Self::Document(document) => {
                serde_json::to_writer(&mut json, document).map_err(|error| failed(error.into()))
            }
        }?;
        json.flush().map_err(|error| match error.kind() {
            // It is not a failure if a reader has read enough.
            io::ErrorKind::BrokenPipe => error.into(),
            _ => failed(error),
        })
    }
}

/// The failure of an export that was begun. It is not a failure if a reader has read enough.
fn not_written(error: Error) -> Failure {
    let kind = error::Error::source(&error).and_then(|source| source.downcast_ref()).map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::BrokenPipe) => io::Error::from(io::ErrorKind::BrokenPipe).into(),
        _ => error.into(),
    }
}

impl Report for Export {
    const KIND: &'static str = "export";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if let Some(plan) = &self.plan {
            return plan.write(self.file.as_ref(), page);
        }
        if let Some(file) = &self.file {
            return page
                .line(Line::new().plain("wrote ").said(&file.path).plain(format!(", {} bytes", number(file.bytes))));
        }
        if let Some(state) = &self.state {
            return page.json(&serde_json::to_string(state)?);
        }
        match &self.document {
            Some(Document::Text(text)) => return page.raw(text),
            Some(document) => return page.json(&serde_json::to_string(document)?),
            None => {}
        }
        let mut events = self.events.iter().flatten();
        events.try_for_each(|event| page.json(&serde_json::to_string(event)?))
    }
}

impl WrittenPlan {
    fn write(&self, file: Option<&WrittenFile>, page: &mut Page<'_>) -> io::Result<()> {
        match file {
            None => page.text(0, "the file has all of it already; nothing was written")?,
            Some(file) => {
                let counts = format!("{} changed, {} new", self.written.len(), self.added.len());
                page.line(Line::new().plain("wrote ").said(&file.path).plain(format!(": {counts}")))?;
            }
        }
        let all: Vec<&PlanChange> = self.written.iter().chain(&self.added).collect();
        for PlanChange { frame, id, title, becomes, .. } in all.iter().take(SHOWN) {
            page.line(
                Line::new().plain(format!("    {frame} {}: ", word(*becomes))).said(title).plain(format!("  ({id})")),
            )?;
        }
        if all.len() > SHOWN {
            page.text(4, &format!("and {} more; --json lists all", all.len() - SHOWN))?;
        }
        write_conflicts(page, &self.conflicts)
    }
}

/// The words for what a frame becomes.
fn word(becomes: Becomes) -> &'static str {
    match becomes {
        Becomes::Begun => "is in progress",
        becomes => in_word(becomes),
    }
}
