//! Measures how well contexts find the siblings on which a task really depended.
//!
//! `cargo run --release --example relevance -- FILE…` reads Task Master and Beads files. A case is a frame with at
//! least four earlier siblings and at least one dependency among them. For each case, the dependencies and the
//! frame's own results are hidden, the earlier siblings are marked as completed, and the engine's ranking of the
//! siblings is compared with the dependencies.

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::context::Section;
use callstack_core::import::{self, Format};
use callstack_core::{Budget, Frame, NewFrame, PopStatus, Results, Settings, Stack, StackOptions};

/// Maximum length of the compacted criteria and results, which are cut from the full ones, in characters.
const CRITERIA: usize = 150;
const RESULTS: usize = 400;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: relevance FILE...");
        return ExitCode::FAILURE;
    }
    let mut all = Figures::default();
    for file in &files {
        match measure(file) {
            Ok(figures) => {
                println!("{}: {figures}", file.rsplit('/').next().unwrap_or(file));
                all.add(&figures);
            }
            Err(message) => {
                eprintln!("{file}: {message}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("all: {all}");
    ExitCode::SUCCESS
}

/// The figures, as sums over all cases.
#[derive(Default)]
pub struct Figures {
    pub cases: usize,
    pub recall_at_3: f64,
    pub recall_at_5: f64,
    pub reciprocal_rank: f64,
    pub ndcg_at_5: f64,
}

impl Figures {
    pub fn add(&mut self, other: &Figures) {
        self.cases += other.cases;
        self.recall_at_3 += other.recall_at_3;
        self.recall_at_5 += other.recall_at_5;
        self.reciprocal_rank += other.reciprocal_rank;
        self.ndcg_at_5 += other.ndcg_at_5;
    }

    fn add_case(&mut self, ranked: &[&str], wanted: &HashSet<&str>) {
        let count = wanted.len() as f64;
        let recall = |at: usize| ranked.iter().take(at).filter(|id| wanted.contains(**id)).count() as f64 / count;
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let first = ranked.iter().position(|id| wanted.contains(id));
        let gained: f64 = ranked
            .iter()
            .take(5)
            .enumerate()
            .filter(|(_, id)| wanted.contains(**id))
            .map(|(place, _)| gain(place))
            .sum();
        let ideal: f64 = (0..wanted.len().min(5)).map(gain).sum();
        self.cases += 1;
        self.recall_at_3 += recall(3);
        self.recall_at_5 += recall(5);
        self.reciprocal_rank += first.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
        self.ndcg_at_5 += gained / ideal;
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mean = |sum: f64| sum / self.cases.max(1) as f64;
        write!(
            formatter,
            "cases={} recall@3={:.3} recall@5={:.3} mrr={:.3} ndcg@5={:.3}",
            self.cases,
            mean(self.recall_at_3),
            mean(self.recall_at_5),
            mean(self.reciprocal_rank),
            mean(self.ndcg_at_5)
        )
    }
}

pub fn measure(file: &str) -> Result<Figures, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let format = Format::of(&text).map_err(|error| error.to_string())?;
    let imported = match format {
        Format::TaskMaster => import::task_master(&text).map_err(|error| error.to_string())?,
        Format::Beads => import::beads(&text),
        _ => return Err("a state is not a plan; give a Task Master or Beads file".into()),
    };
    let mut groups: Vec<Vec<&Frame>> = Vec::new();
    let mut places = HashMap::new();
    for frame in &imported.frames {
        let place = *places.entry(&frame.parent_session_id).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(frame);
    }
    let mut figures = Figures::default();
    for mut group in groups {
        if format == Format::Beads {
            let closed_at = |frame: &Frame| frame.extra.contains_key("closed_at").then_some(frame.updated_at);
            group.sort_by_key(|frame| closed_at(frame).unwrap_or(u64::MAX));
        }
        for (index, frame) in group.iter().enumerate().skip(4) {
            let earlier = &group[..index];
            let wanted: HashSet<&str> = frame
                .depends_on
                .iter()
                .map(String::as_str)
                .filter(|id| earlier.iter().any(|other| other.session_id == *id))
                .collect();
            if !wanted.is_empty() {
                let ranked = rank(frame, earlier).map_err(|error| error.to_string())?;
                figures.add_case(&ranked.iter().map(String::as_str).collect::<Vec<_>>(), &wanted);
            }
        }
    }
    Ok(figures)
}

/// Returns the IDs of the earlier siblings in the engine's ranking for the frame, best first.
fn rank(frame: &Frame, earlier: &[&Frame]) -> callstack_core::Result<Vec<String>> {
    let now = Arc::new(AtomicU64::new(0));
    let clock = now.clone();
    let options = StackOptions::default().clock(Arc::new(move || clock.load(Ordering::Relaxed)));
    let stack = Stack::with_options(options);
    let root = stack.push(NewFrame::new("The plan").id("(root)"))?;
    let push = |frame: &Frame| {
        now.store(frame.created_at, Ordering::Relaxed);
        let title = if frame.title.trim().is_empty() { "(untitled)" } else { &frame.title };
        stack.push(
            NewFrame::new(title)
                .id(&frame.session_id)
                .criteria(&frame.success_criteria)
                .criteria_compacted(beginning(&frame.success_criteria, CRITERIA))
                .below(root),
        )
    };
    for sibling in earlier {
        let handle = push(sibling)?;
        // All tasks count as done here, so the details of unfinished tasks also become results.
        let details = sibling.extra.get("details").and_then(|details| details.as_str());
        let results = sibling.results.as_deref().or(details).unwrap_or_default();
        stack.pop(handle, PopStatus::Completed, Results::new(results).compacted(beginning(results, RESULTS)))?;
    }
    let current = push(frame)?;
    let settings = Settings::default().minimum_relevance(0).budget(Budget::default());
    let report = stack.context_uncached(current, &settings)?.report;
    let mut siblings: Vec<_> =
        report.entries.into_iter().filter(|entry| entry.section == Section::CompletedSiblings).collect();
    siblings.sort_by(|one, other| other.score.total_cmp(&one.score).then(other.handle.cmp(&one.handle)));
    siblings.into_iter().map(|entry| stack.frame(entry.handle).map(|frame| frame.session_id)).collect()
}

fn beginning(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures for the plans in the test data must not get worse.
    #[test]
    fn siblings_that_tasks_depended_on_are_ranked_high() {
        let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plans");
        let files = [
            "ast-mcp.tasks.json",
            "beads_rust.issues.jsonl",
            "prophy-api-client.tasks.json",
            "rivet.issues.jsonl",
            "testcraft.tasks.json",
        ];
        let mut all = Figures::default();
        for file in files {
            all.add(&measure(&format!("{plans}/{file}")).unwrap());
        }
        println!("{all}");
        assert_eq!(all.cases, 195);
        let cases = all.cases as f64;
        assert!(all.recall_at_5 / cases >= 0.73, "{all}");
        assert!(all.ndcg_at_5 / cases >= 0.64, "{all}");
    }
}
