//! The content of the page: a stack at one revision, and its changes since another revision, as JSON.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use callstack_core::frame::{ModelUsage, Prices, Timeline};
use callstack_core::text::{escape_hidden, one_line};
use callstack_core::{Handle, Result, Stack, Tree};
use serde::Serialize;

use super::conversations::Conversations;
use super::requests::Groups;
use super::texts::{Limits, NamedText, ShownTexts, Sizes, cut};
use crate::chart::{Bar, Chart, ChartFrame};

/// The maximum number of bytes of all frames and requests, unless their numbers and the beginnings of titles
/// alone need more.
const MOST_BYTES: usize = 4_700_000;
/// Number of frames in the list of the costliest ones.
const COSTLIEST: usize = 10;
/// The maximum number of bytes of the limits of a frame, in JSON.
const LONGEST_LIMITS: usize = 400;

/// A stack at one revision.
pub struct Snapshot {
    pub revision: u64,
    /// The time at which the chart begins, in milliseconds since the Unix epoch. All other times are relative
    /// to it.
    origin: u64,
    /// The end of the chart.
    to: u64,
    /// The roots, if their order is not that of their numbers.
    roots: Vec<u32>,
    active: Option<u32>,
    has_prices: bool,
    total: Sums,
    /// The frames whose own requests cost most: in money if there are prices, else in tokens.
    costliest: Vec<u32>,
    /// Each frame as JSON, parents before their children.
    frames: Vec<String>,
    requests: Groups,
    /// All of it as JSON, made when the first reader wants it.
    whole: OnceLock<Arc<str>>,
}

/// The page's data without the frames and the requests: all of a stack, or its changes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    revision: u64,
    /// True: these are all frames. False: these are the frames that have changed, to be merged with the
    /// others.
    is_whole: bool,
    origin: u64,
    to: u64,
    roots: &'a [u32],
    active: Option<u32>,
    has_prices: bool,
    total: &'a Sums,
    costliest: &'a [u32],
    models: &'a [String],
    /// Number of requests in a group.
    group_size: usize,
    /// The place of the first of `requests` among all groups. The groups from there on are replaced.
    requests_from: usize,
}

/// The numbers of a frame. The names are short because there can be thousands of frames.
#[derive(Serialize)]
struct FrameNumbers {
    /// The number of its handle.
    n: u32,
    /// The number of its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<u32>,
    /// Its children, if their order is not that of their numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ch: Vec<u32>,
    /// Its status.
    s: &'static str,
    /// Beginning, end and row of its bar. No end: the frame has not ended, and the bar lasts until the end of
    /// the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<(u64, Option<u64>, usize)>,
    /// The sum of the times in which it was blocked, without a time that is not over.
    #[serde(skip_serializing_if = "is_zero")]
    w: u64,
    /// Its own requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    u: Option<Sums>,
    /// The requests of the frame and of everything below it, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<Sums>,
    /// What the frame and everything below it have cost, as hosts tell it, in millionths of a US dollar.
    #[serde(skip_serializing_if = "is_zero")]
    c: u64,
    /// Its limits, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    l: String,
    /// The attempt before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    r: Option<u32>,
    /// True if it is out of the plan, with everything below it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    o: bool,
}

/// The parts of a frame that share the room of the page.
#[derive(Serialize)]
struct FrameParts {
    /// Its title.
    t: String,
    /// The newest times in which it was blocked. No end: it is blocked now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    k: Vec<(u64, Option<u64>)>,
    /// Number of older times, which are left out.
    #[serde(skip_serializing_if = "is_zero")]
    ko: u64,
    /// Its dependencies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    d: Vec<u32>,
    /// Number of further dependencies, which are left out.
    #[serde(rename = "do", skip_serializing_if = "is_zero")]
    further: u64,
    /// Its texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    x: Vec<NamedText>,
    /// True if a part of its texts is left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    z: bool,
}

/// Requests, failed, tokens, prompt, uncached, cached, written, output, reasoning; and with prices the cost
/// that is known, and whether that is the whole cost.
#[derive(Serialize)]
struct Sums(u64, u64, u64, u64, u64, u64, u64, u64, u64, Option<f64>, bool);

