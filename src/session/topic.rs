//! [`Topic`]: what a session is about, from its title and its messages. The frame of a session has this identity as long as
//! it is a placeholder.

use crate::frame::{Frame, Identity};
use crate::keywords::word_count;
use crate::text::{beginning, one_line};

/// A message with fewer words does not change a task with at least as many: "go on", "yes, please".
const TASK_WORDS: usize = 3;
/// A message with less than this part of a task's words adds to it: "use Postgres, please".
const NEW_TASK: usize = 2;
/// Maximum length of a title that is taken from a message, in words and in characters.
const TITLE_WORDS: usize = 6;
const TITLE_CHARACTERS: usize = 60;
/// Maximum length of criteria that are taken from a message, full and compacted, in characters.
pub(super) const CRITERIA_CHARACTERS: usize = 2_000;
const COMPACTED_CHARACTERS: usize = 150;
/// Beginnings of titles that a host gives to sessions without a title.
const DEFAULT_TITLES: [&str; 2] = ["New session - ", "Child session - "];

/// What a session is about.
///
/// - The task is what the user has written since the session's frame began, the newest message last. What leads is the newest message
///   with at least half as many words as the one that has led before; shorter ones are answers and additions. A message of one or
///   two words changes nothing. If there is no room for all of it, what is oldest goes.
/// - The session's title names it. A title that the session had before its first message, or that replaces another title,
///   was given by a person and stays as long as the process lives. Any other title was made from the messages before it,
///   so the first words of the next task replace it.
#[derive(Debug, Clone, Default)]
pub(super) struct Topic {
    task: Option<String>,
    /// Where in the task the message begins that leads: the title and the short criteria are from there.
    lead: usize,
    title: Option<String>,
    /// True if a person has given the title.
    is_given: bool,
    /// True if the title names the task.
    is_current: bool,
}

impl Topic {
    /// Takes the topic of a session that is described again after a restart from its frame, which knows the task.
    pub(super) fn restore(&mut self, frame: &Frame, title: &str) {
        let is_unknown = self.task.is_none() && self.title.is_none();
        if is_unknown && frame.placeholder && !frame.success_criteria.is_empty() {
            let title = meaningful(title);
            let is_current = title.as_ref() == Some(&frame.title);
            let task = frame.success_criteria.clone();
            // The short criteria are from there.
            let is_lead =
                |start: &usize| one_line(&task[*start..]).starts_with(frame.success_criteria_compacted.as_str());
            let lead = lines_of(&task).filter(is_lead).last().unwrap_or_default();
            *self = Self { task: Some(task), lead, title, is_given: false, is_current };
        }
    }

    /// Takes the session's title. An empty title, or a default one of the host, changes nothing.
    pub(super) fn titled(&mut self, title: &str) {
        let new = meaningful(title).filter(|title| self.title.as_ref() != Some(title));
        if let Some(title) = new {
            self.is_given = self.task.is_none() || self.title.is_some();
            self.is_current = true;
            self.title = Some(title);
        }
    }

    /// Takes a message of the user, whose text is not blank. Returns true if it changes the task.
    pub(super) fn asked(&mut self, text: &str) -> bool {
        let text = beginning(text.trim(), CRITERIA_CHARACTERS);
        let Some(task) = self.task.as_mut().filter(|task| !is_short(task)) else {
            (self.task, self.lead) = (Some(text.to_owned()), 0);
            self.is_current = self.is_given;
            return true;
        };
        if is_short(text) {
            return false;
        }
        task.push('\n');
        if word_count(text) * NEW_TASK >= word_count(&task[self.lead..]) {
            self.lead = task.len();
            self.is_current = self.is_given;
        }
        task.push_str(text);
        let gone = lines_of(task).find(|start| task[*start..].chars().count() <= CRITERIA_CHARACTERS);
        // What leads stays, as much of it as there is room for.
        let gone = gone.filter(|gone| *gone <= self.lead).unwrap_or(self.lead);
        task.drain(..gone);
        self.lead -= gone;
        task.truncate(beginning(task, CRITERIA_CHARACTERS).len());
        true
    }

    /// Keeps what the user has written in these messages, oldest first. Returns true if that changes the task.
    pub(super) fn set_back(&mut self, asked: &[String]) -> bool {
        let Some(before) = self.task.clone() else { return false };
        let mut left = Self { title: self.title.clone(), is_given: self.is_given, ..Self::default() };
        // Others belong to frames before.
        for text in asked.iter().filter(|text| !text.trim().is_empty()) {
            if before.contains(beginning(text.trim(), CRITERIA_CHARACTERS)) {
                left.asked(text);
            }
        }
        let has_changed = left.task.as_ref() != Some(&before);
        if has_changed {
            *self = left;
        }
        has_changed
    }

    /// The task. `None` before the first message.
    pub(super) fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// True if the task has fewer words than a task usually has.
    pub(super) fn is_short(&self) -> bool {
        self.task.as_deref().is_none_or(is_short)
    }

    /// Takes the message with which the session begins another frame. The title belongs to the frame before.
    pub(super) fn begun_anew(&mut self, text: &str) {
        *self = Self { title: self.title.take(), ..Self::default() };
        self.asked(text);
    }

    /// The session's title, for a frame that has no task yet.
    pub(super) fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The identity of the session's frame. `None` if there is no task yet.
    pub(super) fn identity(&self) -> Option<Identity> {
        let task = self.task.as_deref()?;
        let title = self.title.clone().filter(|_| self.is_current);
        Some(Identity {
            title: title.unwrap_or_else(|| title_of(&task[self.lead..])),
            success_criteria: task.to_owned(),
            success_criteria_compacted: beginning(&one_line(&task[self.lead..]), COMPACTED_CHARACTERS).to_owned(),
        })
    }
}

fn is_short(text: &str) -> bool {
    word_count(text) < TASK_WORDS
}

/// Where the lines of a task begin.
fn lines_of(task: &str) -> impl DoubleEndedIterator<Item = usize> {
    let behind = task.match_indices('\n').map(|(place, _)| place + 1);
    [0].into_iter().chain(behind.collect::<Vec<_>>())
}

/// A title without surrounding whitespace; `None` for an empty one and for a default one of the host.
fn meaningful(title: &str) -> Option<String> {
    let is_default = DEFAULT_TITLES.iter().any(|start| title.starts_with(start));
    Some(title.trim()).filter(|title| !title.is_empty() && !is_default).map(str::to_owned)
}

/// A title from a message: its first words.
pub(crate) fn title_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(TITLE_WORDS).collect();
    beginning(&words.join(" "), TITLE_CHARACTERS).to_owned()
}
