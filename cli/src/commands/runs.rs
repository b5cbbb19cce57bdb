//! `callstack runs`: the runs of agents that manage their own memory, and the end of runs that no person
//! wants to resume.

use std::io;
use std::path::Path;

use callstack_core::frame::{ModelUsage, RunSettings};
use callstack_core::{FrameRef, Handle, Stack};
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use super::frame_line::FrameLine;
use super::usage::requests_in_words;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{EMPHASIS, FAINT, Line, Output, Page, Report, count, past};
use crate::run_lock::{driving_process, forget};

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Also list the runs whose model never answered.
    #[arg(long)]
    all: bool,
    /// Only list the runs that can be resumed.
    #[arg(long)]
    unfinished: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Shows a run: its task, where it is, and what it has used.
    Show {
        /// The run: its handle, ID or title, or those of one of its frames.
        run: FrameRef,
    },
    /// Ends a run that is not to be resumed: its open frames become invalidated. Its history stays.
    Drop {
        /// The run: its handle, ID or title, or those of one of its frames.
        run: FrameRef,
        /// Why it is not resumed.
        #[arg(long, value_name = "TEXT", default_value = "dropped by a person")]
        reason: String,
    },
}

/// The runs of a stack, oldest first.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runs {
    runs: Vec<Run>,
    /// Number of runs whose model never answered, and that are left out.
    unanswered: usize,
    /// True if only runs that can be resumed are listed.
    #[serde(skip)]
    only_unfinished: bool,
}

/// A run in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Run {
    /// The root frame of the run.
    #[serde(flatten)]
    root: FrameLine,
    /// Number of replies of the model.
    steps: u64,
    /// When it was begun, in milliseconds since the Unix epoch.
    begun_at: u64,
    /// When one of its frames changed last.
    changed_at: u64,
    /// The process that drives it; 0 if it is not known which one. Absent: no process drives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    /// The requests of all of its frames, by model.
    usage: Vec<ModelUsage>,
}

/// A run with everything about it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunDetails {
    #[serde(flatten)]
    run: Run,
    /// What the agent was asked to do.
    task: String,
    /// What it has returned, or why it has ended. Can be empty.
    result: String,
    settings: RunSettings,
    /// The frame that works, if the run can be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<FrameLine>,
    /// Number of all frames.
    frames: usize,
}

/// A run that was ended.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunDropped {
    run: FrameLine,
    /// The frames that were invalidated, newest first.
    invalidated: Vec<Handle>,
}

/// The result of a run.
#[cfg(all(unix, feature = "agent"))]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// The root frame of the run.
    pub run: Handle,
    /// The result that the agent has returned.
    pub result: String,
    /// The requests of the whole run, an entry for each model.
    pub usage: Vec<ModelUsage>,
}

/// Runs the command and writes its report.
pub fn run(arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    if arguments.action.is_some() && (arguments.all || arguments.unfinished) {
        // clap would also refuse the options of all commands before `show` and `drop`.
        return Err(Failure::new(Exit::Usage, "arguments", "--all and --unfinished are for the list of the runs"));
    }
    let path = folder.files()?;
    let path = path.as_deref();
    match &arguments.action {
        None => output.report(&list(&*folder.open_to_read()?, path, arguments)?)?,
        Some(Action::Show { run }) => {
            let stack = folder.open_to_read()?;
            output.report(&details(&stack, path, find_run(&stack, run.clone())?)?)?;
        }
        Some(Action::Drop { run, reason }) => {
            let stack = folder.open_to_write()?;
            let run = find_run(&stack, run.clone())?;
            check_droppable(&stack, path, run)?;
            let dropped = drop_run(&stack, run, reason);
            forget_ended(&stack, path);
            let invalidated = dropped?;
            output.report(&RunDropped { run: stack.read(|tree| FrameLine::of(tree, run))?, invalidated })?;
        }
    }
    Ok(Exit::Done)
}

fn list(stack: &Stack, folder: Option<&Path>, arguments: &Arguments) -> Result<Runs, Failure> {
    let mut runs = stack
        .read(|tree| tree.runs().collect::<Vec<_>>())?
        .into_iter()
        .map(|run| Run::of(stack, folder, run))
        .collect::<Result<Vec<_>, _>>()?;
    runs.retain(|run| !arguments.unfinished || run.root.status.is_open());
    let all = runs.len();
    runs.retain(|run| arguments.all || run.steps > 0 || run.process.is_some());
    Ok(Runs { unanswered: all - runs.len(), runs, only_unfinished: arguments.unfinished })
}

impl Run {
    fn of(stack: &Stack, folder: Option<&Path>, root: Handle) -> Result<Self, Failure> {
        let steps = stack.run(root).status()?.steps;
        let usage = stack.usage(root)?.total;
        Ok(stack.read(|tree| {
            let changed_at = tree.subtree(root).map(|frame| tree.node(frame).record().updated_at).max();
            let record = tree.node(root).record();
            let changed_at = changed_at.unwrap_or(record.updated_at);
            Self {
                root: FrameLine::of(tree, root),
                steps,
                begun_at: record.created_at,
                changed_at,
                process: driving_process(folder, root),
                usage,
            }
        })?)
    }

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(self.root.line(0))?;
        let mut facts = vec![count(usize::try_from(self.steps).unwrap_or(usize::MAX), "step")];
        facts.extend(requests_in_words(&self.usage));
        facts.push(match self.process {
            Some(0) => "driven by another process".to_owned(),
            Some(process) => format!("driven by the process {process}"),
            None => format!("changed {}", past(self.changed_at)),
        });
        page.text(4, &facts.join(", "))
    }
}

