//! The seven heuristics of the specification and the tables of their scores.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::frame::Frame;
use crate::keywords::keywords;

/// Maximum number of a frame's artifacts, and of its decisions, whose words are compared with the criteria.
const NEWEST: usize = 100;

/// A rule that estimates from observations whether a frame should be started (push) or finished (pop).
///
/// Each variant lists the points of its score table. Scores between two points are interpolated linearly; the
/// maximum is 100. In JSON a heuristic is a name such as `"failure_boundary"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Heuristic {
    /// Push: errors accumulate, so the next attempt should run in a separate frame, which can fail alone.
    ///
    /// 1 error scores 20, 2 errors (a retry failed) 55, 3 errors 75, 5 errors 90. Add 10 if the current goal
    /// is distinct, that is, if at least 70 % of its words are missing from the frame's title and criteria.
    FailureBoundary,
    /// Push: the work has moved to another topic.
    ///
    /// The share of the goal's words that are missing from the frame's title and criteria: 25 % scores 0,
    /// 50 % 30, 75 % 65, 100 % 80. Add 10 for changed files in 3 or 4 folders, and 20 for 5 or more folders
    /// (also without a goal).
    ///
    /// Only the agent knows its next goal: the observations of a host score at most 20 here. The score
    /// reaches a usual threshold in the answer to `stack_should_push` with a `potentialGoal`
    /// ([`PushSignals::potential_goal`](super::PushSignals::potential_goal)).
    ContextSwitch,
    /// Push: the frame has grown to more than one task.
    ///
    /// 10 messages score 20, 30 messages 60, 50 messages 80, 80 messages 90. Add 5 for 3 to 7 changed files,
    /// and 10 for 8 or more.
    Complexity,
    /// Push: the frame has been running for long, measured in tokens.
    ///
    /// 25,000 tokens score 20, 50,000 tokens 55, 80,000 tokens 80, 120,000 tokens 90.
    Duration,
    /// Pop: the success criteria are probably met.
    ///
    /// 1 success signal scores 50, 2 signals 70, 3 signals 80. Add 10 if the frame has artifacts, and up to
    /// 15 in proportion to the share of the criteria's words that occur in the signals, and in the newest 100
    /// artifacts and decisions.
    ///
    /// Only the agent knows what has succeeded: the observations of a host score at most 25 here. The score
    /// reaches a usual threshold in the answer to `stack_should_pop` with `successSignals`
    /// ([`PopSignals::success_signals`](super::PopSignals::success_signals)).
    GoalCompletion,
    /// Pop: the last turns made no progress.
    ///
    /// 3 turns without progress score 40, 5 turns 65, 10 turns 100. Add 15 for each failure signal.
    Stagnation,
    /// Pop: the model's context is nearly full.
    ///
    /// 40 % of the limit scores 0, 60 % 20, 80 % 65, 90 % 90, 95 % 100.
    ContextOverflow,
}

impl Heuristic {
    /// All heuristics, those for a push first.
    pub const ALL: &[Heuristic] = &[
        Heuristic::FailureBoundary,
        Heuristic::ContextSwitch,
        Heuristic::Complexity,
        Heuristic::Duration,
        Heuristic::GoalCompletion,
        Heuristic::Stagnation,
        Heuristic::ContextOverflow,
    ];

    pub(super) const EXPECTED: &str = "failure_boundary, context_switch, complexity, duration, goal_completion, \
                                       stagnation or context_overflow";

    /// The decision that the heuristic supports.
    pub const fn decision(self) -> Decision {
        match self {
            Heuristic::FailureBoundary | Heuristic::ContextSwitch | Heuristic::Complexity | Heuristic::Duration => {
                Decision::Push
            }
            Heuristic::GoalCompletion | Heuristic::Stagnation | Heuristic::ContextOverflow => Decision::Pop,
        }
    }

