//! Reads a conversation from a file in which a host keeps it, line by line. The host's hooks name the file.
//! The reading resumes where it has stopped. It is for the logs and the usage of frames. The file may grow
//! meanwhile, and its last line may be half written.

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use super::form::TranscriptForm;
use super::line::{self, Line, Turn};
use crate::fold::conversation::{Item, Kind};
use crate::fold::transcript::{Ids, entry, with_id};
use crate::fold::walk::Walk;
use crate::fold::{FoldSettings, wire};
use crate::frame::{Handle, ModelRequest, TranscriptPosition};
use crate::text::from_json;
use crate::vocabulary::calls::CallNames;

/// The longest line of a transcript, in bytes. A line that is longer is left out.
pub const LONGEST_TRANSCRIPT_LINE: usize = 64 << 20;

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct TranscriptPart {
    /// What it says, step by step.
    pub steps: Vec<TranscriptStep>,
    /// Number of lines that were not understood. They are left out.
    pub unknown: usize,
    /// Where the next part begins.
    pub end: TranscriptPosition,
}

/// A step of a conversation: what the person or the host has written, or an answer of the model with the
/// outcomes of its calls. It is whole: nothing that is read later belongs to it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TranscriptStep {
    /// The items in their order, each with its time and the frame in which the conversation was, if the
    /// conversation has said that. The entries have the form of those of
    /// [`TranscriptItem`](crate::fold::TranscriptItem).
    pub items: Vec<(Option<Handle>, Json)>,
    /// What the answer has used, and the frame in which the model was asked.
    pub requests: Vec<(Option<Handle>, ModelRequest)>,
    /// A frame that the step has ended, although the conversation had not said that it was there.
    pub ended: Option<Handle>,
    /// Where the next step begins.
    pub end: TranscriptPosition,
}

/// Reads a part of a transcript. `text` begins at the offset of the position, and may end anywhere: what is
/// not whole is left for the next part. `is_over`: the turn of the agent has ended, so everything in the text
/// is whole, except for a line without an end. A line that is longer than [`LONGEST_TRANSCRIPT_LINE`] is left
/// out. `conversation`: the name on which the IDs of entries depend, as in
/// [`Seen::of`](crate::fold::Seen::of).
///
/// No matter where a transcript is cut, its parts say the same as the whole.
///
/// ```
/// use callstack_core::transcript::{TranscriptForm, read_transcript};
/// use callstack_core::fold::FoldSettings;
/// use callstack_core::frame::TranscriptPosition;
///
/// let text = br#"{"type": "user", "message": {"role": "user", "content": "Build the shop."}, "timestamp": "2026-01-15T00:00:00Z"}
/// {"type": "assistant", "message": {"id": "msg_1", "role": "assi"#;
/// let read = |text: &[u8], is_over| {
///     read_transcript(TranscriptForm::Claude, text, &TranscriptPosition::default(), is_over, &FoldSettings::default(), "claude/1")
/// };
/// let part = read(text, true);
/// assert_eq!(part.steps[0].items[0].1["text"], "Build the shop.");
/// assert_eq!(part.steps[0].end.offset, 113);
/// ```
pub fn read_transcript(
    form: TranscriptForm,
    text: &[u8],
    from: &TranscriptPosition,
    is_over: bool,
    settings: &FoldSettings,
    conversation: &str,
) -> TranscriptPart {
    let mut reading = Reading {
        form,
        names: CallNames::new(&settings.tools, &settings.server),
        conversation,
        position: from.clone(),
        step: Step::default(),
        part: TranscriptPart::default(),
    };
    let mut offset = from.offset;
    let mut text = text;
    if from.is_within_line {
        let rest = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
        reading.position.is_within_line = rest == text.len() && !text.ends_with(b"\n");
        offset += rest as u64;
        reading.position.offset = offset;
        text = &text[rest..];
    }
    if text.len() >= LONGEST_TRANSCRIPT_LINE && !text.contains(&b'\n') {
        reading.part.unknown += 1;
        (reading.position.is_within_line, reading.position.offset) = (true, offset + text.len() as u64);
        text = &[];
    }
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Some(whole) = line.strip_suffix(b"\n") else { break };
        reading.read(whole, offset);
        offset += line.len() as u64;
    }
    if is_over && !reading.position.is_within_line {
        reading.end_step(offset);
    }
    TranscriptPart { end: reading.position, ..reading.part }
}

struct Reading<'a> {
    form: TranscriptForm,
    names: CallNames<'a>,
    conversation: &'a str,
    /// Where the step that is read has begun.
    position: TranscriptPosition,
    step: Step,
    part: TranscriptPart,
}

/// The lines of a step.
#[derive(Default)]
struct Step {
    /// The messages in the form of the wire, with their times and the answers that they belong to.
    messages: Vec<(Json, u64, Option<String>)>,
    /// The answers with what they have used, in the order in which they were seen.
    requests: Vec<line::Request>,
    /// Calls without an outcome.
    open: HashSet<String>,
    /// The answer that was seen last.
    answer: Option<String>,
    /// Something was said that is not a part of an answer, such as an outcome.
    is_behind_answer: bool,
    model: Option<String>,
}

