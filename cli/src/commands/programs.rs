//! The programs that a person has chosen in variables: an editor, a browser.

use std::process::Command;

/// The command of a variable such as `$EDITOR`, with an argument after its own ones. A shell reads the
/// variable, as in git, so the variable can have arguments of its own. `%s` stands for the argument.
pub fn command_line(variable: &str, argument: &str) -> Command {
    if cfg!(windows) {
        let mut command = Command::new("cmd");
        command.args(["/C", variable, argument]);
        return command;
    }
    let script = match variable.contains("%s") {
        true => variable.replace("%s", "\"$1\""),
        false => format!("{variable} \"$1\""),
    };
    let mut command = Command::new("sh");
    command.args(["-c", &script, "callstack", argument]);
    command
}
