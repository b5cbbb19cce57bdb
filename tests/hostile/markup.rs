//! No text of a frame becomes an element, an attribute, a line or a section of ours.
