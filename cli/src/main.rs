//! The program `callstack`: reads the command line and runs the command.

#[cfg(all(unix, feature = "agent"))]
mod agent;
mod arguments;
mod caller;
mod chart;
mod clock;
mod commands;
mod common_options;
mod completion;
mod ending;
mod exit;
mod export;
mod failure;
mod folder;
mod holding;
mod host_files;
mod input;
mod log;
mod mcp;
mod output;
mod prices;
#[cfg(unix)]
mod process_group;
#[cfg(feature = "proxy")]
mod proxy;
mod repository;
#[cfg(feature = "proxy")]
mod run_agent;
mod run_lock;
mod runtime;
mod same_stack;
mod server;
mod sessions;
mod status_line;
mod token;
mod view;

use std::env;
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::parser::ValueSource;

use arguments::{Arguments, Subcommand};
use commands::shell;
use common_options::CommonOptions;
use exit::Exit;
use failure::Failure;
use folder::StackFolder;
use output::Output;

fn main() -> ExitCode {
    completion::answer();
    let matches = arguments::command().try_get_matches();
    let read = matches.and_then(|matches| {
        let is_repeated = matches.value_source("stack") == Some(ValueSource::CommandLine);
        Ok((Arguments::from_arg_matches(&matches)?, is_repeated))
    });
    let (Arguments { common, command }, is_repeated) = match read {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    let CommonOptions { stack, json, color, session } = common;
    common_options::stream_colors(color).write_global();
    let output = Output { is_json: json };
    let exit = match command {
        #[cfg(all(unix, feature = "agent"))]
        Subcommand::Agent(arguments) => agent::start(&arguments, output),
        #[cfg(not(all(unix, feature = "agent")))]
        Subcommand::Agent { .. } => return refused(&arguments::no_agent()),
        #[cfg(feature = "proxy")]
        Subcommand::Proxy(arguments) => proxy::start(&arguments, StackFolder::new(stack, is_repeated), output),
        #[cfg(feature = "proxy")]
        Subcommand::Run(arguments) => {
            // The exit code is the exit code of the agent.
            return match run_agent::start(arguments, StackFolder::new(stack, is_repeated), output) {
                Ok(code) => ExitCode::from(code),
                Err(failure) => failed(&failure, output).into(),
            };
        }
        #[cfg(not(feature = "proxy"))]
        Subcommand::Proxy { .. } => return refused(&arguments::no_proxy("proxy")),
        #[cfg(not(feature = "proxy"))]
        Subcommand::Run { .. } => return refused(&arguments::no_proxy("run")),
        Subcommand::Mcp(arguments) => mcp::start(arguments, StackFolder::new(stack, is_repeated), output),
        Subcommand::Hook(arguments) => mcp::run_hook(&arguments, &StackFolder::new(stack, is_repeated)),
        Subcommand::StatusLine => Ok(mcp::run_status_line(&StackFolder::new(stack, is_repeated))),
        Subcommand::Completions(arguments) => shell::write_completions(&arguments, output),
        Subcommand::Man(arguments) => shell::write_man_pages(&arguments, arguments::command(), output),
        Subcommand::Stack(mut command) => command.take_session().and_then(|named| {
            let session = session.find(named.as_deref())?;
            let (command, session) = command.with_session(session);
            let folder = StackFolder::new(stack, is_repeated).with_session(session);
            commands::run(command, &folder, output)
        }),
    };
    exit.unwrap_or_else(|failure| failed(&failure, output)).into()
}

/// Reports a failure. If a reader of the output has gone, such as `head`, this is not a failure.
fn failed(failure: &Failure, output: Output) -> Exit {
    if failure.is_closed_pipe() {
        return Exit::Done;
    }
    output.failure(failure);
    failure.exit()
}

/// Answers a command line that asks for help or the version, or that cannot be understood.
fn refused(error: &clap::Error) -> ExitCode {
    // The command line cannot be understood, so this is the only sign of what the caller reads.
    let is_json = env::args_os().any(|argument| argument == "--json");
    if !error.use_stderr() || !is_json {
        // Fails only if no process reads it.
        let _ = error.print();
        return ExitCode::from(error.exit_code() as u8);
    }
    let text = error.render().to_string();
    let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
    let failure = Failure::new(Exit::Usage, "arguments", message).next("callstack --help");
    failed(&failure, Output { is_json }).into()
}