    /// The name in settings and answers, such as `failure_boundary`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Heuristic::FailureBoundary => "failure_boundary",
            Heuristic::ContextSwitch => "context_switch",
            Heuristic::Complexity => "complexity",
            Heuristic::Duration => "duration",
            Heuristic::GoalCompletion => "goal_completion",
            Heuristic::Stagnation => "stagnation",
            Heuristic::ContextOverflow => "context_overflow",
        }
    }
}

impl fmt::Display for Heuristic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The text is not the name of a heuristic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a heuristic is {}", Heuristic::EXPECTED)]
pub struct ParseHeuristicError;

impl FromStr for Heuristic {
    type Err = ParseHeuristicError;

    fn from_str(text: &str) -> Result<Self, ParseHeuristicError> {
        Heuristic::ALL.iter().copied().find(|heuristic| heuristic.as_str() == text).ok_or(ParseHeuristicError)
    }
}

/// Observations for the assessment of a push. They are also the arguments of the tool `stack_should_push`.
///
/// In JSON: `{"potentialGoal": "Draw a logo", "recentMessages": 12, "errorCount": 3, "tokenCount": 20000,
/// "recentFileChanges": ["src/logo.rs"]}`. Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PushSignals {
    /// The current goal, if it differs from the frame's goal.
    pub potential_goal: Option<String>,
    /// Number of messages in the frame's session. Default 0.
    pub recent_messages: u32,
    /// Number of recent errors. Default 0.
    pub error_count: u32,
    /// Number of tokens in the frame's session. Default 0.
    pub token_count: u64,
    /// Paths of recently changed files. Default none.
    pub recent_file_changes: Vec<String>,
}

impl PushSignals {
    setters! {
        potential_goal: Option<String>,
        recent_messages: u32,
        error_count: u32,
        token_count: u64,
        recent_file_changes: Vec<String>,
    }
}

/// Observations for the assessment of a pop. They are also the arguments of the tool `stack_should_pop`.
///
/// In JSON: `{"successSignals": ["all tests pass"], "failureSignals": [], "noProgressTurns": 0, "tokenCount":
/// 96000, "contextLimit": 100000}`. Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PopSignals {
    /// Signs of success, such as `all tests pass`. Default none.
    pub success_signals: Vec<String>,
    /// Signs of failure. Default none.
    pub failure_signals: Vec<String>,
    /// Number of consecutive turns without progress. Default 0.
    pub no_progress_turns: u32,
    /// Number of tokens in the session's context. Default 0.
    pub token_count: u64,
    /// Maximum size of the session's context, in tokens. Default 100,000.
    pub context_limit: u64,
}

impl PopSignals {
    setters! {
        success_signals: Vec<String>,
        failure_signals: Vec<String>,
        no_progress_turns: u32,
        token_count: u64,
        context_limit: u64,
    }
}

impl Default for PopSignals {
    fn default() -> Self {
        Self {
            success_signals: Vec::new(),
            failure_signals: Vec::new(),
            no_progress_turns: 0,
            token_count: 0,
            context_limit: 100_000,
        }
    }
}

/// The score of one heuristic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Score {
    /// The heuristic.
    pub heuristic: Heuristic,
    /// The strength of its signal, from 0 (none) to 100 (certain).
    pub score: u8,
    /// The observations behind the score, such as `3 errors`.
    pub reason: String,
}

/// Returns the scores of the enabled heuristics for a push.
pub(super) fn push_scores(frame: &Frame, signals: &PushSignals, enabled: &[Heuristic]) -> Vec<Score> {
    scores(Decision::Push, enabled, |heuristic| match heuristic {
        Heuristic::FailureBoundary => failure_boundary(frame, signals),
        Heuristic::ContextSwitch => context_switch(frame, signals),
        Heuristic::Complexity => complexity(signals),
        _ => duration(signals),
    })
}

/// Returns the scores of the enabled heuristics for a pop.
pub(super) fn pop_scores(frame: &Frame, signals: &PopSignals, enabled: &[Heuristic]) -> Vec<Score> {
    scores(Decision::Pop, enabled, |heuristic| match heuristic {
        Heuristic::GoalCompletion => goal_completion(frame, signals),
        Heuristic::Stagnation => stagnation(signals),
        _ => context_overflow(signals),
    })
}

