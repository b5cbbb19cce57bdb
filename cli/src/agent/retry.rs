//! Repeats requests that have failed temporarily, with increasing waits, and meters each request.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use callstack_core::Handle;
use callstack_core::frame::ModelRequest;
use callstack_core::memory::Prompt;
use tokio::time::sleep;

use super::model::{Answer, Model, ModelError, Offer};
use super::usage::Meter;

/// Maximum wait between two requests, unless the provider asks for a longer one.
const LONGEST: Duration = Duration::from_secs(60);

/// Maximum wait that a provider can ask for. If it asks for a longer one, the run stops, and can be resumed
/// later.
const LONGEST_ASKED: Duration = Duration::from_secs(600);

/// A model whose requests are repeated after temporary problems.
pub struct Patient<M> {
    model: M,
    /// Maximum number of repetitions of a request.
    retries: u32,
    /// The wait before the first repetition. It doubles with each further one.
    delay: Duration,
    /// True if the model of the run has answered at least once.
    has_answered: Cell<bool>,
    /// The request that is being answered: its meter, its frame, and its number of messages.
    current: RefCell<Option<(Arc<Meter>, Handle, usize)>>,
}

impl<M: Model> Patient<M> {
    /// `has_answered`: whether the model of the run has answered in an earlier process.
    pub fn new(model: M, retries: u32, delay: Duration, has_answered: bool) -> Self {
        Self { model, retries, delay, has_answered: Cell::new(has_answered), current: RefCell::default() }
    }

    /// Repeats a request until there is an answer, a permanent problem, or no repetition left. `on_request`
    /// gets the frame and the record of each request. `on_wait` is called before each wait, with the problem
    /// and the duration. Returns the answer and the record of its request.
    pub async fn ask(
        &self,
        prompt: &Prompt,
        tools: &[Offer],
        on_text: &mut dyn FnMut(&str),
        on_request: impl Fn(Handle, ModelRequest) -> Result<(), String>,
        on_wait: impl Fn(&str, Duration),
    ) -> Result<(Answer, ModelRequest), ModelError> {
        for attempt in 0.. {
            let meter = Arc::new(Meter::begin());
            let messages = prompt.messages.len();
            self.current.replace(Some((meter.clone(), prompt.frame, messages)));
            let answered = self.model.ask(prompt, tools, &meter, on_text).await;
            self.current.take();
            let request = meter.request(self.model.name(), messages, answered.is_err());
            on_request(prompt.frame, request.clone()).map_err(|problem| ModelError::Never { problem })?;
            let error = match answered {
                Ok(answer) => {
                    self.has_answered.set(true);
                    return Ok((answer, request));
                }
                Err(error) => error,
            };
            let after = match &error {
                ModelError::Later { after, .. } => *after,
                ModelError::Unreachable { .. } if self.has_answered.get() => None,
                ModelError::Unreachable { .. } | ModelError::TooLong { .. } | ModelError::Never { .. } => {
                    return Err(error);
                }
            };
            if attempt == self.retries || after.is_some_and(|after| after > LONGEST_ASKED) {
                return Err(error);
            }
            let doubled = self.delay.saturating_mul(2u32.saturating_pow(attempt)).min(LONGEST);
            let wait = after.unwrap_or(doubled);
            on_wait(&error.to_string(), wait);
            sleep(wait).await;
        }
        unreachable!("the loop ends by returning")
    }

    /// Gives up the request that is being answered. Returns its frame and its record, if there is one.
    pub fn give_up(&self) -> Option<(Handle, ModelRequest)> {
        let (meter, frame, messages) = self.current.take()?;
        Some((frame, meter.request(self.model.name(), messages, true)))
    }
}
