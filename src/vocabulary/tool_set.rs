//! Which of the agent's tools a host offers to its agents.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::variables::Variables;

/// The JSON text that stands for [`ToolSet::standard`], also as an entry of a list.
const STANDARD: &str = "standard";
/// The JSON text that stands for [`ToolSet::all`].
const ALL: &str = "all";

/// A tool of this library.
struct Known {
    name: &'static str,
    is_standard: bool,
    /// Why it belongs to the standard set, or why not.
    reason: &'static str,
}

const fn standard(name: &'static str, reason: &'static str) -> Known {
    Known { name, is_standard: true, reason }
}

const fn other(name: &'static str, reason: &'static str) -> Known {
    Known { name, is_standard: false, reason }
}

/// All tools, in the order of the table in `tools`.
#[rustfmt::skip]
const TOOLS: [Known; 39] = [
    standard("stack_frame_push", "The only way to a sub-task that is not planned."),
    standard("stack_frame_pop", "The only way to hand over results."),
    other("stack_frame_answer", "stack_frame_activate takes the answer and resumes the frame."),
    standard("stack_status", "Finds frames that the context leaves out, and calls that run in the background."),
    other("stack_tree", "stack_status shows the same frames; legend, statistics and parts of the tree are for people."),
    standard("stack_frame_details", "Reads what the context shows in short, or leaves out."),
    other("stack_frame_log", "stack_frame_details names the file of a log, and an agent can read and search files."),
    standard("stack_add_artifact", "Keeps what a command has made; only files of the tools that write files are recorded automatically."),
    standard("stack_add_decision", "The only way to hand a decision to later frames before the results."),
    other("stack_frame_identify", "A plan or a push sets the identity; until then it follows what the user writes."),
    other("stack_get_state", "For programs and user interfaces."),
    other("stack_frame_plan", "stack_frame_plan_children plans one frame as well."),
    standard("stack_frame_plan_children", "The only way to a plan."),
    standard("stack_frame_edit", "The only way to change a plan without planning it again."),
    standard("stack_frame_activate", "The only way to begin or resume a planned frame."),
    standard("stack_frame_invalidate", "The only way to take a frame out of the plan."),
    other("stack_frame_activate_ready", "stack_frame_activate with background runs frames in parallel, one tool call each."),
    other("stack_wait", "stack_frame_activate waits for a frame that runs, and contexts say what has ended."),
    other("stack_frame_stop", "stack_frame_invalidate stops a frame for good; to stop it for a while is for people."),
    other("stack_context_info", "For people who tune the budget."),
    other("stack_context_preview", "The agent has its context in front of it."),
    other("stack_cache_clear", "For people who look for an error; the cache knows when a context is out of date."),
    standard("stack_frame_summarize", "The only way to hand results so far to the frames below, and to a smaller conversation."),
    other("stack_compaction_info", "For people who watch a session."),
    other("stack_get_summary", "stack_frame_details shows the same and more."),
    other("stack_config", "A setting of the host."),
    other("stack_stats", "For people who watch subagents."),
    other("stack_subagent_complete", "Subagents are finished automatically."),
    other("stack_subagent_list", "stack_status shows the frames of subagents."),
    other("stack_autonomy", "A setting of the host."),
    other("stack_should_push", "Where a host reports sessions, a suggestion comes into the context when failures, files or lengths ask for one, and elsewhere into the answers of tools when the requests of a frame do; the tool also weighs a goal that the agent names."),
    other("stack_should_pop", "Where a host reports sessions, a suggestion comes into the context when nothing moves or the window is nearly full, and elsewhere into the answers of tools when the files of the criteria are there; the tool also weighs what the agent says of its goal."),
    other("stack_auto_suggest", "A setting of the host."),
    other("stack_autonomy_stats", "For people who watch suggestions."),
    standard("stack_heap_alloc", "The only way to keep a text verbatim for several frames."),
    other("stack_heap_write", "Freeing a chunk and storing it again does the same."),
    standard("stack_heap_read", "The only way to a chunk that does not fit into the context."),
    standard("stack_heap_free", "A chunk that is not needed costs tokens in each request."),
    other("stack_registers_update", "Its eight arguments cost most of all, and a conversation holds notes of a frame as well."),
];

