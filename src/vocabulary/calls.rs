//! Which of the stack's tools a call in a conversation is for: hosts write their names with many kinds of
//! prefixes.

use super::{ToolNames, ToolRole};

/// The name under which hosts know our server, unless a person has chosen another name.
pub(crate) const SERVER: &str = "callstack";

/// What a call of a tool does to the frames of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallRole {
    /// Begins a new frame.
    Push,
    /// Begins a planned frame, or resumes one.
    Activate,
    /// Finishes or blocks a frame.
    Pop,
    /// Takes a frame out of the plan.
    Invalidate,
    /// Records decisions, artifacts, or both.
    Record,
}

/// The names under which the server of the program offers the tools.
const SERVED: [(&str, CallRole); 5] = [
    ("push", CallRole::Push),
    ("activate", CallRole::Activate),
    ("pop", CallRole::Pop),
    ("invalidate", CallRole::Invalidate),
    ("record", CallRole::Record),
];

/// The tools of the library that have no role for texts.
const OTHERS: [(&str, CallRole); 2] =
    [("stack_add_decision", CallRole::Record), ("stack_add_artifact", CallRole::Record)];

/// The tools of the library by their roles.
const ROLES: [(ToolRole, CallRole); 5] = [
    (ToolRole::Push, CallRole::Push),
    (ToolRole::Activate, CallRole::Activate),
    (ToolRole::PlanChildren, CallRole::Activate),
    (ToolRole::Pop, CallRole::Pop),
    (ToolRole::Invalidate, CallRole::Invalidate),
];

/// Finds the role of a call by the name of its tool.
#[derive(Debug, Clone)]
pub(crate) struct CallNames<'a> {
    names: &'a ToolNames,
    server: &'a str,
}

impl<'a> CallNames<'a> {
    /// The names of a host, and those of our server under the name by which the host knows it.
    pub fn new(names: &'a ToolNames, server: &'a str) -> Self {
        Self { names, server }
    }

    /// True if a text can name a tool that ends frames.
    pub fn may_be_in(&self, text: &str) -> bool {
        let own = [ToolRole::Pop, ToolRole::Invalidate].into_iter().filter_map(|role| self.names.get(role));
        let own = own.chain([ToolRole::Pop.tool(), ToolRole::Invalidate.tool()]);
        !self.server.is_empty() && text.contains(self.server) || { own }.any(|name| text.contains(name))
    }

    /// The role of a call of a tool with this name, which some hosts divide into a namespace and a name.
    pub fn role(&self, namespace: &str, name: &str) -> Option<CallRole> {
        let of = |table: &[(&str, CallRole)], name: &str| {
            table.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
        };
        let of_library = |name: &str| {
            let role = ROLES.iter().find(|(role, _)| role.tool() == name).map(|(_, role)| *role);
            role.or_else(|| of(&OTHERS, name))
        };
        if namespace.is_empty() {
            let named = ROLES.iter().find(|(role, _)| self.names.get(*role) == Some(name)).map(|(_, role)| *role);
            if let Some(role) = named.or_else(|| of_library(name)) {
                return Some(role);
            }
        }
        let mut served = self.served(namespace, name);
        served.find_map(|tool| of(&SERVED, tool).or_else(|| of_library(tool)))
    }

    /// What the name of a tool within our server can be, such as `push` for `mcp__callstack__push`.
    fn served<'b>(&'b self, namespace: &'b str, name: &'b str) -> impl Iterator<Item = &'b str> {
        let is_separator = |character: char| !character.is_ascii_alphanumeric();
        let namespace = namespace.trim_end_matches(is_separator);
        let whole = Some(name.trim_start_matches(is_separator)).filter(|_| self.ends_with_server(namespace));
        // The names of tools have underscores themselves, so each place is tried at which the server's name
        // can end.
        let parts = if namespace.is_empty() { name } else { "" };
        let ends = parts.match_indices(self.server).map(|(start, server)| start + server.len());
        let within = ends.filter(|end| self.ends_with_server(&parts[..*end])).filter_map(move |end| {
            let tool = parts[end..].trim_start_matches(is_separator);
            (tool.len() < parts.len() - end).then_some(tool)
        });
        whole.into_iter().chain(within)
    }

    /// True if a text is the name of our server, or ends with it behind a separator.
    fn ends_with_server(&self, text: &str) -> bool {
        let before = text.strip_suffix(self.server).filter(|_| !self.server.is_empty());
        before.is_some_and(|before| before.chars().next_back().is_none_or(|last| !last.is_ascii_alphanumeric()))
    }
}

