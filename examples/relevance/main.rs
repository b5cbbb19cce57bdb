//! Measures how well contexts find the frames on which a task really depended.
//!
//! `cargo run --release --example relevance -- FILE…` reads Task Master and Beads files. Each plan is played
//! as it happened up to a case. Then the engine's ranking is compared with the declared dependencies of the
//! case, which are hidden. There are three kinds of cases:
//!
//! - *siblings*: a task with at least four earlier siblings that depends on at least one of them;
//! - *ancestors' siblings*: a task that depends on an earlier sibling of one of its ancestors, or whose own
//!   ancestor does, if there are at least four such siblings;
//! - *inherited*: the same tasks, but the dependencies of the ancestors are declared, and it is measured
//!   whether the contexts with the default budget show the frames on which the ancestors depend.
//!
//! The first two are measured twice: `hidden` without any declared dependencies, and `known` with those of
//! the frames that had finished before. The figures of all plans are means over the plans, so each plan
//! weighs alike.

mod figures;
mod plan;
mod replay;

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;

use callstack_core::context::{DetailLevel, Omission, Section};
use callstack_core::{Result, Settings};
use figures::{Figures, Shown};
use plan::{Plan, Task};
use replay::{Labels, Replay};

/// A ranking of fewer frames than this says little.
const LEAST_CANDIDATES: usize = 4;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: relevance FILE...");
        return ExitCode::FAILURE;
    }
    let mut all = Measured::default();
    for file in &files {
        match measure(file) {
            Ok(measured) => {
                println!("{} ({} cases)\n{measured}", file.rsplit('/').next().unwrap_or(file), measured.hidden.count);
                all.add_plan(&measured);
            }
            Err(message) => {
                eprintln!("{file}: {message}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("means over {} plans", all.hidden.count);
    println!("ancestors' siblings, hidden: {}", all.beside_hidden);
    println!("ancestors' siblings, known: {}", all.beside_known);
    println!("inherited: {}", all.inherited);
    println!("hidden: {}", all.hidden);
    println!("known: {}", all.known);
    ExitCode::SUCCESS
}

/// The figures of one plan, or of all.
#[derive(Default)]
struct Measured {
    hidden: Figures,
    known: Figures,
    beside_hidden: Figures,
    beside_known: Figures,
    inherited: Shown,
}

impl Measured {
    fn add_plan(&mut self, plan: &Measured) {
        self.hidden.add_plan(&plan.hidden);
        self.known.add_plan(&plan.known);
        self.beside_hidden.add_plan(&plan.beside_hidden);
        self.beside_known.add_plan(&plan.beside_known);
        self.inherited.add(&plan.inherited);
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "  siblings, hidden: {}", self.hidden)?;
        writeln!(formatter, "  siblings, known:  {}", self.known)?;
        if self.beside_hidden.count > 0 {
            writeln!(formatter, "  ancestors' siblings, hidden: {}", self.beside_hidden)?;
            writeln!(formatter, "  ancestors' siblings, known:  {}", self.beside_known)?;
        }
        if self.inherited.wanted > 0 {
            writeln!(formatter, "  inherited: {}", self.inherited)?;
        }
        Ok(())
    }
}

fn measure(file: &str) -> std::result::Result<Measured, String> {
    let plan = Plan::read(file)?;
    let measure = || -> Result<Measured> {
        let mut measured = Measured {
            hidden: siblings(&plan, Labels::Hidden)?,
            known: siblings(&plan, Labels::Known)?,
            ..Measured::default()
        };
        for children in families(&plan) {
            let ancestors = plan.ancestors(&children[0]);
            ancestors_siblings(&ancestors, &children, Labels::Hidden, &mut measured.beside_hidden)?;
            ancestors_siblings(&ancestors, &children, Labels::Known, &mut measured.beside_known)?;
            inherited(&ancestors, &children, &mut measured.inherited)?;
        }
        Ok(measured)
    };
    measure().map_err(|error| error.to_string())
}

/// Measures the ranking of the siblings of the plan's tasks.
fn siblings(plan: &Plan, labels: Labels) -> Result<Figures> {
    let mut figures = Figures::default();
    for task in plan.tasks().filter(|task| task.earlier.len() >= LEAST_CANDIDATES) {
        let wanted = task.dependencies();
        if !wanted.is_empty() {
            let replay = Replay::new(labels, &[])?;
            let entries = replay.case(task.frame, &task.earlier, Section::CompletedSiblings, &Settings::default())?;
            figures.add_case(&replay.ranked(entries)?, &wanted);
        }
    }
    Ok(figures)
}

/// The tasks of the plan by their parents, those of the root excepted: nobody stands beside the root.
fn families(plan: &Plan) -> Vec<Vec<Task<'_>>> {
    let mut families: Vec<Vec<Task>> = Vec::new();
    let mut places = HashMap::new();
    for task in plan.tasks().filter(|task| !plan.ancestors(task).is_empty()) {
        let place = *places.entry(task.frame.parent_session_id.as_deref()).or_insert_with(|| {
            families.push(Vec::new());
            families.len() - 1
        });
        families[place].push(task);
    }
    families
}

/// Measures the ranking of the earlier siblings of the ancestors of some tasks with one parent.
fn ancestors_siblings(ancestors: &[Task], tasks: &[Task], labels: Labels, figures: &mut Figures) -> Result<()> {
    let candidates: HashSet<&str> =
        ancestors.iter().flat_map(|ancestor| &ancestor.earlier).map(|frame| frame.session_id.as_str()).collect();
    if candidates.len() < LEAST_CANDIDATES {
        return Ok(());
    }
    let replay = Replay::new(labels, ancestors)?;
    let inherited = dependencies(ancestors);
    for task in tasks {
        let own = task.frame.depends_on.iter().map(String::as_str).filter(|id| candidates.contains(id));
        let wanted: HashSet<&str> = own.chain(inherited.iter().copied()).collect();
        if !wanted.is_empty() {
            let entries = replay.case(task.frame, &[], Section::AncestorSiblings, &Settings::default())?;
            figures.add_case(&replay.ranked(entries)?, &wanted);
        }
    }
    Ok(())
}

/// Measures whether the contexts of some tasks with one parent show on what their ancestors depend.
fn inherited(ancestors: &[Task], tasks: &[Task], shown: &mut Shown) -> Result<()> {
    let wanted = dependencies(ancestors);
    if wanted.is_empty() {
        return Ok(());
    }
    let replay = Replay::new(Labels::Inherited, ancestors)?;
    for task in tasks {
        let entries = replay.case(task.frame, &[], Section::InheritedDependencies, &Settings::default())?;
        shown.cases += 1;
        shown.wanted += wanted.len();
        for entry in entries {
            if wanted.contains(replay.id(&entry)?.as_str()) {
                shown.shown += usize::from(entry.detail_level != DetailLevel::Omitted);
                shown.over_budget += usize::from(entry.omission == Some(Omission::Budget));
            }
        }
    }
    Ok(())
}

/// The dependencies of some tasks among their earlier siblings.
fn dependencies<'a>(tasks: &'a [Task]) -> HashSet<&'a str> {
    tasks.iter().flat_map(Task::dependencies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The floors are a little below the figures on plans to which the constants of the formula were not
    /// fitted; see docs/figures.md.
    #[test]
    fn what_tasks_depended_on_is_ranked_high_and_what_they_inherit_is_shown() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plans");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().display().to_string());
        let mut files: Vec<String> = files.filter(|file| !file.ends_with(".md")).collect();
        files.sort();
        let mut all = Measured::default();
        for file in files {
            all.add_plan(&measure(&file).unwrap());
        }
        println!("{all}");
        assert_eq!(all.hidden.count, 20);
        let floors = [
            (all.hidden, 0.685, 0.80),
            (all.known, 0.745, 0.85),
            (all.beside_hidden, 0.515, 0.635),
            (all.beside_known, 0.562, 0.67),
        ];
        for (figures, ndcg_at_5, recall_at_5) in floors {
            assert!(figures.ndcg_at_5() >= ndcg_at_5 && figures.recall_at_5() >= recall_at_5, "{figures}\n{all}");
        }
        assert!(all.inherited.wanted > 2_000, "{all}");
        assert_eq!(all.inherited.shown + all.inherited.over_budget, all.inherited.wanted, "{all}");
    }
}