/// A setting: the tools that a host offers to its agents. Each one costs tokens in each model request.
/// Default [`ToolSet::standard`].
///
/// In JSON: `"standard"`, `"all"`, or a list of names such as `["stack_frame_push", "stack_frame_pop"]`. The
/// names are those of this library, whatever the host calls its tools. An entry `"standard"` of a list stands
/// for the standard tools. In the environment variable `STACK_TOOLS` the names are separated by commas.
///
/// The set says what agents are told, not what is possible: `tools::call` carries out every tool, so programs
/// and people reach the others. Texts for agents do not mention a tool outside of the set.
///
/// ```
/// use callstack_core::ToolSet;
///
/// assert!(ToolSet::default().contains("stack_frame_push") && !ToolSet::default().contains("stack_config"));
/// let set: ToolSet = serde_json::from_str(r#"["standard", "stack_tree"]"#)?;
/// assert_eq!(set, ToolSet::standard().with("stack_tree"));
/// assert_eq!(serde_json::to_string(&ToolSet::all())?, r#""all""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolSet {
    /// Bit n stands for tool n of the table.
    bits: u64,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ToolSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ToolSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The tools that a host offers to its agents: `\"standard\"` (those that an agent needs to work), \
                `\"all\"`, or a list of names; `\"standard\"` in a list stands for the standard tools.",
            "anyOf": [{ "const": STANDARD }, { "const": ALL }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}

impl ToolSet {
    /// Returns the tools that an agent needs to work. `docs/tools.md` lists them with the reasons.
    pub fn standard() -> Self {
        Self::of(|tool| tool.is_standard)
    }

    /// Returns all tools of this library.
    pub fn all() -> Self {
        Self::of(|_| true)
    }

    /// Returns no tools.
    pub fn none() -> Self {
        Self { bits: 0 }
    }

    /// Adds a tool. A name that no tool of this library has adds nothing.
    #[must_use]
    pub fn with(self, name: &str) -> Self {
        Self { bits: self.bits | Self::of(|tool| tool.name == name).bits }
    }

    /// True if the set has this tool.
    pub fn contains(self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns the names of the tools, in the order in which hosts list them.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        TOOLS.iter().enumerate().filter(move |(place, _)| self.bits >> place & 1 == 1).map(|(_, tool)| tool.name)
    }

    /// Returns why a tool of this library belongs to the standard set, or why not. `None` if there is no such
    /// tool.
    pub fn reason(name: &str) -> Option<&'static str> {
        TOOLS.iter().find(|tool| tool.name == name).map(|tool| tool.reason)
    }

    /// Reads the variable `STACK_TOOLS`. If it is not set, the set is the standard one; of a list, only the
    /// names that no tool has are ignored, and reported as [`Error::Setting`].
    pub(crate) fn from_variables(look_up: impl Fn(&str) -> Option<String>) -> (Self, Vec<Error>) {
        const NAME: &str = "STACK_TOOLS";
        let mut variables = Variables::new(&look_up);
        let Some(entries) = variables.list(NAME) else { return (Self::default(), Vec::new()) };
        let mut set = Self::none();
        for entry in entries {
            match Self::entry(&entry.to_ascii_lowercase()) {
                Some(tools) => set.bits |= tools.bits,
                None => variables.report(NAME, &entry, "standard, all, or names of tools"),
            }
        }
        // A variable without one valid name is a mistake, not the wish for an agent without tools.
        let set = if set == Self::none() { Self::default() } else { set };
        (set, variables.problems)
    }

    fn of(is_member: impl Fn(&Known) -> bool) -> Self {
        let bits = TOOLS.iter().enumerate().filter(|(_, tool)| is_member(tool)).map(|(place, _)| 1 << place).sum();
        Self { bits }
    }

    /// Returns what an entry of a list stands for: a group of tools, or one tool. `None` if there is no such
    /// tool.
    fn entry(name: &str) -> Option<Self> {
        match name {
            STANDARD => Some(Self::standard()),
            ALL => Some(Self::all()),
            _ => Some(Self::none().with(name)).filter(|tool| *tool != Self::none()),
        }
    }
}

