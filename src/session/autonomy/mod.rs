//! When an agent should begin a sub-task of its own, and when it should finish: seven heuristics, a
//! decision from their scores, and the suggestions that come of it (specification, "Agent Autonomy").
//!
//! # The decision
//! Every heuristic scores 0 to 100 by a table that its variant documents. The strongest score counts in
//! full; each of the others closes a tenth of what is left to 100, in proportion to its own score. So one
//! certain signal decides alone, and several weak ones do not add up to a strong one. (The original averages
//! all scores, and a context that is 95 % full stays below the threshold.)
//!
//! ```
//! use callstack_core::session::autonomy::{Autonomy, PopSignals};
//! use callstack_core::{NewFrame, Stack, ToolNames};
//!
//! let stack = Stack::in_memory();
//! let root = stack.push(NewFrame::new("Parse the configuration").id("ses_1"))?;
//! let mut autonomy = Autonomy::default();
//! let signals = PopSignals { token_count: 96_000, ..PopSignals::default() };
//! let assessment = autonomy.should_pop(root, &stack.frame(root)?, &signals, 1_000);
//! assert!(assessment.is_recommended);
//! assert_eq!(assessment.reason(), "context_overflow 100: 96000 of 100000 tokens are used");
//! let text = autonomy.suggestions.text(root, 2_000, &ToolNames::default()).unwrap();
//! assert!(text.starts_with("[STACK SUGGESTION: finish f1 with stack_frame_pop"));
//! # Ok::<(), callstack_core::Error>(())
//! ```

mod heuristics;
mod observation;
mod settings;
mod suggestions;

use serde::Serialize;

use crate::frame::{Frame, Handle};

pub use heuristics::{Heuristic, PopSignals, PushSignals, Score};
pub use observation::Observation;
pub use settings::{AutonomyLevel, AutonomySettings};
pub use suggestions::{Outcome, Suggestion, SuggestionStatistics, Suggestions};

/// How much of what is left to 100 each score beside the strongest one can close.
const SUPPORT: f64 = 0.1;

/// What is to be decided of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Begin a child frame.
    Push,
    /// Finish the frame.
    Pop,
}

impl Decision {
    /// The word for it: `push` or `pop`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::Push => "push",
            Decision::Pop => "pop",
        }
    }
}

/// What the heuristics say of a frame.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assessment {
    /// What was to be decided.
    pub decision: Decision,
    /// How sure the heuristics are that it should be done, 0 to 100.
    pub confidence: u8,
    /// From which confidence on it is recommended.
    pub threshold: u8,
    /// The confidence reaches the threshold, and some heuristic has a signal.
    pub is_recommended: bool,
    /// The scores of the enabled heuristics, the strongest first.
    pub scores: Vec<Score>,
    /// It has been suggested to the agent because of this, and was not before.
    pub is_new: bool,
}

impl Assessment {
    fn new(decision: Decision, threshold: u8, mut scores: Vec<Score>) -> Self {
        // Stable: among equals the order of the specification.
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

    /// The strongest signal in words; empty if there is none.
    pub fn reason(&self) -> String {
        let strongest = self.scores.first().filter(|score| score.score > 0);
        strongest.map_or(String::new(), |score| format!("{} {}: {}", score.heuristic, score.score, score.reason))
    }
}

/// One confidence from the scores, the strongest first.
fn confidence(scores: impl IntoIterator<Item = u8>) -> u8 {
    let mut scores = scores.into_iter().map(f64::from);
    let strongest = scores.next().unwrap_or_default();
    let sum = scores.fold(strongest, |sum, score| sum + (100.0 - sum) * SUPPORT * score / 100.0);
    // Rounded down: nothing but a certain signal is certain.
    sum as u8
}

/// The settings, the suggestions, and how often was asked.
#[derive(Debug, Clone, Default)]
pub struct Autonomy {
    /// What it may do, and from when on.
    pub settings: AutonomySettings,
    /// What it has suggested.
    pub suggestions: Suggestions,
    /// How often a push was assessed.
    pub push_assessments: u64,
    /// How often a pop was assessed.
    pub pop_assessments: u64,
}

impl Autonomy {
    /// Assesses whether the agent that works on a frame should begin a child frame. If so, and unless the
    /// level is manual, that is suggested from now on.
    pub fn should_push(&mut self, handle: Handle, frame: &Frame, signals: &PushSignals, now: u64) -> Assessment {
        self.push_assessments += 1;
        let scores = heuristics::push_scores(frame, signals, &self.settings.enabled_heuristics);
        self.assessed(handle, Assessment::new(Decision::Push, self.settings.push_threshold, scores), now)
    }

    /// Assesses whether a frame should be finished. If so, and unless the level is manual, that is suggested
    /// from now on.
    pub fn should_pop(&mut self, handle: Handle, frame: &Frame, signals: &PopSignals, now: u64) -> Assessment {
        self.pop_assessments += 1;
        let scores = heuristics::pop_scores(frame, signals, &self.settings.enabled_heuristics);
        self.assessed(handle, Assessment::new(Decision::Pop, self.settings.pop_threshold, scores), now)
    }

    fn assessed(&mut self, handle: Handle, mut assessment: Assessment, now: u64) -> Assessment {
        if assessment.is_recommended && self.settings.level != AutonomyLevel::Manual {
            assessment.is_new = self.suggestions.add(handle, &assessment, now);
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
        assert_eq!(confidence([60, 60, 60]), 64, "three weak signals are no strong one");
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
