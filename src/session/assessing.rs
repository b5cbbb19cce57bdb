//! How a [`Turn`] assesses whether a session should push or pop.

use serde_json::json;

use super::autonomy::{
    Assessment, AutonomyLevel, Decision, Heuristic, Observation, PopSignals, PushSignals, met_criteria,
};
use super::effect::LogLevel;
use super::turn::Turn;
use crate::frame::{CompactionType, Handle, SummaryRequest};

impl Turn<'_> {
    /// Assesses a session from its observation.
    pub(super) fn assess(&mut self, session_id: &str) {
        let Some(frame) = self.open_frame(session_id) else { return };
        let mut observation = self.sessions.observe(session_id).clone();
        if self.sessions.autonomy.settings.level == AutonomyLevel::Auto {
            observation.successes = self.successes(frame, &observation);
        }
        let node = self.tree.node(frame);
        let (record, is_busy) = (node.record(), node.has_unfinished_below());
        let recommended = self.sessions.autonomy.observed(frame, record, is_busy, &observation, self.now);
        let Some(assessment) = recommended else { return };
        self.log_suggestion(frame, &assessment);
        // A root frame is the person's task, so it is not popped automatically.
        if assessment.decision == Decision::Pop && node.parent().is_some() {
            self.finish_if_auto(session_id, frame, &assessment);
        }
    }

    /// The observations of the host that suggest that a frame can end: the frame's parts, the files that its
    /// criteria name, and whether its tools have succeeded.
    fn successes(&self, frame: Handle, observation: &Observation) -> Vec<String> {
        let mut successes = met_criteria(self.tree, frame);
        if !successes.is_empty() && observation.has_only_succeeded() {
            successes.push("its tools have succeeded".to_owned());
        }
        successes
    }

    /// As [`Autonomy::should_push`](super::autonomy::Autonomy::should_push). A new suggestion is also logged.
    pub fn should_push(&mut self, frame: Handle, signals: &PushSignals) -> Assessment {
        let record = self.tree.node(frame).record();
        let assessment = self.sessions.autonomy.should_push(frame, record, signals, self.now);
        self.log_suggestion(frame, &assessment);
        assessment
    }

    /// As [`Autonomy::should_pop`](super::autonomy::Autonomy::should_pop). A new suggestion is also logged.
    pub fn should_pop(&mut self, frame: Handle, signals: &PopSignals) -> Assessment {
        let record = self.tree.node(frame).record();
        let assessment = self.sessions.autonomy.should_pop(frame, record, signals, self.now);
        self.log_suggestion(frame, &assessment);
        assessment
    }

    /// At the autonomy level `auto`, requests a recommended pop: when the session is idle, it is compacted,
    /// and the frame is ended with the summary as results. It is completed if its goal seems to be reached,
    /// and blocked if it makes no progress or its context is full. Returns true if the pop was requested.
    pub fn finish_if_auto(&mut self, session_id: &str, frame: Handle, assessment: &Assessment) -> bool {
        let is_due = self.sessions.autonomy.settings.level == AutonomyLevel::Auto && assessment.is_recommended;
        let is_requested = self.sessions.compactions.is_pending(session_id, CompactionType::FrameCompletion);
        if is_due && !is_requested {
            let reason = assessment.reason();
            let mut request = SummaryRequest::new(CompactionType::FrameCompletion, Some(reason.clone()), self.now);
            let is_complete =
                assessment.scores.first().is_some_and(|strongest| strongest.heuristic == Heuristic::GoalCompletion);
            request.blocked_because = (!is_complete).then_some(reason);
            self.request_summary(session_id, frame, request);
        }
        is_due
    }

    /// Ends the suggestion for a session whose conversation was replaced by a summary, because the figures
    /// belong to the conversation before the summary.
    pub(super) fn forget_figures(&mut self, session_id: &str, frame: Handle) {
        self.sessions.observe(session_id).compacted();
        self.sessions.autonomy.suggestions.end(frame);
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
