//! A reference names the frame that its author means, whatever IDs exist.
