//! `callstack agent`: runs an agent that manages its own memory, against any model with an OpenAI-compatible
//! or an Anthropic interface.

mod advice;
mod arguments;
mod driver;
mod failures;
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

use callstack_core::memory::NewRun;
use callstack_core::text::one_line;
use callstack_core::{Handle, Stack, StackOptions};

pub use arguments::AgentArguments;
use driver::{Driver, Refusal};
use failures::{refused, wrong};
use gauge::Gauge;
use genai_model::GenaiModel;
use progress::Progress;
use retry::Patient;
use work::{Agent, Driven, End};
use workspace::{Environment, Workspace};

use crate::commands::runs::{RunResult, drop_run, find_run, forget_ended};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::Output;
use crate::runtime::runtime;

/// The state of a run whose task is not done.
enum Left {
    /// No run was begun.
    Nothing,
    /// The model has never answered, so the run is given up.
    GivenUp,
    /// The run can be resumed.
    Open(Handle),
    /// Another program or a person has ended the run.
    Over(Handle),
}

/// Runs the command on a runtime of its own.
pub fn start(arguments: &AgentArguments, output: Output) -> Result<Exit, Failure> {
    runtime("agent")?.block_on(run(arguments, output))
}

/// Runs the command. Writes the result to the standard output, and everything else to the standard error.
/// With `--json` it writes no progress.
async fn run(arguments: &AgentArguments, output: Output) -> Result<Exit, Failure> {
    let mut left = Left::Nothing;
    let failure = match work(arguments, Progress::new(output.is_json), &mut left).await {
        Ok(End::Done { run, result, usage }) => {
            let reported = output.report(&RunResult { run, result, usage });
            return reported.map(|()| Exit::Done).map_err(|failure| failure.next(arguments.show_command(run)));
        }
        Ok(End::Stopped { reason }) => Failure::new(Exit::Limit, "limit", reason),
        Ok(End::Interrupted) => {
            let state = if let Left::Open(_) = left { "the run is saved" } else { "the model had not answered yet" };
            Failure::new(Exit::Interrupted, "interrupted", format!("interrupted; {state}"))
        }
        Err(failure) => failure,
    };
    Err(match left {
        // The texts of these failures already say what to do.
        Left::Nothing => failure,
        Left::GivenUp => failure.next("run the command again; the model never answered, so there is no run to resume"),
        Left::Open(run) => failure.next(arguments.resume_command(run)),
        Left::Over(run) => failure.next(arguments.show_command(run)),
    })
}

/// Does the work. If this is not the end of the run, `left` says in which state the run is left.
async fn work(arguments: &AgentArguments, progress: Progress, left: &mut Left) -> Result<End, Failure> {
    if arguments.task.as_ref().is_some_and(|task| task.trim().is_empty()) {
        return Err(wrong("the task or instruction is empty; write what the agent is to do"));
    }
    let key = arguments.key()?;
    let folder = arguments.stack_folder();
    if !arguments.dir.is_dir() {
        return Err(wrong(format!("{} is not a folder; give the workspace with --dir", arguments.dir.display())));
    }
    if folder.to_str().is_some_and(Stack::is_url) {
        return Err(refused("on_server", "an agent keeps its run in a folder, not on a server")
            .next("name a folder with --stack, and copy the run to the server when it has ended: callstack copy"));
    }
    if arguments.resume.is_some() && StackFolder::new(Some(folder.clone().into()), true).existing().is_err() {
        return Err(refused("no_run", format!("{} contains no stack, and so no run to resume", folder.display()))
            .next("name the workspace of the run with --dir, or the folder of its stack with --stack"));
    }
    let environment = Environment::without_secrets(key.as_deref());
    let model = GenaiModel::new(arguments, key)?;
    let stack = Stack::open(&folder, StackOptions::default())?;
    let workspace = Workspace::open(&arguments.dir, &folder, environment, arguments.time_limit())
        .map_err(|error| Failure::of_file("open", arguments.dir.display(), &error))?;
    let driven = drive(&stack, arguments)?;
    let run = driven.run;
    let end = proceed(arguments, driven, model, workspace, progress).await;
    *left = put_away(&stack, run);
    forget_ended(&stack, Some(&folder));
    // All commits are already safe. This updates the files next to the database.
    let closed = stack.close();
    let end = end?;
    closed?;
    Ok(end)
}

