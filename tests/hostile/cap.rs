//! No text breaks the cap of a context: token budgets against real tokenizers.
