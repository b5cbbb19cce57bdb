//! Registers: eight short texts of working memory for an agent, with the names and limits of the
//! specification.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One of the eight registers. In JSON its name, such as `"R1_PLAN"`. The specification fixes the set, so a
/// `match` can be exhaustive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Register {
    /// The objective. Rarely changes.
    #[serde(rename = "R0_GOAL")]
    Goal,
    /// The remaining steps.
    #[serde(rename = "R1_PLAN")]
    Plan,
    /// The next action.
    #[serde(rename = "R2_NEXT")]
    Next,
    /// A label of the current phase.
    #[serde(rename = "R3_PHASE")]
    Phase,
    /// Hard requirements and contracts.
    #[serde(rename = "R4_CONSTRAINTS")]
    Constraints,
    /// Assumptions that are not verified yet.
    #[serde(rename = "R5_ASSUMPTIONS")]
    Assumptions,
    /// Unknowns and obstacles.
    #[serde(rename = "R6_OPEN_QUESTIONS")]
    OpenQuestions,
    /// The latest outcome.
    #[serde(rename = "R7_STATUS")]
    Status,
}

impl Register {
    /// All registers, in the order of their numbers.
    pub const ALL: &[Register] = &[
        Register::Goal,
        Register::Plan,
        Register::Next,
        Register::Phase,
        Register::Constraints,
        Register::Assumptions,
        Register::OpenQuestions,
        Register::Status,
    ];

    /// The name in JSON, such as `R1_PLAN`.
    pub const fn name(self) -> &'static str {
        match self {
            Register::Goal => "R0_GOAL",
            Register::Plan => "R1_PLAN",
            Register::Next => "R2_NEXT",
            Register::Phase => "R3_PHASE",
            Register::Constraints => "R4_CONSTRAINTS",
            Register::Assumptions => "R5_ASSUMPTIONS",
            Register::OpenQuestions => "R6_OPEN_QUESTIONS",
            Register::Status => "R7_STATUS",
        }
    }

    /// Maximum length of the value, in characters (specification, "Register Map").
    pub const fn limit(self) -> usize {
        match self {
            Register::Goal => 240,
            Register::Plan => 980,
            Register::Next => 200,
            Register::Phase => 60,
            Register::Constraints => 720,
            Register::Assumptions => 480,
            Register::OpenQuestions => 600,
            Register::Status => 300,
        }
    }

    /// Cuts a value to the register's limit: returns its first [`limit`](Register::limit) characters.
    ///
    /// ```
    /// use callstack_core::frame::Register;
    /// assert_eq!(Register::Phase.fitting(&"ä".repeat(61)), "ä".repeat(60));
    /// assert_eq!(Register::Phase.fitting("testing"), "testing");
    /// ```
    pub fn fitting(self, value: &str) -> &str {
        match value.char_indices().nth(self.limit()) {
            Some((end, _)) => &value[..end],
            None => value,
        }
    }
}

/// Values of some registers, by name. In JSON: `{"R2_NEXT": "run the tests", "R5_ASSUMPTIONS": ""}`.
pub type RegisterValues = BTreeMap<Register, String>;

/// The registers of a frame. An empty register holds an empty text.
///
/// The JSON object contains only registers that are not empty: `{"R0_GOAL": "Build calc.py", "R3_PHASE":
/// "testing"}`. Values that exceed a register's limit are cut when they are read or set.
///
/// ```
/// use callstack_core::frame::{Register, Registers};
///
/// let mut registers = Registers::default();
/// registers.set(&[(Register::Plan, "1. parser 2. tests".to_owned())].into());
/// let child = registers.pushed("write-tests", "Nine tests pass");
/// assert_eq!(child.get(Register::Goal), "Nine tests pass");
/// assert_eq!(child.get(Register::Plan), "1. parser 2. tests");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "RegisterValues", into = "RegisterValues")]
pub struct Registers {
    values: [String; 8],
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Registers {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Registers".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let properties = Register::ALL.iter().map(|register| {
            let about = format!("At most {} characters.", register.limit());
            (register.name().to_owned(), serde_json::json!({ "type": "string", "description": about }))
        });
        schemars::json_schema!({
            "type": "object",
            "properties": properties.collect::<serde_json::Map<_, _>>(),
            "additionalProperties": false,
            "description": "Registers of a frame: short notes that its agent works by. Longer values are cut. A register that is \
                empty is absent.",
        })
    }
}

impl Registers {
    /// The value of a register.
    pub fn get(&self, register: Register) -> &str {
        &self.values[register as usize]
    }

