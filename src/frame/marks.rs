//! The form of labels and assignees.

use super::{Frame, Holder};
use crate::text::one_line;

/// A label as a frame keeps it: on one line, without blanks around it.
pub(crate) fn label(text: &str) -> String {
    one_line(text.trim())
}

/// True if a label is among others, in any letter case.
pub(crate) fn have(labels: &[String], label: &str) -> bool {
    labels.iter().any(|other| other.to_lowercase() == label.to_lowercase())
}

/// Labels from a file: those that are neither empty nor too long, each once, at most as many as a frame has.
pub(crate) fn labels(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for text in texts {
        let label = label(&text);
        let is_fit = !label.is_empty() && label.chars().count() <= Frame::LONGEST_LABEL;
        if is_fit && !have(&labels, &label) && labels.len() < Frame::MOST_LABELS {
            labels.push(label);
        }
    }
    labels
}

/// An assignee from a file, if the name is neither empty nor too long.
pub(crate) fn assignee(text: &str) -> Option<String> {
    Some(label(text)).filter(|name| !name.is_empty() && name.chars().count() <= Holder::LONGEST_NAME)
}
