//! What the screen asks the user: the text of an action, and whether it is to be done.

use callstack_core::text::one_line;
use callstack_core::{FrameStatus, Handle, Tree};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::Action;
use super::input::{Input, Typed};
use crate::output::{Line, Lines, Page, count};

/// The columns beside the text.
pub const MARGIN: usize = 1;
/// The columns of the mark before what is typed.
pub const MARK: usize = 2;
/// A prompt never has more lines.
const MOST_LINES: usize = 40;

/// A question of the screen, until it is answered.
pub enum Prompt {
    Search(Input),
    /// Asks for the text of an action.
    Text {
        action: Action,
        input: Input,
    },
    /// Asks whether an action is to be done.
    Confirm(Action),
}

/// What a key at a prompt leads to.
pub enum Outcome {
    /// The prompt stays.
    Open(Prompt),
    /// The search has changed, or is done.
    Searching {
        input: Input,
        is_done: bool,
    },
    /// The action is to be done.
    Do(Action),
    Cancelled,
}

impl Prompt {
    /// The first question about an action.
    pub fn of(action: Action) -> Self {
        match action {
            Action::Stop(_) => Self::Confirm(action),
            Action::Answer(..) => Self::Text { action, input: Input::lines() },
            Action::Retry(..) | Action::Invalidate(..) => Self::Text { action, input: Input::line() },
        }
    }

    pub fn key(self, key: KeyEvent) -> Outcome {
        match self {
            Self::Search(mut input) => match input.key(key) {
                Typed::Entered => Outcome::Searching { input, is_done: true },
                Typed::Changed => Outcome::Searching { input, is_done: false },
                Typed::Cancelled => Outcome::Cancelled,
                Typed::Nothing => Outcome::Open(Self::Search(input)),
            },
            Self::Text { action, mut input } => match input.key(key) {
                Typed::Entered => Self::entered(action.with_text(input.text())),
                Typed::Cancelled => Outcome::Cancelled,
                Typed::Changed | Typed::Nothing => Outcome::Open(Self::Text { action, input }),
            },
            Self::Confirm(action) => match key.code {
                KeyCode::Char('y' | 'Y') if key.modifiers.difference(KeyModifiers::SHIFT).is_empty() => {
                    Outcome::Do(action)
                }
                _ => Outcome::Cancelled,
            },
        }
    }

    pub fn paste(&mut self, text: &str) {
        match self {
            Self::Search(input) | Self::Text { input, .. } => input.insert(text),
            Self::Confirm(_) => {}
        }
    }

    /// An answer is sent, and a retry planned. What takes something away is asked about once more.
    fn entered(action: Action) -> Outcome {
        match action {
            Action::Answer(..) | Action::Retry(..) => Outcome::Do(action),
            Action::Stop(_) | Action::Invalidate(..) => Outcome::Open(Self::Confirm(action)),
        }
    }

    /// The heading of the question.
    pub fn heading(&self, tree: &Tree) -> String {
        match self {
            Self::Search(_) => "Search".to_owned(),
            Self::Text { action, .. } | Self::Confirm(action) => {
                let frame = action.frame();
                format!("{} {frame} {}", action.verb(), one_line(tree.node(frame).title()))
            }
        }
    }

    /// What the question is about, for the user to decide.
    pub fn explanation(&self, tree: &Tree) -> String {
        match self {
            Self::Search(_) => String::new(),
            Self::Text { action: Action::Answer(frame, _), .. } => tree.node(*frame).record().waits_for().to_owned(),
            Self::Text { action: Action::Retry(frame, _), .. } => {
                let fails = match tree.node(*frame).status() {
                    FrameStatus::Blocked => format!("{frame} fails, and a"),
                    _ => "A".to_owned(),
                };
                format!(
                    "{fails}nother attempt is planned beside it{}. What must be done differently?",
                    falling(tree, *frame)
                )
            }
            Self::Text { action: Action::Invalidate(frame, _), .. } => {
                format!("It is removed from the plan{}. Why?", falling(tree, *frame))
            }
            Self::Text { action: Action::Stop(_), .. } => String::new(),
            Self::Confirm(Action::Invalidate(frame, reason)) => {
                format!("Invalidate {frame}{}? The reason: {reason}", falling(tree, *frame))
            }
            Self::Confirm(action) => {
                let frame = action.frame();
                let runs = |called: &Handle| *called == frame || tree.is_ancestor(frame, *called);
                match tree.called().filter(runs).count() {
                    0 => format!("No host runs anything at or below {frame}. Stop what hosts have queued there?"),
                    running => {
                        format!("Stop {} at or below {frame}? They wait for you afterwards.", count(running, "frame"))
                    }
                }
            }
        }
    }

    /// The lines of the explanation at a width, as far as they matter to the layout.
    pub fn explained(&self, tree: &Tree, width: usize, most: usize) -> (Vec<Line>, bool) {
        let explanation = self.explanation(tree);
        let mut lines = Lines::at_most(most);
        let is_whole = explanation.is_empty() || Page::collecting(&mut lines, width).text(0, &explanation).is_ok();
        (lines.lines, is_whole)
    }

    /// The number of lines that the prompt wants on a screen of this width: its heading, the explanation, and what is typed.
    pub fn height(&self, tree: &Tree, width: usize) -> usize {
        let inner = width.saturating_sub(2 * MARGIN);
        let typed = self.input().map_or(0, |input| input.layout(inner.saturating_sub(MARK)).0.len());
        1 + self.explained(tree, inner, MOST_LINES).0.len() + typed
    }

    /// The keys of the prompt.
    pub fn keys(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Search(_) => &[("Enter", "keep"), ("Esc", "cancel")],
            Self::Text { action: Action::Answer(..), .. } => {
                &[("Enter", "send"), ("Alt-Enter", "new line"), ("Esc", "cancel")]
            }
            Self::Text { .. } => &[("Enter", "go on"), ("Esc", "cancel")],
            Self::Confirm(_) => &[("y", "yes"), ("any other key", "no")],
        }
    }

    pub fn input(&self) -> Option<&Input> {
        match self {
            Self::Search(input) | Self::Text { input, .. } => Some(input),
            Self::Confirm(_) => None,
        }
    }
}

/// Says how many planned frames fall with a frame.
fn falling(tree: &Tree, frame: Handle) -> String {
    let is_planned = |below: &Handle| tree.node(*below).status() == FrameStatus::Planned;
    match tree.unfinished_below(frame).filter(is_planned).count() {
        0 => String::new(),
        planned => format!(", and {} below it", count(planned, "planned frame")),
    }
}
