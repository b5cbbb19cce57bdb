//! `callstack agent`: runs an agent that manages its own memory, against any model with an OpenAI-compatible or an
//! Anthropic interface.

mod arguments;
mod genai_model;
mod model;
mod progress;
mod retry;
mod runtime;
mod work;
mod workspace;

use std::process::ExitCode;

use callstack_core::memory::NewRun;
use callstack_core::{Handle, Stack, StackOptions};

pub use arguments::AgentArguments;
use genai_model::GenaiModel;
use retry::Patient;
pub use runtime::start;
use work::{Agent, End};
use workspace::{Environment, Workspace};

/// Exit statuses other than 0 (done) and 1 (error). clap exits with 2 for invalid arguments.
const STOPPED: u8 = 3;
const INTERRUPTED: u8 = 130;

/// Runs the command. Writes the result to the standard output, and everything else to the standard error.
async fn run(arguments: &AgentArguments) -> ExitCode {
    match work(arguments).await {
        Ok(End::Done { results }) => {
            println!("{results}");
            ExitCode::SUCCESS
        }
        Ok(End::Stopped { reason }) => {
            eprintln!("stopped: {reason}\n{}", go_on(arguments));
            STOPPED.into()
        }
        Ok(End::Interrupted) => {
            eprintln!("interrupted; the run is saved.\n{}", go_on(arguments));
            INTERRUPTED.into()
        }
        Err(problem) => {
            eprintln!("callstack: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn go_on(arguments: &AgentArguments) -> String {
    format!("To continue: callstack agent --resume --dir {} and the same options", arguments.dir.display())
}

async fn work(arguments: &AgentArguments) -> Result<End, String> {
    let key = arguments.key()?;
    let folder = arguments.state_folder();
    if !arguments.dir.is_dir() {
        return Err(format!("{} is not a folder; give the workspace with --dir", arguments.dir.display()));
    }
    let stack = Stack::open(&folder, StackOptions::default()).map_err(|error| error.to_string())?;
    let run = the_run(&stack, arguments)?;
    let environment = Environment::without_secrets(key.as_deref());
    let workspace = Workspace::open(&arguments.dir, &folder, environment)
        .map_err(|error| format!("{} cannot be opened: {error}", arguments.dir.display()))?;
    let model = GenaiModel::new(arguments, key)?;
    let model = Patient::new(model, arguments.retries, arguments.retry_delay());
    let agent = Agent::new(stack.clone(), run, model, workspace, arguments.limits())?;
    let end = agent.work(arguments.resume).await;
    // All commits are already safe. This updates the files next to the database.
    stack.close().map_err(|error| error.to_string())?;
    end
}

/// Starts a new run; with `--resume` returns the newest unfinished one.
fn the_run(stack: &Stack, arguments: &AgentArguments) -> Result<Handle, String> {
    if !arguments.resume {
        let task = arguments.task.clone().unwrap_or_default();
        let run = NewRun::new(task).settings(arguments.settings()).tools(Workspace::DESCRIPTION);
        return stack.start_run(run).map_err(|error| error.to_string());
    }
    let is_open = |run: &Handle| stack.read(|tree| tree.node(*run).status().is_open());
    let unfinished = stack.runs().into_iter().rev().find(is_open);
    unfinished
        .ok_or_else(|| format!("{} has no unfinished run; start one with a task", arguments.state_folder().display()))
}
