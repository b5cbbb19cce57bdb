//! The XML around the frames: elements, counts, and their costs in tokens.

use std::borrow::Cow;
use std::fmt::Write;

use super::Contexts;
use super::considered::Considered;
use super::cost::{BYTES_PER_TOKEN, Cost};
use super::fragment::TITLE_TOKENS;
use super::tokens::TokenCounter;
use super::xml::escape;
use crate::frame::{FrameStatus, Handle};

/// It does not name the frame, so that all siblings share a prompt cache up to the end of their ancestors.
/// The element of the current frame names it.
const STABLE_OPEN: &str = "<stack-context>\n";
pub(super) const STABLE_CLOSE: &str = "</stack-context>\n";
pub(super) const VOLATILE_OPEN: &str = "<stack-now>\n";
pub(super) const VOLATILE_CLOSE: &str = "</stack-now>\n";
pub(super) const MANAGEMENT: [&str; 2] = ["<stack-task-management>\n", "</stack-task-management>\n"];
pub(super) const ANCESTORS_CLOSE: &str = "</ancestors>\n";
pub(super) const REGISTERS_CLOSE: &str = "</registers>\n";
pub(super) const PLANNED_CLOSE: &str = "</planned-children>\n";

/// The opening tag of the stable part. `session` is the ID of the frame, if the form names it.
pub(super) fn stable_open(session: Option<&str>) -> Cow<'static, str> {
    match session {
        Some(session) => format!("<stack-context session=\"{}\">\n", escape(session)).into(),
        None => STABLE_OPEN.into(),
    }
}

/// The tags around the frame's own dependencies.
pub(super) fn dependencies() -> [Cow<'static, str>; 2] {
    ["<dependencies>\n".into(), "</dependencies>\n".into()]
}

/// The tags around the dependencies of an ancestor.
pub(super) fn inherited_dependencies(ancestor: Handle) -> [Cow<'static, str>; 2] {
    [format!("<inherited-dependencies of=\"{ancestor}\">\n").into(), "</inherited-dependencies>\n".into()]
}

/// The tags around the earlier attempts at the frame's work.
pub(super) fn attempts() -> [Cow<'static, str>; 2] {
    ["<earlier-attempts>\n".into(), "</earlier-attempts>\n".into()]
}

/// The tags around the finished siblings of an ancestor.
pub(super) fn ancestor_siblings(ancestor: Handle) -> [Cow<'static, str>; 2] {
    [format!("<ancestor-siblings beside=\"{ancestor}\">\n").into(), "</ancestor-siblings>\n".into()]
}

/// The tags around finished siblings of the frame, which are completed or have failed; with their number, if
/// the form has it.
pub(super) fn siblings(have_failed: bool, count: Option<usize>) -> [Cow<'static, str>; 2] {
    let [name, open, close] = match have_failed {
        true => ["failed-siblings", "<failed-siblings>\n", "</failed-siblings>\n"],
        false => ["completed-siblings", "<completed-siblings>\n", "</completed-siblings>\n"],
    };
    let open = count.map_or(open.into(), |count| format!("<{name} count=\"{count}\">\n").into());
    [open, close.into()]
}

/// The tags around the finished children.
pub(super) fn children() -> [Cow<'static, str>; 2] {
    ["<finished-children>\n".into(), "</finished-children>\n".into()]
}

pub(super) fn ancestors_open(count: usize) -> String {
    format!("<ancestors count=\"{count}\">\n")
}

/// Returns the element that replaces the ancestors omitted between the root and those shown.
pub(super) fn gap(count: usize, from: Handle, to: Handle) -> String {
    format!("<omitted count=\"{count}\" from=\"{from}\" to=\"{to}\"/>\n")
}

/// The numbers of frames and chunks that the stable part omits. `see` is the frame below which the agent can
/// find them; its details name what it depends on.
pub(super) struct Truncation {
    pub(super) ancestors: usize,
    /// Dependencies of the frame or of its ancestors, except its siblings.
    pub(super) dependencies: usize,
    pub(super) attempts: usize,
    pub(super) ancestor_siblings: usize,
    pub(super) siblings: usize,
    pub(super) children: usize,
    pub(super) chunks: usize,
    pub(super) see: Handle,
}

