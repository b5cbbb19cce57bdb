//! Suggestions to the agent. A suggestion is pending for five minutes, then it moves to the history.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use super::{Assessment, Decision};
use crate::frame::Handle;
use crate::session::timers::Timers;
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
    /// Time of the last assessment that recommended this, in milliseconds on the clock of
    /// [`Turn::now`](crate::session::Turn::now).
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

/// At most one suggestion is pending for each frame and decision.
type Key = (Handle, Decision);

/// The pending and past suggestions.
#[derive(Debug, Clone, Default)]
pub struct Suggestions {
    pending: BTreeMap<Key, Suggestion>,
    expiries: Timers<Key>,
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
        self.expiries.set((handle, decision), now.saturating_add(TIME_TO_LIVE));
        let is_new = self.pending.insert((handle, decision), suggestion).is_none();
        if is_new {
            match decision {
                Decision::Push => self.statistics.pushes += 1,
                Decision::Pop => self.statistics.pops += 1,
            }
        }
        is_new
    }

    /// Notes that the agent of a frame pushed a child or popped the frame. The matching suggestion becomes followed.
    /// After a pop, the frame's other suggestions are cleared.
    pub fn acted(&mut self, handle: Handle, decision: Decision, now: u64) {
        self.expire(now);
        self.settle((handle, decision), Outcome::Followed);
        if decision == Decision::Pop {
            self.settle((handle, Decision::Push), Outcome::Cleared);
        }
    }

    /// Clears all pending suggestions and returns their number.
    pub fn clear(&mut self, now: u64) -> usize {
        self.expire(now);
        let pending: Vec<Key> = self.expiries.pending(now).copied().collect();
        pending.iter().for_each(|key| self.settle(*key, Outcome::Cleared));
        pending.len()
    }

    /// Moves suggestions that have been pending for five minutes to the history.
    pub fn expire(&mut self, now: u64) {
        self.expiries.due(now).into_iter().for_each(|key| self.settle(key, Outcome::Expired));
    }

    /// Returns the pending suggestions, oldest first. Expired ones are left out even before [`Suggestions::expire`].
    pub fn pending(&self, now: u64) -> impl Iterator<Item = &Suggestion> {
        self.expiries.pending(now).filter_map(|key| self.pending.get(key))
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
        let of_frame = [Decision::Push, Decision::Pop].into_iter().filter_map(|what| self.pending.get(&(handle, what)));
        let is_pending = |suggestion: &&Suggestion| now.saturating_sub(suggestion.created_at) < TIME_TO_LIVE;
        let lines = of_frame.filter(is_pending).map(|suggestion| {
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

    /// Moves a suggestion to the history, if it is pending.
    fn settle(&mut self, key: Key, outcome: Outcome) {
        self.expiries.cancel(&key);
        let Some(suggestion) = self.pending.remove(&key) else { return };
        match outcome {
            Outcome::Followed => self.statistics.followed += 1,
            Outcome::Expired => self.statistics.expired += 1,
            Outcome::Cleared => self.statistics.cleared += 1,
        }
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Suggestion { outcome: Some(outcome), ..suggestion });
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
