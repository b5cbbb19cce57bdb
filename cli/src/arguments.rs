//! The command line of the program `callstack`.

use clap::{CommandFactory, Parser};

#[cfg(all(unix, feature = "agent"))]
use crate::agent::AgentArguments;
use crate::commands::StackCommand;
use crate::commands::shell::{CompletionArguments, ManArguments};
use crate::common_options::CommonOptions;
use crate::exit::Exit;
use crate::mcp::{HookArguments, McpArguments};
#[cfg(feature = "proxy")]
use crate::proxy::ProxyArguments;
#[cfg(feature = "proxy")]
use crate::run_agent::RunArguments;

/// Shows and changes the call stack of agents: a tree of frames, each with a task, criteria and results.
#[derive(Parser)]
#[command(name = "callstack", version, disable_help_subcommand = true)]
pub struct Arguments {
    #[command(flatten)]
    pub common: CommonOptions,
    #[command(subcommand)]
    pub command: Subcommand,
}

#[derive(clap::Subcommand)]
pub enum Subcommand {
    /// Runs an agent that manages its own memory in a workspace, until its task is done.
    ///
    /// The result is written to the standard output, and the progress to the standard error. Each step is
    /// saved in the folder of --stack, which is .callstack in the workspace if it is not given. The agent
    /// runs shell commands with your rights: use a workspace that it may change, or a container.
    #[cfg(all(unix, feature = "agent"))]
    #[command(args_override_self = true)]
    Agent(AgentArguments),
    /// In a build without the agent: takes the agent's arguments, to say that there is no agent.
    #[cfg(not(all(unix, feature = "agent")))]
    #[command(hide = true, disable_help_flag = true)]
    Agent {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Stands between an agent and its model, and folds each conversation on its way.
    ///
    /// The first line of the output ends with a URL: give it to the agent in place of the model's URL. The
    /// URL has a secret, and works only on this machine. What is not folded passes unchanged. When the
    /// program ends, it says what the requests have used.
    #[cfg(feature = "proxy")]
    Proxy(ProxyArguments),
    /// In a build without the proxy: takes the proxy's arguments, to say that there is no proxy.
    #[cfg(not(feature = "proxy"))]
    #[command(hide = true, disable_help_flag = true)]
    Proxy {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Runs an agent of another maker on the call stack: claude, codex, gemini, qwen, copilot, opencode or
    /// pi.
    ///
    /// The agent gets the tools of the stack, and each of its requests is folded, for this run only: none of
    /// your files change. The agent has your terminal, and this command ends with the exit code of the agent.
    /// At the end, one line on the standard error says what the requests of the agent have used. Any other
    /// agent: callstack run --wire anthropic --base-url-variable NAME -- COMMAND.
    #[cfg(feature = "proxy")]
    Run(RunArguments),
    /// In a build without the proxy: takes the arguments, to say that there is no proxy.
    #[cfg(not(feature = "proxy"))]
    #[command(hide = true, disable_help_flag = true)]
    Run {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Serves the stack to agents of other programs, by the Model Context Protocol.
    ///
    /// Claude Code, Codex, Cursor, VS Code, Zed and others start it: their settings name the command
    /// `callstack mcp`. It uses the stack of the folder in which it is started, and creates one with the
    /// first frame.
    Mcp(McpArguments),
    /// Handles an event of Claude Code: its plugin runs this.
    #[command(hide = true)]
    Hook(HookArguments),
    /// Writes the status line of Claude Code. Claude Code gives it the session on the standard input.
    #[command(hide = true, name = "statusline")]
    StatusLine,
    #[command(flatten)]
    Stack(StackCommand),
    /// Prints the completions of a shell.
    Completions(CompletionArguments),
    /// Makes man pages.
    Man(ManArguments),
}

/// The commands in `--help`, by their purpose.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Look",
        &[
            "status", "tree", "show", "context", "ready", "next", "list", "search", "log", "history", "usage", "watch",
            "view", "sessions", "fold", "doctor",
        ],
    ),
    (
        "Change",
        &[
            "push",
            "plan",
            "edit",
            "pop",
            "done",
            "block",
            "activate",
            "answer",
            "stop",
            "retry",
            "reopen",
            "undo",
            "invalidate",
            "tidy",
            "decide",
            "artifact",
            "heap",
        ],
    ),
    ("Run", &["run", "work", "agent", "runs", "mcp", "proxy", "init"]),
    ("Files", &["import", "export", "git", "copy", "compact", "postgres", "schema", "completions", "man"]),
];

/// What `--help` says about a command that this system cannot have.
const NOT_HERE: &str = if cfg!(unix) {
    ""
} else {
    "\n\nThere is no `callstack agent` on Windows, because it runs shell commands in the process groups of Unix. Run it in the \
     Windows Subsystem for Linux. All other commands work here."
};

/// The definition of the command line, from which help, completions and man pages are made.
pub fn command() -> clap::Command {
    let command = Arguments::command();
    let mut commands = String::new();
    for (purpose, names) in GROUPS {
        let known: Vec<_> = names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
            .filter(|known| !known.is_hide_set())
            .collect();
        if known.is_empty() {
            continue;
        }
        commands.push_str(&format!("{purpose}:\n"));
        for subcommand in known {
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            commands.push_str(&format!("  {:<12} {}\n", subcommand.get_name(), about.trim_end_matches('.')));
        }
        commands.push('\n');
    }
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}Options:\n{{options}}{{after-help}}");
    command
        .help_template(template)
        .after_help(format!("{}\n\n`callstack COMMAND --help` explains a command.{NOT_HERE}", Exit::HELP))
}

/// Why a build has no agent, and what to do.
#[cfg(not(all(unix, feature = "agent")))]
const NO_AGENT: &str = if cfg!(unix) {
    "this build of callstack has no agent, because it was made without the feature `agent`; install it with its default \
     features: cargo install callstack-cli, or in a checkout: cargo install --path cli"
} else {
    "callstack has no agent on Windows, because it runs shell commands in the process groups of Unix; run it in the Windows \
     Subsystem for Linux, with its stack in a folder of the Linux system"
};

/// The error for `callstack agent` in a build without it.
#[cfg(not(all(unix, feature = "agent")))]
pub fn no_agent() -> clap::Error {
    let message = NO_AGENT;
    command().error(clap::error::ErrorKind::InvalidSubcommand, message)
}

/// The error for a command that needs the proxy, in a build without it.
#[cfg(not(feature = "proxy"))]
pub fn no_proxy(name: &str) -> clap::Error {
    let message = format!(
        "this build of callstack has no `{name}`, because it was made without the feature `proxy`; install it with its default \
         features: cargo install callstack-cli, or in a checkout: cargo install --path cli"
    );
    command().error(clap::error::ErrorKind::InvalidSubcommand, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_command_once() {
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Arguments::command();
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            let name = subcommand.get_name();
            assert_eq!(listed.iter().filter(|listed| **listed == name).count(), 1, "`{name}` in the groups of --help");
        }
        command.debug_assert();
    }
}
