//! What a run is started with: an agent that manages its own memory.

use serde::{Deserialize, Serialize};

/// Which memory an agent manages beside its stack of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MemoryModel {
    /// Stack and heap.
    #[default]
    Heap,
    /// Stack, heap and registers.
    Registers,
}

/// The settings of a run.
///
/// In JSON: `{"memory": "registers", "maxDepth": 5, "heapCeiling": 5000}`, every key optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RunSettings {
    /// Which memory the agent has. Default `heap`.
    pub memory: MemoryModel,
    /// The most frames that may be above another one: the root has depth 0. Default 5.
    pub max_depth: usize,
    /// Characters on the heap past which the agent is warned. Default 5000.
    pub heap_ceiling: usize,
}

impl RunSettings {
    /// Characters on the heap past which an agent is warned, unless it is set otherwise (specification, "Heap
    /// visibility").
    pub const HEAP_CEILING: usize = 5_000;
}

impl Default for RunSettings {
    fn default() -> Self {
        Self { memory: MemoryModel::default(), max_depth: 5, heap_ceiling: Self::HEAP_CEILING }
    }
}
