//! Suggestions to the agent. A suggestion is pending for five minutes, then it moves to the history.

use std::collections::VecDeque;

use serde::Serialize;

use super::{Assessment, Decision};
use crate::frame::Handle;
use crate::vocabulary::{ToolNames, ToolRole};

/// Time after which a pending suggestion expires, in milliseconds.
const TIME_TO_LIVE: u64 = 5 * 60_000;
/// Maximum number of past suggestions in the history.
const HISTORY: usize = 100;

/// A suggestion to the agent of a frame.
///
/// In JSON: `{"handle": "f1", "decision": "pop", "confidence": 100, "reason": "context_overflow 100: 96000 of 100000
/// tokens are used", "createdAt": 1795293106903, "outcome": "followed"}`; a pending suggestion has no `outcome`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Suggestion {
    /// The frame.
    pub handle: Handle,
    /// The suggested decision.
    pub decision: Decision,
    /// The confidence of the last assessment, from 0 to 100.
    pub confidence: u8,
    /// The strongest signal: see [`Assessment::reason`].
    pub reason: String,
    /// Time of the last assessment that recommended this, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// The outcome; `None` while the suggestion is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The outcome of a suggestion. In JSON `"followed"`, `"expired"` or `"cleared"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Outcome {
    /// The agent followed it.
    Followed,
    /// It was pending for five minutes.
    Expired,
    /// It was cleared by a tool, or its frame was finished.
    Cleared,
}

/// Numbers of suggestions since the start or since the last reset of the statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SuggestionStatistics {
    /// Suggested pushes.
    pub pushes: u64,
    /// Suggested pops.
    pub pops: u64,
    /// Followed suggestions, both pushes and pops.
    pub followed: u64,
    /// Expired suggestions.
    pub expired: u64,
    /// Cleared suggestions.
    pub cleared: u64,
}

/// The pending and past suggestions.
#[derive(Debug, Clone, Default)]
pub struct Suggestions {
    pending: Vec<Suggestion>,
    history: VecDeque<Suggestion>,
    statistics: SuggestionStatistics,
}

impl Suggestions {
    /// Adds the recommendation of an assessment as a pending suggestion and returns true. If the same decision is
    /// already pending for the frame, that suggestion is renewed without being counted again, and this returns false.
    pub fn add(&mut self, handle: Handle, assessment: &Assessment, now: u64) -> bool {
        self.expire(now);
        let Assessment { decision, confidence, .. } = *assessment;
        let suggestion =
            Suggestion { handle, decision, confidence, reason: assessment.reason(), created_at: now, outcome: None };
        let same = |other: &&mut Suggestion| other.handle == handle && other.decision == decision;
        match self.pending.iter_mut().find(same) {
            Some(pending) => {
                *pending = suggestion;
                false
            }
            None => {
                match decision {
                    Decision::Push => self.statistics.pushes += 1,
                    Decision::Pop => self.statistics.pops += 1,
                }
                self.pending.push(suggestion);
                true
            }
        }
    }

    /// Notes that the agent of a frame pushed a child or popped the frame. The matching suggestion becomes followed.
    /// After a pop, the frame's other suggestions are cleared.
    pub fn acted(&mut self, handle: Handle, decision: Decision, now: u64) {
        self.expire(now);
        self.settle(Outcome::Followed, |suggestion| suggestion.handle == handle && suggestion.decision == decision);
        if decision == Decision::Pop {
            self.settle(Outcome::Cleared, |suggestion| suggestion.handle == handle);
        }
    }

    /// Clears all pending suggestions and returns their number.
    pub fn clear(&mut self, now: u64) -> usize {
        self.expire(now);
        let count = self.pending.len();
        self.settle(Outcome::Cleared, |_| true);
        count
    }

    /// Moves suggestions that have been pending for five minutes to the history.
    pub fn expire(&mut self, now: u64) {
        self.settle(Outcome::Expired, |suggestion| now.saturating_sub(suggestion.created_at) >= TIME_TO_LIVE);
    }

    /// Returns the pending suggestions, oldest first. Expired ones are left out even before [`Suggestions::expire`].
    pub fn pending(&self, now: u64) -> impl Iterator<Item = &Suggestion> {
        self.pending.iter().filter(move |suggestion| now.saturating_sub(suggestion.created_at) < TIME_TO_LIVE)
    }

