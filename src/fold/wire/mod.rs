//! The wires: for each one, a reader that makes a conversation from a request.

mod anthropic;
mod chat;
mod gemini;
mod opencode;
mod pi;
mod responses;

use super::conversation::{Conversation, Kind};
use super::{Wire, sent};
use crate::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

/// Reads a request. `None` if the text is not a request that can be understood.
pub(crate) fn read<'a>(wire: Wire, request: &'a str, names: &CallNames<'_>) -> Option<Conversation<'a>> {
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

/// Reads the list of messages of a request with an object around it, and returns the other entries. `None` if
/// the request does not have the key, or has it twice.
fn messages<'a>(
    reader: &mut Reader<'a>,
    key: &str,
    mut each: impl FnMut(&mut Reader<'a>) -> Option<()>,
) -> Option<Vec<(&'a str, Value<'a>)>> {
    let (mut found, mut others) = (0, Vec::new());
    reader.object(|reader, name| {
        match name == key {
            true => {
                found += 1;
                reader.array(&mut each)?;
            }
            false => others.push((name, reader.value()?)),
        }
        Some(())
    })?;
    (found == 1).then_some(others)
}

/// The tags of notes that hosts write as if they were the person's words, and that are not needed later.
/// Notes that say how things are from then on, such as `environment_context`, stay.
const NOTES: [&str; 2] = ["system-reminder", "current_datetime"];

/// How brackets and slashes can be written.
const ESCAPES: [&str; 5] = ["\\/", "\\u002f", "\\u002F", "\\u003c", "\\u003C"];

/// Whether a text of the person's side is a note of the host: one element with a known name, and nothing
/// else. A note that passes on what the person has written counts as the person's words.
fn words_or_note<'a>(text: Option<Value<'a>>) -> Kind<'a> {
    let Some(text) = text.and_then(Value::raw) else { return Kind::Words };
    let text = text.trim_start_matches("\\n").trim_end_matches("\\n").trim();
    let inner = NOTES.iter().find_map(|name| {
        let rest = text.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
        rest.strip_suffix('>')?
            .strip_suffix(name)?
            .strip_suffix("</")
            .filter(|inner| !inner.contains("</system-reminder>"))
    });
    match inner {
        // An escaped bracket or slash can be the end of the note, with words after it.
        Some(inner) if !sent::is_note_of_words(inner) && !ESCAPES.iter().any(|escape| inner.contains(escape)) => {
            Kind::Note
        }
        _ => Kind::Words,
    }
}