fn scores(decision: Decision, enabled: &[Heuristic], score: impl Fn(Heuristic) -> (f64, String)) -> Vec<Score> {
    let asked = enabled.iter().filter(|heuristic| heuristic.decision() == decision);
    asked
        .map(|heuristic| {
            let (points, reason) = score(*heuristic);
            Score { heuristic: *heuristic, score: points.clamp(0.0, 100.0).round() as u8, reason }
        })
        .collect()
}

/// Interpolates linearly between points that are sorted by `x`. The line starts at the origin and is
/// horizontal after the last point.
fn line(points: &[(f64, f64)], x: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for point in points {
        if x <= point.0 {
            return before.1 + (point.1 - before.1) * (x - before.0) / (point.0 - before.0);
        }
        before = *point;
    }
    before.1
}

fn failure_boundary(frame: &Frame, signals: &PushSignals) -> (f64, String) {
    let errors = f64::from(signals.error_count);
    let is_distinct = signals.error_count > 0 && divergence(frame, signals).is_some_and(|share| share >= 0.7);
    let points = line(&[(1.0, 20.0), (2.0, 55.0), (3.0, 75.0), (5.0, 90.0)], errors);
    let goal = if is_distinct { ", and the current goal differs from the frame's" } else { "" };
    (points + if is_distinct { 10.0 } else { 0.0 }, format!("{} errors{goal}", signals.error_count))
}

fn context_switch(frame: &Frame, signals: &PushSignals) -> (f64, String) {
    let share = divergence(frame, signals).unwrap_or_default();
    let folders = folders(&signals.recent_file_changes);
    let points = line(&[(0.25, 0.0), (0.5, 30.0), (0.75, 65.0), (1.0, 80.0)], share)
        + match folders {
            0..=2 => 0.0,
            3..=4 => 10.0,
            _ => 20.0,
        };
    let words = (share * 100.0).round();
    (points, format!("{words} % of the goal's words are new to the frame, files changed in {folders} folders"))
}

fn complexity(signals: &PushSignals) -> (f64, String) {
    let files = signals.recent_file_changes.iter().collect::<BTreeSet<_>>().len();
    let points = line(&[(10.0, 20.0), (30.0, 60.0), (50.0, 80.0), (80.0, 90.0)], f64::from(signals.recent_messages))
        + match files {
            0..=2 => 0.0,
            3..=7 => 5.0,
            _ => 10.0,
        };
    (points, format!("{} messages, {files} changed files", signals.recent_messages))
}

fn duration(signals: &PushSignals) -> (f64, String) {
    let points = [(25_000.0, 20.0), (50_000.0, 55.0), (80_000.0, 80.0), (120_000.0, 90.0)];
    (line(&points, signals.token_count as f64), format!("{} tokens in the session", signals.token_count))
}

fn goal_completion(frame: &Frame, signals: &PopSignals) -> (f64, String) {
    let successes = signals.success_signals.len();
    let points = line(&[(1.0, 50.0), (2.0, 70.0), (3.0, 80.0)], successes as f64);
    let artifacts = if frame.artifacts.is_empty() { 0.0 } else { 10.0 };
    let seen: BTreeSet<String> = signals
        .success_signals
        .iter()
        .chain(newest(&frame.artifacts))
        .chain(newest(&frame.decisions))
        .flat_map(|text| keywords(text))
        .collect();
    let wanted = keywords(frame.dense_criteria());
    let covered = wanted.iter().filter(|word| seen.contains(*word)).count();
    let share = covered as f64 / wanted.len().max(1) as f64;
    let reason = format!(
        "{successes} success signals, {} artifacts, {covered} of {} words of the criteria mentioned",
        frame.artifacts.len(),
        wanted.len()
    );
    (points + artifacts + 15.0 * share, reason)
}

