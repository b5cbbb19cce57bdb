//! Autonomy: recommends when an agent should start a sub-task and when it should finish its frame. Seven
//! heuristics give scores, a decision combines them, and suggestions pass it to the agent (specification,
//! "Agent Autonomy").
//!
//! # The decision
//! Every heuristic gives a score from 0 to 100, by a table in the documentation of its variant. The
//! confidence starts with the strongest score. Each other score then closes up to a tenth of the remaining
//! gap to 100, in proportion to its value. Therefore one certain signal is sufficient, and several weak
//! signals do not add up to a strong one. (The original plugin averages all scores, so that a context that is
//! 95 % full remains below the threshold.)
//!
//! ```
//! use callstack_core::session::autonomy::{Autonomy, PopSignals};
//! use callstack_core::{NewFrame, Stack, ToolNames};
//!
//! let stack = Stack::in_memory();
//! let root = stack.push(NewFrame::new("Parse the configuration").id("ses_1"))?;
//! let mut autonomy = Autonomy::default();
//! let signals = PopSignals::default().token_count(96_000);
//! let assessment = autonomy.should_pop(root, &stack.frame(root)?, &signals, 1_000);
//! assert!(assessment.is_recommended);
//! assert_eq!(assessment.reason(), "context_overflow 100: 96000 of 100000 tokens are used");
//! let text = autonomy.suggestions.text(root, 2_000, &ToolNames::default()).unwrap();
//! assert!(text.starts_with("[STACK SUGGESTION: finish f1 with stack_frame_pop"));
//! # Ok::<(), callstack_core::Error>(())
//! ```

mod heuristics;
mod observation;
mod records;
mod settings;
mod suggestions;

use serde::Serialize;

use crate::frame::{Frame, Handle};
use crate::vocabulary::{ToolNames, ToolRole};

pub use heuristics::{Heuristic, PopSignals, PushSignals, Score};
pub use observation::Observation;
pub use records::advise;
pub(super) use records::met_criteria;
pub use settings::{AutonomyLevel, AutonomySettings};
pub use suggestions::{Outcome, Suggestion, SuggestionStatistics, Suggestions};

/// Maximum part of the gap to 100 that a score other than the strongest closes.
const SUPPORT: f64 = 0.1;

/// A decision about a frame. In JSON `"push"` or `"pop"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Decision {
    /// Start a child frame.
    Push,
    /// Finish the frame.
    Pop,
}

impl Decision {
    /// The name: `push` or `pop`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::Push => "push",
            Decision::Pop => "pop",
        }
    }
}

/// The combined result of the heuristics for a frame.
///
/// In JSON: `{"decision": "pop", "confidence": 100, "threshold": 80, "isRecommended": true, "scores":
/// [{"heuristic": "context_overflow", "score": 100, "reason": "96000 of 100000 tokens are used"}], "isNew":
/// true}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Assessment {
    /// The assessed decision.
    pub decision: Decision,
    /// The confidence that the decision is right, from 0 to 100.
    pub confidence: u8,
    /// The confidence from which the decision is recommended, from 0 to 100.
    pub threshold: u8,
    /// True if the confidence is above 0 and reaches the threshold.
    pub is_recommended: bool,
    /// The scores of the enabled heuristics, strongest first.
    pub scores: Vec<Score>,
    /// True if this assessment added a new suggestion, rather than renewing a pending one.
    pub is_new: bool,
}

impl Assessment {
    fn new(decision: Decision, threshold: u8, mut scores: Vec<Score>) -> Self {
        // A stable sort keeps the order of the specification for equal scores.
        scores.sort_by_key(|score| std::cmp::Reverse(score.score));
        let confidence = confidence(scores.iter().map(|score| score.score));
        Self {
            decision,
            confidence,
            threshold,
            is_recommended: confidence > 0 && confidence >= threshold,
            scores,
            is_new: false,
        }
    }

    /// Orders assessments that contradict each other: by confidence; if the confidences are equal, a pop is
    /// stronger.
    fn strength(&self) -> (u8, Decision) {
        (self.confidence, self.decision)
    }

    /// The recommendation as text for the agent of a frame. `tools` are the names of the tools that the text
    /// mentions.
    pub fn suggestion(&self, handle: Handle, tools: &ToolNames) -> String {
        suggestion(handle, self.decision, self.confidence, &self.reason(), tools)
    }

    /// Describes the strongest signal, such as `context_overflow 100: 96000 of 100000 tokens are used`. Empty
    /// if all scores are 0.
    pub fn reason(&self) -> String {
        let strongest = self.scores.first().filter(|score| score.score > 0);
        strongest.map_or(String::new(), |score| format!("{} {}: {}", score.heuristic, score.score, score.reason))
    }
}

/// The text of a suggestion.
fn suggestion(handle: Handle, decision: Decision, confidence: u8, reason: &str, tools: &ToolNames) -> String {
    let with = |role| tools.get(role).map_or(String::new(), |tool| format!(" with {tool}"));
    let what = match decision {
        Decision::Push => format!("start a child of {handle}{}", with(ToolRole::Push)),
        Decision::Pop => format!("finish {handle}{}", with(ToolRole::Pop)),
    };
    format!("[STACK SUGGESTION: {what} ({confidence} % sure; {reason})]")
}

