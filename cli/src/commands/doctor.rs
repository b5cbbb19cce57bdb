//! `callstack doctor`: whether a stack is sound, and what to do if it is not.

use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use callstack_core::stack::{Health, HostHealth, MirrorHealth, RepairedFiles};
use callstack_core::{Stack, StackOptions};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::now;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{EMPHASIS, Line, Output, Page, Report, count, number};

#[derive(Args)]
pub struct Arguments {
    /// Before the examination, rebuild what follows from the events: the snapshot in the database, and
    /// state.json and frames/. Hosts wait meanwhile, some seconds for a million events.
    #[arg(long)]
    repair: bool,
}

/// The examination of a stack.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The folder of the stack, or its URL.
    folder: String,
    /// The version of the program.
    program_version: &'static str,
    /// True if `--repair` has rebuilt the snapshot.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_repaired: bool,
    /// True if `--repair` has rewritten state.json and frames/. False: the files were right already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    are_files_rewritten: bool,
    /// The folder, within the folder of the stack, with these files as `--repair` has found them, if some
    /// were wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_in: Option<String>,
    /// True if nothing is wrong.
    is_sound: bool,
    /// What is wrong, each with what to do. Empty if the stack is sound.
    problems: Vec<Problem>,
    /// Absent if the stack cannot be opened, or is on a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<Health>,
    /// Absent for a stack on a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    sizes: Option<Sizes>,
    /// The numbers of frames, events and workers of a stack on a server. Absent for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Content {
    /// Number of frames.
    frames: usize,
    /// The revision: the number of events, also those that were compacted.
    revision: u64,
    /// Number of frames that workers have: their leases have not ended.
    with_workers: usize,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Problem {
    message: String,
    next_step: String,
}

/// Sizes in bytes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Sizes {
    /// The database.
    database: u64,
    /// Its write-ahead log.
    write_ahead_log: u64,
    /// The logs of frames.
    logs: u64,
    /// The files state.json and frames/.
    mirror: u64,
}

pub fn run(arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    let repaired = match arguments.repair {
        true => Some(folder.open_to_write()?.upkeep().repair()?),
        false => None,
    };
    let examined = match folder.is_on_server() {
        true => Diagnosis::of_server(folder)?,
        false => Diagnosis::of(&folder.existing()?),
    };
    let (is_repaired, RepairedFiles { are_rewritten, kept_in, .. }) =
        (repaired.is_some(), repaired.unwrap_or_default());
    let mut diagnosis = Diagnosis { is_repaired, are_files_rewritten: are_rewritten, kept_in, ..examined };
    let same_stack = folder.same_stack();
    diagnosis.problems.iter_mut().for_each(|problem| problem.next_step = same_stack.named_in(&problem.next_step));
    output.report(&diagnosis)?;
    Ok(if diagnosis.is_sound { Exit::Done } else { Exit::Failed })
}

impl Diagnosis {
    fn of(folder: &Path) -> Self {
        // As in all commands that only look, nothing may be written when the stack is closed.
        let opened = Stack::open(folder, StackOptions::default().mirror(false)).map(ManuallyDrop::new);
        let examined = opened.and_then(|stack| stack.upkeep().health());
        let problems = match &examined {
            Ok(health) => problems_of(health),
            Err(error) => vec![Problem { message: error.to_string(), next_step: advice(error) }],
        };
        Self {
            folder: folder.display().to_string(),
            program_version: env!("CARGO_PKG_VERSION"),
            is_repaired: false,
            are_files_rewritten: false,
            kept_in: None,
            is_sound: problems.is_empty(),
            problems,
            health: examined.ok(),
            sizes: Some(Sizes::of(folder)),
            content: None,
        }
    }

