//! A connection that is cut when nothing has moved on it for some time, in either direction.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::time::{Instant, Sleep, sleep};

/// A connection with a limit for its silence.
pub struct Idle<T> {
    stream: T,
    limit: Duration,
    moved: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl<T> Idle<T> {
    pub fn new(stream: T, limit: Duration) -> Self {
        Self { stream, limit, moved: Instant::now(), alarm: Box::pin(sleep(limit)) }
    }

    /// Notes that something has moved, or fails if nothing has moved for too long.
    fn watched<O>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<O>>) -> Poll<io::Result<O>> {
        if done.is_ready() {
            self.moved = Instant::now();
            return done;
        }
        // The alarm is moved only when it rings, because moving it with each byte costs more.
        while self.alarm.as_mut().poll(context).is_ready() {
            let due = self.moved + self.limit;
            if due <= Instant::now() {
                let message = format!("nothing has moved for {} seconds", self.limit.as_secs_f32());
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)));
            }
            self.alarm.as_mut().reset(due);
        }
        Poll::Pending
    }
}

impl<T: Read + Unpin> Read for Idle<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.watched(context, read)
    }
}

impl<T: Write + Unpin> Write for Idle<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watched(context, written)
    }
}

impl<T: Connection> Connection for Idle<T> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}