    /// Returns the last 100 past suggestions, oldest first.
    pub fn history(&self) -> impl Iterator<Item = &Suggestion> {
        self.history.iter()
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> SuggestionStatistics {
        self.statistics
    }

    /// Clears the history and the statistics. Pending suggestions remain.
    pub fn reset(&mut self) {
        self.history.clear();
        self.statistics = SuggestionStatistics::default();
    }

    /// Returns the pending suggestions for a frame as text for its agent, one per line; `None` if there are none. `tools`
    /// are the names of the tools that the text mentions.
    pub fn text(&self, handle: Handle, now: u64, tools: &ToolNames) -> Option<String> {
        let with = |role| tools.get(role).map_or(String::new(), |tool| format!(" with {tool}"));
        let lines = self.pending(now).filter(|suggestion| suggestion.handle == handle).map(|suggestion| {
            let Suggestion { decision, confidence, reason, .. } = suggestion;
            let what = match decision {
                Decision::Push => format!("start a child of {handle}{}", with(ToolRole::Push)),
                Decision::Pop => format!("finish {handle}{}", with(ToolRole::Pop)),
            };
            format!("[STACK SUGGESTION: {what} ({confidence} % sure; {reason})]")
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        (!text.is_empty()).then_some(text)
    }

    fn settle(&mut self, outcome: Outcome, is: impl Fn(&Suggestion) -> bool) {
        for mut suggestion in self.pending.extract_if(.., |suggestion| is(suggestion)) {
            suggestion.outcome = Some(outcome);
            match outcome {
                Outcome::Followed => self.statistics.followed += 1,
                Outcome::Expired => self.statistics.expired += 1,
                Outcome::Cleared => self.statistics.cleared += 1,
            }
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back(suggestion);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    fn frame(number: usize) -> Handle {
        Handle::from_index(number - 1).unwrap()
    }

    fn recommended(decision: Decision, confidence: u8) -> Assessment {
        Assessment { decision, confidence, threshold: 70, is_recommended: true, scores: Vec::new(), is_new: false }
    }

    #[test]
    fn a_suggestion_is_pending_until_it_is_followed() {
        let mut suggestions = Suggestions::default();
        suggestions.add(frame(1), &recommended(Decision::Pop, 80), 0);
        suggestions.add(frame(1), &recommended(Decision::Pop, 90), 1000);
        suggestions.add(frame(2), &recommended(Decision::Push, 71), 2000);
        assert_eq!(suggestions.pending(2000).map(|pending| pending.confidence).collect::<Vec<_>>(), [90, 71]);
        let text = |frame: Handle, tools: &ToolNames| suggestions.text(frame, 2000, tools);
        let default = ToolNames::default();
        assert!(text(frame(1), &default).unwrap().contains("finish f1 with stack_frame_pop (90 % sure"));
        assert!(text(frame(3), &default).is_none(), "no other frame's suggestions");
        assert!(text(frame(1), &ToolNames::none()).unwrap().contains("finish f1 (90 % sure"));
        assert!(text(frame(2), &default.name(ToolRole::Push, "begin")).unwrap().contains("f2 with begin (71 % sure"));

        suggestions.acted(frame(1), Decision::Push, 3000);
        assert_eq!(suggestions.pending(3000).count(), 2, "a push does not follow a suggested pop");
        suggestions.acted(frame(1), Decision::Pop, 4000);
        assert_eq!(suggestions.history().map(|past| past.outcome).collect::<Vec<_>>(), [Some(Outcome::Followed)]);
        let expected = SuggestionStatistics { pushes: 1, pops: 1, followed: 1, ..SuggestionStatistics::default() };
        assert_eq!(suggestions.statistics(), expected);
    }

    #[test]
    fn a_finished_frame_has_no_suggestions() {
        let mut suggestions = Suggestions::default();
        suggestions.add(frame(1), &recommended(Decision::Push, 80), 0);
        suggestions.acted(frame(1), Decision::Pop, 1);
        assert_eq!((suggestions.pending(1).count(), suggestions.statistics().cleared), (0, 1));
    }

    #[test]
    fn after_five_minutes_it_is_history() {
        let mut suggestions = Suggestions::default();
        suggestions.add(frame(1), &recommended(Decision::Pop, 80), 0);
        suggestions.add(frame(2), &recommended(Decision::Pop, 80), MINUTE);
        assert_eq!(suggestions.pending(5 * MINUTE - 1).count(), 2);
        assert_eq!(suggestions.pending(5 * MINUTE).count(), 1, "what has expired is not shown, noted or not");
        suggestions.expire(5 * MINUTE);
        assert_eq!(suggestions.statistics().expired, 1);
        suggestions.add(frame(1), &recommended(Decision::Pop, 80), 6 * MINUTE);
        assert_eq!(suggestions.statistics().expired, 2);
        assert_eq!(suggestions.statistics().pops, 3, "said again after it expired, it counts again");
        assert_eq!(suggestions.clear(6 * MINUTE), 1);
        assert_eq!(suggestions.clear(6 * MINUTE), 0);
        suggestions.reset();
        assert_eq!((suggestions.history().count(), suggestions.statistics()), (0, SuggestionStatistics::default()));
    }

    #[test]
    fn the_history_keeps_the_last_hundred() {
        let mut suggestions = Suggestions::default();
        for number in 1..=150 {
            suggestions.add(frame(number), &recommended(Decision::Push, 80), 0);
        }
        suggestions.clear(0);
        assert_eq!(suggestions.history().count(), 100);
        assert_eq!(suggestions.history().next().unwrap().handle, frame(51));
        assert_eq!(suggestions.statistics().pushes, 150);
    }
}