/// Assesses both decisions from observations. Returns the recommended decisions, and the others. A frame with
/// unfinished frames below it is not to be popped.
fn assess(
    settings: &AutonomySettings,
    frame: &Frame,
    has_unfinished_below: bool,
    observation: &Observation,
) -> (Vec<Assessment>, Vec<Assessment>) {
    let AutonomySettings { push_threshold, pop_threshold, enabled_heuristics, .. } = settings;
    let push = heuristics::push_scores(frame, &observation.push_signals(), enabled_heuristics);
    let pop = heuristics::pop_scores(frame, &observation.pop_signals(), enabled_heuristics);
    let assessed =
        [Assessment::new(Decision::Push, *push_threshold, push), Assessment::new(Decision::Pop, *pop_threshold, pop)];
    assessed.into_iter().partition(|Assessment { decision, is_recommended, .. }| {
        *is_recommended && !(*decision == Decision::Pop && has_unfinished_below)
    })
}

/// Combines the scores, strongest first, to one confidence.
fn confidence(scores: impl IntoIterator<Item = u8>) -> u8 {
    let mut scores = scores.into_iter().map(f64::from);
    let strongest = scores.next().unwrap_or_default();
    let sum = scores.fold(strongest, |sum, score| sum + (100.0 - sum) * SUPPORT * score / 100.0);
    // Rounded down, so that only a certain signal gives 100.
    sum as u8
}

/// The settings, the suggestions, and the numbers of assessments.
#[derive(Debug, Clone, Default)]
pub struct Autonomy {
    /// The level, thresholds and enabled heuristics.
    pub settings: AutonomySettings,
    /// The settings of the host, to which an agent can return.
    pub host_settings: AutonomySettings,
    /// The pending and past suggestions.
    pub suggestions: Suggestions,
    /// Number of assessments of a push.
    pub push_assessments: u64,
    /// Number of assessments of a pop.
    pub pop_assessments: u64,
}

impl Autonomy {
    /// Assesses whether the agent that works on a frame should start a child frame. A recommendation becomes
    /// a pending suggestion, unless the level is manual. `now` is in milliseconds since the Unix epoch.
    pub fn should_push(&mut self, handle: Handle, frame: &Frame, signals: &PushSignals, now: u64) -> Assessment {
        self.push_assessments += 1;
        let scores = heuristics::push_scores(frame, signals, &self.settings.enabled_heuristics);
        self.assessed(handle, Assessment::new(Decision::Push, self.settings.push_threshold, scores), now)
    }

    /// Assesses whether a frame should be finished. A recommendation becomes a pending suggestion, unless the
    /// level is manual. `now` is in milliseconds since the Unix epoch.
    pub fn should_pop(&mut self, handle: Handle, frame: &Frame, signals: &PopSignals, now: u64) -> Assessment {
        self.pop_assessments += 1;
        let scores = heuristics::pop_scores(frame, signals, &self.settings.enabled_heuristics);
        self.assessed(handle, Assessment::new(Decision::Pop, self.settings.pop_threshold, scores), now)
    }

    /// Assesses both decisions from observations of the frame's session, and returns the recommended one, if
    /// there is one. If both are recommended, it returns the one with the higher confidence. A suggestion
    /// from earlier observations ends when the observations no longer recommend it. A frame with unfinished
    /// frames below it is not to be popped. `now` is in milliseconds since the Unix epoch.
    pub fn observed(
        &mut self,
        handle: Handle,
        frame: &Frame,
        has_unfinished_below: bool,
        observation: &Observation,
        now: u64,
    ) -> Option<Assessment> {
        self.push_assessments += 1;
        self.pop_assessments += 1;
        let (recommended, others) = assess(&self.settings, frame, has_unfinished_below, observation);
        others.iter().for_each(|assessment| self.suggestions.withdraw(handle, assessment.decision));
        let mut strongest = recommended.into_iter().max_by_key(Assessment::strength)?;
        if self.settings.level != AutonomyLevel::Manual {
            strongest.is_new = self.suggestions.add(handle, &strongest, true, now);
        }
        Some(strongest)
    }

    fn assessed(&mut self, handle: Handle, mut assessment: Assessment, now: u64) -> Assessment {
        if assessment.is_recommended && self.settings.level != AutonomyLevel::Manual {
            assessment.is_new = self.suggestions.add(handle, &assessment, false, now);
        }
        assessment
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_strongest_signal_decides_and_others_support_it() {
        assert_eq!(confidence([]), 0);
        assert_eq!(confidence([100]), 100);
        assert_eq!(confidence([100, 0, 0]), 100, "silence does not weaken a certain signal");
        assert_eq!(confidence([60, 60, 60]), 64, "three weak signals are not a strong one");
        assert_eq!(confidence([70, 50]), 71);
        assert_eq!(confidence([99, 99, 99, 99]), 99);
    }

    proptest! {
        #[test]
        fn confidence_is_bounded_and_grows_with_every_score(mut scores in proptest::collection::vec(0u8..=100, 1..7), at in 0usize..7) {
            let sorted = |scores: &[u8]| {
                let mut scores = scores.to_vec();
                scores.sort_by_key(|score| std::cmp::Reverse(*score));
                confidence(scores)
            };
            let before = sorted(&scores);
            prop_assert!(before >= *scores.iter().max().unwrap() && before <= 100);
            let at = at % scores.len();
            scores[at] = (scores[at] + 10).min(100);
            prop_assert!(sorted(&scores) >= before);
        }
    }
}
