//! The priority of a frame.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How urgent a frame is: a whole number from 0, the most urgent, to 4. A frame without a priority has the
/// priority of the nearest frame above it that has one, or else 2. Among the frames that can begin, the most
/// urgent one is next. Among equally urgent frames, the first one in the plan is next.
///
/// In JSON the number.
///
/// ```
/// use callstack_core::{NewFrame, Priority, Stack};
///
/// let stack = Stack::in_memory();
/// let root = stack.push(NewFrame::new("Run the shop").id("ses_1"))?;
/// let colours = stack.plan(NewFrame::new("Polish the colours").below(root).priority(Priority::LOWEST))?;
/// let outage = stack.plan(NewFrame::new("Production is down").below(root).priority(Priority::HIGHEST))?;
/// assert_eq!(stack.read(|tree| tree.ready().collect::<Vec<_>>())?, [outage, colours]);
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u8")]
pub struct Priority(u8);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Priority {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Priority".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "integer",
            "enum": [0, 1, 2, 3, 4],
            "description": "How urgent a frame is: from 0, before all others, to 4. A frame without one has that of the nearest frame \
                above that has one, or else 2.",
        })
    }
}

impl Priority {
    /// Before all others: 0.
    pub const HIGHEST: Self = Self(0);
    /// The priority of frames that have no priority and no frame with one above them: 2.
    pub const NORMAL: Self = Self(2);
    /// After all others: 4.
    pub const LOWEST: Self = Self(4);

    /// The number of priorities.
    pub(crate) const COUNT: usize = Self::LOWEST.0 as usize + 1;

    /// The priority with this number. `None` for a number above 4.
    pub fn new(number: u64) -> Option<Self> {
        u8::try_from(number).ok().map(Self).filter(|priority| *priority <= Self::LOWEST)
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

impl TryFrom<u64> for Priority {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        Self::new(number).ok_or_else(|| unknown(number))
    }
}

impl FromStr for Priority {
    type Err = String;

    /// Reads `0` to `4`, and `P0` to `P4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_prefix(['P', 'p']).unwrap_or(text);
        number.parse().ok().and_then(Self::new).ok_or_else(|| unknown(text))
    }
}

impl fmt::Display for Priority {
    /// Writes for example `P0`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "P{}", self.0)
    }
}

fn unknown(given: impl fmt::Display) -> String {
    format!("{given} is not a priority: give a number from 0, the most urgent, to 4")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_from_0_to_4_are_priorities() {
        assert_eq!(serde_json::from_str::<Priority>("0").unwrap(), Priority::HIGHEST);
        assert_eq!(serde_json::to_string(&Priority::LOWEST).unwrap(), "4");
        assert_eq!(("P1".parse(), "1".parse()), (Ok(Priority(1)), Ok(Priority(1))));
        assert_eq!((Priority::default(), Priority::NORMAL.to_string()), (Priority(2), "P2".to_owned()));
        for wrong in ["5", "-1", "P", "", "high", "300"] {
            assert!(wrong.parse::<Priority>().is_err(), "{wrong}");
        }
        let error = serde_json::from_str::<Priority>("5").unwrap_err().to_string();
        assert!(error.contains("5 is not a priority: give a number from 0, the most urgent, to 4"), "{error}");
    }
}
