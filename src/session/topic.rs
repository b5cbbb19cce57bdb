//! [`Topic`]: what a session is about, from its title and its messages. The frame of a session has this
//! identity as long as the frame is a placeholder.

use std::collections::VecDeque;

use crate::dense::dense_characters;
use crate::frame::{Frame, Identity};
use crate::keywords::word_count;
use crate::text::{beginning, one_line};

/// A message with fewer words does not change a task that has at least this number of words: "continue",
/// "yes, please".
const TASK_WORDS: usize = 3;
/// A message with less than this part of a task's words is an addition to the task: "use Postgres, please".
const NEW_TASK: usize = 2;
/// Maximum length of a title that is taken from a message, in words and in characters.
const TITLE_WORDS: usize = 6;
const TITLE_CHARACTERS: usize = 60;
/// Maximum length of criteria that are taken from a message, full and compacted, in characters.
pub(super) const CRITERIA_CHARACTERS: usize = 2_000;
const COMPACTED_CHARACTERS: usize = 300;
/// Beginnings of titles that a host gives to sessions without a title.
const DEFAULT_TITLES: [&str; 2] = ["New session - ", "Child session - "];

/// Number of a task's messages that are kept.
const MESSAGES: usize = 64;

/// What a session is about.
///
/// - The task is what the person has written since the session's frame began. The leading message is the
///   newest message with at least half as many words as the leading message before. Shorter messages are
///   answers and additions. A message of one or two words changes nothing. If there is no room for the whole
///   task, additions have up to half of the room, newest first, then the leading message, then the messages
///   before it.
/// - The session's title names it. A person gave the title if the session had it before its first message, or
///   if it replaces another title. Such a title stays as long as the process lives. Any other title was made
///   from the messages before it, so the first words of the next task replace it.
#[derive(Debug, Clone, Default)]
pub(super) struct Topic {
    /// The task in the frame from the messages before a restart, until the host has shown those messages.
    restored: Option<Task>,
    /// The messages of the person since the frame or the process began, oldest first.
    messages: VecDeque<Message>,
    /// True if the frame began with the first of these messages: no earlier messages belong to it.
    is_whole: bool,
    /// The task that follows from the messages.
    task: Option<Task>,
    title: Option<String>,
    /// True if a person has given the title.
    is_given: bool,
    /// True if the title names the task.
    is_current: bool,
}

#[derive(Debug, Clone)]
struct Message {
    text: String,
    /// True if the message is not a part of the task, because it answered a question.
    is_aside: bool,
    /// True if the person has taken the message back.
    is_gone: bool,
}

/// A task as the criteria of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    text: String,
    /// Where the leading message begins in the text. The title is taken from there.
    lead: usize,
}

impl Task {
    /// Makes a task from its parts: the messages before, the leading message, and its additions, all oldest
    /// first.
    fn of(before: &[&str], lead: &str, additions: &[&str]) -> Self {
        let mut room = CRITERIA_CHARACTERS;
        let mut behind = Vec::new();
        for addition in additions.iter().rev() {
            let left = room.saturating_sub(CRITERIA_CHARACTERS / 2 + 1);
            let fits = beginning(addition, left);
            if fits.is_empty() || fits.len() < addition.len() && !behind.is_empty() {
                break;
            }
            room -= fits.chars().count() + 1;
            behind.push(fits);
        }
        let lead = beginning(lead, room);
        room -= lead.chars().count();
        let fits = |part: &&&str| {
            let needed = part.chars().count() + 1;
            let has_room = needed <= room;
            room = if has_room { room - needed } else { 0 };
            has_room
        };
        let mut lines: Vec<&str> = before.iter().rev().take_while(fits).copied().collect();
        lines.reverse();
        let start = lines.iter().map(|line| line.len() + 1).sum();
        lines.push(lead);
        lines.extend(behind.iter().rev());
        Self { text: lines.join("\n"), lead: start }
    }

    fn lead(&self) -> &str {
        &self.text[self.lead..]
    }

    /// The whole task on one line if it is short. Otherwise its beginning, which says what the whole task is
    /// about, and the beginning of the leading message.
    fn compacted(&self) -> String {
        let [line, lead] = [&self.text, self.lead()].map(one_line);
        if beginning(&line, COMPACTED_CHARACTERS).len() == line.len() || self.lead == 0 {
            return dense_characters(&line, COMPACTED_CHARACTERS);
        }
        let half = COMPACTED_CHARACTERS / 2 - 1;
        format!("{} … {}", dense_characters(&one_line(&self.text[..self.lead]), half), dense_characters(&lead, half))
    }
}

