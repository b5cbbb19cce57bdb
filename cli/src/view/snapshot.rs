//! What the page shows of a stack at one revision, as JSON; and what has changed since another revision.

use std::collections::HashSet;

use callstack_core::frame::{ModelUsage, Prices, Timeline};
use callstack_core::{Handle, Stack, Tree};
use serde::Serialize;

use super::requests::Groups;
use super::texts::{Limits, NamedText, ShownTexts};
use crate::chart::{Bar, Chart, ChartFrame};

/// The most blocked times and the most dependencies of a frame in the page.
const MOST_ENTRIES: usize = 32;

/// A stack at one revision.
pub struct Snapshot {
    pub revision: u64,
    /// The time with which the chart begins, in milliseconds since the Unix epoch. All others are relative to it.
    origin: u64,
    /// The end of the chart.
    to: u64,
    rows: usize,
    active: Option<u32>,
    has_prices: bool,
    /// Each frame as JSON, parents before their children.
    frames: Vec<String>,
    requests: Groups,
}

/// The page's data without the frames and the requests: all of a stack, or what has changed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    revision: u64,
    /// True: these are all frames. False: those that have changed, to be merged with the others.
    is_whole: bool,
    origin: u64,
    to: u64,
    rows: usize,
    active: Option<u32>,
    has_prices: bool,
    models: &'a [String],
    /// Number of requests in a group.
    group_size: usize,
    /// The place of the first of `requests` among all groups. Those behind it are replaced.
    requests_from: usize,
}

/// A frame. The names are short because there can be thousands.
#[derive(Serialize)]
struct FrameData {
    /// The number of its handle.
    n: u32,
    /// That of its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<u32>,
    /// Its children, if their order is not that of their numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ch: Vec<u32>,
    /// Its status.
    s: &'static str,
    /// Its title.
    t: String,
    /// Beginning, end and row of its bar. The end is 0 if it has not ended: it lasts until the end of the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<(u64, u64, usize)>,
    /// The times in which it was blocked, with ends as that of the bar.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    k: Vec<(u64, u64)>,
    /// Its own requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    u: Option<Sums>,
    /// The requests of the frame and of everything below it, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<Sums>,
    /// Its dependencies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    d: Vec<u32>,
    /// The attempt before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    r: Option<u32>,
    /// Its texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    x: Vec<NamedText>,
    /// True if a part of its texts is left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    z: bool,
}

/// Requests, failed, uncached, cached, written, output, reasoning, duration in milliseconds; and with prices the cost that
/// is known, and whether that is all.
#[derive(Serialize)]
struct Sums(u64, u64, u64, u64, u64, u64, u64, u64, Option<f64>, bool);

impl Snapshot {
    /// `timeline`: that of the stack, up to its revision.
    pub fn of(stack: &Stack, timeline: &Timeline, prices: Option<&Prices>) -> Self {
        stack.read(|tree| {
            let chart = Chart::of(tree, timeline);
            let limits = Limits::of(tree.handles().map(|handle| tree.node(handle).record()));
            let Chart { revision, from: origin, to, rows, .. } = chart;
            let requests = Groups::of(&chart.requests, origin);
            let frame = |frame: ChartFrame| {
                let data = FrameData::of(tree, frame, limits, origin, prices);
                // Numbers and texts can always be written.
                serde_json::to_string(&data).unwrap_or_default()
            };
            Self {
                revision,
                origin,
                to: to - origin.min(to),
                rows,
                active: tree.active().map(Handle::number),
                has_prices: prices.is_some(),
                frames: chart.frames.into_iter().map(frame).collect(),
                requests,
            }
        })
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// All of it as JSON.
    pub fn whole(&self) -> String {
        self.json(true, self.frames.iter().map(String::as_str), 0)
    }

    /// The changes since another snapshot as JSON.
    pub fn since(&self, earlier: &Snapshot) -> String {
        if (self.origin, self.requests.size) != (earlier.origin, earlier.requests.size) {
            return self.whole();
        }
        let known: HashSet<&str> = earlier.frames.iter().map(String::as_str).collect();
        let changed = self.frames.iter().map(String::as_str).filter(|frame| !known.contains(frame));
        let same = self.requests.groups.iter().zip(&earlier.requests.groups).take_while(|(now, then)| now == then);
        self.json(false, changed, same.count())
    }

    fn json<'a>(&self, is_whole: bool, frames: impl Iterator<Item = &'a str>, requests_from: usize) -> String {
        let data = Data {
            revision: self.revision,
            is_whole,
            origin: self.origin,
            to: self.to,
            rows: self.rows,
            active: self.active,
            has_prices: self.has_prices,
            models: &self.requests.models,
            group_size: self.requests.size,
            requests_from,
        };
        let data = serde_json::to_string(&data).unwrap_or_default();
        let frames = frames.collect::<Vec<&str>>().join(",");
        let requests = self.requests.groups.get(requests_from..).unwrap_or_default().join(",");
        let data = data.trim_end_matches('}');
        escaped(&format!("{data},\"frames\":[{frames}],\"requests\":[{requests}]}}"))
    }
}