    /// Replays the history of a stack on a server. Examining the server itself is the task of its
    /// administrators.
    fn of_server(folder: &StackFolder) -> Result<Self, Failure> {
        let stack = folder.open_to_read()?;
        let problems = stack.history().check()?.into_iter().map(|problem| Problem {
            message: format!("the history: {problem}"),
            next_step: "`callstack doctor --repair` makes the snapshot again from the events; if it fails, restore the rows of the \
                        stack from a backup of the server"
                .to_owned(),
        });
        let problems: Vec<Problem> = problems.collect();
        Ok(Self {
            folder: folder.shown()?,
            program_version: env!("CARGO_PKG_VERSION"),
            is_repaired: false,
            are_files_rewritten: false,
            kept_in: None,
            is_sound: problems.is_empty(),
            problems,
            health: None,
            sizes: None,
            content: Some(stack.read(|tree| Content {
                frames: tree.len(),
                revision: tree.revision(),
                with_workers: tree.with_workers().filter(|frame| tree.holder(*frame, now()).is_some()).count(),
            })?),
        })
    }
}

/// Maximum number of frames that a problem names.
const SHOWN: usize = 12;

/// The advice for a stack whose events do not give its frames.
const RESTORE: &str = "copy the folder first; then move stack.db, stack.db-wal and stack.db-shm away: the next command \
                       that changes the stack restores the frames from state.json and frames/, without their history";

/// What to do about a stack that cannot be opened.
fn advice(error: &callstack_core::Error) -> String {
    let code = error.code();
    match code {
        "version" => "use the version of callstack that wrote it, or a newer one",
        "busy" => "wait until other processes have finished, then repeat",
        "read_only" => "give yourself the right to write in the folder, or copy it and name the copy with --stack",
        "disk_full" => "free some space, then repeat",
        "damaged" | "json" => RESTORE,
        _ => "look at the named file, then repeat",
    }
    .to_owned()
}

fn problems_of(health: &Health) -> Vec<Problem> {
    let rescue = match health.database.compacted_to {
        0 => {
            "end all hosts, copy the folder, and save the events with `callstack export --format events FILE`: \
             `callstack import FILE --new` makes a new stack of them in another folder"
        }
        _ => RESTORE,
    };
    let mut problems = Vec::new();
    for problem in &health.database.problems {
        problems.push(Problem { message: format!("stack.db: {problem}"), next_step: rescue.to_owned() });
    }
    for problem in &health.history_problems {
        let next_step = match health.database.problems.is_empty() {
            true => format!(
                "copy the folder first; then `callstack doctor --repair` makes the snapshot again from the events. If it fails: {rescue}"
            ),
            false => rescue.to_owned(),
        };
        problems.push(Problem { message: format!("the history: {problem}"), next_step });
    }
    if let Some(message) = mirror_problem(&health.mirror) {
        let next_step = match (problems.is_empty(), health.database.compacted_to) {
            (true, 0) => "`callstack doctor --repair` writes the files from the history",
            (true, _) => {
                "look which of them is right: the events of finished trees were compacted, so the database and these files are all \
                 that tells of their frames. `callstack doctor --repair` writes the files from the database, and keeps these in \
                 before-repair/"
            }
            (false, _) => "keep a copy of these files: the database is damaged, so they may be right",
        };
        problems.push(Problem { message, next_step: next_step.to_owned() });
    }
    problems
}

/// Describes the problem of `state.json` or `frames/`. `None` if they have none.
fn mirror_problem(mirror: &MirrorHealth) -> Option<String> {
    match mirror {
        MirrorHealth::Different { revision } => {
            Some(format!("state.json says that it shows revision {revision}, but shows another tree than the history"))
        }
        MirrorHealth::Incomplete { frames } => {
            let named: Vec<String> = frames.iter().take(SHOWN).map(ToString::to_string).collect();
            let more = if frames.len() > SHOWN { " and more" } else { "" };
            Some(format!("the files in frames/ of {}{more} are missing, or show other frames", named.join(", ")))
        }
        _ => None,
    }
}

impl Sizes {
    fn of(folder: &Path) -> Self {
        let size = |name: &str| size_below(&folder.join(name));
        Self {
            database: size("stack.db"),
            write_ahead_log: size("stack.db-wal"),
            logs: size("logs"),
            mirror: size("state.json") + size("frames"),
        }
    }
}

