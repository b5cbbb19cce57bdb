//! The questions of the screen: the text of a search or an action, and whether an action is to be done.

use callstack_core::{Handle, Stack, Tree};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Action, Effects, Waiting};
use super::input::{Input, Typed};
use super::place::Place;
use super::refusal::Refusal;
use super::short::title;
use crate::output::{Line, Lines, Page, count};

/// The columns beside the text.
pub const MARGIN: usize = 1;
/// The columns of the mark before the typed text.
pub const MARK: usize = 2;
/// A prompt never has more lines.
const MOST_LINES: usize = 40;

/// A question of the screen, until it is answered.
pub enum Prompt {
    Search(Search),
    Act(Act),
}

/// The search that is being typed.
pub struct Search {
    pub input: Input,
    /// The place of the person before the search.
    pub before: Place,
}

/// The action that the person is asked about.
pub struct Act {
    pub action: Action,
    pub input: Input,
    /// The effects that the person has seen.
    pub effects: Effects,
    /// True if the text is complete, and the person is asked whether the action is to be done.
    is_confirming: bool,
    /// The reason why the last try has failed.
    refusal: Option<Refusal>,
}

/// The consequence of a key at a prompt.
pub enum Outcome {
    /// The prompt stays.
    Open(Prompt),
    /// The search has changed, or is done.
    Searching {
        search: Search,
        is_done: bool,
    },
    /// The search is given up.
    SearchCancelled(Place),
    /// The text of the action is complete.
    Entered(Act),
    /// The action is to be done.
    Do(Act),
    Cancelled,
}

impl Search {
    fn key(mut self, key: KeyEvent) -> Outcome {
        match self.input.key(key) {
            Typed::Entered => Outcome::Searching { search: self, is_done: true },
            Typed::Changed => Outcome::Searching { search: self, is_done: false },
            Typed::Cancelled => Outcome::SearchCancelled(self.before),
            Typed::Nothing => Outcome::Open(Prompt::Search(self)),
        }
    }
}

impl Act {
    /// The first question about an action.
    pub fn new(action: Action, effects: Effects) -> Self {
        let input = match &action {
            Action::Answer(..) | Action::Complete(_) => Input::lines(),
            Action::Edit(_, title) => Input::line_with(title),
            _ => Input::line(),
        };
        let is_confirming = action.needs_no_text();
        Self { action, input, effects, is_confirming, refusal: None }
    }

    fn key(mut self, key: KeyEvent) -> Outcome {
        if self.is_confirming {
            return match key.code {
                KeyCode::Char('y' | 'Y') if key.modifiers.difference(KeyModifiers::SHIFT).is_empty() => {
                    Outcome::Do(self)
                }
                _ => Outcome::Cancelled,
            };
        }
        match self.input.key(key) {
            Typed::Entered => Outcome::Entered(self),
            Typed::Cancelled => Outcome::Cancelled,
            Typed::Changed => {
                self.refusal = None;
                Outcome::Open(Prompt::Act(self))
            }
            Typed::Nothing => Outcome::Open(Prompt::Act(self)),
        }
    }

    /// True if the person is asked once more before the action is done: it takes something away.
    pub fn asks_again(&self) -> bool {
        matches!(self.action, Action::Stop(_) | Action::Invalidate(_))
    }

    /// The question whether it is to be done.
    pub fn confirming(self) -> Self {
        Self { is_confirming: true, refusal: None, ..self }
    }

    /// The question after a refusal, with the typed text, and with the effects that the action has now.
    pub fn refused(mut self, refusal: Refusal, stack: &Stack) -> Self {
        // A frame that cannot be read is refused with its reason.
        let _ = stack.read(|tree| self.action.look_again(tree));
        // If there are no effects, the refusal tells the reason.
        let effects = self.action.effects(stack, "text").unwrap_or(self.effects);
        let is_confirming = self.action.needs_no_text();
        Self { is_confirming, refusal: Some(refusal), effects, ..self }
    }

