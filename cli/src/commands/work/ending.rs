//! What the end of a command says about its frame: its exit status, and what it has written.

use std::process::ExitStatus;

use callstack_core::{Finish, Results};

use super::process::Written;

/// The exit status of a command that cannot be carried out now (EX_TEMPFAIL of sysexits.h).
const LATER: i32 = 75;
/// The exit status of a command that may not continue on its own (EX_NOPERM of sysexits.h).
const BLOCKED: i32 = 77;
/// Results with more characters get their last paragraph as their compacted form.
const COMPACT: usize = 1_000;

/// How the end of the command ends its frame.
pub(super) fn finish(status: ExitStatus, written: &Written) -> Finish {
    match status.code() {
        Some(0) => Finish::Done(results(written)),
        Some(LATER) => Finish::Later { wait: None },
        Some(BLOCKED) => asks(written),
        _ => Finish::Failed(failure(status, written)),
    }
}

/// The results of a completed frame: all that the command has written. The last paragraph of long results is
/// for prompts.
pub(super) fn results(written: &Written) -> Results {
    match written.output.as_str() {
        "" => Results::new("The command has ended without output."),
        output if output.chars().count() > COMPACT => Results::new(output).compacted(last_paragraph(output)),
        output => Results::new(output),
    }
}

/// The last paragraph of a text, or its end.
fn last_paragraph(text: &str) -> &str {
    let paragraph = text.rsplit("\n\n").next().unwrap_or(text).trim();
    let start = paragraph.char_indices().rev().nth(COMPACT - 1).map_or(0, |(start, _)| start);
    &paragraph[start..]
}

/// The question of a command that needs a person: the last paragraph of what it has written. All that it has
/// written is the results so far.
fn asks(written: &Written) -> Finish {
    let said = [&written.output, &written.errors].into_iter().find(|text| !text.is_empty());
    let question =
        said.map_or("The command needs a person, and has not said why.", |said| last_paragraph(said)).to_owned();
    let has_more = !written.output.is_empty() && written.output.trim() != question;
    Finish::Asks { question, results: has_more.then(|| results(written)) }
}

/// Why the command has failed: how it has ended, and the end of what it has written.
fn failure(status: ExitStatus, written: &Written) -> Results {
    let said = [&written.errors, &written.output].into_iter().find(|text| !text.is_empty());
    let said = said.map_or(String::new(), |said| format!(": {}", said.trim_end()));
    let full = format!("{status}{said}");
    match full.chars().count() > COMPACT {
        true => {
            let compacted = format!("{status}: {}", last_paragraph(&full));
            Results::new(full).compacted(compacted)
        }
        false => Results::new(full),
    }
}
