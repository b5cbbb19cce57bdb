//! The loop of the agent: asks the model and executes its tool calls, until the task is done or the run must
//! stop.

use std::time::Duration;

use callstack_core::context::{Approx, TokenCounter};
use callstack_core::frame::{ModelRequest, ModelUsage, RunSettings, ToolCall};
use callstack_core::memory::{Next, Prompt};
use callstack_core::tools;
use callstack_core::{FrameStatus, Handle, Stack};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::advice::Advice;
use super::driver::Driver;
use super::failures::{failed, refused};
use super::gauge::Gauge;
use super::limits::ContextLimit;
use super::model::{Answer, Model, ModelError, Offer};
use super::progress::Progress;
use super::retry::Patient;
use super::workspace::{Done, Workspace};
use crate::failure::Failure;
use crate::output::count;
use crate::run_lock::BackgroundCommand;

/// Time between two looks at what other programs have done to the run.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The limits at which the run stops.
pub struct Limits {
    /// Maximum number of steps of this process.
    pub steps: usize,
    /// Maximum number of times that the model makes the same tool call in a row.
    pub repeats: usize,
}

/// The end of the work.
pub enum End {
    /// The root frame was popped.
    Done { run: Handle, result: String, usage: Vec<ModelUsage> },
    /// A limit was reached. The run can be resumed.
    Stopped { reason: String },
    /// A signal has interrupted it. The run can be resumed.
    Interrupted,
}

/// An agent: its run, model, workspace and limits.
pub struct Agent<M> {
    stack: Stack,
    run: Handle,
    driver: Driver,
    settings: RunSettings,
    /// The tools that the model can call.
    offers: Vec<Offer>,
    /// Estimated size of the tools' descriptions and schemas in a request, in tokens.
    offer_tokens: usize,
    model: Patient<M>,
    gauge: Gauge,
    workspace: Workspace,
    limits: Limits,
    advice: Advice,
    progress: Progress,
    /// Background commands of an earlier process. They have ended with it, and the model has not been told
    /// yet.
    ended: Vec<BackgroundCommand>,
}

/// A run that this process drives.
pub struct Driven {
    pub stack: Stack,
    pub run: Handle,
    pub driver: Driver,
}

impl Driven {
    /// Sends the model an instruction of the person.
    pub fn tell(&self, instruction: &str) -> callstack_core::Result<()> {
        let run = self.stack.run(self.run);
        let note = match run.status()?.depth {
            0 => "",
            _ => "\n\n(No other frame has this message. Put what the frames above must know of it into your result.)",
        };
        run.tell(format!("{instruction}{note}"))
    }
}

impl<M: Model> Agent<M> {
    /// Creates the agent of a run.
    pub fn new(
        driven: Driven,
        model: Patient<M>,
        gauge: Gauge,
        workspace: Workspace,
        limits: Limits,
        progress: Progress,
    ) -> Result<Self, Failure> {
        let Driven { stack, run, driver } = driven;
        let settings = stack.run(run).status()?.settings;
        let of_memory = tools::memory_tools(&settings).into_iter().map(|tool| Offer {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        });
        let offers: Vec<Offer> = of_memory.chain(workspace.offers()).collect();
        let of_offer = |offer: &Offer| Approx.count(&offer.description) + Approx.count(&offer.parameters.to_string());
        let offer_tokens = offers.iter().map(of_offer).sum();
        workspace.continue_numbers(driver.earlier.commands_started);
        let ended = driver.earlier.commands.clone();
        Ok(Self {
            stack,
            run,
            driver,
            settings,
            offers,
            offer_tokens,
            model,
            gauge,
            workspace,
            limits,
            advice: Advice::from_environment(),
            progress,
            ended,
        })
    }

    /// Works until the run ends, and ends all background commands. `is_resumed`: another process has started
    /// the run. That process may have been killed.
    pub async fn work(mut self, is_resumed: bool) -> Result<End, Failure> {
        let mut interrupts = Interrupts::new()?;
        self.progress.begin(&self.stack, self.run);
        let end = self.steps(&mut interrupts, is_resumed).await;
        if matches!(end, Ok(End::Interrupted))
            && let Some((frame, request)) = self.model.give_up()
        {
            self.stack.record_usage(frame, request)?;
        }
        self.workspace.end_all().await;
        self.progress.end(&self.stack, self.run);
        end
    }

    async fn steps(&mut self, interrupts: &mut Interrupts, is_resumed: bool) -> Result<End, Failure> {
        // The earlier process may have started the tool call that is next, but not recorded its answer.
        let mut was_begun = is_resumed;
        let mut steps = 0;
        loop {
            self.stack.upkeep().poll();
            match self.stack.run(self.run).next()? {
                Next::Over { status: FrameStatus::Completed, results } => {
                    let usage = self.stack.usage(self.run)?.total;
                    return Ok(End::Done { run: self.run, result: results, usage });
                }
                Next::Over { status, .. } => {
                    return Err(refused("over", format!("the run is {status}: another program has ended it")));
                }
                Next::Call(call) => {
                    let over = over(self.stack.clone(), self.run);
                    tokio::select! {
                        dealt = self.deal(&call, was_begun) => dealt?,
                        () = over => {}
                        () = interrupts.next() => return Ok(End::Interrupted),
                    }
                }
                Next::Ask(prompt) => {
                    if !self.ended.is_empty() {
                        self.tell_of_ended_commands()?;
                        continue;
                    }
                    if let Some(reason) = self.reached_limit(steps)? {
                        return Ok(End::Stopped { reason });
                    }
                    steps += 1;
                    let over = over(self.stack.clone(), self.run);
                    tokio::select! {
                        asked = self.ask(&prompt) => asked?,
                        () = over => {}
                        () = interrupts.next() => return Ok(End::Interrupted),
                    }
                }
                other => {
                    return Err(failed(format!("this version of the program cannot do what the run needs: {other:?}")));
                }
            }
            was_begun = false;
        }
    }

