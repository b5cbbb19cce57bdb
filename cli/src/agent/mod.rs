//! `callstack agent`: runs an agent that manages its own memory, against any model with an OpenAI-compatible or an
//! Anthropic interface.

mod arguments;
mod gauge;
mod genai_model;
mod limits;
mod model;
mod problems;
mod progress;
mod retry;
mod usage;
mod work;
mod workspace;

use std::process::ExitCode;

use callstack_core::memory::NewRun;
use callstack_core::{Handle, Stack, StackOptions};

pub use arguments::AgentArguments;
use gauge::Gauge;
use genai_model::GenaiModel;
use retry::Patient;
use work::{Agent, Driven, End, Notices};
use workspace::{Environment, Workspace};

use crate::commands::runs::{drop_run, find_run};
use crate::driver::{Driver, Refusal};
use crate::terminal::{print, say};

/// Exit statuses other than 0 (done) and 1 (error). clap exits with 2 for invalid arguments.
const STOPPED: u8 = 3;
const INTERRUPTED: u8 = 130;

/// Runs the command. Writes the result to the standard output, and everything else to the standard error.
pub async fn run(arguments: &AgentArguments) -> ExitCode {
    let mut resumable = None;
    let end = work(arguments, &mut resumable).await;
    let status = match &end {
        Ok(End::Done { results }) => match print(results) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => {
                say(&format!("callstack: the result cannot be written: {error}"));
                return ExitCode::FAILURE;
            }
        },
        Ok(End::Stopped { reason }) => {
            say(&format!("stopped: {reason}"));
            STOPPED.into()
        }
        Ok(End::Interrupted) => {
            say("interrupted; the run is saved.");
            INTERRUPTED.into()
        }
        Err(problem) => {
            say(&format!("callstack: {problem}"));
            ExitCode::FAILURE
        }
    };
    if let Some(run) = resumable {
        say(&format!("To continue: {}", arguments.resume_command(run)));
    }
    status
}

/// Does the work. `resumable` becomes the run that can be continued if this is not its end.
async fn work(arguments: &AgentArguments, resumable: &mut Option<Handle>) -> Result<End, String> {
    let key = arguments.key()?;
    let folder = arguments.state_folder();
    if !arguments.dir.is_dir() {
        return Err(format!("{} is not a folder; give the workspace with --dir", arguments.dir.display()));
    }
    let environment = Environment::without_secrets(key.as_deref());
    let model = Patient::new(GenaiModel::new(arguments, key)?, arguments.retries, arguments.retry_delay());
    let stack = Stack::open(&folder, StackOptions::default()).map_err(text)?;
    let workspace = Workspace::open(&arguments.dir, &folder, environment, arguments.time_limit())
        .map_err(|error| format!("{} cannot be opened: {error}", arguments.dir.display()))?;
    let driven = drive(&stack, arguments)?;
    let run = driven.run;
    *resumable = Some(run);
    let gauge = Gauge::new(arguments.context_limit, arguments.max_tokens);
    let agent = Agent::new(driven, model, gauge, workspace, arguments.limits())?;
    let end = agent.work(arguments.resume.is_some()).await;
    let has_answer = || stack.run(run).status().is_ok_and(|status| status.steps > 0);
    if end.is_err() && arguments.resume.is_none() && !has_answer() {
        *resumable = None;
        // The first problem is the one to report.
        let _ = drop_run(&stack, run, "its model never answered");
    }
    // All commits are already safe. This updates the files next to the database.
    stack.close().map_err(text)?;
    end
}

/// Starts a new run, or takes an unfinished one with `--resume`.
fn drive(stack: &Stack, arguments: &AgentArguments) -> Result<Driven, String> {
    let folder = arguments.state_folder();
    let run = match &arguments.resume {
        None => {
            let task = arguments.task.clone().unwrap_or_default();
            let run = NewRun::new(task).settings(arguments.settings()).tools(Workspace::DESCRIPTION);
            stack.start_run(run).map_err(text)?
        }
        Some(name) if name.is_empty() => {
            let is_open = |run: &Handle| stack.read(|tree| tree.node(*run).status().is_open());
            let newest = stack.runs().into_iter().rev().find(is_open);
            newest.ok_or_else(|| format!("{} has no unfinished run; start one with a task", folder.display()))?
        }
        Some(name) => find_run(stack, name)?,
    };
    let title = || stack.read(|tree| tree.node(run).title().to_owned());
    let driver = Driver::take(&folder, run).map_err(|refusal| match refusal {
        Refusal::Driven { process: Some(process) } => {
            let title = title();
            format!("the run {run} ({title}) is driven by the process {process}; wait for its end, or end it: kill {process}")
        }
        Refusal::Driven { process: None } => format!("the run {run} ({}) is driven by another process", title()),
        Refusal::Failed(error) => format!("{}: the lock of the run {run} cannot be taken: {error}", folder.display()),
    })?;
    // What other processes have done before this one took the lock.
    stack.refresh().map_err(text)?;
    let status = stack.read(|tree| tree.node(run).status());
    if !status.is_open() {
        return Err(format!(
            "the run {run} ({}) is {status} and cannot be resumed; start a new one with a task",
            title()
        ));
    }
    let instruction = arguments.task.clone().filter(|_| arguments.resume.is_some());
    let notices = Notices { ended: driver.earlier.commands.clone(), instruction };
    Ok(Driven { stack: stack.clone(), run, driver, notices })
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
