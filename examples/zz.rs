//! probe
#[path = "../benches/trees/mod.rs"]
#[allow(dead_code)]
mod trees;
use callstack_core::*;
use std::time::Instant;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let mode = std::env::args().nth(2).unwrap();
    if mode == "build" {
        let finished = trees::full(std::env::var("N").map_or(100_000, |n| n.parse().unwrap()), 8, trees::Texts::Large);
        let worked = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
        let frames = finished.state().frames;
        for frame in &frames {
            let new = NewFrame::new(&frame.title).id(&frame.session_id).criteria(&frame.success_criteria).criteria_compacted(&frame.success_criteria_compacted);
            let h = worked.push(match &frame.parent_session_id { Some(p) => new.below(p), None => new.root() }).unwrap();
            for a in &frame.artifacts { worked.add_artifact(h, a).unwrap(); }
            for a in &frame.decisions { worked.add_decision(h, a).unwrap(); }
        }
        for (i, frame) in frames.iter().enumerate().rev().filter(|(_, f)| f.status == FrameStatus::Completed) {
            worked.pop(Handle::from_index(i).unwrap(), PopStatus::Completed, frame.results.clone().unwrap(), frame.results_compacted.clone().unwrap()).unwrap();
        }
        let mut t = Vec::new();
        worked.export_history(&mut t).unwrap();
        println!("{} bytes", t.len());
        let start = Instant::now();
        Stack::rebuild(&dir, t.as_slice(), StackOptions { mirror: std::env::args().nth(3).is_none(), ..Default::default() }).unwrap();
        println!("rebuild {:?}", start.elapsed());
        return;
    }
    let start = Instant::now();
    let stack = Stack::open(&dir, StackOptions{mirror: std::env::args().nth(3).is_none(), ..Default::default()}).unwrap();
    println!("open {:?} {:?}", start.elapsed(), stack);
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", s.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