/// Starts a new run, or takes the run of `--resume`. After that no other process can drive the run.
fn drive(stack: &Stack, arguments: &AgentArguments) -> Result<Driven, Failure> {
    let run = match &arguments.resume {
        None => {
            let task = arguments.task.clone().unwrap_or_default();
            let settings = arguments.settings();
            let tools = Workspace::description(&settings);
            stack.start_run(NewRun::new(task).settings(settings).tools(tools))?
        }
        Some(name) => run_to_resume(stack, name, arguments)?,
    };
    let driver = Driver::take(&arguments.stack_folder(), run).map_err(|refusal| {
        let title = stack.read(|tree| one_line(tree.node(run).title())).unwrap_or_default();
        match refusal {
            Refusal::Driven { process: Some(process) } => {
                refused("driven", format!("the run {run} ({title}) is driven by the process {process}"))
                    .next(format!("wait for its end, or end it: kill {process}"))
            }
            Refusal::Driven { process: None } => {
                refused("driven", format!("the run {run} ({title}) is driven by another process"))
                    .next(format!("wait for its end: {}", arguments.runs_command()))
            }
            Refusal::Failed(error) => Failure::of_file("lock", format!("the run {run} ({title})"), &error)
                .next(format!("look at the rights of {}", arguments.stack_folder().join("runs").display())),
        }
    })?;
    // Reads what other processes have done before this one took the lock.
    stack.refresh()?;
    check_open(stack, run, arguments)?;
    Ok(Driven { stack: stack.clone(), run, driver })
}

/// The run that `--resume` means: the one with this name, or without a name the newest unfinished one.
fn run_to_resume(stack: &Stack, name: &str, arguments: &AgentArguments) -> Result<Handle, Failure> {
    let instruction = arguments.instruction();
    if let Some(name) = instruction.filter(|name| find_run(stack, *name).is_ok()) {
        let name = one_line(name);
        return Err(wrong(format!("`{name}` is a run, not an instruction; to resume it, write --resume={name}")));
    }
    let listed = format!("`{}` lists the runs", arguments.runs_command());
    if !name.is_empty() {
        return find_run(stack, name).map_err(|failure| failure.next(listed));
    }
    let open: Vec<Handle> =
        stack.read(|tree| tree.runs().filter(|run| tree.node(*run).status().is_open()).collect())?;
    open.into_iter().rev().find(|run| has_answer(stack, *run)).ok_or_else(|| {
        let folder = arguments.stack_folder();
        refused("no_run", format!("{} has no unfinished run; start one with a task", folder.display())).next(listed)
    })
}

/// Checks that a run is not over.
fn check_open(stack: &Stack, run: Handle, arguments: &AgentArguments) -> Result<(), Failure> {
    let (status, title) = stack.read(|tree| (tree.node(run).status(), one_line(tree.node(run).title())))?;
    if status.is_open() {
        return Ok(());
    }
    forget_ended(stack, Some(&arguments.stack_folder()));
    let message = format!("the run {run} ({title}) is {status} and cannot be resumed; start a new one");
    Err(refused("over", message).next(arguments.show_command(run)))
}

/// Sends the model the person's instruction, if there is one, and works.
async fn proceed(
    arguments: &AgentArguments,
    driven: Driven,
    model: GenaiModel,
    workspace: Workspace,
    progress: Progress,
) -> Result<End, Failure> {
    if let Some(instruction) = arguments.instruction() {
        driven.tell(instruction)?;
        progress.told(instruction);
    }
    // The address of a model that has answered earlier is right.
    let has_answered = has_answer(&driven.stack, driven.run);
    let model = Patient::new(model, arguments.retries, arguments.retry_delay(), has_answered);
    let gauge = Gauge::new(arguments.context_limit, arguments.max_tokens);
    let agent = Agent::new(driven, model, gauge, workspace, arguments.limits(), progress)?;
    agent.work(arguments.resume.is_some()).await
}

/// Drops a run whose model has never answered. Returns what is left of the run.
fn put_away(stack: &Stack, run: Handle) -> Left {
    // The problem with the model is the one to report.
    if !stack.read(|tree| tree.node(run).status().is_open()).unwrap_or(true) {
        return Left::Over(run);
    }
    if has_answer(stack, run) {
        return Left::Open(run);
    }
    let _ = drop_run(stack, run, "its model never answered");
    Left::GivenUp
}

/// True if the model of a run has answered at least once.
fn has_answer(stack: &Stack, run: Handle) -> bool {
    stack.run(run).status().is_ok_and(|status| status.steps > 0)
}