/// The newest entries of a list. Every message of a session is assessed, so the work must not grow with the
/// list.
fn newest(entries: &[String]) -> &[String] {
    &entries[entries.len().saturating_sub(NEWEST)..]
}

fn stagnation(signals: &PopSignals) -> (f64, String) {
    let turns = f64::from(signals.no_progress_turns);
    let failures = signals.failure_signals.len();
    let points = line(&[(3.0, 40.0), (5.0, 65.0), (10.0, 100.0)], turns) + 15.0 * failures as f64;
    (points, format!("{} turns without progress, {failures} failure signals", signals.no_progress_turns))
}

fn context_overflow(signals: &PopSignals) -> (f64, String) {
    let limit = signals.context_limit.max(1);
    let points = [(0.4, 0.0), (0.6, 20.0), (0.8, 65.0), (0.9, 90.0), (0.95, 100.0)];
    let share = signals.token_count as f64 / limit as f64;
    (line(&points, share), format!("{} of {limit} tokens are used", signals.token_count))
}

/// Returns the share of the goal's words that are missing from the frame's title and criteria; `None` without
/// a goal.
fn divergence(frame: &Frame, signals: &PushSignals) -> Option<f64> {
    let goal = keywords(signals.potential_goal.as_deref()?);
    let own: BTreeSet<String> =
        [frame.title.as_str(), &frame.success_criteria].into_iter().flat_map(keywords).collect();
    let foreign = goal.iter().filter(|word| !own.contains(*word)).count();
    (!goal.is_empty()).then(|| foreign as f64 / goal.len() as f64)
}

