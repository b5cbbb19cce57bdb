//! What a run has used and done, in the line at its end.

use std::io;
use std::sync::Arc;

use callstack_core::FrameStatus;
use callstack_core::frame::ModelUsage;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::folder::StackFolder;
use crate::output::{Line, Page, Report, count, number};
use crate::proxy::ProxyUsage;

/// The price of a token that is read from a cache, and of a token that is written into it, relative to a
/// token that is neither.
const READ: f64 = 0.1;
const WRITTEN: f64 = 1.25;

/// What a run of an agent has used and done.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunUsage {
    /// Number of frames that were added to the stack meanwhile.
    frames: u64,
    /// Number of frames that have been completed or failed since then.
    finished: u64,
    #[serde(flatten)]
    used: Used,
}

/// What requests have used.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Used {
    ByProxy(ProxyUsage),
    ByPlugin(PluginUsage),
}

/// What a plugin has recorded.
#[derive(Debug, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PluginUsage {
    /// Number of requests.
    requests: u64,
    /// How many of them have failed.
    failed: u64,
    /// Tokens of prompts that no cache had, and that were not written into one.
    uncached_tokens: u64,
    /// Tokens of prompts that were read from a cache.
    read_tokens: u64,
    /// Tokens of prompts that were written into a cache.
    written_tokens: u64,
    /// Tokens of answers, with their reasoning.
    output_tokens: u64,
    /// Uncached tokens, a tenth of the read ones, and 1.25 times the written ones.
    cost_index: f64,
}

/// What is in a stack at one time.
#[derive(Default)]
struct Count {
    frames: usize,
    finished: usize,
    usage: Vec<ModelUsage>,
}

/// A stack before a run. It is read while the agent starts, and the agent does not wait for it.
pub struct Before {
    folder: Arc<StackFolder>,
    count: JoinHandle<Count>,
}

impl Before {
    pub fn read(folder: Arc<StackFolder>) -> Self {
        Self {
            count: spawn_blocking({
                let folder = folder.clone();
                move || Count::of(&folder)
            }),
            folder,
        }
    }

    /// What the run has used, and what has changed in the stack since then. `proxy`: what its proxy has seen;
    /// `None` if a plugin records.
    pub async fn until_now(self, proxy: Option<ProxyUsage>) -> RunUsage {
        let before = self.count.await.unwrap_or_default();
        let folder = self.folder;
        let after = spawn_blocking(move || Count::of(&folder)).await.unwrap_or_default();
        RunUsage {
            frames: after.frames.saturating_sub(before.frames) as u64,
            finished: after.finished.saturating_sub(before.finished) as u64,
            used: match proxy {
                Some(usage) => Used::ByProxy(usage),
                None => Used::ByPlugin(PluginUsage::since(&before.usage, &after.usage)),
            },
        }
    }
}

impl Count {
    /// Returns nothing if there is no stack, or if it cannot be read.
    fn of(folder: &StackFolder) -> Self {
        let Ok(stack) = folder.open_to_read() else { return Self::default() };
        let counted = stack.read(|tree| Self {
            frames: tree.handles().len(),
            finished: [FrameStatus::Completed, FrameStatus::Failed]
                .map(|status| tree.with_status(status).count())
                .iter()
                .sum(),
            usage: tree.usage_of_all(),
        });
        counted.unwrap_or_default()
    }
}

impl PluginUsage {
    fn since(before: &[ModelUsage], after: &[ModelUsage]) -> Self {
        let sum = |part: fn(&ModelUsage) -> u64| {
            let of = |all: &[ModelUsage]| all.iter().map(part).fold(0, u64::saturating_add);
            of(after).saturating_sub(of(before))
        };
        let [uncached, read, written] =
            [sum(|of| of.uncached_input), sum(|of| of.cache_read), sum(|of| of.cache_write)];
        Self {
            requests: sum(|of| of.requests),
            failed: sum(|of| of.failed),
            uncached_tokens: uncached,
            read_tokens: read,
            written_tokens: written,
            output_tokens: sum(|of| of.output.saturating_add(of.reasoning)),
            cost_index: uncached as f64 + READ * read as f64 + WRITTEN * written as f64,
        }
    }

    fn in_words(&self) -> String {
        let input = self.uncached_tokens.saturating_add(self.read_tokens).saturating_add(self.written_tokens);
        let mut words = format!(
            "{}, {} tokens in ({} from a cache) and {} out; cost index {}",
            count(self.requests as usize, "request"),
            number(input),
            number(self.read_tokens),
            number(self.output_tokens),
            number(self.cost_index.round() as u64),
        );
        if self.failed > 0 {
            words.push_str(&format!("; {} failed", number(self.failed)));
        }
        words
    }
}

impl RunUsage {
    /// One line for a person.
    fn in_words(&self) -> String {
        let used = match &self.used {
            Used::ByProxy(usage) => usage.in_words(),
            Used::ByPlugin(usage) => usage.in_words(),
        };
        format!("{}, {} finished; {used}", count(self.frames as usize, "new frame"), number(self.finished))
    }
}

impl Report for RunUsage {
    const KIND: &'static str = "runUsage";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(Line::new().plain(self.in_words()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_has_used_what_was_recorded_since_the_run_began() {
        let usage = |model: &str, requests, uncached_input, cache_read| ModelUsage {
            model: model.to_owned(),
            requests,
            uncached_input,
            cache_read,
            cache_write: 40,
            output: 5,
            reasoning: 1,
            ..ModelUsage::default()
        };
        let before = [usage("a", 2, 100, 1_000)];
        let after = [usage("a", 3, 110, 1_500), usage("b", 1, 20, 0)];
        let used = PluginUsage::since(&before, &after);
        assert_eq!(used.in_words(), "2 requests, 570 tokens in (500 from a cache) and 6 out; cost index 130");
        assert_eq!(used.cost_index, 30.0 + 50.0 + 50.0);
        let run = RunUsage { frames: 1, finished: 0, used: Used::ByPlugin(used) };
        assert!(run.in_words().starts_with("1 new frame, 0 finished; 2 requests, "), "{}", run.in_words());
    }
}
