//! What Beads' words mean for work: statuses, types, flags, and links. Words are in lower case, with `-`. An
//! export writes the first status for each fate.

use crate::import::fate::Fate::{self, *};
use crate::import::fate::{self, CANCELLED, FAILED};

/// Why a deferred issue waits.
pub(super) const DEFERRED: &str = "It is deferred in Beads.";

/// A pinned issue is not work, and blocks nothing.
pub(super) const PINNED: &str = "pinned";

pub(in crate::import) const STATUSES: &[(&str, Fate)] = &[
    ("open", Work),
    ("in-progress", Begun),
    ("hooked", Begun),
    ("blocked", Waits("It is blocked in Beads.")),
    ("deferred", Waits(DEFERRED)),
    ("draft", Waits("It is a draft in Beads.")),
    ("pinned", NoWork(PINNED)),
    ("closed", Finished),
    ("tombstone", Removed),
];

pub(super) const TYPES: &[(&str, Fate)] = &[
    ("task", Work),
    ("bug", Work),
    ("feature", Work),
    ("enhancement", Work),
    ("feat", Work),
    ("epic", Work),
    ("chore", Work),
    ("docs", Work),
    ("question", Work),
    ("decision", Work),
    ("dec", Work),
    ("adr", Work),
    ("spike", Work),
    ("investigation", Work),
    ("timebox", Work),
    ("story", Work),
    ("user-story", Work),
    ("milestone", NoWork("milestone")),
    ("ms", NoWork("milestone")),
    ("molecule", NoWork("molecule")),
    ("convoy", NoWork("convoy")),
    ("gate", NoWork("gate")),
    ("merge-request", NoWork("merge-request")),
    ("message", NoWork("message")),
    ("event", NoWork("event")),
    ("agent", NoWork("agent")),
    ("role", NoWork("role")),
    ("rig", NoWork("rig")),
    ("slot", NoWork("slot")),
    ("memory", NoWork("memory")),
    ("wisp", NoWorkBelow("wisp")),
    ("template", NoWorkBelow("template")),
    ("proto", NoWorkBelow("template")),
];

/// A record that only holds others together ends with them. For every other record that is not work, a person
/// says when it is over.
pub(super) const HOLDERS: [&str; 3] = ["milestone", "molecule", "convoy"];

/// Records that are opened by another actor and not by an agent.
pub(super) const GATES: [&str; 2] = ["gate", "merge-request"];

/// Keys that count as flags if their value is not empty, null, 0 or false.
pub(super) const FLAGS: &[(&str, Fate)] = &[
    ("is_template", NoWorkBelow("template")),
    ("wisp_type", NoWorkBelow("wisp")),
    ("wisp", NoWorkBelow("wisp")),
    ("ephemeral", NoWorkBelow("ephemeral")),
    ("no_history", NoWork("no history")),
    ("pinned", NoWork(PINNED)),
    ("deleted_at", Removed),
];

/// What a link says about the order of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkKind {
    /// The issue begins when the other issue is completed.
    Needs,
    /// The issue begins only if the other issue has failed.
    OnlyIfFailed,
    /// The other issue is above this issue.
    Parent,
    /// Nothing.
    Loose,
}

pub(super) const LINKS: &[(&str, LinkKind)] = &[
    ("blocks", LinkKind::Needs),
    ("blocked-by", LinkKind::Needs),
    ("depends-on", LinkKind::Needs),
    ("requires", LinkKind::Needs),
    ("needs", LinkKind::Needs),
    ("waits-for", LinkKind::Needs),
    ("conditional-blocks", LinkKind::OnlyIfFailed),
    ("conditional", LinkKind::OnlyIfFailed),
    ("parent-child", LinkKind::Parent),
    ("parent", LinkKind::Parent),
    ("child-of", LinkKind::Parent),
    ("related", LinkKind::Loose),
    ("relates-to", LinkKind::Loose),
    ("discovered-from", LinkKind::Loose),
    ("replies-to", LinkKind::Loose),
    ("duplicates", LinkKind::Loose),
    ("supersedes", LinkKind::Loose),
    ("authored-by", LinkKind::Loose),
    ("assigned-to", LinkKind::Loose),
    ("approved-by", LinkKind::Loose),
    ("attests", LinkKind::Loose),
    ("tracks", LinkKind::Loose),
    ("until", LinkKind::Loose),
    ("caused-by", LinkKind::Loose),
    ("validates", LinkKind::Loose),
    ("delegated-from", LinkKind::Loose),
];

/// With one of these words, the reason of a closed issue says that the issue has failed.
const FAILURES: &[&str] = &[
    "failed",
    "failure",
    "rejected",
    "wontfix",
    "won't fix",
    "canceled",
    "cancelled",
    "abandoned",
    "aborted",
    "timeout",
    "timed out",
];

/// The same, except at the end of the reason: there they can name a thing.
const FAILURES_AT_THE_BEGINNING: &[&str] = &["blocked", "error"];

/// With one of these words, a reason can say the opposite: `no test has failed`.
const DOUBTS: &[&str] = &[
    "no", "not", "none", "nothing", "never", "without", "fixed", "resolved", "handled", "passed", "works", "green",
    "0", "zero", "was", "were",
];

/// True if the reason of a closed issue says for sure that the issue has failed. Such a reason is one of
/// Beads' words for that, or begins with such a word and a mark such as `:`, or ends with such a word.
/// Nothing in it may say the opposite.
pub(super) fn is_failure(reason: &str) -> bool {
    let reason = reason.trim().trim_end_matches(['.', '!']).to_lowercase();
    // People and exports write it in this form, no matter what comes after it.
    if [FAILED, CANCELLED].iter().any(|word| fate::behind(word, &reason).is_some()) {
        return true;
    }
    let words: Vec<&str> = reason.split(|sign: char| !sign.is_alphanumeric() && sign != '\'').collect();
    if words.iter().any(|word| DOUBTS.contains(word) || word.ends_with("n't") && *word != "won't") {
        return false;
    }
    let begins = |word: &&str| {
        let rest = reason.strip_prefix(*word);
        rest.is_some_and(|rest| {
            rest.trim_start().is_empty() || rest.trim_start().starts_with([':', '-', '–', '—', ',', ';', '('])
        })
    };
    let ends = |word: &&str| reason.strip_suffix(*word).is_some_and(|rest| rest.ends_with(' '));
    FAILURES.iter().chain(FAILURES_AT_THE_BEGINNING).any(begins) || FAILURES.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::is_failure;

    #[test]
    fn only_a_clear_reason_is_a_failure() {
        for reason in ["failed", "Failed: disk full", "Deployment failed.", "cancelled", "Won't fix", "error: 500"] {
            assert!(is_failure(reason), "{reason}");
        }
        for reason in [
            "",
            "done",
            "Fixed the error",
            "no test has failed",
            "error handling is in src/error.rs",
            "blocked users are hidden",
            "The failed login is logged",
            "didn't fail",
            "the form shows an error",
            // "no" is a doubt, so it is left to a person.
            "timeout - no answer from the host",
        ] {
            assert!(!is_failure(reason), "{reason}");
        }
    }
}
