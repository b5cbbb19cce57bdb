//! The options of a server.

use callstack_core::{Durability, StackOptions};

/// The options of a [`PostgresServer`](crate::PostgresServer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The failures that an acknowledged commit survives. [`Durability::Normal`], the default, leaves that to
    /// the server's setting `synchronous_commit`, which is `on` unless it was changed. [`Durability::Full`]
    /// waits in any case until the server has the commit on its disk, and on the disks of its synchronous
    /// standbys.
    pub durability: Durability,
    /// Maximum wait for other processes before a call fails, in milliseconds. If it is more than 2,000, it is
    /// also the maximum wait for an answer of the server. Default 10,000.
    pub busy_timeout: u64,
    /// Time after which the server ends the transaction of a process that does not continue, because it was
    /// stopped or cut off, in milliseconds. Other processes wait for the transaction that long. A process
    /// that continues later commits again, if no other process has committed meanwhile. A history that
    /// [`Stack::rebuild_in_store`](callstack_core::Stack::rebuild_in_store) reads may not pause for longer.
    /// Default 5,000; at least 1,000.
    pub idle_timeout: u64,
    /// Maximum number of connections for commands at the same time; queries can have as many more. Default 8.
    pub connections: usize,
    /// True: each commit notifies [listeners](crate::Listener). It makes the commits of all stacks of the
    /// server wait for each other. Default false.
    pub notifies: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            busy_timeout: 10_000,
            idle_timeout: 5_000,
            connections: 8,
            notifies: false,
        }
    }
}

impl PostgresOptions {
    /// The options of a server for a stack with these options.
    pub fn of(options: &StackOptions) -> Self {
        let StackOptions { durability, busy_timeout, .. } = *options;
        Self { durability, busy_timeout, ..Self::default() }
    }

    /// Sets [`durability`](PostgresOptions::durability).
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Sets [`busy_timeout`](PostgresOptions::busy_timeout), in milliseconds.
    #[must_use]
    pub fn busy_timeout(self, busy_timeout: u64) -> Self {
        Self { busy_timeout, ..self }
    }

    /// Sets [`idle_timeout`](PostgresOptions::idle_timeout), in milliseconds.
    #[must_use]
    pub fn idle_timeout(self, idle_timeout: u64) -> Self {
        Self { idle_timeout, ..self }
    }

    /// Sets [`connections`](PostgresOptions::connections).
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Self { connections, ..self }
    }

    /// Sets [`notifies`](PostgresOptions::notifies).
    #[must_use]
    pub fn notifies(self, notifies: bool) -> Self {
        Self { notifies, ..self }
    }
}
