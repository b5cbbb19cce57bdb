//! The file format of speedscope (<https://www.speedscope.app>): a profile of the times for each lane, and a
//! profile of the tokens.

use callstack_core::frame::ModelUsage;
use serde::Serialize;

use super::{PROGRAM, Run, VERSION, label};
use crate::chart::{Edge, lanes};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: String,
    active_profile_index: usize,
    shared: Shared,
    profiles: Vec<Profile>,
}

/// The data that all profiles use.
#[derive(Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
}

/// Frames begin and end like calls on a thread.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: Unit,
    start_value: u64,
    end_value: u64,
    events: Vec<Event>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Unit {
    Milliseconds,
    None,
}

#[derive(Serialize)]
struct Event {
    #[serde(rename = "type")]
    kind: EventKind,
    /// In a profile of times: since the beginning of the run, so that all such profiles have the same times.
    at: u64,
    /// The place of the frame in [`Shared`].
    frame: usize,
}

#[derive(Serialize)]
enum EventKind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

pub fn file(run: &Run<'_>) -> File {
    let frames = &run.chart.frames;
    let lanes = lanes(frames);
    let count = lanes.len();
    let profiles = lanes.iter().enumerate().map(|(place, lane)| time_profile(run, lane, place + 1, count));
    let profiles: Vec<Profile> = profiles.chain([token_profile(run)]).collect();
    File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("{PROGRAM} {VERSION}"),
        name: run.name(),
        active_profile_index: 0,
        shared: Shared {
            frames: frames.iter().map(|frame| Frame { name: label(frame.handle, &frame.title) }).collect(),
        },
        profiles,
    }
}

fn time_profile(run: &Run<'_>, lane: &[Edge], number: usize, count: usize) -> Profile {
    let begin = run.chart.from;
    let event = |edge: &Edge| Event {
        kind: if edge.begins { EventKind::Open } else { EventKind::Close },
        at: edge.time.saturating_sub(begin),
        frame: edge.frame,
    };
    let name = if count == 1 { "time".to_owned() } else { format!("time, lane {number} of {count}") };
    let end_value = run.chart.to.saturating_sub(begin);
    Profile {
        kind: "evented",
        name,
        unit: Unit::Milliseconds,
        start_value: 0,
        end_value,
        events: lane.iter().map(event).collect(),
    }
}

/// The tokens of each frame's own requests, as if each token took a moment. A frame begins at the sum of the
/// tokens before it, and ends after the tokens of the frames below it. The total is that of
/// `callstack usage`.
fn token_profile(run: &Run<'_>) -> Profile {
    let mut events = Vec::new();
    let mut sum = 0_u64;
    // The places of the frames from a root down to the current one.
    let mut path: Vec<usize> = Vec::new();
    let event = |kind, at, frame| Event { kind, at, frame };
    for (place, frame) in run.chart.frames.iter().enumerate() {
        let left = path.split_off(frame.level);
        events.extend(left.into_iter().rev().map(|left| event(EventKind::Close, sum, left)));
        events.push(event(EventKind::Open, sum, place));
        path.push(place);
        sum = sum.saturating_add(frame.usage.own.iter().sum::<ModelUsage>().tokens());
    }
    events.extend(path.into_iter().rev().map(|left| event(EventKind::Close, sum, left)));
    Profile {
        kind: "evented",
        name: "tokens of requests".to_owned(),
        unit: Unit::None,
        start_value: 0,
        end_value: sum,
        events,
    }
}
