//! `callstack completions` and `callstack man`: files for shells and for man.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Line, Output, Page, Report, count};

/// The variable with which the script of a shell asks for what can be completed. Its value is the name of the
/// shell.
pub const ASKING: &str = "CALLSTACK_COMPLETE";

#[derive(Args)]
pub struct CompletionArguments {
    /// The shell.
    shell: Shell,
}

#[derive(Args)]
pub struct ManArguments {
    /// The folder for the man pages, one for each command. It is created if it is missing. Default: the page
    /// of the program goes to the standard output.
    folder: Option<PathBuf>,
}

/// The completions of a shell.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Completions {
    /// The name of the shell.
    shell: String,
    /// The script.
    script: String,
}

/// Man pages.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManPages {
    /// The files that were written.
    files: Vec<String>,
    /// The page of the program, if no folder was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
}

/// Writes the script that completes command lines.
pub fn write_completions(arguments: &CompletionArguments, output: Output) -> Result<Exit, Failure> {
    let shell = arguments.shell.to_string();
    let shells = Shells::builtins();
    let known = shells.completer(&shell).ok_or_else(|| io::Error::other(format!("{shell} completes nothing")))?;
    let mut script = Vec::new();
    known.write_registration(ASKING, "callstack", "callstack", "callstack", &mut script)?;
    let script = String::from_utf8_lossy(&script).into_owned();
    output.report(&Completions { shell, script }).map(|()| Exit::Done)
}

/// Makes the man pages for a definition of the command line.
pub fn write_man_pages(arguments: &ManArguments, definition: clap::Command, output: Output) -> Result<Exit, Failure> {
    output.report(&man(arguments, definition)?).map(|()| Exit::Done)
}

fn man(arguments: &ManArguments, definition: clap::Command) -> Result<ManPages, Failure> {
    let Some(folder) = &arguments.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(definition).render(&mut page)?;
        return Ok(ManPages { files: Vec::new(), page: Some(String::from_utf8_lossy(&page).into_owned()) });
    };
    let failed = |error: io::Error| Failure::of_file("write man pages to", folder.display().to_string(), &error);
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(definition, folder).map_err(failed)?;
    let entries = fs::read_dir(folder).map_err(failed)?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<String> = names.filter(|name| name.starts_with("callstack") && name.ends_with(".1")).collect();
    files.sort();
    Ok(ManPages { files, page: None })
}

impl Report for Completions {
    const KIND: &'static str = "completions";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.raw(&self.script)
    }
}

impl Report for ManPages {
    const KIND: &'static str = "manPages";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        match &self.page {
            Some(text) => page.raw(text),
            None => page.line(Line::new().plain(format!("wrote {}", count(self.files.len(), "man page")))),
        }
    }
}
