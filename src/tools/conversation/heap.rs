//! The tool `heap`: texts that contexts show word for word, also after conversations were compacted.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::frame::NewChunk;
use crate::memory::stored;
use crate::tools::memory::{chunk_lines, not_whole};
use crate::tree::HeapUsage;

/// Keep a text word for word for your frame and all below it, read one, or free one that is no longer needed.
/// Each costs tokens in every context.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Heap {
    action: Action,
    /// The name of the text; only list does not need it.
    #[serde(default)]
    name: String,
    /// With write: the text.
    content: Option<String>,
    /// With write of a new text: what it is for.
    #[serde(default)]
    description: String,
    /// Default: the frame of this conversation.
    frame: Option<String>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Action {
    Write,
    Read,
    Free,
    List,
}

impl ConversationTool for Heap {
    const NAME: &'static str = "heap";
    const TITLE: &'static str = "Keep texts word for word";
    const EXAMPLE: &'static str = r#"{"action": "write", "name": "api", "content": "GET /cart → {items, total}", "description": "The interface of the shop"}"#;
    const EFFECT: ToolEffect = ToolEffect::Removes;
    const IS_STANDARD: bool = false;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        let Self { action, name, content, description, frame } = self;
        let frame = call.own(frame.as_deref())?;
        let heap = call.stack.heap(frame);
        let text = match action {
            Action::List => {
                let lines = chunk_lines(&heap)?;
                if lines.is_empty() { "There are no texts on the heap.".to_owned() } else { lines.join("\n") }
            }
            Action::Read => heap.chunk(&name)?.1.content,
            Action::Free => {
                heap.free(&name)?;
                format!("{name} is free.")
            }
            Action::Write => {
                let Some(content) = content else { return Err("write needs the text: content".into()) };
                if heap.chunk(&name).is_ok() {
                    heap.write(&name, content)?;
                } else {
                    heap.allocate(NewChunk::new(&name).content(content).description(description))?;
                }
                let usage = call.stack.look(|tree| HeapUsage::of(tree, frame, call.settings.heap_ceiling));
                let cut = not_whole(&heap, call.settings, Some("heap with read"));
                format!("{}{cut}", stored("kept", &name, usage))
            }
        };
        Ok(call.answer_from(Some(frame), text))
    }
}
