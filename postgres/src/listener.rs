//! Waiting for the commits of others without asking again and again.

use std::time::{Duration, Instant};

use callstack_core::Result;
use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client};

use crate::connection::{block_on, in_new_runtime, within};
use crate::errors::Failure;
use crate::pool::Pool;
use crate::store::{CHANNEL, PostgresStore};

/// Longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Waits for commits of a stack by writers that notify
/// ([`PostgresOptions::notifies`](crate::PostgresOptions::notifies)).
///
/// A notification is a hint: after a wait, call [`Stack::refresh`](callstack_core::Stack::refresh).
/// Notifications do not pass through a pooler in transaction mode.
pub struct Listener {
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
    /// Closes the connection when it is dropped.
    _client: Client,
    stacks: UnboundedReceiver<String>,
    stack: String,
    place: String,
}

impl Listener {
    /// Listens to the commits of a store's stack, on a connection of its own.
    ///
    /// # Errors
    /// [`Error::Disconnected`](callstack_core::Error::Disconnected); [`Error::Io`](callstack_core::Error::Io)
    /// if the server refuses it.
    pub fn of(store: &PostgresStore) -> Result<Self> {
        let (pool, stack) = store.place_in_server();
        Self::connect(pool, stack).map_err(Failure::without_change)
    }

    fn connect(pool: &Pool, stack: i64) -> Result<Self, Failure> {
        let url = pool.url();
        let connector = crate::tls::connector(&url.verification)?;
        let (sender, stacks) = unbounded_channel();
        let (runtime, client) = in_new_runtime(url, pool.patience(), async {
            let (client, mut connection) = url.config.connect(connector).await?;
            tokio::spawn(async move {
                let mut messages = poll_fn(move |context| connection.poll_message(context));
                while let Some(Ok(message)) = messages.next().await {
                    if let AsyncMessage::Notification(notification) = message {
                        // If this fails, no listener waits any more.
                        let _ = sender.send(notification.payload().to_owned());
                    }
                }
            });
            client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
            Ok(client)
        })?;
        let (stack, place) = (stack.to_string(), url.shown.clone());
        Ok(Self { runtime: Some(runtime), _client: client, stacks, stack, place })
    }

    /// Waits until a commit of the stack was notified, for at most this time. Returns false if none was.
    ///
    /// # Errors
    /// [`Error::Disconnected`](callstack_core::Error::Disconnected) if the connection is lost: then make
    /// another listener, and refresh the stack.
    pub fn wait(&mut self, limit: Duration) -> Result<bool> {
        let deadline = Instant::now() + limit.min(LONGEST_WAIT);
        let Self { runtime: Some(runtime), stacks, stack, place, .. } = self else { return Ok(false) };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match block_on(runtime, within(left, stacks.recv())) {
                None => return Ok(false),
                Some(None) => {
                    return Err(callstack_core::Error::disconnected(&*place, "the connection was closed", false));
                }
                Some(Some(found)) if found == *stack => return Ok(true),
                Some(Some(_)) => {}
            }
        }
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Listener").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
