//! Signs in the records of a frame that the frame can end, or that a part of its work should get a frame of
//! its own. For agents whose messages no host reports.

use super::{Assessment, AutonomyLevel, AutonomySettings, Observation, assess};
use crate::frame::Handle;
use crate::tree::Tree;

/// Maximum numbers of the files in the criteria, and of the newest artifacts, that are looked at. There are
/// limits because each message of a session, and each call of a tool, is assessed.
const MOST_FILES: usize = 16;
const MOST_ARTIFACTS: usize = 256;
/// Endings of host names, which are not files.
const ENDINGS_OF_HOSTS: [&str; 5] = ["com", "org", "net", "io", "dev"];

/// The files that a text names: words with an ending in small letters, such as `src/cart.rs`. Abbreviations
/// such as `e.g` do not count.
fn files_named(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|character: char| character.is_whitespace() || "`'\"(),;".contains(character));
    words.map(|word| word.trim_end_matches(['.', ':', '!', '?'])).filter(|word| {
        word.rsplit_once('.').is_some_and(|(name, ending)| {
            let is_ending = (1..=5).contains(&ending.len())
                && ending.starts_with(|first: char| first.is_ascii_lowercase())
                && ending.chars().all(char::is_alphanumeric);
            is_ending && name.len() > 1 && !word.contains("://") && !ENDINGS_OF_HOSTS.contains(&ending)
        })
    })
}

/// True if an artifact is this file. The name may leave out the folder of the file.
fn is_path_of(artifact: &str, file: &str) -> bool {
    artifact == file || artifact.strip_suffix(file).is_some_and(|folder| folder.ends_with('/'))
}

/// The recommendation for the agent of a frame that follows from the records of the frame: how often a model
/// was asked in it, which files it has changed, and which of its criteria are met. The observations of its
/// messages are missing. `None`: there is no recommendation, or the level is manual.
pub fn advise(tree: &Tree, handle: Handle, settings: &AutonomySettings) -> Option<Assessment> {
    let node = tree.node(handle);
    let record = node.record();
    if settings.level == AutonomyLevel::Manual || !record.status.is_open() {
        return None;
    }
    let requests = record.usage.iter().map(|usage| usage.requests).sum::<u64>();
    let newest = &record.artifacts[record.artifacts.len().saturating_sub(MOST_ARTIFACTS)..];
    let mut observation = Observation::of_records(requests, newest);
    observation.successes = met_criteria(tree, handle);
    let (recommended, _) = assess(settings, record, node.has_unfinished_below(), &observation);
    recommended.into_iter().max_by_key(Assessment::strength)
}

/// The met criteria of a frame: the files that the criteria name, and the finished parts of the frame. Empty
/// if a named file is missing, or if the criteria name no file: nothing else here shows that they are met.
pub(in crate::session) fn met_criteria(tree: &Tree, handle: Handle) -> Vec<String> {
    let node = tree.node(handle);
    let record = node.record();
    let named: Vec<&str> = files_named(record.dense_criteria()).take(MOST_FILES).collect();
    let newest = &record.artifacts[record.artifacts.len().saturating_sub(MOST_ARTIFACTS)..];
    let is_there = |file: &&str| newest.iter().any(|artifact| is_path_of(artifact, file));
    if named.is_empty() || !named.iter().all(is_there) {
        return Vec::new();
    }
    let mut successes = vec![named.join(", ")];
    if !tree.children(handle).is_empty() && !node.has_unfinished_below() {
        successes.push("its parts are done".to_owned());
    }
    successes
}
