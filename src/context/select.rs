//! Selects the frames to show and the detail level of each. Steps are taken in a fixed order until one does not fit
//! into the budget, so a larger total budget never omits anything that a smaller one shows.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::considered::Considered;
use super::cost::Cost;
use super::fragment::{DetailLevel, Fragment};
use super::heap::Heap;
use super::relevance::ancestor_score;
use super::settings::{BYTES_PER_TOKEN, Budget, Guidance, Settings};
use super::spending::Spending;
use super::wording::Wording;
use super::{Contexts, skeleton};
use crate::error::{BudgetUnit, Error, Result};
use crate::frame::Handle;
use crate::tree::Tree;

/// Maximum number of siblings that are shown. More would not fit into any prompt.
const SHOWN_SIBLINGS: usize = 512;
/// Number of nearest ancestors that can be shown with more detail than a stub.
const DETAILED_ANCESTORS: usize = 32;

/// The section of a context in which a frame is shown. In JSON for example `"current-frame"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Section {
    /// The frame whose context this is.
    CurrentFrame,
    /// The ancestors: the parent, its parent, and so on up to the root.
    Ancestors,
    /// Finished dependencies that are not siblings.
    Dependencies,
    /// Finished siblings, including those that are dependencies.
    CompletedSiblings,
    /// Planned children.
    PlannedChildren,
}

/// The reason why a frame is omitted. In JSON `"irrelevant"`, `"budget"` or `"rank"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Omission {
    /// The score of the frame is below [`Settings::minimum_relevance`].
    Irrelevant,
    /// The budget had no room left for the frame.
    Budget,
    /// 512 siblings have a higher rank.
    Rank,
}

/// The result for one frame that was considered for a context.
///
/// In JSON: `{"handle": "f3", "section": "completed-siblings", "detailLevel": "compact", "score": 71.5, "tokens": 84}`,
/// and the optional keys `log` and `omission`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// The frame.
    pub handle: Handle,
    /// The section in which the frame is shown, or would be shown if it were not omitted.
    pub section: Section,
    /// How much of the frame is shown.
    pub detail_level: DetailLevel,
    /// The relevance of the frame to the current frame, from 0 to 100.
    pub score: f32,
    /// The cost of showing the frame, in tokens; 0 if it is omitted.
    pub tokens: usize,
    /// The path of the frame's log, if the context names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The reason why the frame is omitted. `None` if it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omission: Option<Omission>,
}

/// A considered frame, with the detail level that it has reached so far.
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

    /// Converts the item to the report's entry.
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

/// The selection for the stable part.
pub(super) struct Stable {
    /// Ancestors (nearest first), then dependencies, then siblings; [`Ranges`] has the boundaries.
    pub(super) items: Vec<Item>,
    pub(super) ranges: Ranges,
    pub(super) heap: Heap,
    pub(super) brief_guidance: bool,
    pub(super) full_guidance: bool,
    pub(super) budget_element: bool,
    /// Upper bound of the cost of the stable part.
    pub(super) cost: Cost,
    /// The cost that the volatile part may have.
    pub(super) left: Cost,
}

/// The boundaries of the sections among the items, as indexes.
#[derive(Clone, Copy)]
pub(super) struct Ranges {
    /// The first item after the ancestors.
    pub(super) dependencies: usize,
    /// The first item after the dependencies that are not siblings.
    pub(super) siblings: usize,
}

/// Selects what the stable part shows. `required` is the minimum cost of the volatile part.
pub(super) fn select(
    contexts: &Contexts,
    wording: &Wording,
    tree: &Tree,
    considered: &Considered,
    settings: &Settings,
    required: Cost,
) -> Result<Stable> {
    let mut ladder = Ladder::new(contexts, wording, tree, considered, settings);
    ladder.take_parent_and_root();
    let least = ladder.spending.spent;
    check_cap(considered.handle, &settings.budget, least + required)?;
    ladder.spending.limit = ladder.stable_limit(least, required);
    ladder.take_dependencies_and_advice();
    ladder.heap.take(settings.budget.heap, &mut ladder.spending);
    let spine = ladder.take_spine();
    let deferred = ladder.take_best_within_quotas(spine);
    ladder.take_rest(deferred, spine);
    ladder.heap.take_rest(&mut ladder.spending);
    Ok(ladder.into_stable())
}

/// Refuses a budget that is too small for the least context. The error has the smallest total that is enough, or, if it is
/// the budget's own cap in bytes that is too small, the smallest one of those.
fn check_cap(handle: Handle, budget: &Budget, least: Cost) -> Result<()> {
    let needed = match budget.bytes {
        Some(_) => least.tokens,
        None => least.tokens.max(least.bytes.div_ceil(BYTES_PER_TOKEN)),
    };
    let (total, unit, needed) = match budget.bytes {
        Some(bytes) if needed <= budget.total => (bytes, BudgetUnit::Bytes, least.bytes),
        _ => (budget.total, BudgetUnit::Tokens, needed),
    };
    if needed > total { Err(Error::BudgetTooSmall { handle, total, needed, unit }) } else { Ok(()) }
}

