//! The names of the agent's tools, as the host has registered them, and which tools it registers.
//!
//! Contexts, answers and prompts tell an agent which tool to call next. The library does not know the names
//! under which a host registers the tools: some hosts add a prefix (MCP), rename tools, or register only a
//! few. [`ToolNames`] contains the host's names, and all texts for agents use them. If the host does not have
//! a tool, the texts do not mention it. [`ToolSet`] is the setting of a host with sessions that says which
//! tools it offers.

pub(crate) mod calls;
mod place;
#[cfg(feature = "session")]
mod tool_set;

use std::fmt;
use std::sync::Arc;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(feature = "tools")]
pub(crate) use self::place::BELOW_FRAME;
pub use self::place::Place;
pub(crate) use self::place::{BELOW, Ended, Told};
#[cfg(feature = "session")]
pub use self::tool_set::ToolSet;
use crate::error::{Error, Result};

/// Maximum length of a tool name, in characters.
const LONGEST: usize = 64;
/// The beginning of all default names.
const DEFAULT_BEGINNING: &str = "stack_";
/// The JSON key of the prefix.
const PREFIX: &str = "prefix";
/// The JSON text that stands for [`ToolNames::none`].
const NONE: &str = "none";

/// An operation that texts for agents mention by the name of its tool. Each variant lists the default name
/// and the key in the JSON of [`ToolNames`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolRole {
    /// Pushes a child frame: `stack_frame_push`, in JSON `push`.
    Push,
    /// Pops a frame: `stack_frame_pop`, in JSON `pop`.
    Pop,
    /// Starts a planned frame, or resumes a frame: `stack_frame_activate`, in JSON `activate`.
    Activate,
    /// Plans several frames: `stack_frame_plan_children`, in JSON `planChildren`.
    PlanChildren,
    /// Invalidates a frame: `stack_frame_invalidate`, in JSON `invalidate`.
    Invalidate,
    /// Shows everything about a frame: `stack_frame_details`, in JSON `details`.
    Details,
    /// Shows the outline of the tree: `stack_tree`, in JSON `tree`.
    Tree,
    /// Reads a chunk of the heap: `stack_heap_read`, in JSON `heapRead`.
    HeapRead,
    /// Removes a chunk from the heap: `stack_heap_free`, in JSON `heapFree`.
    HeapFree,
    /// Writes registers, or shows them if it is called without arguments: `stack_registers_update`, in JSON
    /// `updateRegisters`.
    UpdateRegisters,
    /// Edits a planned frame: `stack_frame_edit`, in JSON `edit`.
    Edit,
}

/// All roles, in the order of their declaration.
const ROLES: [ToolRole; 11] = [
    ToolRole::Push,
    ToolRole::Pop,
    ToolRole::Activate,
    ToolRole::PlanChildren,
    ToolRole::Invalidate,
    ToolRole::Details,
    ToolRole::Tree,
    ToolRole::HeapRead,
    ToolRole::HeapFree,
    ToolRole::UpdateRegisters,
    ToolRole::Edit,
];

impl ToolRole {
    /// All roles.
    pub const ALL: &[Self] = &ROLES;

    /// Returns the tool's name in this library, which `tools::call` accepts. It is also the default name.
    ///
    /// ```
    /// use callstack_core::ToolRole;
    /// assert_eq!(ToolRole::Push.tool(), "stack_frame_push");
    /// ```
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Push => "stack_frame_push",
            Self::Pop => "stack_frame_pop",
            Self::Activate => "stack_frame_activate",
            Self::PlanChildren => "stack_frame_plan_children",
            Self::Invalidate => "stack_frame_invalidate",
            Self::Details => "stack_frame_details",
            Self::Tree => "stack_tree",
            Self::HeapRead => "stack_heap_read",
            Self::HeapFree => "stack_heap_free",
            Self::UpdateRegisters => "stack_registers_update",
            Self::Edit => "stack_frame_edit",
        }
    }

    /// Returns the key in the JSON of [`ToolNames`].
    const fn key(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Pop => "pop",
            Self::Activate => "activate",
            Self::PlanChildren => "planChildren",
            Self::Invalidate => "invalidate",
            Self::Details => "details",
            Self::Tree => "tree",
            Self::HeapRead => "heapRead",
            Self::HeapFree => "heapFree",
            Self::UpdateRegisters => "updateRegisters",
            Self::Edit => "edit",
        }
    }

    /// Returns the key in the settings, for errors.
    const fn setting(self) -> &'static str {
        match self {
            Self::Push => "tools.push",
            Self::Pop => "tools.pop",
            Self::Activate => "tools.activate",
            Self::PlanChildren => "tools.planChildren",
            Self::Invalidate => "tools.invalidate",
            Self::Details => "tools.details",
            Self::Tree => "tools.tree",
            Self::HeapRead => "tools.heapRead",
            Self::HeapFree => "tools.heapFree",
            Self::UpdateRegisters => "tools.updateRegisters",
            Self::Edit => "tools.edit",
        }
    }
}