impl Default for ToolSet {
    fn default() -> Self {
        Self::standard()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}

impl Serialize for ToolSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            set if set == Self::standard() => serializer.serialize_str(STANDARD),
            set if set == Self::all() => serializer.serialize_str(ALL),
            set => {
                let mut list = serializer.serialize_seq(None)?;
                set.names().try_for_each(|name| list.serialize_element(name))?;
                list.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for ToolSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = ToolSet;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("\"standard\", \"all\", or a list of names of tools")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ToolSet, E> {
                let group = ToolSet::entry(text).filter(|_| [STANDARD, ALL].contains(&text));
                group.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<ToolSet, A::Error> {
                let mut set = ToolSet::none();
                while let Some(entry) = entries.next_element::<String>()? {
                    let names = || TOOLS.map(|tool| tool.name).join(", ");
                    let tools = ToolSet::entry(&entry).ok_or_else(|| {
                        A::Error::custom(format!("unknown tool `{entry}`, expected {STANDARD}, {ALL}, {}", names()))
                    })?;
                    set.bits |= tools.bits;
                }
                Ok(set)
            }
        }

        deserializer.deserialize_any(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> serde_json::Result<ToolSet> {
        serde_json::from_str(json)
    }

    #[test]
    fn sets_are_read_back_as_they_were_written() {
        let one = ToolSet::none().with("stack_tree");
        for (set, json) in [
            (ToolSet::standard(), r#""standard""#),
            (ToolSet::all(), r#""all""#),
            (ToolSet::none(), "[]"),
            (one, r#"["stack_tree"]"#),
        ] {
            assert_eq!(serde_json::to_string(&set).unwrap(), json);
            assert_eq!(read(json).unwrap(), set);
        }
        assert_eq!(read(r#"["stack_tree", "stack_tree"]"#).unwrap(), one);
        assert_eq!(read(r#"["all"]"#).unwrap(), ToolSet::all());
        let list: Vec<&str> = ToolSet::standard().names().collect();
        assert_eq!(read(&serde_json::to_string(&list).unwrap()).unwrap(), ToolSet::default());
    }

    #[test]
    fn wrong_sets_are_refused() {
        for json in [r#""some""#, r#""stack_tree""#, "5", "null", "{}", "[5]", r#"["STACK_TREE"]"#, r#"[""]"#] {
            assert!(read(json).is_err(), "{json}");
        }
        let problem = read(r#"["stack_tree", "stack_frame_posh"]"#).unwrap_err().to_string();
        assert!(
            problem.contains("unknown tool `stack_frame_posh`, expected standard, all, stack_frame_push,"),
            "{problem}"
        );
    }

    #[test]
    fn the_variable_has_names_with_commas_between_them() {
        let read = |value: &str| ToolSet::from_variables(|name| (name == "STACK_TOOLS").then(|| value.to_owned()));
        for (value, expected) in [
            ("all", ToolSet::all()),
            (" Standard ", ToolSet::standard()),
            ("stack_tree, standard", ToolSet::standard().with("stack_tree")),
        ] {
            assert_eq!(read(value), (expected, Vec::new()), "{value}");
        }
        let (set, problems) = read("stack_frame_pop, everything");
        assert_eq!(set, ToolSet::none().with("stack_frame_pop"));
        assert!(
            problems[0].to_string().starts_with("STACK_TOOLS is `everything`, but must be standard, all"),
            "{problems:?}"
        );
        assert_eq!(read("nothing").0, ToolSet::standard());
        assert_eq!(ToolSet::from_variables(|_| None), (ToolSet::standard(), Vec::new()));
    }
}
