//! The requests in the page. Neighbours are taken together where there are too many to be told apart.

use callstack_core::frame::TimedRequest;

/// The largest number of groups.
const MOST_GROUPS: usize = 20_000;
/// The largest number of models that the page names. All further ones share the last name.
const MOST_MODELS: usize = 200;
/// The most bytes of the name of a model.
const MODEL_BYTES: usize = 100;

/// Requests in groups of equal size, in the order of their ends.
pub struct Groups {
    /// Number of requests in a group, except the last one: a power of two, so that it changes seldom.
    pub size: usize,
    /// Each group as JSON: `[frame, from, to, requests, failed, uncached, cached, written, output, reasoning, model]`, with
    /// times in milliseconds since the beginning of the chart.
    pub groups: Vec<String>,
    /// The names of the models.
    pub models: Vec<String>,
}

impl Groups {
    pub fn of(requests: &[TimedRequest], origin: u64) -> Self {
        let size = requests.len().div_ceil(MOST_GROUPS).next_power_of_two();
        let mut models: Vec<String> = Vec::new();
        let groups = requests.chunks(size).map(|requests| group(requests, origin, &mut models)).collect();
        Self { size, groups, models }
    }
}

fn group(requests: &[TimedRequest], origin: u64, models: &mut Vec<String>) -> String {
    let from = requests.iter().map(|request| request.begun_at).min().unwrap_or(origin);
    let to = requests.iter().map(|request| request.ended_at).max().unwrap_or(origin);
    let sum = |number: fn(&TimedRequest) -> u64| requests.iter().map(number).fold(0, u64::saturating_add);
    let first = requests.first();
    let model = first.map_or(0, |first| place_of(&first.request.model, models) as u64);
    let numbers = [
        first.map_or(0, |first| u64::from(first.handle.number())),
        from.saturating_sub(origin),
        to.saturating_sub(origin),
        requests.len() as u64,
        sum(|request| u64::from(request.request.failed)),
        sum(|request| request.request.uncached_input),
        sum(|request| request.request.cache_read),
        sum(|request| request.request.cache_write),
        sum(|request| request.request.output),
        sum(|request| request.request.reasoning),
        model,
    ];
    format!("[{}]", numbers.map(|number| number.to_string()).join(","))
}

/// The place of a model in the list of names, to which it is added.
fn place_of(model: &str, models: &mut Vec<String>) -> usize {
    let line = callstack_core::text::one_line(model);
    let end = line.char_indices().map(|(place, _)| place).take_while(|place| *place <= MODEL_BYTES).last();
    let name = if line.len() > MODEL_BYTES { &line[..end.unwrap_or(0)] } else { &line };
    models.iter().position(|known| known == name).unwrap_or_else(|| {
        if models.len() < MOST_MODELS {
            models.push(name.to_owned());
        }
        models.len() - 1
    })
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
        assert_eq!(few.groups, ["[1,5,10,1,0,0,2,0,1,0,0]", "[1,6,11,1,0,0,2,0,1,0,1]", "[1,7,12,1,0,0,2,0,1,0,2]"]);
        let many = Groups::of(requests(50_001).requests(), 990);
        assert_eq!((many.size, many.groups.len(), many.models.len()), (4, 12_501, MOST_MODELS));
        assert_eq!(many.groups[0], "[1,5,13,4,0,0,8,0,4,0,0]");
        assert!(Groups::of(&[], 0).groups.is_empty());
    }
}