    /// Sets the listed registers. The other registers keep their values.
    pub fn set(&mut self, values: &RegisterValues) {
        values.iter().for_each(|(register, value)| self.put(*register, value));
    }

    /// The registers that are not empty, ordered by number.
    pub fn filled(&self) -> impl Iterator<Item = (Register, &str)> {
        Register::ALL.iter().map(|register| (*register, self.get(*register))).filter(|(_, value)| !value.is_empty())
    }

    /// Returns the registers of a child at its push (specification, "On push_frame"). The child inherits
    /// plan, constraints, assumptions and open questions. Its goal is `objective`, its next action is empty,
    /// its phase is `entering: <name>`, and its status states that the frame was entered.
    #[must_use]
    pub fn pushed(&self, name: &str, objective: &str) -> Self {
        let mut child = self.clone();
        child.put(Register::Goal, objective);
        child.put(Register::Next, "");
        child.put(Register::Phase, &format!("entering: {name}"));
        child.put(Register::Status, "Entered sub-frame. Starting.");
        child
    }

    /// Returns the registers of a parent at the pop of its child (specification, "On pop_frame"). The status
    /// is the child's result, the phase is `returned from: <name>`, the next action is empty, and the open
    /// questions are the child's. Goal, plan, constraints and assumptions of the parent are unchanged.
    #[must_use]
    pub fn popped(&self, child: &Registers, name: &str, result: &str) -> Self {
        let mut parent = self.clone();
        parent.put(Register::Status, result);
        parent.put(Register::Phase, &format!("returned from: {name}"));
        parent.put(Register::Next, "");
        parent.put(Register::OpenQuestions, child.get(Register::OpenQuestions));
        parent
    }

    /// Returns the values to [`set`](Registers::set) in `earlier` to make it equal to these registers.
    pub fn changes_since(&self, earlier: &Registers) -> RegisterValues {
        let changed = Register::ALL.iter().copied().filter(|register| self.get(*register) != earlier.get(*register));
        changed.map(|register| (register, self.get(register).to_owned())).collect()
    }

    fn put(&mut self, register: Register, value: &str) {
        register.fitting(value).clone_into(&mut self.values[register as usize]);
    }
}

impl From<RegisterValues> for Registers {
    fn from(values: RegisterValues) -> Self {
        let mut registers = Self::default();
        registers.set(&values);
        registers
    }
}

impl From<Registers> for RegisterValues {
    fn from(registers: Registers) -> Self {
        registers.changes_since(&Registers::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_are_those_of_the_specification() {
        for register in Register::ALL.iter().copied() {
            assert_eq!(serde_json::to_value(register).unwrap(), register.name());
        }
        assert_eq!(Register::ALL.iter().map(|register| register.limit()).sum::<usize>(), 3580);
    }

    /// Registers whose values contain the owner's name and the register's name.
    fn all_of(owner: &str) -> Registers {
        Register::ALL
            .iter()
            .map(|register| (*register, format!("{owner} {}", register.name())))
            .collect::<RegisterValues>()
            .into()
    }

    #[test]
    fn a_push_merges_as_the_specification_lists() {
        let child = all_of("parent").pushed("write-tests", "Nine tests pass");
        let expected = [
            "Nine tests pass",
            "parent R1_PLAN",
            "",
            "entering: write-tests",
            "parent R4_CONSTRAINTS",
            "parent R5_ASSUMPTIONS",
            "parent R6_OPEN_QUESTIONS",
            "Entered sub-frame. Starting.",
        ];
        assert!(Register::ALL.iter().map(|register| child.get(*register)).eq(expected));
    }

    #[test]
    fn a_pop_merges_as_the_specification_lists() {
        let parent = all_of("parent").popped(&all_of("child"), "write-tests", "9 tests pass");
        let expected = [
            "parent R0_GOAL",
            "parent R1_PLAN",
            "",
            "returned from: write-tests",
            "parent R4_CONSTRAINTS",
            "parent R5_ASSUMPTIONS",
            "child R6_OPEN_QUESTIONS",
            "9 tests pass",
        ];
        assert!(Register::ALL.iter().map(|register| parent.get(*register)).eq(expected));
    }

    #[test]
    fn changes_lead_from_one_file_to_another() {
        let (one, other) = (all_of("one"), all_of("other").pushed("x", ""));
        let mut changed = one.clone();
        changed.set(&other.changes_since(&one));
        assert_eq!(changed, other);
        assert!(one.changes_since(&one).is_empty());
    }
}
