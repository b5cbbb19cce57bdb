//! What was said in the frames of a session, for their details in the page: the ends of their logs,
//! shortened.

use std::collections::HashMap;

use callstack_core::text::one_line;
use callstack_core::{Handle, LogQuery, Stack};
use serde_json::Value;

/// The maximum number of entries of a frame, and the room of all frames together, in bytes.
const ENTRIES: usize = 20;
const ROOM: usize = 2 << 20;
/// The longest part of a text that is shown, in characters.
const LONGEST: usize = 300;

/// A text with the kind of its author.
pub type Said = (&'static str, String);

/// The ends of the conversations of frames.
#[derive(Debug, Default)]
pub struct Conversations(HashMap<Handle, Vec<Said>>);

impl Conversations {
    /// The ends of the conversations of all frames of a stack, as far as there is room.
    ///
    /// # Errors
    /// The errors of reading logs.
    pub fn of(stack: &Stack) -> callstack_core::Result<Self> {
        let frames: Vec<Handle> = stack.read(|tree| tree.handles().collect())?;
        let entries = (ROOM / LONGEST / frames.len().max(1)).min(ENTRIES);
        let mut conversations = HashMap::new();
        for frame in frames.into_iter().filter(|_| entries > 0) {
            let page = stack.log(frame).read(&LogQuery::default().tail(entries))?;
            let said: Vec<Said> = page.lines.iter().filter_map(|line| said(&line.entry)).collect();
            if !said.is_empty() {
                conversations.insert(frame, said);
            }
        }
        Ok(Self(conversations))
    }

    /// The end of the conversation of a frame.
    pub fn at(&self, frame: Handle) -> &[Said] {
        self.0.get(&frame).map_or(&[], Vec::as_slice)
    }
}

/// An entry of a log in a line. `None`: it says nothing that people read.
fn said(entry: &Value) -> Option<Said> {
    let text = entry["text"].as_str().unwrap_or_default();
    let (author, text) = match (entry["role"].as_str()?, entry["calls"].get(0)) {
        ("assistant", Some(call)) => {
            ("Call", format!("{} {}", call["name"].as_str().unwrap_or_default(), call["arguments"]))
        }
        ("assistant", None) => ("Agent", text.to_owned()),
        ("user", _) => ("Person", text.to_owned()),
        ("tool", _) => ("Outcome", text.to_owned()),
        _ => return None,
    };
    let text = one_line(&text);
    let cut: String = text.chars().take(LONGEST).collect();
    let cut = if cut.len() < text.len() { format!("{cut}…") } else { cut };
    (!cut.trim().is_empty()).then_some((author, cut))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_a_line_with_its_author() {
        let long = "word ".repeat(100);
        for (entry, expected) in [
            (json!({"role": "user", "text": "Build\nit"}), Some(("Person", "Build it".to_owned()))),
            (json!({"role": "assistant", "text": "Built."}), Some(("Agent", "Built.".to_owned()))),
            (
                json!({"role": "assistant", "text": "", "calls": [{"name": "Read", "arguments": {"path": "a"}}]}),
                Some(("Call", r#"Read {"path":"a"}"#.to_owned())),
            ),
            (json!({"role": "tool", "name": "Read", "text": "fn a()"}), Some(("Outcome", "fn a()".to_owned()))),
            (json!({"role": "assistant", "text": "", "parts": []}), None),
            (json!({"role": "host", "text": "hook"}), None),
            (json!({"text": "no role"}), None),
        ] {
            assert_eq!(said(&entry), expected, "{entry}");
        }
        let (_, cut) = said(&json!({"role": "user", "text": long})).unwrap();
        assert_eq!(cut.chars().count(), LONGEST + 1);
    }
}
