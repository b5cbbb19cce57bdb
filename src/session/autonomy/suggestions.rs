//! Suggestions to the agent. A suggestion is pending until it is followed or its cause ends, and for at most
//! five minutes; then it moves to the history.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use super::{Assessment, Decision};
use crate::frame::Handle;
use crate::session::timers::Timers;
use crate::vocabulary::ToolNames;

/// Time after which a pending suggestion expires, in milliseconds.
const TIME_TO_LIVE: u64 = 5 * 60_000;
/// Maximum number of past suggestions in the history.
const HISTORY: usize = 100;

/// A suggestion to the agent of a frame.
///
/// In JSON: `{"handle": "f1", "decision": "pop", "confidence": 100, "reason": "context_overflow 100: 96000 of
/// 100000 tokens are used", "createdAt": 1795293106903, "outcome": "followed"}`; a pending suggestion has no
/// `outcome`.
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
    /// Its cause has ended: the frame was finished, its conversation was compacted, the observations of its
    /// session no longer recommend it, or a stronger suggestion contradicts it. Or a tool has cleared it.
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

/// A pending suggestion.
#[derive(Debug, Clone)]
struct Pending {
    suggestion: Suggestion,
    /// True if it comes only from observations of the session, so that it ends when they no longer recommend
    /// it.
    is_observed: bool,
}

/// The pending and past suggestions. At most one is pending for each frame: if two contradict each other, the
/// one with the higher confidence.
#[derive(Debug, Clone, Default)]
pub struct Suggestions {
    pending: BTreeMap<Handle, Pending>,
    expiries: Timers<Handle>,
    history: VecDeque<Suggestion>,
    statistics: SuggestionStatistics,
}

impl Suggestions {
    /// Adds the recommendation of an assessment as a pending suggestion and returns true. `is_observed` is
    /// true if the assessment comes from observations of the session, see [`Suggestions::withdraw`].
    ///
    /// If the same decision is already pending for the frame, that suggestion is renewed without being
    /// counted again, and this returns false. If the other decision is pending, the one with the higher
    /// confidence remains; if the confidences are equal, the pop remains.
    pub fn add(&mut self, handle: Handle, assessment: &Assessment, is_observed: bool, now: u64) -> bool {
        self.expire(now);
        let Assessment { decision, confidence, .. } = *assessment;
        let mut is_observed = is_observed;
        let mut is_new = true;
        if let Some(before) = self.pending.get(&handle) {
            let Suggestion { decision: other, confidence: others_confidence, .. } = before.suggestion;
            if other == decision {
                is_observed &= before.is_observed;
                is_new = false;
            } else if (others_confidence, other) > assessment.strength() {
                return false;
            } else {
                self.settle(handle, Outcome::Cleared);
            }
        }
        let suggestion =
            Suggestion { handle, decision, confidence, reason: assessment.reason(), created_at: now, outcome: None };
        self.expiries.set(handle, now.saturating_add(TIME_TO_LIVE));
        self.pending.insert(handle, Pending { suggestion, is_observed });
        if is_new {
            match decision {
                Decision::Push => self.statistics.pushes += 1,
                Decision::Pop => self.statistics.pops += 1,
            }
        }
        is_new
    }

    /// Notes that observations of a frame's session do not recommend a decision (any more). A suggestion that
    /// came from them is cleared.
    pub fn withdraw(&mut self, handle: Handle, decision: Decision) {
        let is_meant = |pending: &Pending| pending.is_observed && pending.suggestion.decision == decision;
        if self.pending.get(&handle).is_some_and(is_meant) {
            self.settle(handle, Outcome::Cleared);
        }
    }

    /// Notes that the agent of a frame pushed a child or popped the frame. The matching suggestion becomes
    /// followed. After a pop, a suggested push is cleared.
    pub fn acted(&mut self, handle: Handle, decision: Decision, now: u64) {
        self.expire(now);
        let pending = self.pending.get(&handle).map(|pending| pending.suggestion.decision);
        if pending == Some(decision) {
            self.settle(handle, Outcome::Followed);
        } else if decision == Decision::Pop {
            self.settle(handle, Outcome::Cleared);
        }
    }

    /// Clears the suggestion to pop a frame, because it has got other work.
    pub fn end_pop(&mut self, handle: Handle) {
        if self.pending.get(&handle).is_some_and(|pending| pending.suggestion.decision == Decision::Pop) {
            self.settle(handle, Outcome::Cleared);
        }
    }

    /// Clears the suggestion for a frame, because its cause has ended.
    pub fn end(&mut self, handle: Handle) {
        self.settle(handle, Outcome::Cleared);
    }

    /// Clears all pending suggestions and returns their number.
    pub fn clear(&mut self, now: u64) -> usize {
        self.expire(now);
        let pending: Vec<Handle> = self.expiries.pending(now).copied().collect();
        pending.iter().for_each(|handle| self.settle(*handle, Outcome::Cleared));
        pending.len()
    }

