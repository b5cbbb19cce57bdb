//! The progress of a run on the terminal: steps, tool calls and answers, and the tree when it has changed.

use std::cell::Cell;
use std::io::{self, Write};
use std::time::Duration;

use callstack_core::frame::{Change, Event, Message, ToolCall};
use callstack_core::memory::Prompt;
use callstack_core::{Handle, OutlineOptions, OutlineStyle, Stack};

/// Maximum length of a line about a tool call or an answer, in characters.
const WIDTH: usize = 110;

/// Writes the progress to the standard error, because the standard output is for the result.
#[derive(Default)]
pub struct Progress {
    /// Size of the largest prompt in tokens, and the number of steps.
    peak: Cell<usize>,
    steps: Cell<usize>,
    /// True while text of the model is being written.
    is_speaking: Cell<bool>,
}

impl Progress {
    pub fn begin(&self, stack: &Stack, run: Handle) {
        self.tree(stack, run);
    }

    pub fn step(&self, stack: &Stack, prompt: &Prompt, tokens: usize) {
        self.peak.set(self.peak.get().max(tokens));
        self.steps.set(self.steps.get() + 1);
        let title = stack.read(|tree| tree.node(prompt.frame).title().to_owned());
        say(&format!("step {}  {} {title}, depth {}, about {tokens} tokens", prompt.step, prompt.frame, prompt.depth));
    }

    /// Writes a part of the model's text.
    pub fn text(&self, part: &str) {
        let begin = if self.is_speaking.replace(true) { "" } else { "  | " };
        eprint!("{begin}{}", part.replace('\n', "\n  | "));
        let _ = io::stderr().flush();
    }

    pub fn wait(&self, problem: &str, wait: Duration) {
        self.end_text();
        say(&format!("  {problem}; trying again in {:.1} s", wait.as_secs_f64()));
    }

    pub fn answered(&self, prompt_tokens: Option<u64>) {
        self.end_text();
        if let Some(tokens) = prompt_tokens {
            say(&format!("  (the provider counts {tokens} tokens)"));
        }
    }

    pub fn call(&self, call: &ToolCall) {
        say(&line(&format!("  {} {}", call.name, call.arguments)));
    }

    /// Writes the first and the last line of an answer. The last line has the exit status of a command.
    pub fn answer(&self, answer: &str, is_error: bool) {
        let mark = if is_error { "refused: " } else { "" };
        let lines: Vec<&str> = answer.lines().collect();
        say(&line(&format!("    {mark}{}", lines.first().unwrap_or(&""))));
        match &lines[..] {
            [] | [_] => {}
            [_, last] => say(&line(&format!("    {last}"))),
            [_, between @ .., last] => {
                say(&format!("    … {} lines …\n{}", between.len(), line(&format!("    {last}"))))
            }
        }
    }

    /// Writes the result of an operation on agent memory: its answer, or the tree if it has changed.
    pub fn operated(&self, stack: &Stack, run: Handle, events: &[Event]) {
        let is_of_stack = |event: &Event| matches!(event.change, Change::Added { .. } | Change::StatusChanged { .. });
        if events.iter().any(is_of_stack) {
            return self.tree(stack, run);
        }
        let messages = events.iter().filter_map(|event| match &event.change {
            Change::MessagesAdded { messages } => Some(messages),
            _ => None,
        });
        for message in messages.flatten() {
            if let Message::Tool { text, is_error, .. } = message {
                self.answer(text, *is_error);
            }
        }
    }

    pub fn end(&self) {
        let (steps, peak) = (self.steps.get(), self.peak.get());
        say(&format!("done after {steps} steps; the largest prompt had about {peak} tokens"));
    }

    fn end_text(&self) {
        if self.is_speaking.replace(false) {
            eprintln!();
        }
    }

    fn tree(&self, stack: &Stack, run: Handle) {
        let options = OutlineOptions::default().style(OutlineStyle::Indented).root(Some(run.into()));
        if let Ok(outline) = stack.outline(&options) {
            say(outline.trim_end());
        }
    }
}

fn say(text: &str) {
    eprintln!("{text}");
}

/// A text on one line, cut to the maximum length.
fn line(text: &str) -> String {
    let one = text.replace('\n', "\\n");
    match one.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &one[..end]),
        None => one,
    }
}
