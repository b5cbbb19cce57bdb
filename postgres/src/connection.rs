//! One connection to a server, used by one thread at a time.
//!
//! It uses `tokio-postgres`, and not the synchronous crate around it, because only `tokio-postgres` can send
//! the requests of a commit together, and give a request up after a time.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::Error;
use futures_util::future::{BoxFuture, FutureExt, MaybeDone, TryFutureExt, maybe_done};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, SimpleQueryMessage, SimpleQueryRow};

use crate::errors::Failure;
use crate::url::ServerUrl;

/// The time until which an answer is awaited. `patience` is the wait for other users of the stack. The server
/// gets some time in any case, so that a call that has waited for other users does not give its commit up.
pub(crate) fn deadline_after(patience: Duration) -> Instant {
    Instant::now() + patience.clamp(ANSWER_PATIENCE, LONGEST_PATIENCE)
}

/// Shortest time for which an answer is awaited.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// Longest time for which an answer is awaited.
pub(crate) const LONGEST_PATIENCE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The values of a statement, with their types. With the types, a statement needs neither a round trip to
/// prepare it, nor a name that a pooler between here and the server would have to know.
pub(crate) type Values = Vec<(Box<dyn ToSql + Sync + Send>, Type)>;

/// A value of a statement, with its type.
pub(crate) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// A statement that writes, to be sent together with others.
pub(crate) struct Write {
    pub(crate) sql: &'static str,
    pub(crate) values: Values,
}

impl Write {
    fn borrowed(&self) -> Vec<Value<'_>> {
        self.values.iter().map(|(value, of)| (&**value as &(dyn ToSql + Sync), of.clone())).collect()
    }
}

/// A connection, with a runtime of its own that drives it while a call waits. No thread runs in between.
pub(crate) struct Connection {
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
    client: Client,
    place: String,
    /// False once an answer is missing, or the connection is closed.
    is_usable: bool,
}

impl Connection {
    /// Connects to the server, in at most this time.
    pub(crate) fn open(server: &ServerUrl, limit: Duration) -> Result<Self, Failure> {
        let connector = crate::tls::connector(&server.verification)?;
        let (runtime, client) = in_new_runtime(server, limit, async {
            let (client, connection) = server.config.connect(connector).await?;
            tokio::spawn(connection);
            Ok(client)
        })?;
        Ok(Self { runtime: Some(runtime), client, place: server.shown.clone(), is_usable: true })
    }

    /// Runs statements without values, separated by semicolons, in one round trip. Returns their rows, whose
    /// values are texts.
    pub(crate) fn run(&mut self, sql: &str, deadline: Instant) -> Result<Vec<SimpleQueryRow>, Failure> {
        let messages = self.wait(deadline, |client| client.simple_query(sql).boxed())?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Runs a statement that reads.
    pub(crate) fn rows(&mut self, sql: &str, values: &[Value<'_>], deadline: Instant) -> Result<Vec<Row>, Failure> {
        self.wait(deadline, |client| client.query_typed(sql, values).boxed())
    }

    /// Runs statements that write, and then `end`, in one round trip. If one fails, the transaction is rolled
    /// back at its end.
    pub(crate) fn write(&mut self, writes: &[Write], end: Option<&str>, deadline: Instant) -> Result<(), Failure> {
        let values: Vec<Vec<Value<'_>>> = writes.iter().map(Write::borrowed).collect();
        self.wait(deadline, |client| {
            let requests = writes
                .iter()
                .zip(&values)
                .map(|(write, values)| client.execute_typed(write.sql, values).map_ok(drop).boxed());
            let end = end.map(|end| client.batch_execute(end).boxed());
            let requests: Vec<_> = requests.chain(end).collect();
            in_order(requests).map(|answers| answers.into_iter().collect()).boxed()
        })
    }

    /// True if requests can be sent.
    pub(crate) fn is_usable(&self) -> bool {
        self.is_usable && !self.client.is_closed()
    }

    /// Waits for the answer to a request until the deadline.
    fn wait<'a, T: Send>(
        &'a mut self,
        deadline: Instant,
        request: impl FnOnce(&'a Client) -> BoxFuture<'a, Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        let limit = deadline.saturating_duration_since(Instant::now());
        let Self { runtime: Some(runtime), client, place, is_usable } = self else { unreachable!("it is dropped") };
        let failure = match block_on(runtime, within(limit, request(client))) {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(error)) => Failure::of(place, error),
            None => Failure::timeout(place, limit),
        };
        // A server that has become a standby refuses to write; another connection may find the new primary.
        *is_usable &= matches!(&failure, Failure::Refused(error) if !matches!(error, Error::ReadOnly { .. }));
        Err(failure)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A plain drop of a runtime panics inside of another runtime, and a host can have one.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// Connects in a runtime of its own, in at most this time. Returns the runtime, and what `connecting` has
/// made there.
pub(crate) fn in_new_runtime<T: Send>(
    server: &ServerUrl,
    limit: Duration,
    connecting: impl Future<Output = Result<T, tokio_postgres::Error>> + Send,
) -> Result<(Runtime, T), Failure> {
    let made = Builder::new_current_thread().enable_all().build();
    let runtime = made.map_err(|error| Error::io("connect to", &server.shown, error.to_string()))?;
    let failure = match block_on(&runtime, within(limit, connecting)) {
        Some(Ok(connected)) => return Ok((runtime, connected)),
        Some(Err(error)) => Failure::of(&server.shown, error),
        None => Failure::timeout(&server.shown, limit),
    };
    runtime.shutdown_background();
    Err(failure)
}

/// Waits for a future. A thread that already runs a runtime of the host may not wait in another one, so a
/// separate thread waits.
pub(crate) fn block_on<F>(runtime: &Runtime, future: F) -> F::Output
where
    F: Future + Send,
    F::Output: Send,
{
    if Handle::try_current().is_err() {
        return runtime.block_on(future);
    }
    thread::scope(|scope| scope.spawn(|| runtime.block_on(future)).join()).unwrap_or_else(|panic| resume_unwind(panic))
}

/// The result of a future; `None` if it takes longer than the limit.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(limit, future).await.ok()
}

/// Waits for all futures. They are polled in their order, so their requests are sent in this order, and
/// together.
async fn in_order<F: Future + Unpin>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<MaybeDone<F>> = futures.into_iter().map(maybe_done).collect();
    poll_fn(|context| {
        let pending = futures.iter_mut().filter_map(|future| Pin::new(future).poll(context).is_pending().then_some(()));
        if pending.count() == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    futures.iter_mut().filter_map(|future| Pin::new(future).take_output()).collect()
}
