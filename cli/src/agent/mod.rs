//! `callstack agent`: runs an agent that manages its own memory, against any model with an OpenAI-compatible or an
//! Anthropic interface.

mod arguments;
mod driver;
mod gauge;
mod genai_model;
mod limits;
mod model;
mod problems;
mod progress;
mod retry;
mod runtime;
mod terminal;
mod usage;
mod work;
mod workspace;

use std::io;

use callstack_core::frame::ModelUsage;
use callstack_core::memory::NewRun;
use callstack_core::text::one_line;
use callstack_core::{Handle, Stack, StackOptions};
use schemars::JsonSchema;
use serde::Serialize;

pub use arguments::AgentArguments;
use driver::{Driver, Refusal};
use gauge::Gauge;
use genai_model::GenaiModel;
use progress::Progress;
use retry::Patient;
pub use runtime::start;
use terminal::print;
use work::{Agent, Driven, End, Notices};
use workspace::{Environment, Workspace};

use crate::commands::runs::{drop_run, find_run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report};
use crate::run_lock::forget;

/// The result of a run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// The root frame of the run.
    run: Handle,
    /// What the agent has returned.
    result: String,
    /// The requests of the whole run, an entry for each model.
    usage: Vec<ModelUsage>,
}

impl Report for RunResult {
    const KIND: &'static str = "runResult";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.raw(&self.result)
    }
}

/// Runs the command. Writes the result to the standard output, and everything else to the standard error; with `--json`
/// no progress.
async fn run(arguments: &AgentArguments, output: Output) -> Result<Exit, Failure> {
    let mut resumable = None;
    let failure = match work(arguments, Progress::new(output.is_json), &mut resumable).await {
        Ok(End::Done { run, result, usage }) if output.is_json => {
            output.report(&RunResult { run, result, usage })?;
            return Ok(Exit::Done);
        }
        // Not as a report: those to a file or a pipe lose their control characters, and the result is for programs too.
        Ok(End::Done { result, .. }) => {
            print(&result)?;
            return Ok(Exit::Done);
        }
        Ok(End::Stopped { reason }) => Failure::new(Exit::Limit, "limit", reason),
        Ok(End::Interrupted) => Failure::new(Exit::Interrupted, "interrupted", "interrupted; the run is saved"),
        Err(failure) => failure,
    };
    Err(match resumable {
        Some(run) => failure.next(arguments.resume_command(run)),
        None => failure,
    })
}

/// Does the work. `resumable` becomes the run that can be continued if this is not its end.
async fn work(arguments: &AgentArguments, progress: Progress, resumable: &mut Option<Handle>) -> Result<End, Failure> {
    let key = arguments.key()?;
    let folder = arguments.stack_folder();
    if !arguments.dir.is_dir() {
        return Err(wrong(format!("{} is not a folder; give the workspace with --dir", arguments.dir.display())));
    }
    let environment = Environment::without_secrets(key.as_deref());
    let model = Patient::new(GenaiModel::new(arguments, key)?, arguments.retries, arguments.retry_delay());
    let stack = Stack::open(&folder, StackOptions::default())?;
    let workspace = Workspace::open(&arguments.dir, &folder, environment, arguments.time_limit())
        .map_err(|error| Failure::of_file("open", arguments.dir.display(), &error))?;
    let driven = drive(&stack, arguments)?;
    let run = driven.run;
    *resumable = Some(run);
    let gauge = Gauge::new(arguments.context_limit, arguments.max_tokens);
    let agent = Agent::new(driven, model, gauge, workspace, arguments.limits(), progress)?;
    let end = agent.work(arguments.resume.is_some()).await;
    let has_answer = || stack.run(run).status().is_ok_and(|status| status.steps > 0);
    if end.is_err() && arguments.resume.is_none() && !has_answer() {
        // The first problem is the one to report.
        let _ = drop_run(&stack, run, "its model never answered");
    }
    if !stack.read(|tree| tree.node(run).status().is_open()) {
        *resumable = None;
        forget(&folder, run);
    }
    // All commits are already safe. This updates the files next to the database.
    stack.close()?;
    end
}

/// Starts a new run, or takes an unfinished one with `--resume`.
fn drive(stack: &Stack, arguments: &AgentArguments) -> Result<Driven, Failure> {
    let folder = arguments.stack_folder();
    let run = match &arguments.resume {
        None => {
            let task = arguments.task.clone().unwrap_or_default();
            stack.start_run(NewRun::new(task).settings(arguments.settings()).tools(Workspace::DESCRIPTION))?
        }
        Some(name) if name.is_empty() => newest_unfinished(stack).ok_or_else(|| {
            refused("no_run", format!("{} has no unfinished run; start one with a task", folder.display()))
        })?,
        Some(name) => find_run(stack, name.as_str())?,
    };
    let title = stack.read(|tree| one_line(tree.node(run).title()));
    let driver = Driver::take(&folder, run).map_err(|refusal| match refusal {
        Refusal::Driven { process: Some(process) } => {
            refused("driven", format!("the run {run} ({title}) is driven by the process {process}"))
                .next(format!("wait for its end, or end it: kill {process}"))
        }
        Refusal::Driven { process: None } => {
            refused("driven", format!("the run {run} ({title}) is driven by another process"))
        }
        Refusal::Failed(error) => Failure::of_file("lock", format!("the run {run} in {}", folder.display()), &error),
    })?;
    // What other processes have done before this one took the lock.
    stack.refresh()?;
    let status = stack.read(|tree| tree.node(run).status());
    if !status.is_open() {
        forget(&folder, run);
        return Err(refused(
            "over",
            format!("the run {run} ({title}) is {status} and cannot be resumed; start a new one"),
        ));
    }
    let instruction = arguments.task.clone().filter(|_| arguments.resume.is_some());
    if let Some(name) = instruction.as_deref().filter(|name| find_run(stack, *name).is_ok()) {
        let name = one_line(name);
        return Err(wrong(format!("`{name}` is a run, and no instruction; to resume it, write --resume={name}")));
    }
    let notices = Notices { ended: driver.earlier.commands.clone(), instruction };
    Ok(Driven { stack: stack.clone(), run, driver, notices })
}

fn newest_unfinished(stack: &Stack) -> Option<Handle> {
    let is_open = |run: &Handle| stack.read(|tree| tree.node(*run).status().is_open());
    stack.runs().into_iter().rev().find(is_open)
}

/// A failure of what is outside of the stack, mostly of the model.
fn failed(problem: impl ToString) -> Failure {
    Failure::new(Exit::Failed, "agent", problem.to_string())
}

fn wrong(problem: impl ToString) -> Failure {
    Failure::new(Exit::Usage, "arguments", problem.to_string())
}

fn refused(code: &str, problem: impl ToString) -> Failure {
    Failure::new(Exit::Refused, code, problem.to_string())
}
