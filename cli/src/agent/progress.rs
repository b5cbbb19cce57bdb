//! The progress of a run on the terminal: steps, tool calls and answers, and the tree when it has changed.

use std::cell::Cell;
use std::io::{self, Write};
use std::time::Duration;

use callstack_core::frame::{Change, Event, Message, ModelUsage, ToolCall};
use callstack_core::memory::Prompt;
use callstack_core::tree::outline;
use callstack_core::{Handle, OutlineOptions, OutlineStyle, Stack};

use crate::output::{Line, Medium, Page, count, harmless, number, say};

/// Maximum length of a line, in columns. A narrow terminal has shorter ones.
const WIDTH: usize = 110;

/// The end of the current frame's line in an outline.
const CURRENT: &str = "  <-- CURRENT";

/// Writes the progress to the standard error, because the standard output is for the result.
#[derive(Default)]
pub struct Progress {
    /// Size of the largest prompt in tokens, and the number of steps.
    peak: Cell<u64>,
    steps: Cell<usize>,
    /// True while text of the model is being written.
    is_speaking: Cell<bool>,
    /// True if nothing is written.
    is_quiet: bool,
}

impl Progress {
    pub fn new(is_quiet: bool) -> Self {
        Self { is_quiet, ..Self::default() }
    }

    pub fn begin(&self, stack: &Stack, run: Handle) {
        self.tree(stack, run);
    }

    /// The person has sent the model an instruction.
    pub fn told(&self, instruction: &str) {
        self.row("the model is told: ", instruction, "");
    }

    /// A step begins. `tokens`: the length of the prompt; `shortened`: the number of messages that are
    /// shortened in it.
    pub fn step(&self, stack: &Stack, prompt: &Prompt, tokens: u64, shortened: usize) {
        self.peak.set(self.peak.get().max(tokens));
        self.steps.set(self.steps.get() + 1);
        let title = stack.read(|tree| tree.node(prompt.frame).title().to_owned()).unwrap_or_default();
        let note = if shortened > 0 { format!(", {} shortened", count(shortened, "message")) } else { String::new() };
        let end = format!(", depth {}, about {} tokens{note}", prompt.depth, number(tokens));
        self.row(&format!("step {}  {} ", prompt.step, prompt.frame), &title, &end);
    }

    /// Writes a part of the model's text.
    pub fn text(&self, part: &str) {
        if self.is_quiet {
            return;
        }
        let begin = if self.is_speaking.replace(true) { "" } else { "  | " };
        let mut error = io::stderr();
        let _ = write!(error, "{begin}{}", harmless(part).replace('\n', "\n  | ")).and_then(|()| error.flush());
    }

    pub fn wait(&self, problem: &str, wait: Duration) {
        self.note(&format!("{problem}; trying again in {:.1} s", wait.as_secs_f64()));
    }

    /// The model has answered a prompt. `prompt_tokens`: the provider's count of the prompt's tokens; 0 if it
    /// has not counted them.
    pub fn answered(&self, prompt_tokens: u64) {
        self.end_text();
        if prompt_tokens > 0 {
            self.row("  ", &format!("(the provider counts {} tokens)", number(prompt_tokens)), "");
        }
    }

    pub fn note(&self, text: &str) {
        self.end_text();
        self.say(&format!("  {text}"));
    }

    pub fn call(&self, call: &ToolCall) {
        self.row("  ", &format!("{} {}", call.name, call.arguments), "");
    }

    /// Writes the first and the last line of an answer, and the line between them if there is only one. The
    /// last line has the exit status of a command.
    pub fn answer(&self, answer: &str, is_error: bool) {
        let mark = if is_error { "refused: " } else { "" };
        let lines: Vec<&str> = answer.lines().collect();
        self.row("    ", &format!("{mark}{}", lines.first().unwrap_or(&"")), "");
        let left_out;
        let rest = match &lines[..] {
            [] => return,
            [_, between @ .., last] if between.len() > 1 => {
                left_out = format!("… {} …", count(between.len(), "line"));
                &[&left_out, *last][..]
            }
            [_, rest @ ..] => rest,
        };
        rest.iter().for_each(|line| self.row("    ", line, ""));
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

    /// Writes the end of the work, with the totals of the run. The totals include earlier processes.
    pub fn end(&self, stack: &Stack, run: Handle) {
        self.end_text();
        let (steps, peak) = (self.steps.get(), self.peak.get());
        if steps > 0 {
            self.say(&format!("{}; the largest prompt had about {} tokens", count(steps, "step"), number(peak)));
        }
        for usage in stack.usage(run).map(|usage| usage.total).unwrap_or_default() {
            self.say(&totals(&usage));
        }
    }

    fn end_text(&self) {
        if self.is_speaking.replace(false) {
            self.say("");
        }
    }

    fn tree(&self, stack: &Stack, run: Handle) {
        let options = OutlineOptions::default().style(OutlineStyle::Indented).root(Some(run.into()));
        if let Ok(text) = stack.read(|tree| outline(tree, &options)).flatten() {
            for row in text.trim_end().lines() {
                let (indentation, text) = row.split_at(row.len() - row.trim_start().len());
                let text_and_mark = text.strip_suffix(CURRENT).map(|text| (text, CURRENT));
                let (text, mark) = text_and_mark.unwrap_or((text, ""));
                self.row(indentation, text, mark);
            }
        }
    }

    /// Writes text on one line. If the line is too long, the text is cut, and the end stays.
    fn row(&self, indentation: &str, text: &str, end: &str) {
        if self.is_quiet {
            return;
        }
        let mut error = io::stderr();
        let line = Line::new().plain(indentation).said(text);
        let _ = Page::new(&mut error, Medium::errors().at_most(WIDTH)).line_with_end(line, Line::new().plain(end));
    }

    fn say(&self, text: &str) {
        if !self.is_quiet {
            say(text);
        }
    }
}

/// The sums of the requests to a model.
fn totals(usage: &ModelUsage) -> String {
    let ModelUsage { model, requests, failed, cache_read, cache_write, output, reasoning, .. } = usage;
    let requests = count(usize::try_from(*requests).unwrap_or(usize::MAX), "request");
    let failed = if *failed > 0 { format!(" ({} failed)", number(*failed)) } else { String::new() };
    let cached = match (cache_read, cache_write) {
        (0, 0) => String::new(),
        (read, write) => format!(" ({} from the cache, {} into it)", number(*read), number(*write)),
    };
    let reasoning = if *reasoning > 0 { format!(", {} of reasoning", number(*reasoning)) } else { String::new() };
    let (input, output) = (number(usage.input()), number(*output));
    format!("{model}: {requests}{failed}; {input} tokens in{cached}, {output} out{reasoning}")
}