impl Snapshot {
    /// `timeline`: the timeline of the stack, up to its revision.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub fn of(stack: &Stack, timeline: &Timeline, prices: Option<&Prices>) -> Result<Self> {
        Self::with(stack, timeline, prices, &Conversations::default())
    }

    /// As [`Snapshot::of`], with what was said in the frames.
    ///
    /// # Errors
    /// As [`Snapshot::of`].
    pub fn with(stack: &Stack, timeline: &Timeline, prices: Option<&Prices>, said: &Conversations) -> Result<Self> {
        stack.read(|tree| Self::of_chart(tree, &Chart::of(tree, timeline), prices, said))
    }

    fn of_chart(tree: &Tree, chart: &Chart, prices: Option<&Prices>, said: &Conversations) -> Self {
        let origin = chart.from;
        let requests = Groups::of(&chart.requests, origin);
        let numbers: Vec<String> =
            chart.frames.iter().map(|frame| json(&FrameNumbers::of(tree, frame, origin, prices))).collect();
        let sizes: Vec<Sizes> = chart.frames.iter().map(|frame| sizes(tree, frame, said)).collect();
        let taken = requests.bytes() + numbers.iter().map(String::len).sum::<usize>();
        let limits = Limits::of(&sizes, MOST_BYTES.saturating_sub(taken));
        let whole = |(numbers, frame): (&String, &ChartFrame)| {
            let parts = json(&FrameParts::of(tree, frame, limits, origin, said));
            format!("{},{}", numbers.strip_suffix('}').unwrap_or_default(), parts.strip_prefix('{').unwrap_or_default())
        };
        Self {
            revision: chart.revision,
            origin,
            to: chart.to.saturating_sub(origin),
            roots: numbers_unless_sorted(tree.roots()),
            active: tree.active().map(Handle::number),
            has_prices: prices.is_some(),
            total: Sums::of(&tree.usage_of_all(), prices),
            costliest: costliest(&chart.frames, prices),
            frames: numbers.iter().zip(&chart.frames).map(whole).collect(),
            requests,
            whole: OnceLock::new(),
        }
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// All of it as JSON, made once.
    pub fn whole(&self) -> Arc<str> {
        let make = || self.json(true, self.frames.iter().map(String::as_str), 0).into();
        self.whole.get_or_init(make).clone()
    }

    /// The changes since another snapshot as JSON.
    pub fn since(&self, earlier: &Snapshot) -> Arc<str> {
        if (self.origin, self.requests.size) != (earlier.origin, earlier.requests.size) {
            return self.whole();
        }
        let known: HashSet<&str> = earlier.frames.iter().map(String::as_str).collect();
        let changed = self.frames.iter().map(String::as_str).filter(|frame| !known.contains(frame));
        let same = self.requests.groups.iter().zip(&earlier.requests.groups).take_while(|(now, then)| now == then);
        self.json(false, changed, same.count()).into()
    }

    fn json<'a>(&self, is_whole: bool, frames: impl Iterator<Item = &'a str>, requests_from: usize) -> String {
        let data = json(&Data {
            revision: self.revision,
            is_whole,
            origin: self.origin,
            to: self.to,
            roots: &self.roots,
            active: self.active,
            has_prices: self.has_prices,
            total: &self.total,
            costliest: &self.costliest,
            models: &self.requests.models,
            group_size: self.requests.size,
            requests_from,
        });
        let frames = frames.collect::<Vec<&str>>().join(",");
        let requests = self.requests.groups.get(requests_from..).unwrap_or_default().join(",");
        let data = data.strip_suffix('}').unwrap_or_default();
        escaped(&format!("{data},\"frames\":[{frames}],\"requests\":[{requests}]}}"))
    }
}

