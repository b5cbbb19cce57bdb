//! Versions of one issue in a file: union merges and merge conflicts leave several versions. The newest
//! version counts.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Collector, is_over};

/// The key of a frame for the other versions of an issue, if it is not known whether they are newer.
const OTHER_VERSIONS: &str = "otherVersions";

/// A record of the file.
pub(super) struct Record {
    pub(super) id: String,
    pub(super) issue: Map<String, Value>,
    /// Its place in the file: `line 3`.
    pub(super) place: String,
    pub(super) updated_at: Option<u64>,
    /// The line at which the merge conflict around the record begins.
    pub(super) conflict: Option<usize>,
    /// Why it is not known which version counts, as a sentence.
    pub(super) is_undecided: Option<String>,
}

/// The newest version of each issue, in the order of the file. If the file does not say which version is the
/// newest, an open version waits, and contains the others.
pub(super) fn newest_versions(records: Vec<Record>, collector: &mut Collector) -> Vec<Record> {
    let mut order: Vec<Vec<Record>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for record in records {
        let place = *places.entry(record.id.clone()).or_insert_with(|| {
            order.push(Vec::new());
            order.len() - 1
        });
        order[place].push(record);
    }
    order.into_iter().filter_map(|versions| newest(versions, collector)).collect()
}

fn newest(mut versions: Vec<Record>, collector: &mut Collector) -> Option<Record> {
    let mut last = versions.pop()?;
    if versions.is_empty() {
        if let Some(line) = last.conflict {
            last.is_undecided = Some(format!("It is in one side of the merge conflict at line {line} alone."));
            collector.report(&last.place, "is in one side of a merge conflict alone; it waits until a person answers");
        }
        return Some(last);
    }
    if versions.iter().all(|version| version.issue == last.issue) {
        collector.report(&last.place, format!("repeats `{}` of {}; left out", last.id, versions[0].place));
        return versions.into_iter().next();
    }
    versions.push(last);
    let newest = versions.iter().filter_map(|version| version.updated_at).max();
    let is_newest = |version: &Record| version.updated_at == newest;
    let is_decided = versions.iter().all(|version| version.updated_at.is_some())
        && versions.iter().filter(|version| is_newest(version)).count() == 1;
    // An open version waits; a closed version would let other issues begin.
    let is_open = |version: &Record| !is_over(&version.issue);
    let place = match is_decided {
        true => versions.iter().position(is_newest),
        false => versions.iter().rposition(is_open),
    };
    let mut chosen = versions.remove(place.unwrap_or(versions.len() - 1));
    let others: Vec<&str> = versions.iter().map(|version| version.place.as_str()).collect();
    let others = others.join(", ");
    if is_decided {
        let message = format!("is the newest version of `{}`; those of {others} are left out", chosen.id);
        collector.report(&chosen.place, message);
        return Some(chosen);
    }
    if !is_open(&chosen) {
        let message = format!("`{}` is also in {others}; all of them are closed, and the last one is used", chosen.id);
        collector.report(&chosen.place, message);
        return Some(chosen);
    }
    let place = &chosen.place;
    let message =
        format!("`{}` is also in {others}, and no `updated_at` says which version is the newest; it waits", chosen.id);
    collector.report(place, message);
    chosen.is_undecided = Some(format!(
        "The file has other versions of it ({others} beside {place}), and no `updated_at` says which is the newest."
    ));
    let kept: Vec<Value> = versions.into_iter().map(|version| version.issue.into()).collect();
    chosen.issue.insert(OTHER_VERSIONS.to_owned(), kept.into());
    Some(chosen)
}
