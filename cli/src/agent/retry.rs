//! Asks again when that may help, later each time.

use std::cell::Cell;
use std::time::Duration;

use callstack_core::memory::Prompt;
use tokio::time::sleep;

use super::model::{Answer, Model, ModelError, Offer};

/// The longest wait between two requests, unless the model asks for more.
const LONGEST: Duration = Duration::from_secs(60);

/// A model that is asked several times if need be.
pub struct Patient<M> {
    model: M,
    /// How many times a request is repeated.
    retries: u32,
    /// The wait before the first repetition; each further one is twice as long.
    delay: Duration,
    /// Whether it has ever answered.
    has_answered: Cell<bool>,
}

impl<M: Model> Patient<M> {
    pub fn new(model: M, retries: u32, delay: Duration) -> Self {
        Self { model, retries, delay, has_answered: Cell::new(false) }
    }

    /// Asks until there is an answer, or no hope. `on_wait` is told why and how long this waits.
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
