//! `callstack compact`: removes the events of finished trees, and old logs.

use std::io;
use std::time::Duration;

use callstack_core::LogLimits;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::next;
use crate::clock::now;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Page, Report, count, number};
use crate::same_stack::SameStack;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Args)]
pub struct Arguments {
    /// Remove the events of trees in which nothing is unfinished, and to which nothing was added for this
    /// number of days. Their frames keep all texts. But nothing shows any more when the frames began, waited
    /// and ended: not `history`, `show`, `view`, `watch` or exports.
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    days: u64,
    /// Remove logs of finished frames to which nothing was added for this number of days.
    #[arg(long, value_name = "DAYS")]
    log_days: Option<u64>,
    /// Remove the oldest logs of finished frames, until all logs together have at most this number of
    /// megabytes.
    #[arg(long, value_name = "MEGABYTES")]
    log_megabytes: Option<u64>,
}

/// What was removed. Sizes are in bytes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    /// Number of trees whose events were removed.
    trees: usize,
    /// Number of events that were removed.
    events: u64,
    /// Size of the database with its log before.
    bytes_before: u64,
    /// Size of the database with its log afterwards.
    bytes_after: u64,
    /// Number of logs that were removed.
    logs: usize,
    /// Their size.
    log_bytes: u64,
    #[serde(skip)]
    days: u64,
    #[serde(skip)]
    same_stack: SameStack,
}

impl Report for Compacted {
    const KIND: &'static str = "compacted";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.events > 0 {
            let removed = format!("{} of {}", count(self.events as usize, "event"), count(self.trees, "finished tree"));
            // A server does not say how much room a stack takes there.
            let sizes = match self.bytes_before {
                0 => String::new(),
                before => {
                    format!("; the database has {} bytes now, {} before", number(self.bytes_after), number(before))
                }
            };
            page.text(0, &format!("removed {removed}{sizes}"))?;
        } else if self.days == 0 {
            page.text(0, "no finished tree has events that can be removed")?;
        } else {
            page.text(
                0,
                &format!("no finished tree has events that are all older than {}", count(self.days as usize, "day")),
            )?;
        }
        if self.logs > 0 {
            page.text(0, &format!("removed {}, {} bytes", count(self.logs, "log"), number(self.log_bytes)))?;
        }
        next(page, &self.same_stack, "callstack doctor")
    }
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Compacted, Failure> {
    let stack = folder.open_to_write()?;
    let compaction = stack.history().compact(days_ago(arguments.days))?;
    let mut limits = LogLimits::default();
    (limits.before, limits.bytes) = (arguments.log_days.map(days_ago), arguments.log_megabytes.map(bytes));
    let pruned = stack.files().prune_logs(limits)?;
    Ok(Compacted {
        trees: compaction.trees,
        events: compaction.events,
        bytes_before: compaction.bytes_before,
        bytes_after: compaction.bytes_after,
        logs: pruned.files,
        log_bytes: pruned.bytes,
        days: arguments.days,
        same_stack: folder.same_stack(),
    })
}

fn bytes(megabytes: u64) -> u64 {
    megabytes.saturating_mul(1_000_000)
}

/// The time that is this number of days ago, in milliseconds since the Unix epoch. For 0 days it is the time
/// after everything.
fn days_ago(days: u64) -> u64 {
    if days == 0 {
        return u64::MAX;
    }
    let days = u32::try_from(days).unwrap_or(u32::MAX);
    let days = u64::try_from(DAY.saturating_mul(days).as_millis()).unwrap_or(u64::MAX);
    now().saturating_sub(days)
}
