//! Which frames are shown, and how much of each: a fixed order of steps, of which the longest
//! beginning that fits the budget is taken. So a larger total never takes anything away.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::considered::Considered;
use super::fragment::{DetailLevel, Fragment};
use super::heap::Heap;
use super::relevance::ancestor_score;
use super::settings::{Guidance, Settings};
use super::spending::Spending;
use super::wording::Wording;
use super::{Contexts, skeleton};
use crate::error::{Error, Result};
use crate::frame::Handle;
use crate::tree::Tree;

/// Siblings beyond this many best ones are never shown: they could not fit any prompt.
const SHOWN_SIBLINGS: usize = 512;
/// Ancestors this near can be shown in more than a stub.
const DETAILED_ANCESTORS: usize = 32;

/// Where in a context a frame is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Section {
    /// The frame whose context it is.
    CurrentFrame,
    /// The parent, its parent, and so on.
    Ancestors,
    /// A finished dependency that is no sibling.
    Dependencies,
    /// A finished sibling.
    CompletedSiblings,
    /// A planned child.
    PlannedChildren,
}

/// Why a frame is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Omission {
    /// Its score is below the minimum relevance.
    Irrelevant,
    /// The budget was used up before its turn.
    Budget,
    /// There are 512 better siblings.
    Rank,
}

/// What became of one frame that was considered for a context.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// The frame.
    pub handle: Handle,
    /// Where it is or would be shown.
    pub section: Section,
    /// How much of it is shown.
    pub detail_level: DetailLevel,
    /// How much it matters to the current frame, 0 to 100.
    pub score: f32,
    /// What showing it costs, in tokens.
    pub tokens: usize,
    /// Path of the frame's log, if the context names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Why it is left out, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omission: Option<Omission>,
}

/// A candidate and the detail level it has reached.
pub(super) struct Item {
    pub(super) entry: Entry,
    pub(super) fragment: Option<Arc<Fragment>>,
}

impl Item {
    fn new(handle: Handle, section: Section, score: f32) -> Self {
        let omission = Some(Omission::Budget);
        let entry =
            Entry { handle, section, detail_level: DetailLevel::Omitted, score, tokens: 0, log: None, omission };
        Self { entry, fragment: None }
    }

    /// What became of the frame.
    pub(super) fn into_entry(self) -> Entry {
        let log = self.fragment.as_ref().and_then(|fragment| fragment.log(self.entry.detail_level));
        Entry { log: log.cloned(), ..self.entry }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.entry.detail_level != DetailLevel::Omitted
    }

    pub(super) fn write(&self, out: &mut String) {
        if let Some(fragment) = &self.fragment {
            fragment.write(self.entry.detail_level, out);
        }
    }
}

/// What the stable part shows.
pub(super) struct Stable {
    /// Ancestors nearest first, then dependencies, then siblings, each in the order of [`Ranges`].
    pub(super) items: Vec<Item>,
    pub(super) ranges: Ranges,
    pub(super) heap: Heap,
    pub(super) brief_guidance: bool,
    pub(super) full_guidance: bool,
    pub(super) budget_element: bool,
    /// Upper bound of the part's tokens.
    pub(super) tokens: usize,
    /// What the volatile part may spend.
    pub(super) left: usize,
}

/// Where the sections lie among the items.
#[derive(Clone, Copy)]
pub(super) struct Ranges {
    /// The first item that is no ancestor.
    pub(super) dependencies: usize,
    /// The first item that is a sibling.
    pub(super) siblings: usize,
}

/// Chooses what the stable part shows. `required` is the least cost of the volatile part.
pub(super) fn select(
    contexts: &Contexts,
    wording: &Wording,
    tree: &Tree,
    considered: &Considered,
    settings: &Settings,
    required: usize,
) -> Result<Stable> {
    let mut ladder = Ladder::new(contexts, wording, tree, considered, settings);
    ladder.take_parent_and_root();
    let (least, total) = (ladder.spending.spent, settings.budget.total);
    if least + required > total {
        return Err(Error::BudgetTooSmall { handle: considered.handle, total, needed: least + required });
    }
    ladder.spending.limit = ladder.stable_limit(least);
    ladder.take_dependencies_and_advice();
    ladder.heap.take(settings.budget.heap, &mut ladder.spending);
    let spine = ladder.take_spine();
    let deferred = ladder.take_best_within_quotas(spine);
    ladder.take_rest(deferred, spine);
    ladder.heap.take_rest(&mut ladder.spending);
    Ok(ladder.into_stable())
}

/// The part of the quotas that is not used yet.
struct Quotas {
    ancestors: usize,
    siblings: usize,
}

impl Quotas {
    fn of(&mut self, item: &Item) -> &mut usize {
        match item.entry.section {
            Section::Ancestors => &mut self.ancestors,
            _ => &mut self.siblings,
        }
    }

