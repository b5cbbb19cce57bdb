//! What the records of a frame say for its end, or for a part of its own: for agents whose messages no host reports.

use super::{Assessment, AutonomyLevel, AutonomySettings, Observation, assess};
use crate::frame::Handle;
use crate::tree::Tree;

/// How many files of the criteria, and how many of the newest artifacts are looked at: each message of a session, and each call of a tool, is assessed.
const MOST_FILES: usize = 16;
const MOST_ARTIFACTS: usize = 256;
/// Endings of names of machines, which are no files.
const ENDINGS_OF_HOSTS: [&str; 5] = ["com", "org", "net", "io", "dev"];

/// The files that a text names: words with an ending in small letters, such as `src/cart.rs`, and no abbreviations such as `e.g`.
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

/// True if an artifact is this file, also in a folder that the name leaves out.
fn is_path_of(artifact: &str, file: &str) -> bool {
    artifact == file || artifact.strip_suffix(file).is_some_and(|folder| folder.ends_with('/'))
}

/// The recommendation for the agent of a frame that follows from the records of the frame: how often a model was asked in it, which files it
/// has changed, and what of its criteria is there. What its messages would say is missing. `None`: there is none, or
/// the level is manual.
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

/// What of a frame's criteria is there: the files that they name, and the parts of the frame. Empty if a file that they name is missing, or they
/// name none: nothing else here says that they are met.
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
