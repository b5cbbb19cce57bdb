//! Calls end in time, and a panic or a damaged history leaves one clear state.
