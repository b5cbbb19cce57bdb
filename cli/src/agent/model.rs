//! The interface of a model for the agent's loop.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callstack_core::memory::{Prompt, Reply};
use serde_json::Value;

use super::limits::ContextLimit;
use super::usage::Meter;

/// A tool as it is described to a model.
pub struct Offer {
    pub name: &'static str,
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// The answer of a model.
pub struct Answer {
    pub reply: Reply,
    /// True if the prompt and the answer have filled the context window of the model.
    pub is_window_full: bool,
}

/// A model: it answers prompts.
pub trait Model {
    /// The provider's name of the model.
    fn name(&self) -> &str;

    /// Sends one request. `on_text` gets the parts of the answer's text while they arrive, and `meter` the
    /// numbers of tokens.
    async fn ask(
        &self,
        prompt: &Prompt,
        tools: &[Offer],
        meter: &Arc<Meter>,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Answer, ModelError>;
}

/// The reason why a request has no answer.
#[derive(Debug)]
pub enum ModelError {
    /// A temporary problem: the request can be repeated, after the given time if the provider has given one.
    Later { problem: String, after: Option<Duration> },
    /// No model answers at the address. Before the first answer of the run this means a wrong address, later
    /// a temporary problem.
    Unreachable { problem: String },
    /// The prompt is too long for the model. A shorter one may be answered.
    TooLong { problem: String, limit: ContextLimit },
    /// A permanent problem. The text tells the person how to solve it.
    Never { problem: String },
}

impl fmt::Display for ModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Later { problem, .. }
        | Self::Unreachable { problem }
        | Self::TooLong { problem, .. }
        | Self::Never { problem }) = self;
        formatter.write_str(problem)
    }
}