/// The size of a file, or of the files in a folder, in bytes. Links are not followed.
fn size_below(path: &Path) -> u64 {
    let Ok(data) = fs::symlink_metadata(path) else { return 0 };
    if !data.is_dir() {
        return data.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(|data| data.is_file()).map(|data| data.len()).sum()
}

impl Report for Diagnosis {
    const KIND: &'static str = "doctor";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let field = |page: &mut Page<'_>, name: &str, value: String| page.field(name, Style::new(), &value);
        field(page, if self.content.is_some() { "stack" } else { "folder" }, self.folder.clone())?;
        field(page, "program", self.program_version.to_owned())?;
        if let Some(Content { frames, revision, with_workers }) = self.content {
            let content = format!("{}, {}", count(frames, "frame"), count(revision as usize, "event"));
            let with_workers = if with_workers == 0 { String::new() } else { format!("; {with_workers} with workers") };
            field(page, "content", content + &with_workers)?;
        }
        if let Some(health) = &self.health {
            let version = format!("version {} of {}", health.database.version, health.database.supported_version);
            let bytes = self.sizes.as_ref().map_or(0, |sizes| sizes.database);
            field(page, "database", format!("{version}, {} bytes", number(bytes)))?;
            let content = format!("{}, {}", count(health.frames, "frame"), count(health.revision as usize, "event"));
            let compacted = match health.database.compacted_to {
                0 => String::new(),
                revision => format!("; those of finished trees were compacted up to event {revision}"),
            };
            field(page, "content", format!("{content}{compacted}"))?;
            field(page, "mirror", mirror_in_words(&health.mirror, health.revision))?;
            health.hosts.iter().try_for_each(|host| field(page, "host", host_in_words(host)))?;
        }
        if let Some(Sizes { write_ahead_log, logs, mirror, .. }) = &self.sizes {
            let [write_ahead_log, logs, mirror] = [write_ahead_log, logs, mirror].map(|bytes| number(*bytes));
            let free = number(self.health.as_ref().map_or(0, |health| health.database.free_bytes));
            let sizes = format!(
                "free in the database {free}, write-ahead log {write_ahead_log}, logs {logs}, mirror {mirror} bytes"
            );
            field(page, "sizes", sizes)?;
        }
        if self.is_repaired {
            let done = match (self.are_files_rewritten, &self.sizes) {
                (true, _) => ", state.json and frames/ were made again.",
                (false, Some(_)) => " was made again; state.json and frames/ were right.",
                (false, None) => " was made again.",
            };
            page.line(Line::new().plain(format!("The snapshot of the database{done}")))?;
            if let Some(kept_in) = &self.kept_in {
                let advice = "remove that folder when they are not needed any more";
                page.text(0, &format!("The files as they were are in {kept_in}/; {advice}."))?;
            }
        }
        if self.is_sound {
            return page.line(Line::new().styled(AnsiColor::Green.on_default(), "The stack is sound."));
        }
        for Problem { message, next_step } in &self.problems {
            page.gap()?;
            page.line(Line::new().styled(AnsiColor::Red.on_default().bold(), "Wrong"))?;
            page.text(2, message)?;
            page.line(Line::new().styled(EMPHASIS, "What to do"))?;
            page.text(2, next_step)?;
        }
        Ok(())
    }
}

fn mirror_in_words(mirror: &MirrorHealth, newest: u64) -> String {
    match mirror {
        MirrorHealth::Current {} => "state.json is current".to_owned(),
        MirrorHealth::Behind { revision } => {
            let behind = count(newest.saturating_sub(*revision) as usize, "event");
            format!("state.json is {behind} behind; the next host writes it")
        }
        MirrorHealth::Missing {} => "there is no state.json; the next host writes it".to_owned(),
        MirrorHealth::Different { .. } => "state.json shows another tree".to_owned(),
        MirrorHealth::Incomplete { .. } => "state.json is current, frames/ is not".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn host_in_words(host: &HostHealth) -> String {
    let frames: Vec<String> = host.frames.iter().map(ToString::to_string).collect();
    let verb = if host.is_alive { "runs" } else { "has ended, and ran" };
    format!("{} {verb} {}", host.host, frames.join(", "))
}
