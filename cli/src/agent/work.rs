//! The loop of the agent: asks the model and executes its tool calls, until the task is done or the run must stop.

use callstack_core::context::{Approx, TokenCounter};
use callstack_core::frame::{MemoryModel, Message, ToolCall};
use callstack_core::memory::{Next, Prompt};
use callstack_core::tools;
use callstack_core::{FrameStatus, Handle, Stack};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::model::{Answer, Model, Offer};
use super::progress::Progress;
use super::retry::Patient;
use super::workspace::Workspace;

/// The limits at which the run stops.
pub struct Limits {
    /// Maximum number of steps of this process.
    pub steps: u64,
    /// Maximum number of times that the model makes the same tool call in a row.
    pub repeats: usize,
}

/// The end of the work.
pub enum End {
    /// The root frame was popped.
    Done { results: String },
    /// A limit was reached. The run can be resumed.
    Stopped { reason: String },
    /// A signal has interrupted it. The run can be resumed.
    Interrupted,
}

/// An agent: its run, model, workspace and limits.
pub struct Agent<M> {
    stack: Stack,
    run: Handle,
    memory: MemoryModel,
    /// The tools that the model can call.
    offers: Vec<Offer>,
    /// Size of the tools' descriptions and schemas in a request, in tokens.
    offer_tokens: usize,
    model: Patient<M>,
    workspace: Workspace,
    limits: Limits,
    progress: Progress,
}

impl<M: Model> Agent<M> {
    /// Creates the agent of a run.
    pub fn new(
        stack: Stack,
        run: Handle,
        model: Patient<M>,
        workspace: Workspace,
        limits: Limits,
    ) -> Result<Self, String> {
        let memory = stack.run(run).status().map_err(text)?.settings.memory;
        let of_memory = tools::memory_tools(memory).into_iter().map(|tool| Offer {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        });
        let offers: Vec<Offer> = of_memory.chain(Workspace::offers()).collect();
        let of_offer = |offer: &Offer| Approx.count(&offer.description) + Approx.count(&offer.parameters.to_string());
        let offer_tokens = offers.iter().map(of_offer).sum();
        let progress = Progress::default();
        Ok(Self { stack, run, memory, offers, offer_tokens, model, workspace, limits, progress })
    }

    /// Works until the run ends. `is_resumed`: another process, which may have been killed, has started the run.
    pub async fn work(mut self, is_resumed: bool) -> Result<End, String> {
        let mut interrupts = Interrupts::new()?;
        self.progress.begin(&self.stack, self.run);
        // The earlier process may have started the tool call that is next, but not recorded its answer.
        let mut was_begun = is_resumed;
        let mut steps = 0;
        loop {
            match self.stack.run(self.run).next().map_err(text)? {
                Next::Over { status: FrameStatus::Completed, results } => {
                    self.progress.end();
                    return Ok(End::Done { results });
                }
                Next::Over { status, .. } => return Err(format!("the run is {status}: another program has ended it")),
                Next::Call(call) => {
                    tokio::select! {
                        dealt = self.deal(&call, was_begun) => dealt?,
                        () = interrupts.next() => return Ok(End::Interrupted),
                    }
                }
                Next::Ask(prompt) => {
                    if let Some(reason) = self.reached_limit(steps)? {
                        return Ok(End::Stopped { reason });
                    }
                    steps += 1;
                    tokio::select! {
                        asked = self.ask(&prompt) => asked?,
                        () = interrupts.next() => return Ok(End::Interrupted),
                    }
                }
                other => return Err(format!("this version of the program cannot do what the run needs: {other:?}")),
            }
            was_begun = false;
        }
    }

    /// The reason to stop after this number of steps, if a limit is reached.
    fn reached_limit(&self, steps: u64) -> Result<Option<String>, String> {
        if steps >= self.limits.steps {
            return Ok(Some(format!("the limit of {steps} steps is reached (--max-steps)")));
        }
        let repeats = self.stack.run(self.run).status().map_err(text)?.repeats;
        let is_stuck = steps > 0 && repeats >= self.limits.repeats;
        Ok(is_stuck.then(|| format!("the model has made the same call {repeats} times in a row (--max-repeats)")))
    }

    async fn ask(&mut self, prompt: &Prompt) -> Result<(), String> {
        self.progress.step(&self.stack, prompt, tokens(prompt) + self.offer_tokens);
        let progress = &self.progress;
        let on_text = &mut |part: &str| progress.text(part);
        let asked = self.model.ask(prompt, &self.offers, on_text, |problem, wait| progress.wait(problem, wait)).await;
        let Answer { reply, prompt_tokens } = asked.map_err(text)?;
        self.progress.answered(prompt_tokens);
        self.stack.run(self.run).reply(reply).map_err(text)
    }

    async fn deal(&mut self, call: &ToolCall, was_begun: bool) -> Result<(), String> {
        self.progress.call(call);
        if let Some(operation) = tools::operation(self.memory, call) {
            let events = self.stack.run(self.run).operate(&call.id, operation).map_err(text)?;
            self.progress.operated(&self.stack, self.run, &events);
            return Ok(());
        }
        let answered = self.workspace.call(&call.name, &call.arguments).await;
        let (mut answer, is_error) = match answered {
            Some(Ok(answer)) => (answer, false),
            Some(Err(problem)) => (format!("{}: {problem}", call.name), true),
            None => {
                let names: Vec<&str> = self.offers.iter().map(|offer| offer.name).collect();
                (format!("{}: there is no such tool; there are {}", call.name, names.join(", ")), true)
            }
        };
        if was_begun && call.name == "run_command" {
            answer.push_str("\n[the run was interrupted here, so this command may have run twice]");
        }
        self.progress.answer(&answer, is_error);
        self.stack.run(self.run).answer(&call.id, answer, is_error).map_err(text)
    }
}

/// The signals SIGINT and SIGTERM.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    fn new() -> Result<Self, String> {
        let of = |kind| signal(kind).map_err(text);
        Ok(Self { interrupt: of(SignalKind::interrupt())?, terminate: of(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// The estimated size of a prompt without the tools, in tokens.
fn tokens(prompt: &Prompt) -> usize {
    let of_message = |message: &Message| {
        let calls = match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        };
        let of_calls = calls.iter().map(|call| Approx.count(&call.name) + Approx.count(&call.arguments));
        Approx.count(message.text()) + of_calls.sum::<usize>()
    };
    let messages = prompt.messages.iter().map(|message| of_message(message));
    Approx.count(&prompt.system) + messages.sum::<usize>()
}
