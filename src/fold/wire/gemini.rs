//! Gemini: `contents`, each with a role and a list of parts. Calls and outcomes may have no IDs.

use super::{messages, words_or_note};
use crate::fold::conversation::{Author, Call, Conversation, Kind, List, Order, Outcome, Removal};
use crate::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

pub(super) fn read<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut conversation = Conversation::new(Order::NextMessage);
    conversation.has_strict_turns = true;
    messages(reader, "contents", |reader| message(reader, names, &mut conversation))?;
    Some(conversation)
}

fn message<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>, conversation: &mut Conversation<'a>) -> Option<()> {
    let mut role = "user";
    let mut parts = Vec::new();
    let bytes = reader.spanned(|reader| {
        reader.object(|reader, key| {
            match key {
                "role" => role = reader.value()?.raw()?,
                "parts" => parts = reader.array_of(Part::read)?,
                _ => drop(reader.value()?),
            }
            Some(())
        })
    })?;
    let author = match role {
        "model" => Author::Model,
        "user" | "function" => Author::Other,
        _ => return None,
    };
    // A picture with words next to it is the person's.
    let has_words = parts.iter().any(|part| part.text.is_some() && matches!(words_or_note(part.text), Kind::Words));
    let mut is_behind_outcome = false;
    for part in parts {
        let bytes = part.bytes.clone();
        let kind = part.kind(author, names, is_behind_outcome && !has_words)?;
        is_behind_outcome = matches!(kind, Kind::Outcome(_) | Kind::Shown);
        conversation.add(kind, bytes, Removal::Element(List::Content), None);
    }
    conversation.end_message(bytes, author);
    Some(())
}

/// What the reader needs of a part.
#[derive(Default)]
struct Part<'a> {
    bytes: std::ops::Range<usize>,
    text: Option<Value<'a>>,
    call: Option<Named<'a>>,
    response: Option<Named<'a>>,
    is_thought: bool,
    is_signed: bool,
}

/// A call or a response: a name, perhaps an ID, and what was given.
#[derive(Default)]
struct Named<'a> {
    id: Option<&'a str>,
    name: &'a str,
    given: Option<Value<'a>>,
}

impl<'a> Named<'a> {
    fn read(reader: &mut Reader<'a>, given: &str) -> Option<Self> {
        let mut named = Self::default();
        reader.object(|reader, key| {
            let value = reader.value()?;
            match key {
                "id" => named.id = value.raw().filter(|id| !id.is_empty()),
                "name" => named.name = value.raw()?,
                _ if key == given => named.given = Some(value),
                _ => {}
            }
            Some(())
        })?;
        Some(named)
    }
}

impl<'a> Part<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let mut part = Self::default();
        part.bytes = reader.spanned(|reader| {
            reader.object(|reader, key| {
                match key {
                    "functionCall" | "function_call" => part.call = Some(Named::read(reader, "args")?),
                    "functionResponse" | "function_response" => part.response = Some(Named::read(reader, "response")?),
                    "text" => part.text = Some(reader.value()?),
                    "thought" => part.is_thought = reader.value()?.text == "true",
                    "thoughtSignature" | "thought_signature" => part.is_signed = reader.value()?.raw().is_some(),
                    _ => drop(reader.value()?),
                }
                Some(())
            })
        })?;
        Some(part)
    }

    fn kind(self, author: Author, names: &CallNames<'_>, is_behind_outcome: bool) -> Option<Kind<'a>> {
        Some(match (self.call, self.response, author) {
            (Some(call), None, Author::Model) => Kind::Call(Call {
                id: call.id,
                name: call.name,
                role: names.role("", call.name),
                arguments: call.given,
                is_signed: self.is_signed,
            }),
            (None, Some(response), Author::Other) => Kind::Outcome(Outcome {
                id: response.id,
                name: response.name,
                content: response.given,
                ..Outcome::default()
            }),
            (None, None, Author::Model) if self.is_thought => Kind::Reasoning,
            (None, None, Author::Model) => Kind::Answer(self.text),
            (None, None, _) if is_behind_outcome && self.text.is_none() => Kind::Shown,
            (None, None, _) => words_or_note(self.text),
            _ => return None,
        })
    }
}