impl FrameData {
    fn of(tree: &Tree, frame: ChartFrame, limits: Limits, origin: u64, prices: Option<&Prices>) -> Self {
        let node = tree.node(frame.handle);
        let ShownTexts { title, texts, is_cut } = limits.apply(node.record());
        let children = node.children();
        let children = if children.is_sorted() { &[] } else { children };
        let numbers = |handles: &[Handle]| handles.iter().copied().map(Handle::number).collect();
        let time = |time: u64| time.saturating_sub(origin);
        // Open bars would otherwise change with every event of the stack.
        let end = |bar: &Bar, end: u64| if bar.is_open && end == bar.to { 0 } else { time(end) };
        let bar = frame.bar.as_ref();
        let spans = bar.into_iter().flat_map(|bar| bar.blocked.iter().map(move |span| (bar, span)));
        let blocked = spans.map(|(bar, span)| (time(span.from), end(bar, span.to.unwrap_or(bar.to))));
        let total = &frame.usage.total;
        Self {
            n: frame.handle.number(),
            p: frame.parent.map(Handle::number),
            ch: numbers(children),
            s: frame.status.as_str(),
            t: title,
            b: bar.map(|bar| (time(bar.from), end(bar, bar.to), bar.row)),
            k: blocked.take(MOST_ENTRIES).collect(),
            a: (*total != frame.usage.own).then(|| Sums::of(total, prices)),
            u: (!frame.usage.own.is_empty()).then(|| Sums::of(&frame.usage.own, prices)),
            d: tree.newest_dependencies(frame.handle).take(MOST_ENTRIES).map(Handle::number).collect(),
            r: node.retry_of().map(Handle::number),
            x: texts,
            z: is_cut,
        }
    }
}

impl Sums {
    fn of(usage: &[ModelUsage], prices: Option<&Prices>) -> Self {
        let sum: ModelUsage = usage.iter().sum();
        let cost = prices.map(|prices| prices.total(usage));
        let (known, is_complete) = cost.map_or((None, false), |cost| (Some(cost.known), cost.is_complete));
        let ModelUsage {
            requests, failed, uncached_input, cache_read, cache_write, output, reasoning, duration, ..
        } = sum;
        Self(requests, failed, uncached_input, cache_read, cache_write, output, reasoning, duration, known, is_complete)
    }
}

/// JSON that can stand in a `script` element and on a line: nothing in it can end either.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len() + json.len() / 64);
    let mut rest = 0;
    for (place, found) in json.match_indices(['<', '\u{2028}', '\u{2029}']) {
        escaped.push_str(&json[rest..place]);
        escaped.push_str(match found {
            "<" => "\\u003c",
            "\u{2028}" => "\\u2028",
            _ => "\\u2029",
        });
        rest = place + found.len();
    }
    escaped.push_str(&json[rest..]);
    escaped
}

#[cfg(test)]
mod tests {
    use callstack_core::frame::ModelRequest;
    use callstack_core::{MemoryStore, NewFrame, PopStatus, StackOptions};
    use serde_json::Value;

    use super::*;

    fn snapshot(stack: &Stack) -> Snapshot {
        let mut timeline = Timeline::default();
        stack.update_timeline(&mut timeline).unwrap();
        Snapshot::of(stack, &timeline, None)
    }

    fn stack() -> Stack {
        let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
        let root = stack.push(NewFrame::new("Shop").id("shop")).unwrap();
        stack.push(NewFrame::new("Cart").below(root)).unwrap();
        stack.plan(NewFrame::new("Mail").below(root)).unwrap();
        stack
    }

    #[test]
    fn hostile_texts_cannot_end_their_element() {
        let stack = stack();
        stack
            .push(NewFrame::new("</script><img src=x onerror=alert(1)>\u{2028}<!--").criteria("]]></script>"))
            .unwrap();
        let json = snapshot(&stack).whole();
        assert!(!json.contains(['<', '\u{2028}', '\n']), "{json}");
        let data: Value = serde_json::from_str(&json).unwrap();
        // The end of a line is a space in a title.
        assert_eq!(data["frames"][2]["t"], "</script><img src=x onerror=alert(1)> <!--");
    }

    #[test]
    fn changes_are_the_frames_and_requests_that_are_new() {
        let stack = stack();
        let before = snapshot(&stack);
        stack.record_usage("f2", ModelRequest { output: 5, ..ModelRequest::new("m") }).unwrap();
        stack.pop("f3", PopStatus::Completed, "sent").unwrap_err();
        stack.plan(NewFrame::new("Blog").root()).unwrap();
        let after = snapshot(&stack);
        let changes: Value = serde_json::from_str(&after.since(&before)).unwrap();
        let numbers: Vec<u64> =
            changes["frames"].as_array().unwrap().iter().map(|frame| frame["n"].as_u64().unwrap()).collect();
        assert_eq!(numbers, [1, 2, 4], "the frame with the request, its parent, and the new one");
        assert_eq!((&changes["isWhole"], &changes["requestsFrom"]), (&false.into(), &0.into()));
        assert_eq!(changes["requests"].as_array().unwrap().len(), 1);
        let none: Value = serde_json::from_str(&after.since(&after)).unwrap();
        assert_eq!((&none["frames"], &none["requests"]), (&serde_json::json!([]), &serde_json::json!([])));
    }

    #[test]
    fn a_stack_without_frames_has_a_snapshot() {
        let data: Value = serde_json::from_str(
            &snapshot(&Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap()).whole(),
        )
        .unwrap();
        assert_eq!((&data["frames"], &data["to"]), (&serde_json::json!([]), &0.into()));
    }
}
