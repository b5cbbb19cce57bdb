//! The standing advice on working with frames: static texts, in the words of this library.

/// What a call stack is to the agent. With [`RULES`] the brief form, at most 120 tokens.
pub(super) const PHILOSOPHY: &str = "\
<philosophy>This call stack is your task list: every piece of work with an outcome of its own is a frame. Use the stack_ tools in place of any to-do list.</philosophy>
";

pub(super) const RULES: &str = "\
<rules>
<rule>Meet this frame's success criteria before starting a sibling.</rule>
<rule>Go depth first: children before siblings.</rule>
<rule>When done, call stack_frame_pop with full results and a short resultsCompacted.</rule>
<rule>Name frames by handle, such as f3.</rule>
</rules>
";

/// Only in the full form, which has at most 350 tokens with the planning advice.
pub(super) const WHEN_TO_CREATE_CHILD_FRAMES: &str = "\
<when-to-create-child-frames>
Push a child frame (stack_frame_push) for work that
- has success criteria of its own, or could be retried as a unit
- can go on without the rest, or tries one of several approaches
- turns to other files or another part of the system
- is more than this frame was meant for
- deserves a summary that later frames will read
</when-to-create-child-frames>
";

/// For a root that has no children yet. It goes with the volatile part: it ends with the first
/// plan, and must not take the prompt cache along.
pub(super) const INITIAL_PLANNING: &str = "\
<initial-planning priority=\"HIGH\">Nothing is planned yet. Before you change any file: weigh the task; if it has several parts, plan each with stack_frame_plan_children, with criteria that can be checked; then start the first with stack_frame_activate.</initial-planning>
";
