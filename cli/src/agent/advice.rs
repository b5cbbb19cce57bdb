//! The advice to push or to pop. It follows from the records of a frame: how many requests the frame has
//! taken, and which files are there.

use std::collections::HashSet;

use callstack_core::session::autonomy::{AutonomySettings, Decision, advise};
use callstack_core::{Handle, HostSettings, Result, Stack, ToolNames, ToolRole};

/// Advises the agent in the answers of its tools.
pub struct Advice {
    settings: AutonomySettings,
    tools: ToolNames,
    given: HashSet<(Handle, Decision)>,
}

impl Advice {
    /// The advice that the environment variables of autonomy allow.
    pub fn from_environment() -> Self {
        let tools = ToolNames::none().name(ToolRole::Push, "push_frame").name(ToolRole::Pop, "pop_frame");
        Self { settings: HostSettings::from_environment("{}").0.autonomy, tools, given: HashSet::new() }
    }

    /// The advice for a frame, unless this process has given it before.
    pub fn of(&mut self, stack: &Stack, frame: Handle) -> Result<Option<String>> {
        let advised = stack.read(|tree| advise(tree, frame, &self.settings))?;
        let new = advised.filter(|advised| self.given.insert((frame, advised.decision)));
        Ok(new.map(|advised| advised.suggestion(frame, &self.tools)))
    }
}

#[cfg(test)]
mod tests {
    use callstack_core::NewFrame;
    use callstack_core::frame::ModelRequest;

    use super::*;

    #[test]
    fn a_frame_that_takes_many_requests_is_advised_once_to_push_a_part() {
        let stack = Stack::in_memory();
        let frame = stack.push(NewFrame::new("Build a shop").id("shop")).unwrap();
        let tools = ToolNames::none().name(ToolRole::Push, "push_frame");
        let mut advice = Advice { settings: AutonomySettings::default(), tools, given: HashSet::new() };
        let mut given = Vec::new();
        for request in 1..=60 {
            stack.record_usage(frame, ModelRequest::new("small")).unwrap();
            given.extend(advice.of(&stack, frame).unwrap().map(|text| (request, text)));
        }
        let [(request, text)] = &given[..] else { panic!("once: {given:?}") };
        assert_eq!(*request, 40, "{text}");
        assert!(
            text.starts_with("[STACK SUGGESTION: start a child of f1 with push_frame (70 % sure; complexity"),
            "{text}"
        );
    }
}
