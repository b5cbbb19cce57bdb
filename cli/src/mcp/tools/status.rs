//! The tool `status`: shows the tree, or everything about one frame. It can wait for a frame to end.

use std::thread;
use std::time::{Duration, Instant};

use callstack_core::{FrameStatus, Handle, OutlineOptions};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Effect, McpTool};
use crate::mcp::call::{Answer, Call, listed};

/// The longest wait, in seconds: shorter than the patience of every host.
const LONGEST_WAIT: u64 = 25;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Show the frames of your task with their status, and in which one you are. Or show all of one frame: criteria, results,
/// decisions, artifacts.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Status {
    /// Handle or title of a frame that is shown in full.
    of: Option<String>,
    /// Also the frames of other tasks.
    #[serde(default)]
    all: bool,
    /// Wait until the frame `of` has ended, at most this number of seconds, up to 25.
    #[serde(default)]
    #[schemars(with = "i64")]
    wait: u64,
    /// Your frame. Default: the frame of this conversation.
    frame: Option<String>,
}

impl McpTool for Status {
    const NAME: &'static str = "status";
    const TITLE: &'static str = "Show the frames";
    const EXAMPLE: &'static str = r#"{"of": "f2"}"#;
    const EFFECT: Effect = Effect::Reads;

    fn run(self, call: &Call<'_>) -> Answer {
        let own = match self.frame.as_deref() {
            Some(name) => Some(call.resolve(name)?),
            None => call.bound(),
        };
        let Some(name) = self.of else {
            if self.wait > 0 {
                return Err("wait needs the frame that it waits for: of".into());
            }
            let root = own.filter(|_| !self.all).map(|own| call.stack.read(|tree| tree.root(own)));
            let options = OutlineOptions::default().root(root.map(Into::into)).own(own.map(Into::into));
            let mut text = call.stack.outline(&options)?;
            let handed_over = call.handed_over(root);
            if !handed_over.is_empty() {
                text.push_str(&format!("Handed over to subagents: {}.\n", listed(&handed_over)));
            }
            if own.is_none() {
                // The active frame is that of another conversation.
                text = without_active(&text);
                let open = call.open_frames();
                if !open.is_empty() {
                    text.push_str(&format!(
                        "If you have worked here before, context with your frame shows all.{open}\n"
                    ));
                }
            }
            return call.answer_from(own, text);
        };
        let frame = call.resolve(&name)?;
        let until = Instant::now() + Duration::from_secs(self.wait.min(LONGEST_WAIT));
        while is_under_way(call, frame) && Instant::now() < until && !call.is_cancelled() {
            thread::sleep(PAUSE);
            call.stack.refresh()?;
        }
        let options =
            OutlineOptions::default().root(Some(frame.into())).own(own.map(Into::into)).details(true).width(0);
        call.answer_from(own, call.stack.outline(&options.depth(Some(1)))?)
    }
}

/// An outline without the mark of the active frame.
fn without_active(outline: &str) -> String {
    let lines = outline.lines().filter(|line| !line.starts_with("Active: "));
    lines.map(|line| format!("{}\n", line.strip_suffix("  <-- ACTIVE").unwrap_or(line))).collect()
}

/// True for a frame on which somebody works, or soon will.
fn is_under_way(call: &Call<'_>, frame: Handle) -> bool {
    call.stack.read(|tree| matches!(tree.node(frame).status(), FrameStatus::Planned | FrameStatus::InProgress))
}
