//! Tools for summaries of conversations.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::caller::Caller;
use super::json::pretty;
use super::{AgentTool, Reply};
use crate::error::Error;
use crate::frame::reference_to_id;
use crate::session::compaction::{CompactionType, SummaryRequest};

/// Request a checkpoint: when this session is next idle, a summary replaces its conversation and becomes the
/// frame's results so far.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Summarize {
    /// What the summary must mention.
    note: Option<String>,
}

impl AgentTool for Summarize {
    const NAME: &'static str = "stack_frame_summarize";
    const EXAMPLE: &'static str = r#"{"note": "The failing test and its seed"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.named_or_own(None)?;
        let (session_id, note) = (caller.session_id, self.note);
        let is_running = caller.turn(|turn| {
            let status = turn.tree.node(frame).status();
            if !status.is_open() {
                return Err(Error::ResultsFixed { handle: frame, status });
            }
            let request = SummaryRequest::new(CompactionType::ManualSummary, note, turn.now);
            turn.request_summary(session_id, frame, request);
            Ok(turn.is_running(frame))
        });
        let then = match is_running? {
            true => " when you end your turn; you then continue it from the summary",
            false => " when this session is next idle",
        };
        Ok(Reply::Text(format!("{} will be summarized{then}.", caller.name(frame))))
    }
}

/// Show which sessions wait for a summary, and how many were accepted and refused.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Info {}

impl AgentTool for Info {
    const NAME: &'static str = "stack_compaction_info";
    const EXAMPLE: &'static str = "{}";
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let information = caller.turn(|turn| {
            let compactions = &turn.sessions.compactions;
            let pending: serde_json::Map<String, Value> =
                compactions.pending().map(|(id, pending)| (reference_to_id(id).into_owned(), json!(pending))).collect();
            json!({ "pending": pending, "statistics": compactions.statistics() })
        });
        Ok(Reply::Text(pretty(&information)))
    }
}

/// Show the results so far, the artifacts and the decisions of a frame.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetSummary {
    /// Default: this session's frame.
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
}

impl AgentTool for GetSummary {
    const NAME: &'static str = "stack_get_summary";
    const EXAMPLE: &'static str = r#"{"sessionID": "f2"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let handle = caller.named_or_own(self.session_id.as_deref())?;
        let frame = caller.stack.frame(handle)?;
        let summary = json!({
            "frame": handle,
            "title": frame.title,
            "status": frame.status,
            "results": frame.results,
            "resultsCompacted": frame.results_compacted,
            "artifacts": frame.artifacts,
            "decisions": frame.decisions,
            "logPath": caller.stack.log_file(handle),
        });
        Ok(Reply::Text(pretty(&summary)))
    }
}
