//! The wires: for each one a reader that makes a conversation of a request.

mod anthropic;
mod chat;
mod gemini;
mod opencode;
mod pi;
mod responses;

use super::Wire;
use super::conversation::{Conversation, Kind};
use super::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

/// Reads a request. `None` if it is none that can be understood.
pub(super) fn read<'a>(wire: Wire, request: &'a str, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut reader = Reader::of(request);
    let conversation = match wire {
        Wire::Anthropic => anthropic::read(&mut reader, names),
        Wire::Responses => responses::read(&mut reader, names),
        Wire::Chat => chat::read(&mut reader, names),
        Wire::Gemini => gemini::read(&mut reader, names),
        Wire::Opencode => opencode::read(&mut reader, names),
        Wire::Pi => pi::read(&mut reader, names),
    }?;
    reader.is_at_end().then_some(conversation)
}

/// Reads the list of messages of a request with an object around it, and returns the other values. `None` if the request has the
/// key twice, or not.
fn messages<'a>(
    reader: &mut Reader<'a>,
    key: &str,
    mut each: impl FnMut(&mut Reader<'a>) -> Option<()>,
) -> Option<Vec<Value<'a>>> {
    let (mut found, mut others) = (0, Vec::new());
    reader.object(|reader, name| {
        match name == key {
            true => {
                found += 1;
                reader.array(&mut each)?;
            }
            false => others.push(reader.value()?),
        }
        Some(())
    })?;
    (found == 1).then_some(others)
}

/// The tags of the notes that hosts write as if they were the person's words.
const NOTES: [&str; 7] = [
    "system-reminder",
    "environment_context",
    "environment_details",
    "session_context",
    "skills_instructions",
    "turn_aborted",
    "current_datetime",
];

/// Whether a text of the person's side is a note of the host: one element of a known name, and nothing beside it.
fn words_or_note<'a>(text: Option<Value<'a>>) -> Kind<'a> {
    let Some(text) = text.and_then(Value::raw) else { return Kind::Words };
    let text = text.trim_start_matches("\\n").trim_end_matches("\\n").trim();
    let is_note = |name: &str| {
        let rest = text.strip_prefix('<').and_then(|text| text.strip_prefix(name));
        rest.and_then(|rest| rest.strip_prefix('>')?.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</"))
            .is_some_and(|inner| !inner.contains(&format!("</{name}>")))
    };
    match NOTES.iter().any(|name| is_note(name)) {
        true => Kind::Note,
        false => Kind::Words,
    }
}