/// The unused parts of the quotas, in tokens.
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

/// A possible raise of a frame to a higher detail level.
struct Step {
    index: usize,
    from: DetailLevel,
    detail_level: DetailLevel,
    /// Weighted score per additional token. Never more than the utility of the frame's previous step, so that sorting
    /// by utility keeps the steps of a frame in order.
    utility: f32,
}

/// Takes steps until one does not fit. The steps and their order must not depend on the total budget as long as no
/// step was refused.
struct Ladder<'a> {
    contexts: &'a Contexts,
    wording: &'a Wording,
    tree: &'a Tree,
    settings: &'a Settings,
    items: Vec<Item>,
    ranges: Ranges,
    /// The indexes of all finished dependencies among the items, siblings or not.
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
            spending: Spending::new(around, Cost::MAX),
        }
    }

    /// Takes the stubs of the parent and the root, which are always shown.
    fn take_parent_and_root(&mut self) {
        self.raise_ends(DetailLevel::Stub);
    }

    /// Returns the cost that the stable part may have, if it needs at least `least`.
    ///
    /// The rest is reserved for the volatile part: `current` + `overhead`, but at most half of the total, and at least
    /// the stub of the current frame. The reserve does not depend on the content of the volatile part, because then a
    /// change there would change the stable part. Stubs of dependencies may use the reserve, except for the stub of the
    /// current frame.
    fn stable_limit(&mut self, least: Cost, required: Cost) -> Cost {
        // Only counters that are not quite subadditive can give a stub more than the most.
        let current_stub = self.contexts.costs.volatile_least.max(required);
        let budget = &self.settings.budget;
        let quota = budget.current.saturating_add(budget.overhead);
        let quota = Cost { tokens: quota, bytes: quota.saturating_mul(BYTES_PER_TOKEN) };
        let cap = budget.cap();
        let dependency_stubs: Cost = self.dependencies.clone().map(|index| self.cost(index, DetailLevel::Stub)).sum();
        Cost::each(
            [least, dependency_stubs, cap, quota, current_stub],
            |[least, dependency_stubs, cap, quota, current_stub]| {
                let reserved = current_stub.max(quota.min(cap / 2));
                let with_dependencies = (least + dependency_stubs).min(cap.saturating_sub(current_stub));
                least.max(with_dependencies).max(cap.saturating_sub(reserved))
            },
        )
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

    /// Raises the parent and the root to a detail level.
    fn raise_ends(&mut self, detail_level: DetailLevel) {
        if self.ranges.dependencies > 0 {
            self.climb(0, detail_level);
            self.climb(self.ranges.dependencies - 1, detail_level);
        }
    }

    /// Takes the stubs of ancestors, nearest first, with up to half of the ancestors' quota. Returns the number of
    /// ancestors that fit.
    fn take_spine(&mut self) -> usize {
        let mut used = 0;
        for index in 0..self.ranges.dependencies {
            let cost = self.cost(index, DetailLevel::Stub).tokens;
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

    /// Takes the steps in descending order of utility, each only if its section's quota has room for it. Returns the
    /// other steps.
    fn take_best_within_quotas(&mut self, spine: usize) -> Vec<Step> {
        let mut steps = self.steps(spine);
        steps.sort_by(|one, other| other.utility.total_cmp(&one.utility));
        let mut deferred = Vec::new();
        for step in steps {
            let more = self.cost(step.index, step.detail_level).tokens - self.cost(step.index, step.from).tokens;
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

    /// Uses the rest of the budget without regard to quotas: the full guidance, the deferred steps, and the stubs of
    /// the other ancestors.
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
            cost: self.spending.spent,
            left: self.settings.budget.cap().saturating_sub(taken),
        }
    }

    fn cost(&mut self, index: usize, detail_level: DetailLevel) -> Cost {
        if detail_level == DetailLevel::Omitted {
            return Cost::default();
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
        let before = self.cost(index, self.items[index].entry.detail_level);
        if self.spending.spend(cost.saturating_sub(before)) {
            let entry = &mut self.items[index].entry;
            (entry.detail_level, entry.tokens, entry.omission) = (detail_level, cost.tokens, None);
        }
    }

    /// Returns all steps above the current detail levels: of the near ancestors, the dependencies and the relevant
    /// siblings.
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
                let more = self.cost(index, detail_level).tokens - self.cost(index, from).tokens;
                utility = utility.min(self.items[index].entry.score * weight / more.max(1) as f32);
                steps.push(Step { index, from, detail_level, utility });
                from = detail_level;
            }
        }
        steps
    }

    /// Returns the indexes of the siblings with at least the minimum relevance, in ascending order; at most the best
    /// 512. Sets the reason of omission of the others.
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