    /// Moves suggestions that have been pending for five minutes to the history.
    pub fn expire(&mut self, now: u64) {
        self.expiries.due(now).into_iter().for_each(|handle| self.settle(handle, Outcome::Expired));
    }

    /// Returns the pending suggestions, oldest first. Expired ones are left out even before
    /// [`Suggestions::expire`].
    pub fn pending(&self, now: u64) -> impl Iterator<Item = &Suggestion> {
        self.expiries.pending(now).filter_map(|handle| self.pending.get(handle)).map(|pending| &pending.suggestion)
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

    /// Returns the pending suggestion for a frame as text for its agent; `None` if there is none. `tools` are
    /// the names of the tools that the text mentions.
    pub fn text(&self, handle: Handle, now: u64, tools: &ToolNames) -> Option<String> {
        let Pending { suggestion, .. } = self.pending.get(&handle)?;
        let Suggestion { decision, confidence, reason, created_at, .. } = suggestion;
        if now.saturating_sub(*created_at) >= TIME_TO_LIVE {
            return None;
        }
        Some(super::suggestion(handle, *decision, *confidence, reason, tools))
    }

    /// Moves the suggestion of a frame to the history, if one is pending.
    fn settle(&mut self, handle: Handle, outcome: Outcome) {
        self.expiries.cancel(&handle);
        let Some(Pending { suggestion, .. }) = self.pending.remove(&handle) else { return };
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
    use crate::vocabulary::ToolRole;

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
        suggestions.add(frame(1), &recommended(Decision::Pop, 80), false, 0);
        suggestions.add(frame(1), &recommended(Decision::Pop, 90), false, 1000);
        suggestions.add(frame(2), &recommended(Decision::Push, 71), false, 2000);
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
    fn of_two_that_contradict_each_other_the_stronger_is_pending() {
        let mut suggestions = Suggestions::default();
        let decisions = |suggestions: &Suggestions| {
            suggestions.pending(0).map(|pending| (pending.decision, pending.confidence)).collect::<Vec<_>>()
        };
        assert!(suggestions.add(frame(1), &recommended(Decision::Push, 90), true, 0));
        assert!(!suggestions.add(frame(1), &recommended(Decision::Pop, 85), true, 0));
        assert_eq!(decisions(&suggestions), [(Decision::Push, 90)]);
        assert!(suggestions.add(frame(1), &recommended(Decision::Pop, 90), true, 0), "of equal ones the pop");
        assert!(!suggestions.add(frame(1), &recommended(Decision::Push, 90), true, 0));
        assert_eq!(decisions(&suggestions), [(Decision::Pop, 90)]);
        let expected = SuggestionStatistics { pushes: 1, pops: 1, cleared: 1, ..SuggestionStatistics::default() };
        assert_eq!(suggestions.statistics(), expected);
    }

    #[test]
    fn what_was_observed_is_withdrawn_and_what_was_asked_for_is_not() {
        let mut suggestions = Suggestions::default();
        suggestions.add(frame(1), &recommended(Decision::Pop, 90), true, 0);
        suggestions.withdraw(frame(1), Decision::Push);
        assert_eq!(suggestions.pending(0).count(), 1);
        suggestions.withdraw(frame(1), Decision::Pop);
        assert_eq!(suggestions.pending(0).count(), 0);
        suggestions.add(frame(1), &recommended(Decision::Pop, 90), false, 0);
        suggestions.add(frame(1), &recommended(Decision::Pop, 95), true, 0);
        suggestions.withdraw(frame(1), Decision::Pop);
        assert_eq!(suggestions.pending(0).count(), 1);
        suggestions.end(frame(1));
        assert_eq!((suggestions.pending(0).count(), suggestions.statistics().cleared), (0, 2));
    }

    #[test]
    fn a_finished_frame_has_no_suggestions() {
        let mut suggestions = Suggestions::default();
        suggestions.add(frame(1), &recommended(Decision::Push, 80), false, 0);
        suggestions.acted(frame(1), Decision::Pop, 1);
        assert_eq!((suggestions.pending(1).count(), suggestions.statistics().cleared), (0, 1));
    }

    #[test]
    fn after_five_minutes_it_is_history() {
        let mut suggestions = Suggestions::default();
        suggestions.add(frame(1), &recommended(Decision::Pop, 80), false, 0);
        suggestions.add(frame(2), &recommended(Decision::Pop, 80), false, MINUTE);
        assert_eq!(suggestions.pending(5 * MINUTE - 1).count(), 2);
        assert_eq!(suggestions.pending(5 * MINUTE).count(), 1, "what has expired is not shown, noted or not");
        suggestions.expire(5 * MINUTE);
        assert_eq!(suggestions.statistics().expired, 1);
        suggestions.add(frame(1), &recommended(Decision::Pop, 80), false, 6 * MINUTE);
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
            suggestions.add(frame(number), &recommended(Decision::Push, 80), false, 0);
        }
        suggestions.clear(0);
        assert_eq!(suggestions.history().count(), 100);
        assert_eq!(suggestions.history().next().unwrap().handle, frame(51));
        assert_eq!(suggestions.statistics().pushes, 150);
    }
}