impl Step {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.requests.is_empty()
    }

    /// True if a line begins another step.
    fn ends_before(&self, turn: &Turn) -> bool {
        match turn {
            Turn::Answer(Some(id)) => self.answer.as_ref() != Some(id),
            Turn::Answer(None) => self.is_behind_answer && self.open.is_empty(),
            Turn::Words => self.open.is_empty(),
            Turn::Outcomes | Turn::Aside => false,
        }
    }
}

impl Reading<'_> {
    fn read(&mut self, line: &[u8], offset: u64) {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            return;
        }
        let value: Option<Json> = from_json(&text).ok();
        let Some((line, value)) = value.and_then(|value| Some((self.form.line(&value)?, value))) else {
            self.part.unknown += 1;
            return;
        };
        // What a subagent says is not a part of the conversation. What it uses is a part of it.
        let line = match line.agent {
            Some(_) => Line { requests: line.requests, ..Line::default() },
            None => line,
        };
        if !self.step.is_empty() && self.step.ends_before(&line.turn) {
            self.end_step(offset);
        }
        let time = line::time(&value);
        self.add(line, time.unwrap_or(self.position.time));
    }

    fn add(&mut self, line: Line, time: u64) {
        let Line { messages, turn, requests, calls, outcomes, model, .. } = line;
        let step = &mut self.step;
        let answer = match turn {
            Turn::Answer(id) => {
                step.answer.clone_from(&id);
                step.is_behind_answer = false;
                id
            }
            Turn::Aside => None,
            Turn::Words | Turn::Outcomes => {
                step.is_behind_answer = true;
                None
            }
        };
        if self.form == TranscriptForm::Gemini && answer.is_some() {
            // The host writes an answer again when its calls have ended.
            step.messages.retain(|(_, _, id)| *id != answer);
        }
        step.messages.extend(messages.into_iter().map(|message| (message, time, answer.clone())));
        step.open.extend(calls);
        step.open.retain(|id| !outcomes.contains(id));
        step.model = model.or(step.model.take());
        for request in requests {
            match step.requests.iter_mut().find(|known| known.id == request.id) {
                Some(known) => *known = line::Request { time, ..request },
                None => step.requests.push(line::Request { time, ..request }),
            }
        }
    }

    /// Ends the step before a line.
    fn end_step(&mut self, offset: u64) {
        let step = std::mem::take(&mut self.step);
        let model = step.model.unwrap_or_else(|| self.position.model.clone());
        if step.messages.is_empty() && step.requests.is_empty() {
            (self.position.offset, self.position.model) = (offset, model);
            return;
        }
        let (wire, key) = self.form.wire();
        let messages: Vec<Json> = step.messages.iter().map(|(message, ..)| message.clone()).collect();
        let request = json!({ key: messages }).to_string();
        let mut end = TranscriptPosition { offset, model, ..self.position.clone() };
        let (mut items, mut ended, mut asked_in) = (Vec::new(), None, self.position.path.last().copied());
        match wire::read(wire, &request, &self.names) {
            Some(conversation) => {
                let pairs = conversation.loose_pairs();
                let walk = Walk::on_from(&self.position.path, &conversation.items, &pairs);
                let mut ids = Ids::behind(self.conversation, &self.position.last);
                for (place, item) in conversation.items.iter().enumerate() {
                    let id = ids.next(&request, item, pairs[place]);
                    let Some(entry) = entry(&request, &conversation.items, &pairs, place) else { continue };
                    let mut entry = with_id(entry, id);
                    let time = step.messages.get(item.message).map_or(self.position.time, |(_, time, _)| *time);
                    entry["time"] = time.into();
                    items.push((walk.frame_of(place), entry));
                }
                let is_of_model =
                    |item: &Item<'_>| matches!(item.kind, Kind::Answer(_) | Kind::Call(_) | Kind::Reasoning);
                if let Some(first) = conversation.items.iter().position(is_of_model) {
                    asked_in = walk.frame_of(first);
                }
                ended = walk.ended_unseen();
                (end.path, end.last) = (walk.path(), ids.last());
                end.has_frames |= !walk.segments.is_empty();
            }
            None => self.part.unknown += step.messages.len(),
        }
        end.time = step.messages.iter().map(|(_, time, _)| *time).fold(end.time, u64::max);
        let mut requests = Vec::new();
        for request in step.requests.into_iter().filter(|request| request.id != self.position.answer) {
            let mut used = request.used;
            if used.duration == 0 && self.position.time > 0 {
                used.duration = request.time.saturating_sub(self.position.time);
            }
            if used.model.is_empty() {
                used.model.clone_from(&end.model);
            }
            end.answer = request.id;
            requests.push((asked_in, used));
        }
        self.position = end.clone();
        self.part.steps.push(TranscriptStep { items, requests, ended, end });
    }
}
