//! The connections to a database that the stacks of this process share.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::{Error, Result};
use parking_lot::{Condvar, Mutex};

use crate::connection::{Connection, deadline_after};
use crate::errors::Failure;
use crate::options::PostgresOptions;
use crate::url::ServerUrl;

/// Waits between two attempts to reach a server.
const SHORTEST_WAIT: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// An attempt with less time would only say that there was no answer, and hide why the attempt before it has
/// failed.
const LEAST_ATTEMPT: Duration = Duration::from_millis(250);
/// Maximum wait for the answer to a change of grants, or to the removal of a stack.
const CHANGE_PATIENCE: Duration = Duration::from_secs(120);
/// Maximum time of one attempt to connect, so that another host of the URL can be tried.
const ATTEMPT: Duration = Duration::from_secs(5);

/// The connections to a database. Clones share them.
#[derive(Clone)]
pub(crate) struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    url: ServerUrl,
    options: PostgresOptions,
    state: Mutex<State>,
    /// A connection was given back.
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    /// Numbers of commands and of queries that have a connection.
    commands: usize,
    queries: usize,
}

/// The purpose of a connection. Commands and queries have separate limits, so a query does not wait for the
/// commands that wait for each other.
#[derive(Clone, Copy)]
pub(crate) enum Use {
    Command,
    Query,
}

impl State {
    fn users(&mut self, of: Use) -> &mut usize {
        match of {
            Use::Command => &mut self.commands,
            Use::Query => &mut self.queries,
        }
    }
}

impl Pool {
    pub(crate) fn of(url: ServerUrl, options: PostgresOptions) -> Self {
        Self { inner: Arc::new(Inner { url, options, state: Mutex::default(), freed: Condvar::new() }) }
    }

    /// The URL for messages.
    pub(crate) fn shown(&self) -> &str {
        &self.inner.url.shown
    }

    pub(crate) fn url(&self) -> &ServerUrl {
        &self.inner.url
    }

    pub(crate) fn options(&self) -> &PostgresOptions {
        &self.inner.options
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_millis(self.inner.options.busy_timeout)
    }

    /// Asks the server something that changes nothing, or that can be asked twice. Repeats it while the
    /// connection is lost.
    pub(crate) fn ask<T>(
        &self,
        patience: Duration,
        mut request: impl FnMut(&mut Connection, Instant) -> Result<T, Failure>,
    ) -> Result<T> {
        let deadline = deadline_after(patience);
        let asked = self.persist(deadline, |pool| {
            let mut connection = pool.take(Use::Query, deadline)?;
            let answer = request(&mut connection, deadline);
            pool.give_back(Use::Query, connection);
            answer
        });
        asked.map_err(Failure::without_change)
    }

    /// Changes something outside of a stack's commands, which may take long. If no answer comes, it is not
    /// known whether the change was made.
    pub(crate) fn change<T>(&self, request: impl FnMut(&mut Connection, Instant) -> Result<T, Failure>) -> Result<T> {
        self.ask(self.patience().max(CHANGE_PATIENCE), request).map_err(|error| match error {
            Error::Disconnected { path, message, .. } => Error::disconnected(path, message, true),
            other => other,
        })
    }

    /// Calls `run`, and repeats it with growing waits while the connection is lost, until the deadline.
    pub(crate) fn persist<T>(
        &self,
        deadline: Instant,
        mut run: impl FnMut(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut wait = SHORTEST_WAIT;
        loop {
            match run(self) {
                Err(Failure::Lost(error)) => {
                    // The other connections are probably lost too.
                    self.inner.state.lock().idle.clear();
                    if Instant::now() + wait + LEAST_ATTEMPT >= deadline {
                        return Err(Failure::Lost(error));
                    }
                    thread::sleep(wait);
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                done => return done,
            }
        }
    }

    /// A connection for a command or a query. Waits while too many commands or queries have one.
    pub(crate) fn take(&self, of: Use, deadline: Instant) -> Result<Connection, Failure> {
        let begun = Instant::now();
        let mut state = self.inner.state.lock();
        while *state.users(of) >= self.connections() {
            if self.inner.freed.wait_until(&mut state, deadline).timed_out() {
                let waited = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                return Err(Failure::Refused(Error::Busy { path: self.shown().to_owned(), waited }));
            }
        }
        *state.users(of) += 1;
        drop(state);
        self.idle_or_new(deadline).inspect_err(|_| self.free(of))
    }

    /// Ends the use of a connection.
    pub(crate) fn give_back(&self, of: Use, connection: Connection) {
        self.keep(connection);
        self.free(of);
    }

    fn free(&self, of: Use) {
        *self.inner.state.lock().users(of) -= 1;
        self.inner.freed.notify_all();
    }

    /// The maximum number of connections for commands, and of those for queries.
    fn connections(&self) -> usize {
        self.inner.options.connections.max(1)
    }

    /// A connection that is not used, or a new one.
    pub(crate) fn idle_or_new(&self, deadline: Instant) -> Result<Connection, Failure> {
        let idle = self.inner.state.lock().idle.pop();
        if let Some(connection) = idle.filter(Connection::is_usable) {
            return Ok(connection);
        }
        let limit = deadline.saturating_duration_since(Instant::now()).min(ATTEMPT);
        Connection::open(&self.inner.url, limit)
    }

    /// Keeps a connection for the next caller.
    pub(crate) fn keep(&self, connection: Connection) {
        let mut state = self.inner.state.lock();
        if connection.is_usable() && state.idle.len() < 2 * self.connections() {
            state.idle.push(connection);
        }
    }
}
