//! Plans of other tools as frames.
