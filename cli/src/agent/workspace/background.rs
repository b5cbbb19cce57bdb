//! Background commands: they run until they end, until a tool call ends them, or until the agent's process
//! ends.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Workspace;
use super::command::DRAIN;
use super::group::{Group, said, with_last_line};
use super::output::Output;
use crate::run_lock::BackgroundCommand;

/// Time that a command has to end after it is asked to end. Then it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// Time for which the start of a command is observed, so that the model learns at once that it has failed.
const OBSERVED: Duration = Duration::from_secs(1);
/// Maximum number of commands that run at the same time, and of ended ones that are listed.
const MOST: usize = 16;
/// Default length of an output that is read, in characters.
const READ: usize = 4_000;

/// The background commands of a workspace.
#[derive(Default)]
pub(super) struct Background {
    /// Oldest first.
    started: RefCell<Vec<Started>>,
    /// Number of commands that have been started, by earlier processes of the run too.
    count: RefCell<u64>,
}

struct Started {
    known: BackgroundCommand,
    begin: Instant,
    state: Arc<State>,
    task: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    seen: Mutex<Seen>,
    /// The request to end the command.
    end: Notify,
}

#[derive(Default)]
struct Seen {
    output: Output,
    /// How the command has ended, and after how much time.
    end: Option<(String, Duration)>,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the output of a command until it has ended.
    async fn follow(self: Arc<Self>, mut group: Group, begin: Instant) {
        let push = |bytes: &[u8]| self.lock().output.push(bytes);
        let ended = tokio::select! {
            ended = group.follow(push) => Some(ended),
            () = self.end.notified() => None,
        };
        let end = match ended {
            Some(ended) => said(ended),
            None => {
                group.terminate();
                let _ = timeout(GRACE, group.follow(push)).await;
                "[ended by end_command]".into()
            }
        };
        group.kill();
        let _ = timeout(DRAIN, group.drain(push)).await;
        self.lock().end = Some((end, begin.elapsed()));
    }
}

impl Started {
    fn is_running(&self) -> bool {
        self.state.lock().end.is_none()
    }

    fn status(&self) -> String {
        match &self.state.lock().end {
            None => format!("[running for {} s]", self.begin.elapsed().as_secs()),
            Some((end, time)) => format!("{end} after {} s", time.as_secs()),
        }
    }
}

impl Workspace {
    /// Continues the numbers of an earlier process, so that no ID is used twice in a run.
    pub fn continue_numbers(&self, count: u64) {
        *self.background.count.borrow_mut() = count;
    }

    /// Number of background commands that the run has started so far.
    pub fn background_count(&self) -> u64 {
        *self.background.count.borrow()
    }

    /// The background commands that run.
    pub fn running(&self) -> Vec<BackgroundCommand> {
        let started = self.background.started.borrow();
        started.iter().filter(|started| started.is_running()).map(|started| started.known.clone()).collect()
    }

    /// Starts a background command. Returns its ID, and its output if it ends at once.
    pub(super) async fn start_in_background(&self, command: &str) -> Result<String, String> {
        if self.running().len() >= MOST {
            return Err(format!("{MOST} background commands run already; end one with end_command"));
        }
        let (group, begin, state) = (self.start(command)?, Instant::now(), Arc::<State>::default());
        let id = {
            let mut count = self.background.count.borrow_mut();
            *count += 1;
            format!("c{count}")
        };
        let mut task = tokio::spawn(state.clone().follow(group, begin));
        let has_ended = timeout(OBSERVED, &mut task).await.is_ok();
        let known = BackgroundCommand { id: id.clone(), command: command.to_owned() };
        let started = Started { known, begin, state, task: Some(task).filter(|_| !has_ended) };
        let answer = match has_ended {
            true => format!("{id} has ended already. {}", answer(&started, READ)),
            false => format!("{id} runs in the background. {}", answer(&started, READ)),
        };
        let mut all = self.background.started.borrow_mut();
        all.push(started);
        let ended = all.iter().filter(|started| !started.is_running()).count();
        if ended > MOST
            && let Some(oldest) = all.iter().position(|started| !started.is_running())
        {
            all.remove(oldest);
        }
        Ok(answer)
    }

    pub(super) fn list_commands(&self) -> String {
        let started = self.background.started.borrow();
        let lines = started.iter().map(|started| {
            let line = started.known.command.lines().next().unwrap_or_default();
            format!("{} {}: {line}\n", started.known.id, started.status())
        });
        match lines.collect::<String>() {
            none if none.is_empty() => "[there are no background commands]".into(),
            lines => lines,
        }
    }

    pub(super) fn command_output(&self, id: &str, characters: Option<usize>) -> Result<String, String> {
        let started = self.background.started.borrow();
        let one = started.iter().find(|one| one.known.id == id).ok_or_else(|| unknown(id, &started))?;
        Ok(answer(one, characters.unwrap_or(READ)))
    }

    pub(super) async fn end_command(&self, id: &str) -> Result<String, String> {
        let task = {
            let mut started = self.background.started.borrow_mut();
            let Some(place) = started.iter().position(|one| one.known.id == id) else {
                return Err(unknown(id, &started));
            };
            started[place].state.end.notify_one();
            started[place].task.take()
        };
        if let Some(task) = task {
            let _ = task.await;
        }
        self.command_output(id, None)
    }

    /// Ends all background commands.
    pub async fn end_all(&self) {
        let started = self.background.started.take();
        started.iter().for_each(|one| one.state.end.notify_one());
        for task in started.into_iter().filter_map(|one| one.task) {
            let _ = task.await;
        }
    }
}

/// The newest output of a command, and its status.
fn answer(started: &Started, characters: usize) -> String {
    let status = started.status();
    let seen = started.state.lock();
    match seen.output.newest(characters) {
        none if none.is_empty() => format!("It has written nothing.\n{status}"),
        newest => format!("Its newest output:\n{}", with_last_line(&newest, &status)),
    }
}

fn unknown(id: &str, started: &[Started]) -> String {
    let known: Vec<&str> = started.iter().map(|one| one.known.id.as_str()).collect();
    match &known[..] {
        [] => {
            format!("there is no background command `{id}`, nor any other; start one with run_command and `background`")
        }
        known => format!("there is no background command `{id}`; there are {}", known.join(", ")),
    }
}
