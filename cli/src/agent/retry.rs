//! Repeats requests that have failed temporarily, with increasing waits.

use std::cell::Cell;
use std::time::Duration;

use callstack_core::memory::Prompt;
use tokio::time::sleep;

use super::model::{Answer, Model, ModelError, Offer};

/// Maximum wait between two requests, unless the provider asks for a longer one.
const LONGEST: Duration = Duration::from_secs(60);

/// A model whose requests are repeated after temporary problems.
pub struct Patient<M> {
    model: M,
    /// Maximum number of repetitions of a request.
    retries: u32,
    /// The wait before the first repetition. It doubles with each further one.
    delay: Duration,
    /// True if the model has answered at least once.
    has_answered: Cell<bool>,
}

impl<M: Model> Patient<M> {
    pub fn new(model: M, retries: u32, delay: Duration) -> Self {
        Self { model, retries, delay, has_answered: Cell::new(false) }
    }

    /// Repeats a request until there is an answer, a permanent problem, or no repetition left. `on_wait` is called
    /// before each wait, with the problem and the duration.
    pub async fn ask(
        &self,
        prompt: &Prompt,
        tools: &[Offer],
        on_text: &mut dyn FnMut(&str),
        mut on_wait: impl FnMut(&str, Duration),
    ) -> Result<Answer, ModelError> {
        for attempt in 0.. {
            let error = match self.model.ask(prompt, tools, on_text).await {
                Ok(answer) => {
                    self.has_answered.set(true);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let after = match &error {
                ModelError::Later { after, .. } => *after,
                ModelError::Unreachable { .. } if self.has_answered.get() => None,
                ModelError::Unreachable { .. } | ModelError::Never { .. } => return Err(error),
            };
            if attempt == self.retries {
                return Err(error);
            }
            let doubled = self.delay.saturating_mul(2u32.saturating_pow(attempt)).min(LONGEST);
            let wait = after.unwrap_or(doubled);
            on_wait(&error.to_string(), wait);
            sleep(wait).await;
        }
        unreachable!("the loop ends by returning")
    }
}