fn details(stack: &Stack, folder: Option<&Path>, root: Handle) -> Result<RunDetails, Failure> {
    let status = stack.run(root).status()?;
    let run = Run::of(stack, folder, root)?;
    Ok(stack.read(|tree| {
        let record = tree.node(root).record();
        let reason = record.invalidation_reason.as_ref();
        RunDetails {
            task: record.success_criteria.clone(),
            result: record.results.as_ref().or(reason).cloned().unwrap_or_default(),
            settings: status.settings,
            current: record.status.is_open().then(|| FrameLine::of(tree, status.frame)),
            frames: tree.subtree(root).count(),
            run,
        }
    })?)
}

/// Checks that a run can be dropped: it is not over, and no process drives it.
fn check_droppable(stack: &Stack, folder: Option<&Path>, run: Handle) -> Result<(), Failure> {
    let refused = |code: &str, message: String| Failure::new(Exit::Refused, code, message);
    let status = stack.read(|tree| tree.node(run).status())?;
    if !status.is_open() {
        return Err(refused("over", format!("the run {run} is {status} already")));
    }
    match driving_process(folder, run) {
        None => Ok(()),
        Some(0) => Err(refused("driven", format!("the run {run} is driven by another process")).next("end it first")),
        Some(process) => Err(refused("driven", format!("the run {run} is driven by the process {process}"))
            .next(format!("end it first: kill {process}"))),
    }
}

/// Finds a run by its handle, ID or title, or by those of one of its frames.
pub fn find_run(stack: &Stack, name: impl Into<FrameRef>) -> Result<Handle, Failure> {
    let found = stack.resolve(name).map_err(Failure::from).and_then(|frame| {
        let run = stack.read(|tree| tree.run(frame).map(|(run, _)| run))?;
        run.ok_or_else(|| Failure::new(Exit::Refused, "no_run", format!("{frame} belongs to no run")))
    });
    found.map_err(|failure| failure.next("`callstack runs` lists the runs"))
}

/// Ends a run that is not to be resumed: invalidates its open frames. Its history stays.
///
/// The root is the last one. So after a failure in between, the run can still be dropped, and dropping it
/// does the rest.
pub fn drop_run(stack: &Stack, run: Handle, reason: &str) -> callstack_core::Result<Vec<Handle>> {
    let mut frames: Vec<Handle> =
        stack.read(|tree| tree.subtree(run).filter(|frame| tree.node(*frame).status().is_open()).collect())?;
    frames.reverse();
    for frame in &frames {
        stack.invalidate(*frame, reason)?;
    }
    Ok(frames)
}

/// Removes the lock files of the runs that are over, no matter how they have ended.
pub fn forget_ended(stack: &Stack, folder: Option<&Path>) {
    let over: Result<Vec<Handle>, _> =
        stack.read(|tree| tree.runs().filter(|run| !tree.node(*run).status().is_open()).collect());
    over.into_iter().flatten().for_each(|run| forget(folder, run));
}

impl Report for Runs {
    const KIND: &'static str = "runs";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.runs.is_empty() {
            let none = match self.only_unfinished {
                true => "No run can be resumed.",
                false => "No runs. `callstack agent` begins one.",
            };
            page.line(Line::new().plain(none))?;
        }
        self.runs.iter().try_for_each(|run| run.write(page))?;
        match self.unanswered {
            0 => Ok(()),
            left_out => page.line(
                Line::new().styled(FAINT, format!("... and {} without an answer (--all)", count(left_out, "run"))),
            ),
        }
    }
}

impl Report for RunDetails {
    const KIND: &'static str = "run";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        self.run.write(page)?;
        let memory = serde_json::to_value(self.settings.memory)?;
        let memory = memory.as_str().unwrap_or_default();
        let begun = past(self.run.begun_at);
        page.text(4, &format!("begun {begun}, {}, memory: {memory}", count(self.frames, "frame")))?;
        for (heading, text) in [("Task", &self.task), ("Result", &self.result)] {
            if !text.trim().is_empty() {
                page.gap()?;
                page.line(Line::new().styled(EMPHASIS, heading))?;
                page.text(2, text)?;
            }
        }
        if let Some(current) = &self.current {
            page.gap()?;
            page.line(Line::new().styled(EMPHASIS, "Works on"))?;
            page.line(current.line(2))?;
            page.gap()?;
            page.line(Line::new().styled(EMPHASIS, "To continue"))?;
            page.text(2, &format!("callstack agent --resume={} and the options as before", self.run.root.handle))?;
        }
        Ok(())
    }
}

impl Report for RunDropped {
    const KIND: &'static str = "runDropped";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(
            Line::new()
                .plain("dropped ")
                .styled(EMPHASIS, self.run.handle.to_string())
                .plain(": ")
                .said(&self.run.title),
        )
    }
}

#[cfg(all(unix, feature = "agent"))]
impl Report for RunResult {
    const KIND: &'static str = "runResult";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.raw(&self.result)?;
        page.raw("\n")
    }
}