impl FrameNumbers {
    fn of(tree: &Tree, frame: &ChartFrame, origin: u64, prices: Option<&Prices>) -> Self {
        let node = tree.node(frame.handle);
        let time = |time: u64| time.saturating_sub(origin);
        let bar = frame.bar.as_ref();
        let over =
            bar.into_iter().flat_map(|bar| bar.blocked.iter().filter_map(|span| Some((span.from, end(bar, span.to)?))));
        let total = &frame.usage.total;
        let limits = node.record().limits.as_deref().map_or_else(String::new, |limits| one_line(&limits.to_string()));
        Self {
            n: frame.handle.number(),
            p: frame.parent.map(Handle::number),
            ch: numbers_unless_sorted(node.children()),
            s: frame.status.as_str(),
            // Open bars would otherwise change with every event of the stack.
            b: bar.map(|bar| (time(bar.from), (!bar.is_open).then(|| time(bar.to)), bar.row)),
            w: over.map(|(from, to)| to.saturating_sub(from)).fold(0, u64::saturating_add),
            u: (!frame.usage.own.is_empty()).then(|| Sums::of(&frame.usage.own, prices)),
            a: (*total != frame.usage.own).then(|| Sums::of(total, prices)),
            c: frame.usage.total_cost_micro_usd,
            l: cut(&limits, LONGEST_LIMITS).0.to_owned(),
            r: node.retry_of().map(Handle::number),
            o: tree.is_out_of_sight(frame.handle),
        }
    }
}

