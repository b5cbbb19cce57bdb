//! Tools for frames that run: running all that are ready, waiting for those in the background, and stopping
//! them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::caller::Caller;
use super::{AgentTool, Reply};
use crate::error::Error;
use crate::frame::Handle;
use crate::session::calls::listed;

/// Run all planned children whose dependencies are completed, in parallel, and those that become ready.
/// Answers with all results when no more can begin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ActivateReady {
    /// The parent of the children: handle or title. Default: this session's frame.
    #[serde(rename = "frameID")]
    frame_id: Option<String>,
}

impl AgentTool for ActivateReady {
    const NAME: &'static str = "stack_frame_activate_ready";
    const EXAMPLE: &'static str = "{}";

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let parent = caller.named_or_own(self.frame_id.as_deref())?;
        let status = caller.stack.look(|tree| tree.node(parent).status());
        if !status.is_open() {
            return Err(Error::NotOpen { handle: parent, status });
        }
        let session_id = caller.session_id;
        caller.turn(|turn| turn.call_ready(session_id, parent)).map(Reply::Later)
    }
}

/// Wait for frames that run in the background. Answers with their results.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Wait {
    /// Handles or titles. Default: all frames below this session's frame that run in the background.
    #[serde(default)]
    frames: Vec<String>,
    /// Wait only for the first of them.
    #[serde(default)]
    any: bool,
    /// Milliseconds after which the answer says which still run; 0: none.
    #[serde(default)]
    time_limit: u64,
}

impl AgentTool for Wait {
    const NAME: &'static str = "stack_wait";
    const EXAMPLE: &'static str = r#"{"frames": ["f2", "f3"], "any": true}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let session_id = caller.session_id;
        let named = self.frames.iter().map(|frame| caller.resolve(frame));
        let named = named.collect::<Result<Vec<Handle>, Error>>()?;
        caller.turn(|turn| {
            let frames = if named.is_empty() { turn.background_frames(session_id) } else { named };
            match frames.is_empty() {
                true => Ok(Reply::Text("Nothing runs in the background.".to_owned())),
                false => turn.wait(session_id, frames, self.any, self.time_limit).map(Reply::Later),
            }
        })
    }
}

/// Stop frames that run, from a frame downwards. Each is blocked, keeps what it has, and can be resumed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Stop {
    /// Handle or title. Default: this session's frame, and all below it.
    #[serde(rename = "frameID")]
    frame_id: Option<String>,
    /// Stop all frames of all sessions.
    #[serde(default)]
    all: bool,
    /// Why, for those who resume it.
    reason: String,
}

impl AgentTool for Stop {
    const NAME: &'static str = "stack_frame_stop";
    const EXAMPLE: &'static str = r#"{"frameID": "f2", "reason": "the interface changes first"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let stopped = match self.all {
            true => caller.stack.stop_all(self.reason)?,
            false => {
                let frame = caller.named_or_own(self.frame_id.as_deref())?;
                caller.stack.stop(frame, self.reason)?
            }
        };
        Ok(Reply::Text(match stopped.is_empty() {
            true => "Nothing runs there.".to_owned(),
            false => format!("Stopped: {}.", listed(&stopped)),
        }))
    }
}
