//! The options of all commands.

use std::ffi::OsString;

use clap::{Args, ColorChoice};

use crate::folder::VARIABLE;
use crate::sessions::SessionChoice;

/// The heading of these options.
pub const HEADING: &str = "Options of all commands";

/// The options of all commands.
#[derive(Args)]
#[command(next_help_heading = HEADING)]
pub struct CommonOptions {
    /// The folder of the stack, or its URL: postgres://HOST/DATABASE/STACK. Default: the nearest .callstack,
    /// .opencode/stack or .pi/stack, in the working folder or above it.
    #[arg(long, global = true, value_name = "FOLDER", env = VARIABLE, hide_env_values = true)]
    pub stack: Option<OsString>,
    /// Write JSON for scripts: {"schemaVersion": 1, "kind": …, "data": …}. `callstack schema` describes it.
    #[arg(long, global = true)]
    pub json: bool,
    /// Colours. `auto` heeds NO_COLOR, CLICOLOR_FORCE, and whether the output is a terminal.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_default_value = true)]
    pub color: ColorChoice,
    #[command(flatten)]
    pub session: SessionChoice,
}

/// The choice of the person in the type of anstream.
pub fn stream_colors(choice: ColorChoice) -> anstream::ColorChoice {
    match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
}
