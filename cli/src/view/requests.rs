//! The requests in the page. If there are too many to be distinguished, neighbouring requests are grouped.

use callstack_core::frame::{ModelUsage, TimedRequest};
use serde::Serialize;

use super::texts::cut;

/// The largest number of groups, and the largest number of bytes of all groups.
const MOST_GROUPS: usize = 20_000;
const MOST_BYTES: usize = 1_500_000;
/// The largest number of models that the page names. All further models share the name after the last one.
const MOST_MODELS: usize = 200;
const OTHER_MODELS: &str = "other models";
/// The largest number of bytes of the name of a model in JSON.
const MODEL_BYTES: usize = 100;

/// Requests in groups of equal size, in the order of their ends.
pub struct Groups {
    /// Number of requests in a group, except in the last group: a power of two, so that it seldom changes.
    pub size: usize,
    /// Each group as JSON, see [`Group`].
    pub groups: Vec<String>,
    /// The names of the models.
    pub models: Vec<String>,
}

/// A group: frame, from, to, requests, failed, prompt, cached, answer, model. The times are milliseconds
/// since the beginning of the chart. The frame or the model is null if the requests have several.
#[derive(Serialize)]
struct Group(Option<u32>, u64, u64, u64, u64, u64, u64, u64, Option<usize>);

impl Groups {
    pub fn of(requests: &[TimedRequest], origin: u64) -> Self {
        let mut size = requests.len().div_ceil(MOST_GROUPS).next_power_of_two();
        loop {
            let mut models: Vec<String> = Vec::new();
            let groups = requests.chunks(size).map(|requests| group(requests, origin, &mut models)).collect();
            let groups = Self { size, groups, models };
            if groups.bytes() <= MOST_BYTES || size >= requests.len() {
                return groups;
            }
            size *= 2;
        }
    }

    /// The bytes of JSON of all groups and names.
    pub fn bytes(&self) -> usize {
        let groups = self.groups.iter().map(|group| group.len() + 1);
        groups.sum::<usize>() + self.models.len() * (MODEL_BYTES + 3)
    }
}

fn group(requests: &[TimedRequest], origin: u64, models: &mut Vec<String>) -> String {
    let from = requests.iter().map(|request| request.begun_at).min().unwrap_or(origin);
    let to = requests.iter().map(|request| request.ended_at).max().unwrap_or(origin);
    let usages: Vec<ModelUsage> = requests.iter().map(|request| ModelUsage::from(&request.request)).collect();
    let sum: ModelUsage = usages.iter().sum();
    let group = Group(
        same(requests.iter().map(|request| request.handle.number())),
        from.saturating_sub(origin),
        to.saturating_sub(origin),
        sum.requests,
        sum.failed,
        sum.input(),
        sum.cache_read,
        sum.answer(),
        same(requests.iter().map(|request| request.request.model.as_str())).map(|model| place_of(model, models)),
    );
    // Numbers can always be written.
    serde_json::to_string(&group).unwrap_or_default()
}

/// The value that all of these have. `None` if they differ.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// The place of a model in the list of names. The model is added to the list if it is missing.
fn place_of(model: &str, models: &mut Vec<String>) -> usize {
    let line = callstack_core::text::one_line(model);
    let name = cut(&line, MODEL_BYTES).0;
    if let Some(place) = models.iter().take(MOST_MODELS).position(|known| known == name) {
        return place;
    }
    if models.len() <= MOST_MODELS {
        models.push(if models.len() < MOST_MODELS { name } else { OTHER_MODELS }.to_owned());
    }
    models.len() - 1
}

#[cfg(test)]
mod tests {
    use callstack_core::frame::{ModelRequest, Timeline};
    use callstack_core::{Change, Event, Handle};

    use super::*;

    fn requests(count: usize) -> Timeline {
        let mut timeline = Timeline::default();
        let handle = Handle::from_index(0).unwrap();
        timeline.follow(&Event { revision: 1, time: 990, handle, change: Change::ActiveChanged { active: true } });
        for place in 0..count {
            let request =
                ModelRequest { cache_read: 2, output: 1, duration: 5, ..ModelRequest::new(format!("m{place}")) };
            timeline.follow(&Event {
                revision: place as u64 + 2,
                time: 1_000 + place as u64,
                handle,
                change: Change::UsageRecorded { model_request: Box::new(request) },
            });
        }
        timeline
    }

    #[test]
    fn few_requests_are_alone_and_many_are_taken_together() {
        let few = Groups::of(requests(3).requests(), 990);
        assert_eq!(few.groups, ["[1,5,10,1,0,2,2,1,0]", "[1,6,11,1,0,2,2,1,1]", "[1,7,12,1,0,2,2,1,2]"]);
        let many = Groups::of(requests(50_001).requests(), 990);
        assert_eq!((many.size, many.groups.len()), (4, 12_501));
        assert_eq!(many.groups[0], "[1,5,13,4,0,8,8,4,null]", "a group of several models names none");
        assert!(Groups::of(&[], 0).groups.is_empty());
    }

    #[test]
    fn further_models_share_a_name_and_a_group_of_several_frames_names_none() {
        let few = Groups::of(requests(MOST_MODELS + 3).requests(), 990);
        let last = few.groups.iter().rev().take(3).map(|group| group.rsplit_once(',').unwrap().1);
        assert_eq!(last.collect::<Vec<_>>(), ["200]", "200]", "200]"]);
        assert_eq!((few.models[199].as_str(), &few.models[200..]), ("m199", &[OTHER_MODELS.to_owned()][..]));
        let mut pair = requests(2).requests().to_vec();
        pair[1].handle = Handle::from_index(2).unwrap();
        assert!(group(&pair, 990, &mut Vec::new()).starts_with("[null,"));
    }
}
