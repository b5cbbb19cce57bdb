//! Which frames are shown, and how much of each: a fixed order of steps, of which the longest
//! beginning that fits the budget is taken. So a larger total never takes anything away.

use std::sync::Arc;

use serde::Serialize;

use super::considered::Considered;
use super::fragment::{Fragment, Rung};
use super::settings::{Guidance, Settings};
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
pub struct Entry {
    /// The frame.
    pub handle: Handle,
    /// Where it is or would be shown.
    pub section: Section,
    /// How much of it is shown.
    pub rung: Rung,
    /// How much it matters to the current frame, 0 to 100.
    pub score: f32,
    /// What showing it costs, in tokens.
    pub tokens: usize,
    /// Why it is left out, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omission: Option<Omission>,
}

/// A candidate and the rung it has reached.
pub(super) struct Item {
    pub(super) entry: Entry,
    pub(super) fragment: Option<Arc<Fragment>>,
}

impl Item {
    fn new(handle: Handle, section: Section, score: f32) -> Self {
        let omission = Some(Omission::Budget);
        Self { entry: Entry { handle, section, rung: Rung::Omitted, score, tokens: 0, omission }, fragment: None }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.entry.rung != Rung::Omitted
    }

    pub(super) fn write(&self, out: &mut String) {
        if let Some(fragment) = &self.fragment {
            fragment.write(self.entry.rung, out);
        }
    }
}

/// What the stable part shows.
pub(super) struct Stable {
    /// Ancestors nearest first, then dependencies, then siblings, each in the order of [`Ranges`].
    pub(super) items: Vec<Item>,
    pub(super) ranges: Ranges,
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
    tree: &Tree,
    considered: &Considered,
    settings: &Settings,
    required: usize,
) -> Result<Stable> {
    let budget = &settings.budget;
    let Considered { handle, ancestors, dependencies, siblings, .. } = considered;
    let mut items = Vec::with_capacity(ancestors.len() + dependencies.len() + siblings.len());
    items.extend((1..).zip(ancestors).map(|(distance, ancestor)| {
        Item::new(*ancestor, Section::Ancestors, super::relevance::ancestor_score(distance))
    }));
    items.extend(dependencies.iter().map(|dependency| Item::new(*dependency, Section::Dependencies, 100.0)));
    items.extend(siblings.iter().map(|sibling| Item::new(sibling.handle, Section::CompletedSiblings, sibling.score)));
    let ranges = Ranges { dependencies: ancestors.len(), siblings: ancestors.len() + dependencies.len() };
    let sibling_dependencies = siblings.iter().filter(|sibling| sibling.is_dependency).count();
    let dependency_range = ranges.dependencies..ranges.siblings + sibling_dependencies;

    let mut ladder = Ladder { contexts, tree, items, spent: 0, limit: usize::MAX, is_closed: false };
    ladder.spent = skeleton::stable_cost(contexts, considered);
    // The parent and the root are always there.
    if !ancestors.is_empty() {
        ladder.climb(0, Rung::Stub);
        ladder.climb(ancestors.len() - 1, Rung::Stub);
    }
    let least = ladder.spent;
    if least + required > budget.total {
        return Err(Error::BudgetTooSmall { handle: *handle, total: budget.total, needed: least + required });
    }
    // What is kept for the volatile part does not depend on what it holds, or a change there would
    // move stable bytes; of a small total it is half. Dependencies may take of it all but what the
    // current frame's stub needs.
    let quota = budget.current.saturating_add(budget.overhead);
    let reserved = contexts.costs.volatile_least.max(quota.min(budget.total / 2));
    let dependency_stubs: usize = dependency_range.clone().map(|index| ladder.cost(index, Rung::Stub)).sum();
    let with_dependencies = (least + dependency_stubs).min(budget.total.saturating_sub(contexts.costs.volatile_least));
    ladder.limit = least.max(with_dependencies).max(budget.total.saturating_sub(reserved));

    for index in dependency_range.clone() {
        ladder.climb(index, Rung::Stub);
    }
    let costs = &contexts.costs;
    let brief_guidance = settings.guidance != Guidance::None && ladder.spend(costs.brief_guidance);
    let budget_element = ladder.spend(skeleton::budget_cost(contexts, budget));
    for index in dependency_range.clone() {
        ladder.climb(index, Rung::Compact);
    }
    let mut quotas = Quotas { ancestors: budget.ancestors, siblings: budget.siblings };
    if !ancestors.is_empty() {
        ladder.climb(0, Rung::Compact);
        ladder.climb(ancestors.len() - 1, Rung::Compact);
    }
    for index in [0..ranges.dependencies, dependency_range.clone()].into_iter().flatten() {
        quotas.charge(&ladder.items[index], ladder.items[index].entry.tokens);
    }
    let spine = ladder.spine(&mut quotas, budget.ancestors / 2);

    let mut steps = ladder.steps(ranges, spine, settings.minimum_relevance);
    steps.sort_by(|one, other| other.utility.total_cmp(&one.utility));
    let mut deferred = Vec::new();
    for step in steps {
        let more = ladder.cost(step.index, step.rung) - ladder.cost(step.index, step.from);
        if step.is_reachable(&ladder.items) && quotas.allow(&ladder.items[step.index], more) {
            quotas.charge(&ladder.items[step.index], more);
            ladder.climb(step.index, step.rung);
        } else {
            deferred.push(step);
        }
    }
    let full_guidance = settings.guidance == Guidance::Full && ladder.spend(costs.full_guidance);
    for step in deferred {
        if step.from == Rung::Omitted {
            ladder.climb(step.index, Rung::Stub);
        }
        ladder.climb(step.index, step.rung);
    }
    for index in spine..ancestors.len() {
        ladder.climb(index, Rung::Stub);
    }
    let left = budget.total - if ladder.is_closed { ladder.limit } else { ladder.spent };
    let tokens = ladder.spent;
    let items = ladder.items;
    Ok(Stable { items, ranges, brief_guidance, full_guidance, budget_element, tokens, left })
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

/// A rung that a frame could be raised to.
struct Step {
    index: usize,
    from: Rung,
    rung: Rung,
    /// Score by token, never more than that of the rung before.
    utility: f32,
}

impl Step {
    fn is_reachable(&self, items: &[Item]) -> bool {
        items[self.index].entry.rung >= self.from
    }
}

/// Takes steps until one does not fit; from then on none, or a larger budget could take the one
/// and lack the room for a later, smaller one.
struct Ladder<'a> {
    contexts: &'a Contexts,
    tree: &'a Tree,
    items: Vec<Item>,
    spent: usize,
    limit: usize,
    is_closed: bool,
}