    fn allow(&mut self, item: &Item, tokens: usize) -> bool {
        tokens <= *self.of(item)
    }

    fn charge(&mut self, item: &Item, tokens: usize) {
        let quota = self.of(item);
        *quota = quota.saturating_sub(tokens);
    }
}

/// A detail level that a frame could be raised to.
struct Step {
    index: usize,
    from: DetailLevel,
    detail_level: DetailLevel,
    /// Score by token, never more than that of the detail level before.
    utility: f32,
}

/// Takes steps until one does not fit. What the steps are and how they are ordered must not depend on
/// the total, as long as none was refused.
struct Ladder<'a> {
    contexts: &'a Contexts,
    wording: &'a Wording,
    tree: &'a Tree,
    settings: &'a Settings,
    items: Vec<Item>,
    ranges: Ranges,
    /// The finished dependencies among the items, siblings or not.
    dependencies: Range<usize>,
    heap: Heap,
    quotas: Quotas,
    brief_guidance: bool,
    full_guidance: bool,
    budget_element: bool,
    spending: Spending,
}

impl<'a> Ladder<'a> {
    fn new(
        contexts: &'a Contexts,
        wording: &'a Wording,
        tree: &'a Tree,
        considered: &Considered,
        settings: &'a Settings,
    ) -> Self {
        let Considered { ancestors, dependencies, siblings, .. } = considered;
        let mut items = Vec::with_capacity(ancestors.len() + dependencies.len() + siblings.len());
        items.extend(
            (1..)
                .zip(ancestors)
                .map(|(distance, ancestor)| Item::new(*ancestor, Section::Ancestors, ancestor_score(distance))),
        );
        items.extend(dependencies.iter().map(|dependency| Item::new(*dependency, Section::Dependencies, 100.0)));
        items.extend(
            siblings.iter().map(|sibling| Item::new(sibling.handle, Section::CompletedSiblings, sibling.score)),
        );
        let ranges = Ranges { dependencies: ancestors.len(), siblings: ancestors.len() + dependencies.len() };
        let sibling_dependencies = siblings.iter().filter(|sibling| sibling.is_dependency).count();
        let budget = &settings.budget;
        let heap = Heap::of(contexts, wording, tree, considered.handle, settings.heap_ceiling);
        let around = skeleton::stable_cost(contexts, considered, heap.len());
        Self {
            contexts,
            wording,
            tree,
            settings,
            items,
            ranges,
            dependencies: ranges.dependencies..ranges.siblings + sibling_dependencies,
            heap,
            quotas: Quotas { ancestors: budget.ancestors, siblings: budget.siblings },
            brief_guidance: false,
            full_guidance: false,
            budget_element: false,
            spending: Spending::new(around, usize::MAX),
        }
    }

    /// They are always there.
    fn take_parent_and_root(&mut self) {
        self.raise_ends(DetailLevel::Stub);
    }

    /// What the stable part may spend, if it needs at least `least`.
    ///
    /// What is kept for the volatile part does not depend on what it holds, or a change there would
    /// move stable bytes; of a small total it is half. Dependencies may take of it all but what the
    /// current frame's stub needs.
    fn stable_limit(&mut self, least: usize) -> usize {
        let (budget, current_stub) = (&self.settings.budget, self.contexts.costs.volatile_least);
        let quota = budget.current.saturating_add(budget.overhead);
        let reserved = current_stub.max(quota.min(budget.total / 2));
        let dependency_stubs: usize = self.dependencies.clone().map(|index| self.cost(index, DetailLevel::Stub)).sum();
        let with_dependencies = (least + dependency_stubs).min(budget.total.saturating_sub(current_stub));
        least.max(with_dependencies).max(budget.total.saturating_sub(reserved))
    }

    fn take_dependencies_and_advice(&mut self) {
        self.dependencies.clone().for_each(|index| self.climb(index, DetailLevel::Stub));
        let cost = self.wording.brief_guidance;
        self.brief_guidance = self.settings.guidance != Guidance::None && self.spending.spend(cost);
        self.budget_element = self.spending.spend(skeleton::budget_cost(self.contexts, &self.settings.budget));
        self.dependencies.clone().for_each(|index| self.climb(index, DetailLevel::Compact));
        self.raise_ends(DetailLevel::Compact);
        for item in &self.items[..self.dependencies.end] {
            self.quotas.charge(item, item.entry.tokens);
        }
    }

    /// Raises the parent and the root.
    fn raise_ends(&mut self, detail_level: DetailLevel) {
        if self.ranges.dependencies > 0 {
            self.climb(0, detail_level);
            self.climb(self.ranges.dependencies - 1, detail_level);
        }
    }

