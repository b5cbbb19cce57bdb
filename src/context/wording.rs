//! All texts of a context that name tools, for one set of tool names, with their costs.

use super::cost::Cost;
use super::tokens::TokenCounter;
use super::xml::escape;
use super::{guidance, skeleton};
use crate::frame::{FrameStatus, Handle, HolderKind, Register};
use crate::vocabulary::{ToolNames, ToolRole};

/// The texts with the tool names of one host. Constant texts are written and counted once.
pub(super) struct Wording {
    /// The names for which the texts are made.
    tools: ToolNames,
    /// The names, escaped for XML elements and attributes.
    escaped: ToolNames,
    pub(super) philosophy: String,
    pub(super) rules: String,
    pub(super) root_rules: String,
    pub(super) when_to_create_child_frames: String,
    pub(super) initial_planning: String,
    /// The note in a heap with chunks that are only in the index.
    pub(super) heap_note: String,
    /// Cost of philosophy, rules and the element around them.
    pub(super) brief_guidance: Cost,
    /// The same for a root.
    pub(super) root_guidance: Cost,
    /// Additional cost of the full guidance compared with the brief one.
    pub(super) full_guidance: Cost,
    /// Cost of the planning advice.
    pub(super) initial_planning_cost: Cost,
    /// Maximum cost of the element around the registers.
    pub(super) registers: Cost,
}

impl Wording {
    pub(super) fn of(tools: &ToolNames, counter: &dyn TokenCounter) -> Self {
        let escaped = tools.map(|name| escape(name).into_owned());
        let heap_note = match escaped.get(ToolRole::HeapRead) {
            Some(read) => format!("<note>Chunks without text did not fit: {read} shows them.</note>\n"),
            None => "<note>Chunks without text did not fit into this context.</note>\n".to_owned(),
        };
        let mut wording = Self {
            tools: tools.clone(),
            philosophy: guidance::philosophy(&escaped),
            rules: guidance::rules(&escaped),
            root_rules: guidance::root_rules(&escaped),
            when_to_create_child_frames: guidance::when_to_create_child_frames(&escaped),
            initial_planning: guidance::initial_planning(&escaped),
            heap_note,
            brief_guidance: Cost::default(),
            root_guidance: Cost::default(),
            full_guidance: Cost::default(),
            initial_planning_cost: Cost::default(),
            registers: Cost::default(),
            escaped,
        };
        let count = |texts: &[&str]| texts.iter().map(|text| Cost::of(text, counter)).sum();
        let [open, close] = skeleton::MANAGEMENT;
        wording.brief_guidance = count(&[open, close, &wording.philosophy, &wording.rules]);
        wording.root_guidance = count(&[open, close, &wording.philosophy, &wording.root_rules]);
        wording.full_guidance = count(&[&wording.when_to_create_child_frames]);
        wording.initial_planning_cost = count(&[&wording.initial_planning]);
        wording.registers = count(&[&wording.registers_open(Register::ALL.len()), skeleton::REGISTERS_CLOSE]);
        wording
    }

    pub(super) fn is_for(&self, tools: &ToolNames) -> bool {
        self.tools == *tools
    }

    /// The name of a tool, escaped for XML.
    fn tool(&self, role: ToolRole) -> Option<&str> {
        self.escaped.get(role)
    }

    /// Returns the opening tag of the registers. If some are omitted, it names the tool that writes
    /// registers, because this tool shows all registers if it is called without arguments.
    pub(super) fn registers_open(&self, omitted: usize) -> String {
        match (omitted, self.tool(ToolRole::UpdateRegisters)) {
            (0, _) => "<registers>\n".to_owned(),
            (_, Some(update)) => format!("<registers omitted=\"{omitted}\" see=\"{update}\">\n"),
            (_, None) => format!("<registers omitted=\"{omitted}\">\n"),
        }
    }

    /// Returns the opening tag of a task from which a number of characters were left out.
    pub(super) fn task_open(&self, omitted: usize) -> String {
        match (omitted, self.tool(ToolRole::Details)) {
            (0, _) => "<task>".to_owned(),
            (_, Some(details)) => format!("<task omitted=\"{omitted}\" see=\"{details}\">"),
            (_, None) => format!("<task omitted=\"{omitted}\">"),
        }
    }

    /// Returns the attributes of a chunk whose XML differs from its content: `escaped` if some characters
    /// stand as entities, `note` if XML forbids `replaced` of them. Empty if nothing differs.
    pub(super) fn chunk_note(&self, is_escaped: bool, replaced: usize) -> String {
        let escaped = if is_escaped { " escaped=\"xml\"" } else { "" };
        if replaced == 0 {
            return escaped.to_owned();
        }
        let original = self.tool(ToolRole::HeapRead).map_or(String::new(), |read| format!("; {read} has them"));
        format!("{escaped} note=\"characters that XML cannot hold ({replaced}) stand as U+FFFD{original}\"")
    }