    fn explanation(&self) -> String {
        let Effects { invalidated, stopped, fails, .. } = self.effects;
        match &self.action {
            Action::Answer(_, Waiting { question, answer: Some(answer), .. }) => {
                format!("{question}\nAnswered: {answer}\nYour text is added to this answer.")
            }
            Action::Answer(_, Waiting { question, .. }) => question.clone(),
            Action::Retry(frame) => {
                let fails = fails.then(|| format!("{frame} fails"));
                let planned = format!("{} below it", count(invalidated, "planned frame"));
                let falls = match invalidated {
                    0 => None,
                    1 => Some(format!("{planned} is invalidated")),
                    _ => Some(format!("{planned} are invalidated")),
                };
                let retried = match (&fails, &falls) {
                    (None, None) => "Another attempt is planned beside it",
                    _ => "and another attempt is planned beside it",
                };
                let said: Vec<String> = [fails, falls, Some(retried.to_owned())].into_iter().flatten().collect();
                format!("{}. What must be done differently?", said.join(", "))
            }
            Action::Invalidate(frame) => {
                let falls = match invalidated {
                    0 => String::new(),
                    planned => format!(", and {} below it", count(planned, "planned frame")),
                };
                match self.is_confirming {
                    true => format!("Invalidate {frame}{falls}? The reason: {}", self.input.text()),
                    false => format!("It is removed from the plan{falls}. Why?"),
                }
            }
            Action::Complete(frame) => {
                format!("What exists now, where, and how it is used: the results of {frame}.")
            }
            Action::Begin(frame) => {
                format!("Begin {frame}? It becomes the active frame, on which you or a script work.")
            }
            Action::Plan(frame) => format!("The title of a new frame below {frame}, two to five words."),
            Action::Edit(..) => String::new(),
            Action::Undo(_) => "Take back your last command, if nothing has been built on it?".to_owned(),
            Action::Stop(frame) => match stopped {
                0 => format!("No host runs anything at or below {frame}. Stop what hosts have queued there?"),
                1 => format!("Stop 1 frame at or below {frame}? It waits for you afterwards."),
                _ => format!("Stop {stopped} frames at or below {frame}? They wait for you afterwards."),
            },
        }
    }
}

impl Prompt {
    pub fn search(before: Place) -> Self {
        Self::Search(Search { input: Input::line(), before })
    }

    pub fn key(self, key: KeyEvent) -> Outcome {
        match self {
            Self::Search(search) => search.key(key),
            Self::Act(act) => act.key(key),
        }
    }

    pub fn paste(&mut self, text: &str) {
        match self {
            Self::Search(Search { input, .. }) | Self::Act(Act { input, is_confirming: false, .. }) => {
                input.insert(text);
            }
            Self::Act(_) => {}
        }
    }

    /// The heading of the question.
    pub fn heading(&self, tree: &Tree) -> String {
        match self {
            Self::Search(_) => "Search".to_owned(),
            Self::Act(Act { action, .. }) => {
                let frame: Handle = action.frame();
                format!("{} {frame} {}", action.verb(), title(tree, frame))
            }
        }
    }

    /// The refusal and the explanation in lines of a width, and whether these are all of their lines.
    pub fn explained(&self, width: usize, most: usize) -> (Vec<Line>, bool) {
        let Self::Act(act) = self else { return (Vec::new(), true) };
        let mut lines = act.refusal.as_ref().map(|refusal| refusal.lines(width)).unwrap_or_default();
        let is_cut = lines.len() > most;
        lines.truncate(most);
        let explanation = act.explanation();
        let mut rest = Lines::at_most(most - lines.len());
        let is_whole = explanation.is_empty() || Page::collecting(&mut rest, width).text(0, &explanation).is_ok();
        lines.extend(rest.lines);
        (lines, is_whole && !is_cut)
    }

    /// The number of lines that the prompt wants on a screen of this width: its heading, the explanation, and
    /// the text.
    pub fn height(&self, width: usize) -> usize {
        let inner = width.saturating_sub(2 * MARGIN);
        let typed = self.input().map_or(0, |input| input.layout(inner.saturating_sub(MARK)).0.len());
        1 + self.explained(inner, MOST_LINES).0.len() + typed
    }

    /// The keys of the prompt.
    pub fn keys(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Search(_) => &[("Enter", "keep"), ("Esc", "cancel")],
            Self::Act(Act { is_confirming: true, .. }) => &[("y", "yes"), ("any other key", "no")],
            Self::Act(Act { action: Action::Answer(..) | Action::Complete(_), .. }) => {
                &[("Enter", "send"), ("Alt-Enter", "new line"), ("Esc", "cancel")]
            }
            Self::Act(_) => &[("Enter", "continue"), ("Esc", "cancel")],
        }
    }

    /// The text that is being typed.
    pub fn input(&self) -> Option<&Input> {
        match self {
            Self::Search(Search { input, .. }) | Self::Act(Act { input, is_confirming: false, .. }) => Some(input),
            Self::Act(_) => None,
        }
    }
}