    /// Stubs of the ancestors, nearest first, for half of their quota. Returns how many there are.
    fn take_spine(&mut self) -> usize {
        let mut used = 0;
        for index in 0..self.ranges.dependencies {
            let cost = self.cost(index, DetailLevel::Stub);
            used += cost;
            if used > self.settings.budget.ancestors / 2 || self.spending.is_closed {
                return index;
            }
            if !self.items[index].is_shown() {
                self.quotas.charge(&self.items[index], cost);
                self.climb(index, DetailLevel::Stub);
            }
        }
        self.ranges.dependencies
    }

    /// Takes what gives most relevance for a token, as far as each section's quota goes, and
    /// returns the steps that are left.
    fn take_best_within_quotas(&mut self, spine: usize) -> Vec<Step> {
        let mut steps = self.steps(spine);
        steps.sort_by(|one, other| other.utility.total_cmp(&one.utility));
        let mut deferred = Vec::new();
        for step in steps {
            let more = self.cost(step.index, step.detail_level) - self.cost(step.index, step.from);
            let item = &self.items[step.index];
            if item.entry.detail_level >= step.from && self.quotas.allow(item, more) {
                self.quotas.charge(item, more);
                self.climb(step.index, step.detail_level);
            } else {
                deferred.push(step);
            }
        }
        deferred
    }

    /// Spends what the quotas have left over.
    fn take_rest(&mut self, deferred: Vec<Step>, spine: usize) {
        let cost = self.wording.full_guidance;
        self.full_guidance = self.settings.guidance == Guidance::Full && self.spending.spend(cost);
        for step in deferred {
            self.climb(step.index, DetailLevel::Stub);
            self.climb(step.index, step.detail_level);
        }
        for index in spine..self.ranges.dependencies {
            self.climb(index, DetailLevel::Stub);
        }
    }

    fn into_stable(self) -> Stable {
        let taken = if self.spending.is_closed { self.spending.limit } else { self.spending.spent };
        Stable {
            items: self.items,
            ranges: self.ranges,
            heap: self.heap,
            brief_guidance: self.brief_guidance,
            full_guidance: self.full_guidance,
            budget_element: self.budget_element,
            tokens: self.spending.spent,
            left: self.settings.budget.total - taken,
        }
    }

    fn cost(&mut self, index: usize, detail_level: DetailLevel) -> usize {
        if detail_level == DetailLevel::Omitted {
            return 0;
        }
        let item = &mut self.items[index];
        let fragment = item.fragment.get_or_insert_with(|| self.contexts.fragment(self.tree, item.entry.handle));
        fragment.cost(detail_level)
    }

    fn climb(&mut self, index: usize, detail_level: DetailLevel) {
        if self.spending.is_closed || self.items[index].entry.detail_level >= detail_level {
            return;
        }
        let cost = self.cost(index, detail_level);
        if self.spending.spend(cost - self.items[index].entry.tokens) {
            let entry = &mut self.items[index].entry;
            (entry.detail_level, entry.tokens, entry.omission) = (detail_level, cost, None);
        }
    }

    /// Every step above what is shown already, of the frames that are worth one.
    fn steps(&mut self, spine: usize) -> Vec<Step> {
        let mut indexes: Vec<usize> = (0..spine.min(DETAILED_ANCESTORS)).collect();
        indexes.extend(self.ranges.dependencies..self.ranges.siblings);
        indexes.extend(self.best_siblings());
        let mut steps = Vec::with_capacity(indexes.len() * 3);
        for index in indexes {
            let mut from = self.items[index].entry.detail_level;
            let mut utility = f32::INFINITY;
            for (detail_level, weight) in
                [(DetailLevel::Compact, 1.0), (DetailLevel::Standard, 0.5), (DetailLevel::Full, 0.4)]
            {
                if detail_level <= from {
                    continue;
                }
                let more = self.cost(index, detail_level) - self.cost(index, from);
                utility = utility.min(self.items[index].entry.score * weight / more.max(1) as f32);
                steps.push(Step { index, from, detail_level, utility });
                from = detail_level;
            }
        }
        steps
    }

    /// The siblings that are relevant enough, at most the best 512 of them, in their order.
    fn best_siblings(&mut self) -> Vec<usize> {
        let minimum = f32::from(self.settings.minimum_relevance);
        let mut relevant = Vec::new();
        for (index, item) in self.items.iter_mut().enumerate().skip(self.ranges.siblings) {
            if item.is_shown() || item.entry.score >= minimum {
                relevant.push(index);
            } else {
                item.entry.omission = Some(Omission::Irrelevant);
            }
        }
        if relevant.len() > SHOWN_SIBLINGS {
            let items = &self.items;
            let better = |one: &usize, other: &usize| {
                items[*other].entry.score.total_cmp(&items[*one].entry.score).then(other.cmp(one))
            };
            relevant.select_nth_unstable_by(SHOWN_SIBLINGS, better);
            for index in relevant.split_off(SHOWN_SIBLINGS) {
                self.items[index].entry.omission = Some(Omission::Rank);
            }
            relevant.sort_unstable();
        }
        relevant
    }
}
