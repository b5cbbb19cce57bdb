//! The guidance on working with frames, with the host's names of the tools. The names are already escaped for
//! XML.

use crate::vocabulary::{ToolNames, ToolRole};

/// Explains the call stack to the agent. Together with [`rules`] it is the brief guidance: at most 120 tokens
/// with the default names, and at most 80 for a root.
pub(super) fn philosophy(tools: &ToolNames) -> String {
    let means = match tools.beginning() {
        Some(beginning) => format!("Use the {beginning} tools"),
        None => "Use it".to_owned(),
    };
    format!(
        "<philosophy>This call stack is your task list: every piece of work with an outcome of its own is a frame. {means} \
         in place of any to-do list.</philosophy>\n"
    )
}

/// The rules for a frame below another one.
pub(super) fn rules(tools: &ToolNames) -> String {
    let order = "<rule>Go depth first: children, then this frame's criteria, then siblings.</rule>\n";
    format!("<rules>\n{order}{}</rules>\n", common_rules(tools))
}

/// The rules for a root, which has no siblings.
pub(super) fn root_rules(tools: &ToolNames) -> String {
    format!("<rules>\n{}</rules>\n", common_rules(tools))
}

fn common_rules(tools: &ToolNames) -> String {
    let finish = match tools.get(ToolRole::Pop) {
        Some(pop) => format!("call {pop} with its results"),
        None => "finish this frame with full results and a short summary of them".to_owned(),
    };
    format!("<rule>When done, {finish}.</rule>\n<rule>Name frames by handle, such as f3.</rule>\n")
}

/// Part of the full guidance only, which has at most 350 tokens together with [`initial_planning`] and the
/// default names. The context of a root has it in the volatile part, next to that advice.
pub(super) fn when_to_create_child_frames(tools: &ToolNames) -> String {
    let by = tools.get(ToolRole::Push).map_or(String::new(), |push| format!(" ({push})"));
    format!(
        "\
<when-to-create-child-frames>
Push a child frame{by} for work that
- has criteria of its own, or could be retried as a unit
- is independent of the rest, or one of several approaches
- turns to other files or another part of the system
- is more than this frame was meant for
- later frames should read a summary of
</when-to-create-child-frames>
"
    )
}

/// The advice for a root without children. It belongs to the volatile part, because it disappears when the
/// first child is planned or after a few requests, and that must not change the stable part.
pub(crate) fn initial_planning(tools: &ToolNames) -> String {
    let plan = match tools.get(ToolRole::PlanChildren) {
        Some(plan) => format!("plan each with {plan}"),
        None => "plan each as a child frame".to_owned(),
    };
    let by = tools.get(ToolRole::Activate).map_or(String::new(), |activate| format!(" with {activate}"));
    format!(
        "<initial-planning priority=\"HIGH\">Nothing is planned yet. Before you change any file: weigh the task; if it has \
         several parts, {plan}, with criteria that can be checked; then start the first{by}.</initial-planning>\n"
    )
}