impl Ladder<'_> {
    fn cost(&mut self, index: usize, rung: Rung) -> usize {
        if rung == Rung::Omitted {
            return 0;
        }
        let item = &mut self.items[index];
        let fragment = item.fragment.get_or_insert_with(|| self.contexts.fragment(self.tree, item.entry.handle));
        fragment.cost(rung)
    }

    fn spend(&mut self, tokens: usize) -> bool {
        self.is_closed |= self.spent + tokens > self.limit;
        if !self.is_closed {
            self.spent += tokens;
        }
        !self.is_closed
    }

    fn climb(&mut self, index: usize, rung: Rung) {
        if self.is_closed || self.items[index].entry.rung >= rung {
            return;
        }
        let cost = self.cost(index, rung);
        if self.spend(cost - self.items[index].entry.tokens) {
            let entry = &mut self.items[index].entry;
            (entry.rung, entry.tokens, entry.omission) = (rung, cost, None);
        }
    }

    /// Stubs of the ancestors, nearest first, as far as `quota` goes. Returns how many there are.
    fn spine(&mut self, quotas: &mut Quotas, quota: usize) -> usize {
        let ancestors = self.items.iter().take_while(|item| item.entry.section == Section::Ancestors).count();
        let mut used = 0;
        for index in 0..ancestors {
            let cost = self.cost(index, Rung::Stub);
            used += cost;
            if used > quota || self.is_closed {
                return index;
            }
            if !self.items[index].is_shown() {
                quotas.charge(&self.items[index], cost);
                self.climb(index, Rung::Stub);
            }
        }
        ancestors
    }

    /// Every step above what is shown already, of the frames that are worth one.
    fn steps(&mut self, ranges: Ranges, spine: usize, minimum: u8) -> Vec<Step> {
        let mut indexes: Vec<usize> = (0..spine.min(DETAILED_ANCESTORS)).collect();
        indexes.extend(ranges.dependencies..ranges.siblings);
        indexes.extend(self.best_siblings(ranges.siblings, minimum));
        let mut steps = Vec::with_capacity(indexes.len() * 3);
        for index in indexes {
            let mut from = self.items[index].entry.rung;
            let mut utility = f32::INFINITY;
            for (rung, weight) in [(Rung::Compact, 1.0), (Rung::Standard, 0.5), (Rung::Full, 0.4)] {
                if rung <= from {
                    continue;
                }
                let more = self.cost(index, rung) - self.cost(index, from);
                utility = utility.min(self.items[index].entry.score * weight / more.max(1) as f32);
                steps.push(Step { index, from, rung, utility });
                from = rung;
            }
        }
        steps
    }

    /// The siblings that are relevant enough, at most the best 512 of them, in their order.
    fn best_siblings(&mut self, first: usize, minimum: u8) -> Vec<usize> {
        let mut relevant = Vec::new();
        for (index, item) in self.items.iter_mut().enumerate().skip(first) {
            if item.is_shown() || item.entry.score >= f32::from(minimum) {
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