impl Truncation {
    pub(super) fn write(&self, out: &mut String) {
        let counts = [
            ("omitted-ancestors", self.ancestors),
            ("omitted-dependencies", self.dependencies),
            ("omitted-attempts", self.attempts),
            ("omitted-ancestor-siblings", self.ancestor_siblings),
            ("omitted-siblings", self.siblings),
            ("omitted-children", self.children),
            ("omitted-chunks", self.chunks),
        ];
        if counts.iter().all(|(_, count)| *count == 0) {
            return;
        }
        out.push_str("<truncation");
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            let _ = write!(out, " {name}=\"{count}\"");
        }
        let _ = writeln!(out, " see=\"{}\"/>", self.see);
    }
}

pub(super) fn planned_open(count: usize, omitted: usize) -> String {
    match omitted {
        0 => format!("<planned-children count=\"{count}\">\n"),
        _ => format!("<planned-children count=\"{count}\" omitted=\"{omitted}\">\n"),
    }
}

/// Returns the element that replaces the planned children if all of them are omitted. It costs less than the
/// tags around them.
pub(super) fn planned_omitted(count: usize) -> String {
    format!("<planned-children count=\"{count}\" omitted=\"{count}\"/>\n")
}

/// Returns the maximum cost of everything around the frames of a stable part, except the tags of the parts.
/// It depends on the considered frames, not on the selected ones. `session` is as for [`stable_open`].
pub(super) fn stable_cost(contexts: &Contexts, considered: &Considered, session: Option<&str>, chunks: usize) -> Cost {
    let Considered { handle, ancestors, dependencies, inherited, ancestor_siblings, siblings, .. } = considered;
    let (costs, count) = (&contexts.costs, |text: &str| contexts.cost(text));
    let mut cost = match session {
        Some(_) => count(&stable_open(session)) + count(STABLE_CLOSE),
        None => costs.stable,
    };
    let last = ancestors.iter().max().map_or(handle, |last| last.max(handle));
    if !ancestors.is_empty() {
        cost += count(&ancestors_open(ancestors.len())) + costs.ancestors_close;
        if ancestors.len() > 2 {
            cost += count(&gap(ancestors.len(), *last, *last));
        }
    }
    let depended_on = siblings.iter().filter(|sibling| sibling.is_dependency).count();
    let scored: usize = ancestor_siblings.iter().map(|level| level.siblings.len()).sum();
    let mut truncation = String::new();
    Truncation {
        ancestors: ancestors.len().saturating_sub(2),
        dependencies: dependencies.len()
            + depended_on
            + inherited.iter().map(|level| level.dependencies.len()).sum::<usize>(),
        attempts: considered.attempts.len() + considered.other_attempts,
        ancestor_siblings: considered.other_ancestor_siblings + scored,
        siblings: siblings.len() + considered.other_siblings,
        children: considered.children.len() + considered.other_children,
        chunks,
        see: *last,
    }
    .write(&mut truncation);
    cost + count(&truncation)
}

/// The costs of the constant pieces. [`Wording`](super::wording::Wording) has those of the pieces that name
/// tools.
#[derive(Debug)]
pub(super) struct Costs {
    /// The tags around the stable part.
    pub(super) stable: Cost,
    /// The tags around the volatile part.
    pub(super) volatile: Cost,
    pub(super) ancestors_close: Cost,
    /// The maximum cost of a volatile part that contains only the stub of the current frame.
    pub(super) volatile_least: Cost,
}

impl Costs {
    pub(super) fn of(counter: &dyn TokenCounter) -> Self {
        let count = |text: &str| Cost::of(text, counter);
        let pair = |texts: [&str; 2]| count(texts[0]) + count(texts[1]);
        let last = Handle::from_index(Handle::LIMIT - 1).expect("the last handle");
        let stub = |status: &FrameStatus| count(&format!("<current-frame id=\"{last}\" status=\"{status}\">\n"));
        let stub = FrameStatus::ALL.iter().map(stub).fold(Cost::default(), Cost::max);
        Self {
            stable: pair([STABLE_OPEN, STABLE_CLOSE]),
            volatile: pair([VOLATILE_OPEN, VOLATILE_CLOSE]),
            ancestors_close: count(ANCESTORS_CLOSE),
            volatile_least: pair([VOLATILE_OPEN, VOLATILE_CLOSE])
                + stub
                + count("<title>")
                + Cost { tokens: TITLE_TOKENS, bytes: TITLE_TOKENS * BYTES_PER_TOKEN }
                + count("</title>\n")
                + count("</current-frame>\n"),
        }
    }
}