/// For a tool that begins frames: the tool of the same host that shows everything about a frame, and the key
/// of its argument. `None` if the host has names of its own, and none for that tool.
pub(crate) fn beside(name: &str, names: &ToolNames) -> Option<(String, &'static str)> {
    if [ToolRole::Push, ToolRole::Activate, ToolRole::Pop].into_iter().any(|role| names.get(role) == Some(name)) {
        return names.get(ToolRole::Details).map(|details| (details.to_owned(), "frameID"));
    }
    if let Some(prefix) = ROLES.iter().map(|(role, _)| role.tool()).find_map(|tool| name.strip_suffix(tool)) {
        return Some((format!("{prefix}{}", ToolRole::Details.tool()), "frameID"));
    }
    let prefix = SERVED.iter().find_map(|(tool, _)| name.strip_suffix(tool))?;
    Some((format!("{prefix}status"), "of"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_own_form_of_a_name() {
        let names = ToolNames::default();
        let calls = CallNames::new(&names, SERVER);
        for (namespace, name) in [
            ("", "mcp__callstack__push"),
            ("mcp__callstack", "push"),
            ("mcp__callstack__", "push"),
            ("", "mcp_callstack_push"),
            ("", "callstack-push"),
            ("", "callstack_push"),
            ("", "callstack__push"),
            ("", "callstack.push"),
            ("", "mcp__plugin_callstack_callstack__push"),
            ("", "stack_frame_push"),
            ("", "callstack_stack_frame_push"),
        ] {
            assert_eq!(calls.role(namespace, name), Some(CallRole::Push), "{namespace:?} {name:?}");
        }
        assert_eq!(calls.role("", "callstack-pop"), Some(CallRole::Pop));
        assert_eq!(calls.role("", "stack_add_decision"), Some(CallRole::Record));
    }

    #[test]
    fn tools_of_others_have_no_role() {
        let names = ToolNames::default();
        let calls = CallNames::new(&names, SERVER);
        for (namespace, name) in [
            ("", "push"),
            ("", "git_push"),
            ("", "mcp__github__push"),
            ("mcp__github", "push"),
            ("", "mycallstack_push"),
            ("", "callstackpush"),
            ("", "mcp__callstack__status"),
            ("github", "stack_frame_push"),
            ("", ""),
        ] {
            assert_eq!(calls.role(namespace, name), None, "{namespace:?} {name:?}");
        }
    }

    #[test]
    fn the_tool_that_shows_a_frame_has_the_same_form() {
        let names = ToolNames::default();
        for (name, tool, key) in [
            ("mcp__callstack__push", "mcp__callstack__status", "of"),
            ("callstack-activate", "callstack-status", "of"),
            ("push", "status", "of"),
            ("stack_frame_push", "stack_frame_details", "frameID"),
            ("callstack_stack_frame_pop", "callstack_stack_frame_details", "frameID"),
        ] {
            assert_eq!(beside(name, &names), Some((tool.to_owned(), key)), "{name}");
        }
        let names = names.name(ToolRole::Push, "begin").name(ToolRole::Details, "show_task");
        assert_eq!(beside("begin", &names), Some(("show_task".to_owned(), "frameID")));
        assert_eq!(beside("begin", &names.without(ToolRole::Details)), None);
    }

    #[test]
    fn names_of_the_host_and_of_the_server_can_be_set() {
        let names = ToolNames::default().name(ToolRole::Push, "begin");
        let calls = CallNames::new(&names, "frames");
        assert_eq!(calls.role("", "begin"), Some(CallRole::Push));
        assert_eq!(calls.role("", "mcp__frames__pop"), Some(CallRole::Pop));
        assert_eq!(calls.role("", "mcp__callstack__pop"), None);
        assert_eq!(CallNames::new(&names, "").role("", "_push"), None);
    }
}