    /// The reason to stop after this number of steps, if a limit is reached.
    fn reached_limit(&self, steps: usize) -> Result<Option<String>, Failure> {
        if steps >= self.limits.steps {
            return Ok(Some(format!("the limit of {} is reached (--max-steps)", count(steps, "step"))));
        }
        let repeats = self.stack.run(self.run).status()?.repeats;
        let is_stuck = steps > 0 && repeats >= self.limits.repeats;
        Ok(is_stuck.then(|| format!("the model has made the same call {repeats} times in a row (--max-repeats)")))
    }

    /// Asks the model, and records its reply. A prompt that is too long is shortened and sent again.
    async fn ask(&mut self, whole: &Prompt) -> Result<(), Failure> {
        loop {
            let mut prompt = whole.clone();
            let (tokens, fit) = self.gauge.fit(&mut prompt, self.offer_tokens);
            self.progress.step(&self.stack, &prompt, tokens, fit.shortened);
            let (stack, progress) = (&self.stack, &self.progress);
            let mut on_text = |part: &str| progress.text(part);
            let asked = self.model.ask(
                &prompt,
                &self.offers,
                &mut on_text,
                |frame, request| stack.record_usage(frame, request).map_err(|error| error.to_string()),
                |problem, wait| progress.wait(problem, wait),
            );
            match asked.await {
                Ok((answer, request)) => return self.answered(answer, &request),
                Err(ModelError::TooLong { problem, limit }) => {
                    self.gauge.lower(limit);
                    let (_, shorter) = self.gauge.fit(&mut whole.clone(), self.offer_tokens);
                    if shorter.size >= fit.size {
                        return Err(failed(format!(
                            "{problem}. The conversation of {} does not fit, although all that can be is shortened: use a \
                             model with a larger context, or limit the answer with --max-tokens",
                            prompt.frame
                        )));
                    }
                    self.progress.note(&format!("{problem}; trying again with a shorter prompt"));
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn answered(&mut self, answer: Answer, request: &ModelRequest) -> Result<(), Failure> {
        let counted = ModelUsage::from(request).input();
        self.gauge.set_count(counted);
        self.progress.answered(counted);
        let Answer { reply, is_window_full } = answer;
        if reply.cut {
            self.progress
                .note("the answer was cut at its maximum length (--max-tokens); the model is told to be brief");
        }
        if is_window_full {
            self.gauge.lower(ContextLimit::default());
        }
        Ok(self.stack.run(self.run).reply(reply)?)
    }

    async fn deal(&mut self, call: &ToolCall, was_begun: bool) -> Result<(), Failure> {
        self.progress.call(call);
        if let Some(events) = tools::operate(&self.stack, self.run, &self.settings, call)? {
            self.progress.operated(&self.stack, self.run, &events);
            return Ok(());
        }
        let frame = self.stack.run(self.run).status()?.frame;
        let answered = self.workspace.call(&call.name, &call.arguments).await;
        self.note_commands()?;
        let (mut answer, is_error) = match answered {
            Some(Ok(Done { answer, written })) => {
                if let Some(path) = written.filter(|_| self.settings.shared_results) {
                    // This comes before the answer: if the program is killed in between, the call is carried
                    // out again.
                    self.stack.add_artifact(frame, path)?;
                }
                (answer, false)
            }
            Some(Err(problem)) => (format!("{}: {problem}", call.name), true),
            None => {
                let names: Vec<&str> = self.offers.iter().map(|offer| offer.name).collect();
                (format!("{}: there is no such tool; there are {}", call.name, names.join(", ")), true)
            }
        };
        if was_begun && call.name == "run_command" {
            answer.push_str("\n[the run was interrupted here, so this command may have run twice]");
        }
        if let Some(advice) = self.advice.of(&self.stack, frame)? {
            answer.push_str(&format!("\n{advice}"));
        }
        self.progress.answer(&answer, is_error);
        Ok(self.stack.run(self.run).answer(&call.id, answer, is_error)?)
    }

    /// Tells the model which background commands have ended with an earlier process.
    fn tell_of_ended_commands(&mut self) -> Result<(), Failure> {
        let of = |command: &BackgroundCommand| format!("\n- {}: {}", command.id, command.command);
        self.stack.run(self.run).tell(format!(
            "The program that runs you was restarted. These background commands have ended with the earlier one; start \
             again those that are still needed:{}",
            self.ended.iter().map(of).collect::<String>()
        ))?;
        self.ended.clear();
        self.note_commands()
    }

    /// Notes which background commands run, for a process that may have to resume the run.
    fn note_commands(&mut self) -> Result<(), Failure> {
        let commands = self.ended.iter().cloned().chain(self.workspace.running()).collect();
        let recorded = self.driver.record(self.workspace.background_count(), commands);
        recorded.map_err(|error| Failure::of_file("write", "the lock of the run", &error))
    }
}

/// The signals that interrupt a run: SIGINT, SIGTERM, and SIGHUP of a terminal that is closed.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interrupts {
    fn new() -> Result<Self, Failure> {
        let of = |kind| signal(kind).map_err(failed);
        Ok(Self {
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hangup: of(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Waits until another program has ended the run.
async fn over(stack: Stack, run: Handle) {
    loop {
        sleep(LOOK_INTERVAL).await;
        // A problem of the stack is reported by the next command.
        let _ = stack.refresh();
        stack.upkeep().poll();
        if !stack.read(|tree| tree.node(run).status().is_open()).unwrap_or(true) {
            return;
        }
    }
}
