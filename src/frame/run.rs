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
/// In JSON: `{"memory": "registers", "maxDepth": 5, "heapCeiling": 5000, "sharedResults": true,
/// "resultsBudget": 1500, "shortPrompt": false}`. Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RunSettings {
    /// The memory that the agent manages. Default `heap`.
    pub memory: MemoryModel,
    /// Maximum depth of a frame, that is, the number of its ancestors; the root of the run has depth 0.
    /// Deeper pushes are refused with [`Error::TooDeep`](crate::Error::TooDeep). Default 5.
    pub max_depth: usize,
    /// Size of the heap, in characters, above which the agent is warned. Default 5000.
    pub heap_ceiling: usize,
    /// Whether frames see the results of others. Default true.
    ///
    /// If true, the first message of a frame begins with the criteria of the frames above it and the results,
    /// artifacts and decisions of finished siblings: its own, and those of the frames above it. The agent can
    /// also record artifacts and decisions when it pops a frame, and read the logs of the run's frames. If
    /// false, a frame begins with its briefing alone.
    pub shared_results: bool,
    /// Maximum size of the part of the first message in which a frame sees other frames, in tokens. Nothing
    /// is shown if the budget has no room for the titles of the parent and the root. Default 1500.
    pub results_budget: usize,
    /// True: the system prompt has the rules alone, without examples and common mistakes. This is for models
    /// that are trained to work in this way, or to save about 700 tokens, which a prompt cache keeps after
    /// the first step. Default false.
    pub short_prompt: bool,
}

impl RunSettings {
    setters! {
        memory: MemoryModel,
        max_depth: usize,
        heap_ceiling: usize,
        shared_results: bool,
        results_budget: usize,
        short_prompt: bool,
    }

    /// Default of [`heap_ceiling`](RunSettings::heap_ceiling), in characters (specification, "Heap
    /// visibility").
    pub const HEAP_CEILING: usize = 5_000;
    /// Default of [`results_budget`](RunSettings::results_budget), in tokens.
    pub const RESULTS_BUDGET: usize = 1_500;
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            memory: MemoryModel::default(),
            max_depth: 5,
            heap_ceiling: Self::HEAP_CEILING,
            shared_results: true,
            results_budget: Self::RESULTS_BUDGET,
            short_prompt: false,
        }
    }
}
