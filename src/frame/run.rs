//! The settings of a run, that is, of an agent that manages its own memory.

use serde::{Deserialize, Serialize};

/// The memory that an agent manages. In JSON `"heap"` or `"registers"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum MemoryModel {
    /// Stack and heap.
    #[default]
    Heap,
    /// Stack, heap and registers.
    Registers,
}

/// The settings of a run. They are fixed when the run starts.
///
/// In JSON: `{"memory": "registers", "maxDepth": 5, "heapCeiling": 5000}`. Every key is optional; unknown keys are
/// rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RunSettings {
    /// The memory that the agent manages. Default `heap`.
    pub memory: MemoryModel,
    /// Maximum depth of a frame, that is, the number of its ancestors; the root of the run has depth 0. Deeper pushes
    /// are refused with [`Error::TooDeep`](crate::Error::TooDeep). Default 5.
    pub max_depth: usize,
    /// Size of the heap, in characters, above which the agent is warned. Default 5000.
    pub heap_ceiling: usize,
}

impl RunSettings {
    setters! {
        memory: MemoryModel,
        max_depth: usize,
        heap_ceiling: usize,
    }

    /// Default of [`heap_ceiling`](RunSettings::heap_ceiling), in characters (specification, "Heap visibility").
    pub const HEAP_CEILING: usize = 5_000;
}

impl Default for RunSettings {
    fn default() -> Self {
        Self { memory: MemoryModel::default(), max_depth: 5, heap_ceiling: Self::HEAP_CEILING }
    }
}
