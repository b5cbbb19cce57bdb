//! How a [`Turn`] assesses whether a session should push or pop.

use serde_json::json;

use super::autonomy::{Assessment, AutonomyLevel, PopSignals, PushSignals};
use super::compaction::CompactionType;
use super::effect::LogLevel;
use super::turn::Turn;
use crate::frame::Handle;

impl Turn<'_> {
    /// Assesses a session by what was observed of it.
    pub(super) fn assess(&mut self, session_id: &str) {
        let Some(frame) = self.open_frame(session_id) else { return };
        let observation = self.sessions.observe(session_id).clone();
        self.should_push(frame, &observation.push_signals());
        let pop = self.should_pop(frame, &observation.pop_signals());
        // A root is a user's task: a full context does not finish it.
        if pop.is_recommended && self.tree.node(frame).parent().is_some() {
            self.finish_if_auto(session_id, &pop);
        }
    }

    /// As [`Autonomy::should_push`](super::autonomy::Autonomy::should_push); a new suggestion is logged.
    pub fn should_push(&mut self, frame: Handle, signals: &PushSignals) -> Assessment {
        let record = self.tree.node(frame).record();
        let assessment = self.sessions.autonomy.should_push(frame, record, signals, self.now);
        self.log_suggestion(frame, &assessment);
        assessment
    }

    /// As [`Autonomy::should_pop`](super::autonomy::Autonomy::should_pop); a new suggestion is logged.
    pub fn should_pop(&mut self, frame: Handle, signals: &PopSignals) -> Assessment {
        let record = self.tree.node(frame).record();
        let assessment = self.sessions.autonomy.should_pop(frame, record, signals, self.now);
        self.log_suggestion(frame, &assessment);
        assessment
    }

    /// At the level auto, requests that a recommended pop is carried out when the session is idle, with a summary as
    /// results. Returns true if it was requested.
    pub fn finish_if_auto(&mut self, session_id: &str, assessment: &Assessment) -> bool {
        let is_due = self.sessions.autonomy.settings.level == AutonomyLevel::Auto && assessment.is_recommended;
        if is_due {
            let note = assessment.reason();
            self.sessions.compactions.request(session_id, CompactionType::FrameCompletion, Some(&note), self.now);
        }
        is_due
    }

    fn log_suggestion(&mut self, frame: Handle, assessment: &Assessment) {
        if assessment.is_new {
            let Assessment { decision, confidence, .. } = assessment;
            let reason = assessment.reason();
            let data = json!({ "handle": frame, "decision": decision, "confidence": confidence, "reason": reason });
            self.log(LogLevel::Info, "Suggestion added", data);
        }
    }
}