/// The host's names of the tools that texts for agents mention. Default: the names in the
/// library's own list of tools ([`ToolRole`]).
///
/// In JSON: `{"prefix": "mcp__callstack__", "push": "begin_task", "heapRead": null}`, or the string `"none"`
/// for [`ToolNames::none`]. Every key is optional; unknown keys are rejected. The prefix is added to the
/// default names. A string replaces a whole name. `null` means that the host does not have the tool.
///
/// ```
/// use callstack_core::{ToolNames, ToolRole};
///
/// let names = ToolNames::with_prefix("mcp__callstack__").name(ToolRole::Push, "begin_task");
/// let names = names.without(ToolRole::HeapRead);
/// assert_eq!(names.get(ToolRole::Pop), Some("mcp__callstack__stack_frame_pop"));
/// assert_eq!(names.get(ToolRole::Push), Some("begin_task"));
/// assert_eq!(names.get(ToolRole::HeapRead), None);
///
/// let json = r#"{"prefix":"mcp__callstack__","push":"begin_task","heapRead":null}"#;
/// assert_eq!(serde_json::to_string(&names).unwrap(), json);
/// assert_eq!(serde_json::from_str::<ToolNames>(json).unwrap(), names);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct ToolNames {
    /// `None`: the default names. Cloning and comparing them is then cheap.
    table: Option<Arc<Table>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Table {
    /// The prefix of the default names.
    prefix: String,
    /// The names by role, including the prefix. `None`: the host does not have the tool.
    names: [Option<String>; ROLES.len()],
}

impl Table {
    fn with_prefix(prefix: String) -> Self {
        let names = ROLES.map(|role| Some(format!("{prefix}{}", role.tool())));
        Self { prefix, names }
    }

    /// True if the name of a role is the prefix followed by the default name.
    fn is_default(&self, role: ToolRole) -> bool {
        let name = self.names[role as usize].as_deref();
        name.and_then(|name| name.strip_prefix(&self.prefix)) == Some(role.tool())
    }
}

impl ToolNames {
    /// Returns the default names, each with this prefix.
    pub fn with_prefix(prefix: impl Into<String>) -> Self {
        Self::of(Table::with_prefix(prefix.into()))
    }

