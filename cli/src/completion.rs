//! What a shell completes: commands, options and files, and the frames of the stack.
//!
//! The script of `callstack completions SHELL` calls the program with [`ASKING`] at each Tab.

use std::env;
use std::ffi::{OsStr, OsString};

use callstack_core::Stack;
use callstack_core::text::one_line;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::CompleteEnv;

use crate::arguments;
use crate::commands::shell::ASKING;
use crate::folder::{StackFolder, VARIABLE as FOLDER};

/// The first word of the names of arguments that are frames.
const FRAME: &str = "FRAME";

/// The maximum number of frames that are offered. Further ones are not read.
const MOST: usize = 200;

/// Answers the script of a shell, and ends the program, if the script has called it.
pub fn answer() {
    CompleteEnv::with_factory(definition).var(ASKING).complete();
}

/// The command line, with the frames of the stack where a frame is expected.
fn definition() -> clap::Command {
    arguments::command().mut_subcommands(|command| {
        command.mut_args(|argument| {
            let is_frame = argument
                .get_value_names()
                .is_some_and(|names| names.iter().any(|name| name.split(' ').next() == Some(FRAME)));
            if is_frame { argument.add(ArgValueCompleter::new(frames)) } else { argument }
        })
    })
}

/// The frames that begin with what was typed: by handles; and by titles of one word, which need no quotes.
/// The unfinished ones come first.
fn frames(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let named = named_stack();
    // A server could keep the person waiting at each Tab.
    if named.as_deref().and_then(OsStr::to_str).is_some_and(Stack::is_url) {
        return Vec::new();
    }
    let folder = StackFolder::new(named, false);
    let Ok(stack) = folder.open_to_read() else { return Vec::new() };
    let found = stack.read(|tree| {
        let (unfinished, finished): (Vec<_>, Vec<_>) =
            tree.handles().partition(|handle| tree.node(*handle).status().is_unfinished());
        let typed = typed.to_lowercase();
        let begins = |text: &str| text.to_lowercase().starts_with(&typed);
        let names = unfinished.into_iter().chain(finished.into_iter().rev()).flat_map(|handle| {
            let title = one_line(tree.node(handle).title()).to_string();
            let is_word = !typed.is_empty() && title.chars().all(|character| character.is_alphanumeric());
            let by_title = (is_word && begins(&title)).then(|| (title.clone(), handle.to_string()));
            let by_handle = begins(&handle.to_string()).then(|| (handle.to_string(), title));
            by_handle.into_iter().chain(by_title)
        });
        names.take(MOST).collect::<Vec<_>>()
    });
    let candidate = |(place, (name, help)): (usize, (String, String))| {
        CompletionCandidate::new(name).help(Some(help.into())).display_order(Some(place))
    };
    found.unwrap_or_default().into_iter().enumerate().map(candidate).collect()
}

/// The stack that the typed command names, else that of the environment.
fn named_stack() -> Option<OsString> {
    let typed: Vec<OsString> = env::args_os().collect();
    let value = |argument: &OsString| argument.to_str()?.strip_prefix("--stack=").map(OsString::from);
    let behind = |pair: &[OsString]| (pair[0] == "--stack").then(|| pair[1].clone());
    typed.windows(2).find_map(behind).or_else(|| typed.iter().find_map(value)).or_else(|| env::var_os(FOLDER))
}