impl Topic {
    /// Takes the topic of a session that is described again after a restart from the frame of the session,
    /// which knows the task.
    pub(super) fn restore(&mut self, frame: &Frame, title: &str) {
        let is_unknown = self.task.is_none() && self.title.is_none();
        if is_unknown && frame.placeholder && !frame.success_criteria.is_empty() {
            let title = meaningful(title);
            let is_current = title.as_ref() == Some(&frame.title);
            let text = frame.success_criteria.clone();
            // The title is taken from the leading message, unless a person has given it.
            let lines = [0].into_iter().chain(text.match_indices('\n').map(|(place, _)| place + 1));
            let is_lead = |start: &usize| title_of(&text[*start..]) == frame.title;
            let lead = lines.fold(0, |lead, start| if is_lead(&start) { start } else { lead });
            let restored = Some(Task { text, lead });
            *self = Self { task: restored.clone(), restored, title, is_current, ..Self::default() };
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

    /// Takes a message of the person, whose text is not blank. Returns true if it changes the task.
    pub(super) fn asked(&mut self, text: &str) -> bool {
        self.add(text, false);
        self.settle()
    }

    /// Notes that the frame of the session begins with the next message.
    pub(super) fn begins(&mut self) {
        self.is_whole = self.messages.is_empty() && self.restored.is_none();
    }

    /// Takes a message of the person that is not a part of the task.
    pub(super) fn said_aside(&mut self, text: &str) {
        self.add(text, true);
    }

    fn add(&mut self, text: &str, is_aside: bool) {
        if self.messages.len() == MESSAGES {
            // The leading message stays.
            let lead = self.task.as_ref().map(|task| task.lead().to_owned());
            let is_lead = |message: &Message| lead.as_ref().is_some_and(|lead| lead.starts_with(&message.text));
            let oldest = self.messages.iter().position(|message| !is_lead(message)).unwrap_or_default();
            self.messages.remove(oldest);
        }
        self.messages.push_back(Message { text: shortened(text).to_owned(), is_aside, is_gone: false });
    }

    /// Takes the messages of the person that are left, oldest first, also those before the frame began. The
    /// person may have taken other messages back, or may have restored some. Returns true if that changes the
    /// task.
    pub(super) fn set_back(&mut self, asked: &[String]) -> bool {
        let left: Vec<&str> = asked.iter().map(|text| shortened(text)).filter(|text| !text.is_empty()).collect();
        self.find_restored(&left);
        let is_known = |text: &&str| self.messages.iter().any(|message| message.text == **text);
        if !left.is_empty() && !left.iter().any(is_known) {
            // The host writes the messages in a different form.
            return false;
        }
        let mut end = self.messages.len();
        self.messages.iter_mut().for_each(|message| message.is_gone = true);
        // The messages are found in their order, the newest first, because an earlier frame can have had the
        // same words.
        for text in left.iter().rev() {
            let found = (0..end).rev().find(|place| self.messages[*place].text == *text);
            if let Some(found) = found {
                self.messages[found].is_gone = false;
                end = found;
            }
        }
        self.settle()
    }

    /// Finds the messages from before a restart: the newest ones from which the same task follows.
    fn find_restored(&mut self, asked: &[&str]) {
        if self.restored.is_none() {
            return;
        }
        let first = asked.len().saturating_sub(MESSAGES);
        for start in (first..asked.len()).rev() {
            let mut found = Self::default();
            asked[start..].iter().for_each(|text| found.add(text, false));
            found.settle();
            if found.task == self.task {
                (self.restored, self.messages, self.is_whole) = (None, found.messages, true);
                return;
            }
        }
    }

    /// Finds the task that follows from the messages. Returns true if the task differs from the task before.
    fn settle(&mut self) -> bool {
        let mut before: Vec<&str> = Vec::new();
        let mut lead = self.restored.as_ref().map(Task::lead);
        let mut additions = Vec::new();
        if let Some(restored) = &self.restored {
            before.extend(restored.text[..restored.lead].trim_end().lines());
        }
        for message in self.messages.iter().filter(|message| !message.is_gone && !message.is_aside) {
            let text = message.text.as_str();
            match lead {
                Some(led) if !is_short(led) => {
                    if is_short(text) {
                    } else if word_count(text) * NEW_TASK >= word_count(led) {
                        before.push(led);
                        before.append(&mut additions);
                        lead = Some(text);
                    } else {
                        additions.push(text);
                    }
                }
                // "Hello" is not a task when another message follows.
                _ => (before, lead) = (Vec::new(), Some(text)),
            }
        }
        let task = lead.map(|lead| Task::of(&before, lead, &additions));
        let has_changed = task != self.task;
        let lead_of = |task: &Option<Task>| task.as_ref().map(|task| title_of(task.lead()));
        if lead_of(&task) != lead_of(&self.task) {
            self.is_current = self.is_given;
        }
        self.task = task;
        has_changed
    }

    /// The task. `None` before the first message, and if all messages are taken back.
    pub(super) fn task(&self) -> Option<&str> {
        self.task.as_ref().map(|task| task.text.as_str())
    }

    /// True if the task has fewer words than a task usually has.
    pub(super) fn is_short(&self) -> bool {
        self.task().is_none_or(is_short)
    }

    /// The newest message, if the person has taken back all messages before it.
    pub(super) fn words_instead(&self) -> Option<&str> {
        let newest = self.messages.back().filter(|message| !message.is_gone && !message.is_aside)?;
        let mut before = self.messages.iter().rev().skip(1);
        let is_instead = self.is_whole && before.len() > 0 && before.all(|message| message.is_gone);
        is_instead.then_some(newest.text.as_str())
    }

    /// Takes the message with which the session begins another frame. The title belongs to the previous
    /// frame.
    pub(super) fn begun_anew(&mut self, text: &str) {
        *self = Self { title: self.title.take(), is_whole: true, ..Self::default() };
        self.asked(text);
    }

    /// The session's title, for a frame that has no task yet.
    pub(super) fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The identity of the session's frame. `None` if there is no task yet.
    pub(super) fn identity(&self) -> Option<Identity> {
        let task = self.task.as_ref()?;
        let title = self.title.clone().filter(|_| self.is_current);
        Some(Identity {
            title: title.unwrap_or_else(|| title_of(task.lead())),
            success_criteria: task.text.clone(),
            success_criteria_compacted: task.compacted(),
        })
    }
}

/// A message as it is kept.
fn shortened(text: &str) -> &str {
    beginning(text.trim(), CRITERIA_CHARACTERS)
}

fn is_short(text: &str) -> bool {
    word_count(text) < TASK_WORDS
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
