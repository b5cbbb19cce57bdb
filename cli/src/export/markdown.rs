//! The report of a stack in Markdown, for an issue, a pull request or a status mail: the plan as a check
//! list, decisions, and costs.

use std::fmt::Write;

use callstack_core::frame::ModelUsage;
use callstack_core::text::{one_line, visible};
use callstack_core::{FrameStatus, Handle, Tree};

use super::cut;
use crate::output::{number, us_dollars};

/// Maximum length of a title, of results and of a decision, in characters.
const LONGEST: usize = 600;
/// Levels of nested lists. Deeper frames are at the last level.
const LEVELS: usize = 12;

/// The report of a frame and the frames below it, or of all frames. Frames that are out of the plan are only
/// counted.
pub fn report(tree: &Tree, frame: Option<Handle>) -> String {
    let tops = frame.map_or_else(|| tree.roots().to_vec(), |frame| vec![frame]);
    let shown: Vec<Handle> = tops.iter().copied().filter(|top| !tree.is_out_of_sight(*top)).collect();
    if shown.is_empty() {
        return "Nothing is planned.\n".to_owned();
    }
    let mut text = String::new();
    for top in shown {
        if !text.is_empty() {
            text.push('\n');
        }
        of_tree(tree, top, &mut text);
    }
    text
}

fn of_tree(tree: &Tree, top: Handle, text: &mut String) {
    let (mut list, mut decisions) = (String::new(), Vec::new());
    let (mut out, mut shown, mut completed, mut waiting) = (0, 0, 0, 0);
    let first = tree.node(top).depth();
    // The level of the frame that is out of the plan and in whose tree the walk is.
    let mut hidden = usize::MAX;
    for handle in tree.subtree(top) {
        let node = tree.node(handle);
        let level = node.depth() - first;
        if level <= hidden {
            hidden = if tree.is_out_of_sight(handle) { level } else { usize::MAX };
        }
        if hidden != usize::MAX {
            out += 1;
            continue;
        }
        let record = node.record();
        // An attempt that was retried counts with the next attempt.
        shown += usize::from(node.retried_as().is_none());
        completed += usize::from(record.status == FrameStatus::Completed);
        waiting += usize::from(record.status == FrameStatus::Blocked && record.pending_answer().is_none());
        item(tree, handle, level, &mut list);
        decisions.extend(record.decisions.iter().map(|decision| (node.title(), decision)));
    }
    let usage = tree.usage(top);
    let mut sums = vec![format!("{completed} of {shown} done")];
    sums.extend(
        (waiting > 0).then(|| format!("{waiting} {} for an answer", if waiting == 1 { "waits" } else { "wait" })),
    );
    sums.extend((usage.total_cost_micro_usd > 0).then(|| us_dollars(usage.total_cost_micro_usd)));
    let all: ModelUsage = usage.total.iter().sum();
    sums.extend((all.requests > 0).then(|| format!("{} tokens", number(all.input().saturating_add(all.answer())))));
    let _ = write!(text, "## {}\n\n{}\n\n{list}", inline(tree.node(top).title()), sums.join(", "));
    if out > 0 {
        let _ = writeln!(text, "\n{out} {} out of the plan.", if out == 1 { "frame is" } else { "frames are" });
    }
    if !decisions.is_empty() {
        text.push_str("\n### Decisions\n\n");
        for (title, decision) in decisions {
            let _ = writeln!(text, "- {}: {}", inline(title), inline(decision));
        }
    }
    costs(&usage.total, text);
}

/// The line of a frame in the check list.
fn item(tree: &Tree, handle: Handle, level: usize, text: &mut String) {
    let record = tree.node(handle).record();
    let mark = if record.status == FrameStatus::Completed { "x" } else { " " };
    let _ = write!(text, "{}- [{mark}] **{}** ({handle})", "  ".repeat(level.min(LEVELS)), inline(&record.title));
    if let Some(assignee) = &record.assignee {
        let _ = write!(text, " for {}", inline(assignee));
    }
    if !record.labels.is_empty() {
        let _ = write!(text, " *{}*", inline(&record.labels.join(", ")));
    }
    let said = match record.status {
        FrameStatus::Completed => record.dense_results().to_owned(),
        FrameStatus::Failed => format!("failed: {}", record.dense_results()),
        FrameStatus::Invalidated => "out of the plan".to_owned(),
        FrameStatus::Blocked => format!("waits: {}", record.waits_for()),
        FrameStatus::InProgress => "in progress".to_owned(),
        FrameStatus::Planned => {
            let after: Vec<String> = tree.unfinished_dependencies(handle).map(|other| other.to_string()).collect();
            if after.is_empty() { String::new() } else { format!("after {}", after.join(", ")) }
        }
    };
    match said.trim().is_empty() {
        true => text.push('\n'),
        false => {
            let _ = writeln!(text, ": {}", inline(&said));
        }
    }
}

fn costs(usage: &[ModelUsage], text: &mut String) {
    if usage.is_empty() {
        return;
    }
    text.push_str("\n### Costs\n\n| model | requests | tokens in | tokens out |\n|---|---:|---:|---:|\n");
    for model in usage {
        let [requests, input, output] = [model.requests, model.input(), model.answer()].map(number);
        let _ = writeln!(text, "| {} | {requests} | {input} | {output} |", inline(&model.model));
    }
}

/// A text within a line. Nothing in it is markup, mentions a person or refers to an issue.
fn inline(text: &str) -> String {
    let mut escaped = String::new();
    for character in cut(&one_line(&visible(text)), LONGEST).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '@' => escaped.push_str("&#64;"),
            '#' => escaped.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '>' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use callstack_core::{NewFrame, PopStatus, Stack};

    use super::*;

    #[test]
    fn texts_of_frames_are_no_markup() {
        let stack = Stack::in_memory();
        let hostile = "<img src=x> @ann #12 [a](b) `c` **d** | e\n# f";
        stack.push(NewFrame::new(hostile).id("root")).unwrap();
        stack.add_decision("root", hostile).unwrap();
        stack.pop("root", PopStatus::Completed, hostile).unwrap();
        let text = stack.read(|tree| report(tree, None)).unwrap();
        let said = "&lt;img src=x\\> &#64;ann &#35;12 \\[a\\](b) \\`c\\` \\*\\*d\\*\\* \\| e &#35; f";
        assert_eq!(
            text,
            format!("## {said}\n\n1 of 1 done\n\n- [x] **{said}** (f1): {said}\n\n### Decisions\n\n- {said}: {said}\n")
        );
    }

    #[test]
    fn what_is_out_of_the_plan_is_counted() {
        let stack = Stack::in_memory();
        assert_eq!(stack.read(|tree| report(tree, None)).unwrap(), "Nothing is planned.\n");
        stack.push(NewFrame::new("Shop").id("shop")).unwrap();
        for title in ["Cart", "Fax", "Mail"] {
            stack.plan(NewFrame::new(title).id(title).below("shop")).unwrap();
        }
        stack.invalidate("Fax", "Not needed").unwrap();
        let text = stack.read(|tree| report(tree, None)).unwrap();
        let list = "- [ ] **Shop** (f1): in progress\n  - [ ] **Cart** (f2)\n  - [ ] **Mail** (f4)\n";
        assert_eq!(text, format!("## Shop\n\n0 of 3 done\n\n{list}\n1 frame is out of the plan.\n"));
    }
}