    /// Returns no names: texts for agents do not mention any tool.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Settings, Stack, ToolNames};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let settings = Settings::default().tools(ToolNames::none());
    /// assert!(!stack.context(root, &settings)?.xml.contains("stack_"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn none() -> Self {
        Self::of(Table { prefix: String::new(), names: [const { None }; ROLES.len()] })
    }

    /// Sets the name for one role. The prefix is not added to it.
    #[must_use]
    pub fn name(self, role: ToolRole, name: impl Into<String>) -> Self {
        self.with(role, Some(name.into()))
    }

    /// Removes the name of one role, for a tool that the host does not have.
    #[must_use]
    pub fn without(self, role: ToolRole) -> Self {
        self.with(role, None)
    }

    /// Removes the names of all roles whose tools are not in a set.
    #[cfg(feature = "session")]
    #[must_use]
    pub fn limited_to(self, set: ToolSet) -> Self {
        let missing = ROLES.into_iter().filter(|role| !set.contains(role.tool()));
        missing.fold(self, Self::without)
    }

    /// Returns the host's name of a tool. `None` if the host does not have it.
    pub fn get(&self, role: ToolRole) -> Option<&str> {
        match &self.table {
            None => Some(role.tool()),
            Some(table) => table.names[role as usize].as_deref(),
        }
    }

    /// True if all names are the default ones.
    pub fn is_default(&self) -> bool {
        self.table.is_none()
    }

    /// Returns the host's name of a tool, given its name in this library. For a tool without a role, this is
    /// the prefix followed by the name; `None` if the host has no tool with a default name.
    #[cfg(feature = "tools")]
    pub(crate) fn of_tool(&self, tool: &str) -> Option<String> {
        if let Some(role) = ROLES.into_iter().find(|role| role.tool() == tool) {
            return self.get(role).map(str::to_owned);
        }
        match &self.table {
            None => Some(tool.to_owned()),
            Some(table) => {
                let keeps_names = ROLES.into_iter().any(|role| table.is_default(role));
                keeps_names.then(|| format!("{}{tool}", table.prefix))
            }
        }
    }

    /// Replaces the library's tool names in a text by the host's names. `instead` returns the replacement for
    /// tools that the host does not have.
    #[cfg(feature = "tools")]
    pub(crate) fn translate(&self, text: &str, instead: impl Fn(ToolRole) -> &'static str) -> String {
        let mut translated = String::with_capacity(text.len());
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
            let (word, more) = rest.split_at(end);
            match ROLES.into_iter().find(|role| role.tool() == word) {
                Some(role) => translated.push_str(self.get(role).unwrap_or(instead(role))),
                None => translated.push_str(word),
            }
            let next = more.find(is_part).unwrap_or(more.len());
            translated.push_str(&more[..next]);
            rest = &more[next..];
        }
        translated
    }

    /// Returns the common beginning of all names, such as `stack_`. `None` if there are no names or the host
    /// has renamed some.
    pub(crate) fn beginning(&self) -> Option<String> {
        let Some(table) = &self.table else { return Some(DEFAULT_BEGINNING.to_owned()) };
        let mut named = ROLES.into_iter().filter(|role| table.names[*role as usize].is_some()).peekable();
        let is_alike = named.peek().is_some() && named.all(|role| table.is_default(role));
        is_alike.then(|| format!("{}{DEFAULT_BEGINNING}", table.prefix))
    }

    /// Applies a function to all names and to the prefix.
    pub(crate) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let Some(table) = &self.table else { return Self::default() };
        let names = table.names.clone().map(|name| name.map(|name| change(&name)));
        Self::of(Table { prefix: change(&table.prefix), names })
    }

    /// Checks that every name has 1 to 64 characters, including the prefix, and that there are no control
    /// characters.
    ///
    /// # Errors
    /// [`Error::Setting`] with the name of the key, such as `tools.push`.
    ///
    /// ```
    /// use callstack_core::{ToolNames, ToolRole};
    /// assert!(ToolNames::default().name(ToolRole::Pop, "").check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let refused = |name: &str, value: &str, expected| {
            Err(Error::Setting { name: name.to_owned(), value: value.to_owned(), expected })
        };
        let is_wrong = |text: &str| text.chars().count() > LONGEST || text.contains(char::is_control);
        if is_wrong(&table.prefix) {
            return refused("tools.prefix", &table.prefix, "at most 64 characters and no control characters");
        }
        for role in ROLES {
            if let Some(name) = table.names[role as usize].as_deref().filter(|name| name.is_empty() || is_wrong(name)) {
                return refused(role.setting(), name, "a name of 1 to 64 characters without control characters");
            }
        }
        Ok(())
    }

    fn with(self, role: ToolRole, name: Option<String>) -> Self {
        let mut table = match self.table {
            Some(table) => Arc::unwrap_or_clone(table),
            None => Table::with_prefix(String::new()),
        };
        table.names[role as usize] = name;
        Self::of(table)
    }

    /// Creates the names from a table. The default names are always represented by `None`, so comparisons are
    /// correct.
    fn of(table: Table) -> Self {
        let is_default = table.prefix.is_empty() && ROLES.into_iter().all(|role| table.is_default(role));
        Self { table: (!is_default).then(|| Arc::new(table)) }
    }
}

impl fmt::Debug for ToolNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(ROLES.map(|role| (role, self.get(role)))).finish()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ToolNames {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ToolNames".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut names = serde_json::Map::new();
        let prefix = "What stands before the default names, such as `mcp__callstack__`. Default: empty.";
        names.insert(PREFIX.to_owned(), serde_json::json!({ "type": "string", "description": prefix }));
        for role in ROLES {
            let about = format!("Default `{}`. Null: the host has no such tool.", role.tool());
            let name = serde_json::json!({ "type": ["string", "null"], "description": about });
            names.insert(role.key().to_owned(), name);
        }
        schemars::json_schema!({
            "description": "The host's names of the tools that texts for agents mention. `prefix` stands before the default \
                names, a string replaces a whole name, null means that the host has no such tool. `\"none\"`: texts mention no \
                tools. Names have 1 to 64 characters and no control characters.",
            "anyOf": [
                { "const": NONE },
                { "type": "object", "properties": names, "additionalProperties": false },
            ],
        })
    }
}