    /// Returns the next action for a planned frame.
    pub(super) fn begin_this(&self, handle: Handle) -> String {
        match self.tool(ToolRole::Activate) {
            Some(activate) => format!("This frame is planned: begin it with {activate} {handle}."),
            None => "This frame is planned: begin it.".to_owned(),
        }
    }

    /// Returns how a planned frame gets other dependencies, because one of them cannot be completed any more.
    pub(super) fn rewire(&self, handle: Handle) -> String {
        match self.tool(ToolRole::Edit) {
            Some(edit) => format!("{edit} {handle} {{\"dependsOn\": […]}}"),
            None => format!("give {handle} other dependencies"),
        }
    }

    /// Returns the next action for a frame with a planned child that is ready.
    pub(super) fn begin_child(&self, child: Handle) -> String {
        match self.tool(ToolRole::Activate) {
            Some(activate) => format!("Begin the next planned child with {activate} {child}."),
            None => format!("Begin the next planned child, {child}."),
        }
    }

    /// Returns the next action for a frame with a child that is in_progress: one that `runs` in the
    /// background, by a host or a worker, one that was interrupted, or one that no actor runs. There is a
    /// tool that waits, but only for a child that a host runs.
    pub(super) fn child_in_progress(&self, child: Handle, runs: Option<HolderKind>, is_interrupted: bool) -> String {
        let activate = self.tool(ToolRole::Activate).map(|tool| format!("{tool} {child}"));
        match (activate, runs, is_interrupted) {
            (Some(activate), Some(HolderKind::Host), _) => {
                format!("Child {child} is running: do other work, or wait for it with {activate}.")
            }
            (_, Some(_), _) => format!("Child {child} is running: do other work meanwhile."),
            (Some(activate), None, true) => format!("Child {child} was interrupted: resume it with {activate}."),
            _ => format!("Child {child} is in_progress: finish it before this frame."),
        }
    }

    /// Returns the next action for a frame with a child whose work was interrupted.
    pub(super) fn resume_child(&self, child: Handle) -> String {
        let activate =
            self.tool(ToolRole::Activate).map_or("resume it".to_owned(), |tool| format!("{tool} {child} resumes it"));
        let give_up = self.tool(ToolRole::Invalidate).map_or("invalidate it".to_owned(), |tool| format!("{tool} it"));
        format!("Child {child} was interrupted: {activate}; or {give_up}.")
    }

    /// Returns how a failed frame is retried.
    pub(super) fn retry(&self, handle: Handle) -> String {
        match self.tool(ToolRole::Activate) {
            Some(activate) => format!("call {activate} {handle} (retry)"),
            None => "retry it".to_owned(),
        }
    }

    /// Returns the next action for a frame with a blocked child.
    pub(super) fn answer_child(&self, child: Handle, is_answered: bool) -> String {
        let give_up = self.tool(ToolRole::Invalidate).map_or("invalidate it".to_owned(), |tool| format!("{tool} it"));
        match (self.tool(ToolRole::Activate), is_answered) {
            (Some(activate), false) => {
                format!("Child {child} is blocked: answer it with {activate} {child} (answer), or {give_up}.")
            }
            (None, false) => format!("Child {child} is blocked: answer it, or {give_up}."),
            (Some(activate), true) => format!("Child {child} is answered: run it with {activate} {child}."),
            (None, true) => format!("Child {child} is answered: resume it."),
        }
    }

    /// Returns the next action for a frame without open or planned children: to finish it. Then the next
    /// sibling or the nearest unfinished frame above it continues or begins; the caller of a called frame
    /// knows how.
    pub(super) fn finish_this(
        &self,
        has_criteria: bool,
        next: Option<Handle>,
        above: Option<(Handle, FrameStatus)>,
        is_called: bool,
    ) -> String {
        let by = match self.tool(ToolRole::Pop) {
            Some(pop) => format!("call {pop}"),
            None => "finish this frame".to_owned(),
        };
        let work = if has_criteria { "Meet the criteria" } else { "Do the work" };
        let finish = format!("{work}, then {by}");
        match (next, above) {
            _ if is_called => format!("When done, {by}."),
            (Some(next), _) => {
                let by = self.tool(ToolRole::Activate).map_or(String::new(), |activate| format!("{activate} "));
                format!("{finish}; next is {by}{next}.")
            }
            (None, Some((parent, FrameStatus::Planned))) => format!("{finish}; {parent} is planned and follows."),
            (None, Some((parent, _))) => format!("{finish}; {parent} resumes."),
            (None, None) => format!("{finish}, which ends the whole task."),
        }
    }
}