/// Returns the number of distinct folders of the files.
fn folders(files: &[String]) -> usize {
    let folder = |file: &String| file.rsplit_once(['/', '\\']).map_or(String::new(), |(folder, _)| folder.to_owned());
    files.iter().map(folder).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame {
            title: "Parse the configuration".into(),
            success_criteria: "All options of the file are read".into(),
            ..Frame::default()
        }
    }

    fn push(heuristic: Heuristic, signals: PushSignals) -> u8 {
        push_scores(&frame(), &signals, &[heuristic])[0].score
    }

    fn pop(heuristic: Heuristic, signals: PopSignals) -> u8 {
        pop_scores(&frame(), &signals, &[heuristic])[0].score
    }

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn no_signals_no_scores() {
        let push = push_scores(&frame(), &PushSignals::default(), Heuristic::ALL);
        let pop = pop_scores(&frame(), &PopSignals::default(), Heuristic::ALL);
        assert_eq!(push.len() + pop.len(), Heuristic::ALL.len());
        for score in push.into_iter().chain(pop) {
            assert_eq!(score.score, 0, "{score:?}");
        }
    }

    #[test]
    fn the_tables_of_a_push() {
        let errors = |error_count| PushSignals { error_count, ..PushSignals::default() };
        for (count, score) in [(1, 20), (2, 55), (3, 75), (4, 83), (5, 90), (1000, 90)] {
            assert_eq!(push(Heuristic::FailureBoundary, errors(count)), score, "{count} errors");
        }
        let goal = |goal: &str| PushSignals { potential_goal: Some(goal.into()), ..errors(0) };
        let distinct = PushSignals { error_count: 3, ..goal("Draw the login page") };
        assert_eq!(push(Heuristic::FailureBoundary, distinct), 85);
        for (text, score) in [
            ("Draw the login page", 80),
            ("Parse the options", 0),
            ("Parse login options quickly", 30),
            ("", 0),
            ("the and of", 0),
        ] {
            assert_eq!(push(Heuristic::ContextSwitch, goal(text)), score, "{text}");
        }
        let changed = |names: &[&str]| PushSignals { recent_file_changes: files(names), ..errors(0) };
        assert_eq!(push(Heuristic::ContextSwitch, changed(&["a/x", "a/y", "b/x"])), 0);
        assert_eq!(push(Heuristic::ContextSwitch, changed(&["a/x", "b/y", "c/x"])), 10);
        assert_eq!(push(Heuristic::ContextSwitch, changed(&["a/x", "b/y", "c/x", "d\\e\\x", "root"])), 20);
        for (count, score) in [(5, 10), (10, 20), (20, 40), (50, 80), (500, 90)] {
            let messages = PushSignals { recent_messages: count, ..errors(0) };
            assert_eq!(push(Heuristic::Complexity, messages), score, "{count} messages");
        }
        let busy = PushSignals { recent_messages: 500, ..changed(&["a", "a", "b", "c"]) };
        assert_eq!(push(Heuristic::Complexity, busy), 95);
        for (count, score) in [(25_000, 20), (50_000, 55), (65_000, 68), (u64::MAX, 90)] {
            assert_eq!(push(Heuristic::Duration, PushSignals { token_count: count, ..errors(0) }), score, "{count}");
        }
    }

    #[test]
    fn the_tables_of_a_pop() {
        let successes = |names: &[&str]| PopSignals { success_signals: files(names), ..PopSignals::default() };
        for (names, score) in [
            (&["tests pass"][..], 50),
            (&["tests pass", "it builds"], 70),
            (&["a1", "b1", "c1", "d1"], 80),
            (&["options of the file are read"], 65),
        ] {
            assert_eq!(pop(Heuristic::GoalCompletion, successes(names)), score, "{names:?}");
        }
        let done = Frame { artifacts: vec!["src/options/file.rs".into()], ..frame() };
        let score = &pop_scores(&done, &successes(&["read"]), &[Heuristic::GoalCompletion])[0];
        assert_eq!(score.score, 75, "{}", score.reason);
        for (turns, score) in [(1, 13), (3, 40), (5, 65), (10, 100), (u32::MAX, 100)] {
            let signals = PopSignals { no_progress_turns: turns, ..PopSignals::default() };
            assert_eq!(pop(Heuristic::Stagnation, signals), score, "{turns} turns");
        }
        let old = ["options file read", "x"].into_iter().chain(["y"; 99]).map(str::to_owned);
        let many = Frame { artifacts: old.collect(), ..frame() };
        let score = |frame: &Frame| pop_scores(frame, &successes(&["a1"]), &[Heuristic::GoalCompletion])[0].score;
        assert_eq!(score(&many), 60, "only the newest hundred are compared");
        assert_eq!(score(&Frame { artifacts: many.artifacts[..100].to_vec(), ..frame() }), 75);
        let failing = PopSignals { no_progress_turns: 5, failure_signals: files(&["a", "b"]), ..PopSignals::default() };
        assert_eq!(pop(Heuristic::Stagnation, failing), 95);
        for (tokens, limit, score) in
            [(40, 100, 0), (60, 100, 20), (80, 100, 65), (90, 100, 90), (95, 100, 100), (5, 0, 100), (0, 0, 0)]
        {
            let signals = PopSignals { token_count: tokens, context_limit: limit, ..PopSignals::default() };
            assert_eq!(pop(Heuristic::ContextOverflow, signals), score, "{tokens} of {limit}");
        }
    }

    #[test]
    fn disabled_heuristics_are_not_asked() {
        let signals = PushSignals { error_count: 9, ..PushSignals::default() };
        let scores = push_scores(&frame(), &signals, &[Heuristic::Duration, Heuristic::Stagnation]);
        assert_eq!(scores.iter().map(|score| score.heuristic).collect::<Vec<_>>(), [Heuristic::Duration]);
    }

    #[test]
    fn names_are_those_of_the_json() {
        for heuristic in Heuristic::ALL.iter().copied() {
            assert_eq!(serde_json::to_value(heuristic).unwrap(), heuristic.as_str());
            assert_eq!(heuristic.as_str().parse(), Ok(heuristic));
            assert!(Heuristic::EXPECTED.contains(heuristic.as_str()));
        }
        assert!("guesswork".parse::<Heuristic>().is_err());
    }
}