impl FrameParts {
    fn of(tree: &Tree, frame: &ChartFrame, limits: Limits, origin: u64, said: &Conversations) -> Self {
        let ShownTexts { title, texts, is_cut } = limits.apply(tree.node(frame.handle).record(), said.at(frame.handle));
        let time = |time: u64| time.saturating_sub(origin);
        let spans = frame.bar.as_ref().map_or(&[][..], |bar| &bar.blocked);
        let older = spans.len().saturating_sub(limits.entries);
        let newest = frame
            .bar
            .iter()
            .flat_map(|bar| bar.blocked.iter().skip(older).map(|span| (time(span.from), end(bar, span.to).map(time))));
        let dependencies: Vec<u32> = tree.newest_dependencies(frame.handle).map(Handle::number).collect();
        let shown = dependencies.len().min(limits.entries);
        Self {
            t: title,
            k: newest.collect(),
            ko: older as u64,
            d: dependencies[..shown].to_vec(),
            further: (dependencies.len() - shown) as u64,
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
        let (tokens, prompt) = (sum.tokens(), sum.input());
        let ModelUsage {
            requests,
            failed,
            uncached_input: uncached,
            cache_read: cached,
            cache_write: written,
            output,
            reasoning,
            ..
        } = sum;
        Self(requests, failed, tokens, prompt, uncached, cached, written, output, reasoning, known, is_complete)
    }
}

/// The end of a time in which a frame was blocked. `None` if it lasts until the end of a bar that has not
/// ended.
fn end(bar: &Bar, to: Option<u64>) -> Option<u64> {
    to.filter(|to| !(bar.is_open && *to == bar.to))
}

fn sizes(tree: &Tree, frame: &ChartFrame, said: &Conversations) -> Sizes {
    let spans = frame.bar.as_ref().map_or(0, |bar| bar.blocked.len());
    Sizes::of(
        tree.node(frame.handle).record(),
        said.at(frame.handle),
        spans.max(tree.newest_dependencies(frame.handle).count()),
    )
}

/// The frames whose own requests cost most, the costliest first.
fn costliest(frames: &[ChartFrame], prices: Option<&Prices>) -> Vec<u32> {
    let cost = |usage: &[ModelUsage]| match prices {
        Some(prices) => prices.total(usage).known,
        None => usage.iter().sum::<ModelUsage>().tokens() as f64,
    };
    let mut costs: Vec<(f64, Handle)> =
        frames.iter().map(|frame| (cost(&frame.usage.own), frame.handle)).filter(|(cost, _)| *cost > 0.0).collect();
    costs.sort_by(|(one, first), (other, second)| other.total_cmp(one).then(first.cmp(second)));
    costs.truncate(COSTLIEST);
    costs.into_iter().map(|(_, handle)| handle.number()).collect()
}

/// The numbers of frames, or nothing if they are in their order.
fn numbers_unless_sorted(handles: &[Handle]) -> Vec<u32> {
    let handles = if handles.is_sorted() { &[] } else { handles };
    handles.iter().copied().map(Handle::number).collect()
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The JSON of numbers and texts, which can always be written.
fn json(data: &impl Serialize) -> String {
    serde_json::to_string(data).unwrap_or_default()
}

/// JSON that can be in a `script` element and on one line: nothing in it can end either of them, and no
/// terminal obeys it.
fn escaped(json: &str) -> String {
    escape_hidden(json).replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use callstack_core::frame::{ModelRequest, Span};
    use callstack_core::{FrameEdit, MemoryStore, NewFrame, PopStatus, StackOptions};
    use serde_json::Value;

    use super::*;

    fn snapshot(stack: &Stack) -> Snapshot {
        let mut timeline = Timeline::default();
        stack.history().update_timeline(&mut timeline).unwrap();
        Snapshot::of(stack, &timeline, None).unwrap()
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

    #[test]
    fn the_order_of_moved_roots_and_children_is_told() {
        let stack = stack();
        let order = |snapshot: &Snapshot| serde_json::from_str::<Value>(&snapshot.whole()).unwrap()["roots"].clone();
        stack.push(NewFrame::new("Blog").root()).unwrap();
        stack.plan(NewFrame::new("Forum").root()).unwrap();
        let before = snapshot(&stack);
        assert_eq!(order(&before), serde_json::json!([]), "the order of the numbers needs no list");
        stack.edit("f5", FrameEdit::default().before("f1")).unwrap();
        let after = snapshot(&stack);
        assert_eq!(order(&after), serde_json::json!([5, 1, 4]));
        let changes: Value = serde_json::from_str(&after.since(&before)).unwrap();
        assert_eq!(changes["roots"], serde_json::json!([5, 1, 4]), "changes tell it too");
    }

    #[test]
    fn the_newest_blocked_times_are_shown_and_all_are_summed() {
        let stack = stack();
        let handle = Handle::from_index(1).unwrap();
        stack
            .read(|tree| {
                let mut chart = Chart::of(tree, &Timeline::default());
                let frame = chart.frames.iter_mut().find(|frame| frame.handle == handle).unwrap();
                let span = |place: u64| Span { from: place * 10, to: Some(place * 10 + 5) };
                frame.bar = Some(Bar {
                    from: 0,
                    to: 395,
                    is_open: true,
                    blocked: (0..40).map(span).collect(),
                    row: 0,
                    parent: None,
                });
                chart.from = 0;
                let json = Snapshot::of_chart(tree, &chart, None, &Conversations::default()).whole();
                let data: Value = serde_json::from_str(&json).unwrap();
                let frame = data["frames"].as_array().unwrap().iter().find(|frame| frame["n"] == 2).unwrap();
                assert_eq!(
                    (&frame["w"], &frame["ko"]),
                    (&195.into(), &8.into()),
                    "39 times are over, and 8 are not shown"
                );
                let shown = frame["k"].as_array().unwrap();
                assert_eq!((shown.len(), &shown[31]), (32, &serde_json::json!([390, null])), "the last one lasts");
                assert_eq!(frame["b"], serde_json::json!([0, null, 0]));
            })
            .unwrap();
    }

    #[test]
    fn a_bar_that_ends_in_the_first_moment_has_an_end() {
        let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
        stack.push(NewFrame::new("Shop")).unwrap();
        stack
            .read(|tree| {
                let mut chart = Chart::of(tree, &Timeline::default());
                let blocked = vec![Span { from: 5, to: Some(5) }];
                chart.frames[0].bar = Some(Bar { from: 5, to: 5, is_open: false, blocked, row: 0, parent: None });
                chart.from = 5;
                let data: Value =
                    serde_json::from_str(&Snapshot::of_chart(tree, &chart, None, &Conversations::default()).whole())
                        .unwrap();
                assert_eq!(data["frames"][0]["b"], serde_json::json!([0, 0, 0]));
                assert_eq!(data["frames"][0]["k"], serde_json::json!([[0, 0]]));
            })
            .unwrap();
    }
}
