//! What the runner needs of a model.

use std::fmt;
use std::time::Duration;

use callstack_core::memory::{Prompt, Reply};
use serde_json::Value;

/// A tool as a model is told of it.
pub struct Offer {
    pub name: &'static str,
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// What a model has answered.
pub struct Answer {
    pub reply: Reply,
    /// Tokens of the prompt, as the provider counts them.
    pub prompt_tokens: Option<u64>,
}

/// Something that answers prompts.
pub trait Model {
    /// Asks once. `on_text` gets the text of the answer as it comes.
    async fn ask(&self, prompt: &Prompt, tools: &[Offer], on_text: &mut dyn FnMut(&str)) -> Result<Answer, ModelError>;
}

/// Why there is no answer.
#[derive(Debug)]
pub enum ModelError {
    /// It may come if the same is asked again, perhaps after a time that the model has named.
    Later { problem: String, after: Option<Duration> },
    /// Nothing can be reached there. Before the first answer that means a wrong address, later a bad moment.
    Unreachable { problem: String },
    /// It will not come. The text says what to do.
    Never { problem: String },
}

impl fmt::Display for ModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Later { problem, .. } | Self::Unreachable { problem } | Self::Never { problem }) = self;
        formatter.write_str(problem)
    }
}