impl Serialize for ToolNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Some(table) = &self.table else { return serializer.serialize_map(Some(0))?.end() };
        if table.prefix.is_empty() && table.names.iter().all(Option::is_none) {
            return serializer.serialize_str(NONE);
        }
        let mut map = serializer.serialize_map(None)?;
        if !table.prefix.is_empty() {
            map.serialize_entry(PREFIX, &table.prefix)?;
        }
        for role in ROLES.into_iter().filter(|role| !table.is_default(*role)) {
            map.serialize_entry(role.key(), &table.names[role as usize])?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ToolNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = ToolNames;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with names of tools, or the string \"none\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<ToolNames, E> {
                match text {
                    NONE => Ok(ToolNames::none()),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<ToolNames, A::Error> {
                let (mut prefix, mut given) = (String::new(), Vec::new());
                while let Some(key) = map.next_key::<String>()? {
                    if key == PREFIX {
                        prefix = map.next_value()?;
                        continue;
                    }
                    let Some(role) = ROLES.into_iter().find(|role| role.key() == key) else {
                        let keys = ROLES.map(ToolRole::key).join(", ");
                        return Err(A::Error::custom(format!("unknown tool `{key}`, expected {PREFIX}, {keys}")));
                    };
                    given.push((role, map.next_value::<Option<String>>()?));
                }
                let mut table = Table::with_prefix(prefix);
                given.into_iter().for_each(|(role, name)| table.names[role as usize] = name);
                Ok(ToolNames::of(table))
            }
        }

        deserializer.deserialize_any(Names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> serde_json::Result<ToolNames> {
        serde_json::from_str(json)
    }

    #[test]
    fn names_are_read_back_as_they_were_written() {
        let all = |name: &str| ROLES.into_iter().fold(ToolNames::none(), |names, role| names.name(role, name));
        for names in [
            ToolNames::default(),
            ToolNames::none(),
            ToolNames::with_prefix("mcp__callstack__"),
            ToolNames::none().name(ToolRole::Pop, "done"),
            ToolNames::with_prefix("a").without(ToolRole::Tree).name(ToolRole::Push, "stack_frame_push"),
            all("<&\"'>"),
        ] {
            let json = serde_json::to_string(&names).unwrap();
            assert_eq!(read(&json).unwrap(), names, "{json}");
            names.check().unwrap();
        }
        assert_eq!(serde_json::to_string(&ToolNames::default()).unwrap(), "{}");
        assert_eq!(serde_json::to_string(&ToolNames::none()).unwrap(), "\"none\"");
    }

    #[test]
    fn the_default_names_have_one_representation() {
        let named = ToolNames::none();
        let named = ROLES.into_iter().fold(named, |names, role| names.name(role, role.tool()));
        assert!(named.is_default() && ToolNames::with_prefix("").is_default());
        assert!(read(r#"{"prefix": "", "pop": "stack_frame_pop"}"#).unwrap().is_default());
        assert!(!ToolNames::none().is_default());
    }

    #[test]
    fn roles_stand_at_their_own_place() {
        assert!(ROLES.into_iter().enumerate().all(|(place, role)| role as usize == place));
        assert!(ROLES.into_iter().all(|role| role.tool().starts_with(DEFAULT_BEGINNING)));
        assert!(ROLES.into_iter().all(|role| role.setting().strip_prefix("tools.") == Some(role.key())));
    }

    #[test]
    fn the_common_beginning_is_known_if_nothing_is_renamed() {
        let of = |names: ToolNames| names.beginning();
        assert_eq!(of(ToolNames::default()).as_deref(), Some("stack_"));
        assert_eq!(of(ToolNames::with_prefix("x__").without(ToolRole::Pop)).as_deref(), Some("x__stack_"));
        assert_eq!(of(ToolNames::with_prefix("x__").name(ToolRole::Pop, "done")), None);
        assert_eq!(of(ToolNames::none()), None);
    }

    #[test]
    fn wrong_names_and_keys_are_refused() {
        let long = "x".repeat(65);
        for (json, setting) in [
            (r#"{"push": ""}"#.to_owned(), "tools.push"),
            (format!(r#"{{"heapRead": "{long}"}}"#), "tools.heapRead"),
            (r#"{"pop": "a\nb"}"#.to_owned(), "tools.pop"),
            (format!(r#"{{"prefix": "{}"}}"#, &long[..60]), "tools.push"),
            (r#"{"prefix": "\u0000"}"#.to_owned(), "tools.prefix"),
        ] {
            let problem = read(&json).unwrap().check().unwrap_err();
            assert!(matches!(&problem, Error::Setting { name, .. } if name == setting), "{json}: {problem}");
        }
        assert!(read(r#"{"push": "é"}"#).unwrap().name(ToolRole::Pop, &long[..64]).check().is_ok());
        for json in [r#""some""#, "5", "[]", r#"{"pusch": "x"}"#, r#"{"push": 5}"#, r#"{"prefix": null}"#] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
