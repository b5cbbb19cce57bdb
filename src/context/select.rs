//! Selects the frames to show and the detail level of each. Steps are taken in a fixed order until one does
//! not fit into the budget, so a larger total budget never omits anything that a smaller one shows.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::considered::{AncestorSiblings, Considered, Inherited, Sibling};
use super::cost::{BYTES_PER_TOKEN, Cost};
use super::fragment::{DetailLevel, Fragment};
use super::heap::Heap;
use super::relevance::ancestor_score;
use super::settings::{Budget, Form, Guidance, Settings};
use super::spending::Spending;
use super::wording::Wording;
use super::{Contexts, skeleton};
use crate::error::{BudgetUnit, Error, Result};
use crate::frame::{FrameStatus, Handle};
use crate::tree::Tree;

/// Maximum number of siblings that are shown. More would not fit into any prompt.
const SHOWN_SIBLINGS: usize = 512;
/// Number of nearest ancestors that can be shown with more detail than a stub.
const DETAILED_ANCESTORS: usize = 32;

/// The section of a context in which a frame is shown. In JSON for example `"current-frame"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Section {
    /// The frame whose context this is.
    CurrentFrame,
    /// The ancestors: the parent, its parent, and so on up to the root.
    Ancestors,
    /// Finished dependencies that are not siblings.
    Dependencies,
    /// Finished dependencies of the ancestors, which the frame inherits.
    InheritedDependencies,
    /// The failed attempts before the frame.
    EarlierAttempts,
    /// Finished siblings of the ancestors, unless they are dependencies.
    AncestorSiblings,
    /// Finished siblings, completed and failed ones, including those that are dependencies.
    CompletedSiblings,
    /// Finished children whose results the frame's conversation does not hold.
    FinishedChildren,
    /// Planned children.
    PlannedChildren,
}

/// The reason why a frame is omitted. In JSON `"irrelevant"`, `"budget"` or `"rank"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Omission {
    /// The score of the frame is below [`Settings::minimum_relevance`], and the section's quota or the budget
    /// had no room left for its stub.
    Irrelevant,
    /// The budget had no room left for the frame.
    Budget,
    /// 512 siblings have a higher rank.
    Rank,
}

/// The result for one frame that was considered for a context.
///
/// In JSON: `{"handle": "f3", "section": "completed-siblings", "detailLevel": "compact", "score": 71.5,
/// "tokens": 84}`, and the optional keys `log` and `omission`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The path of the current frame's log, if the context names it.
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
    /// The part of the text to which it belongs; `None` for an ancestor.
    part: Option<usize>,
    /// Factor of the utility, from 0 to 1: less for the siblings of a far ancestor.
    weight: f32,
    /// True for a dependency of the frame or of an ancestor.
    is_dependency: bool,
}

impl Item {
    fn new(handle: Handle, section: Section, score: f32, part: Option<usize>) -> Self {
        let omission = Some(Omission::Budget);
        let entry =
            Entry { handle, section, detail_level: DetailLevel::Omitted, score, tokens: 0, log: None, omission };
        Self { entry, fragment: None, part, weight: 1.0, is_dependency: false }
    }

    /// Converts the item to the report's entry.
    pub(super) fn into_entry(self) -> Entry {
        self.entry
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

/// Frames that one element of the text contains. The element is there only if one of them is shown.
pub(super) struct Part {
    /// Its frames among the items.
    pub(super) items: Range<usize>,
    /// The opening and the closing tag.
    tags: [Cow<'static, str>; 2],
    /// For siblings whose opening tag says how many are shown: whether these have failed.
    counted: Option<bool>,
    cost: Cost,
    is_open: bool,
}

impl Part {
    /// The tags around this number of frames.
    pub(super) fn tags(&self, shown: usize) -> [Cow<'_, str>; 2] {
        match self.counted {
            Some(have_failed) => skeleton::siblings(have_failed, Some(shown)),
            None => self.tags.each_ref().map(|tag| Cow::Borrowed(&**tag)),
        }
    }
}

/// The selection for the stable part.
pub(super) struct Stable {
    /// Ancestors, nearest first, then the frames of the parts, in the order of the text.
    pub(super) items: Vec<Item>,
    /// Number of ancestors.
    pub(super) ancestors: usize,
    pub(super) parts: Vec<Part>,
    pub(super) heap: Heap,
    pub(super) brief_guidance: bool,
    pub(super) full_guidance: bool,
    /// The ID of the frame, if the text names it.
    pub(super) session: Option<String>,
    /// Upper bound of the cost of the stable part.
    pub(super) cost: Cost,
    /// The cost that the volatile part may have.
    pub(super) left: Cost,
}

/// Selects what the stable part shows. `volatile` is the minimum cost of the volatile part. Without one, the
/// host shows the frame and its chunks itself: the stable part has no chunks then, and may have the whole
/// budget.
pub(super) fn select(
    contexts: &Contexts,
    wording: &Wording,
    tree: &Tree,
    considered: &Considered,
    settings: &Settings,
    volatile: Option<Cost>,
) -> Result<Stable> {
    let heap = match volatile {
        Some(_) => Heap::of(contexts, wording, tree, considered.handle, settings.heap_ceiling),
        None => Heap::default(),
    };
    let mut ladder = Ladder::new(contexts, wording, tree, considered, settings, heap);
    ladder.take_parent_and_root();
    let least = ladder.spending.spent;
    check_cap(considered.handle, &settings.budget, least + volatile.unwrap_or_default())?;
    ladder.spending.limit = match volatile {
        Some(required) => ladder.stable_limit(least, required),
        None => settings.budget.cap(),
    };
    ladder.take_dependencies_and_advice();
    let spine = ladder.take_spine();
    ladder.take_inherited();
    ladder.take_attempts_within_quota(DetailLevel::Compact);
    ladder.heap.take(settings.budget.heap, &mut ladder.spending);
    ladder.take_children_within_quota(DetailLevel::Compact);
    let Ranked { relevant, others } = ladder.rank();
    let deferred = ladder.take_best_within_quotas(spine, relevant);
    ladder.take_stubs_within_quotas(others);
    ladder.take_children_within_quota(DetailLevel::Full);
    ladder.take_attempts_within_quota(DetailLevel::Full);
    ladder.take_rest(deferred, spine);
    ladder.heap.take_rest(&mut ladder.spending);
    Ok(ladder.into_stable())
}

/// Refuses a budget that is too small for the least context. The error has the smallest total that is enough.
/// If the budget's own cap in bytes is too small, the error has the smallest cap that is enough.
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
    attempts: usize,
    siblings: usize,
    children: usize,
}

impl Quotas {
    fn of(&mut self, item: &Item) -> &mut usize {
        match item.entry.section {
            Section::Ancestors => &mut self.ancestors,
            Section::EarlierAttempts => &mut self.attempts,
            Section::FinishedChildren => &mut self.children,
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
    /// Weighted score per additional token. Never more than the utility of the frame's previous step, so that
    /// sorting by utility keeps the steps of a frame in order.
    utility: f32,
}

/// The siblings of the frame and of its ancestors, as indexes of items.
struct Ranked {
    /// Those that can be shown with details, in the order of the text.
    relevant: Vec<usize>,
    /// Those below the minimum relevance, best first.
    others: Vec<usize>,
}

/// Takes steps until one does not fit. The steps and their order must not depend on the total budget as long
/// as no step was refused.
struct Ladder<'a> {
    contexts: &'a Contexts,
    wording: &'a Wording,
    tree: &'a Tree,
    settings: &'a Settings,
    items: Vec<Item>,
    ancestors: usize,
    parts: Vec<Part>,
    /// The indexes of all finished dependencies: the frame's own, siblings or not, then the inherited ones.
    dependencies: Vec<usize>,
    /// Number of the frame's own dependencies among them.
    own_dependencies: usize,
    /// The indexes of the earlier attempts and of the finished children.
    attempts: Range<usize>,
    children: Range<usize>,
    heap: Heap,
    quotas: Quotas,
    brief_guidance: bool,
    full_guidance: bool,
    session: Option<String>,
    spending: Spending,
}

impl<'a> Ladder<'a> {
    fn new(
        contexts: &'a Contexts,
        wording: &'a Wording,
        tree: &'a Tree,
        considered: &Considered,
        settings: &'a Settings,
        heap: Heap,
    ) -> Self {
        let budget = &settings.budget;
        let session = match settings.form {
            Form::Cached => None,
            Form::Document => Some(tree.node(considered.handle).session_id().to_owned()),
        };
        let around = skeleton::stable_cost(contexts, considered, session.as_deref(), heap.len());
        let score = |(distance, ancestor): (usize, &Handle)| {
            Item::new(*ancestor, Section::Ancestors, ancestor_score(distance), None)
        };
        let mut ladder = Self {
            contexts,
            wording,
            tree,
            settings,
            items: (1..).zip(&considered.ancestors).map(score).collect(),
            ancestors: considered.ancestors.len(),
            parts: Vec::new(),
            dependencies: Vec::new(),
            own_dependencies: 0,
            attempts: 0..0,
            children: 0..0,
            heap,
            quotas: Quotas {
                ancestors: budget.ancestors,
                attempts: budget.siblings / 2,
                siblings: budget.siblings,
                children: budget.children,
            },
            brief_guidance: false,
            full_guidance: false,
            session,
            spending: Spending::new(around, Cost::MAX),
        };
        ladder.add_parts(considered);
        ladder
    }

    /// Adds the considered frames below the ancestors, in the order of the text.
    fn add_parts(&mut self, considered: &Considered) {
        let full = |dependency: &Handle| (*dependency, 100.0);
        let [own, inherited] = [Section::Dependencies, Section::InheritedDependencies];
        self.add_part(own, skeleton::dependencies(), considered.dependencies.iter().map(full));
        let first_inherited = self.items.len();
        for Inherited { ancestor, dependencies } in &considered.inherited {
            self.add_part(inherited, skeleton::inherited_dependencies(*ancestor), dependencies.iter().map(full));
        }
        let after_inherited = self.items.len();
        let attempts = considered.attempts.iter().map(full);
        self.add_part(Section::EarlierAttempts, skeleton::attempts(), attempts);
        self.attempts = after_inherited..self.items.len();
        for AncestorSiblings { ancestor, distance, siblings } in &considered.ancestor_siblings {
            let first = self.items.len();
            let scored = siblings.iter().map(|sibling| (sibling.handle, sibling.score));
            self.add_part(Section::AncestorSiblings, skeleton::ancestor_siblings(*ancestor), scored);
            self.items[first..].iter_mut().for_each(|item| item.weight = ancestor_score(distance + 1) / 100.0);
        }
        let depended_on = self.add_siblings(&considered.siblings);
        let first_child = self.items.len();
        self.add_part(Section::FinishedChildren, skeleton::children(), considered.children.iter().map(full));
        self.children = first_child..self.items.len();
        self.dependencies.extend(self.ancestors..first_inherited);
        self.dependencies.extend(depended_on);
        self.own_dependencies = self.dependencies.len();
        self.dependencies.extend(first_inherited..after_inherited);
        self.dependencies.iter().for_each(|index| self.items[*index].is_dependency = true);
    }

    /// Adds the finished siblings: completed and failed ones in elements of their own. Returns the indexes of
    /// the dependencies among them.
    fn add_siblings(&mut self, siblings: &[Sibling]) -> Vec<usize> {
        let has_failed = |sibling: &Sibling| self.tree.node(sibling.handle).status() == FrameStatus::Failed;
        let mut siblings: Vec<(bool, &Sibling)> =
            siblings.iter().map(|sibling| (has_failed(sibling), sibling)).collect();
        if self.settings.form == Form::Document {
            siblings.sort_by_key(|(has_failed, _)| *has_failed);
        }
        let mut depended_on = Vec::new();
        for alike in siblings.chunk_by(|one, next| one.0 == next.0) {
            let have_failed = alike[0].0;
            let count = (self.settings.form == Form::Document).then_some(alike.len());
            let first = self.items.len();
            depended_on
                .extend((first..).zip(alike).filter(|(_, (_, sibling))| sibling.is_dependency).map(|(index, _)| index));
            let scored = alike.iter().map(|(_, sibling)| (sibling.handle, sibling.score));
            self.add_part(Section::CompletedSiblings, skeleton::siblings(have_failed, count), scored);
            if let Some(part) = self.parts.last_mut() {
                part.counted = count.map(|_| have_failed);
            }
        }
        depended_on
    }

    /// Adds an element with these frames and their scores, unless there are none.
    fn add_part(
        &mut self,
        section: Section,
        tags: [Cow<'static, str>; 2],
        frames: impl ExactSizeIterator<Item = (Handle, f32)>,
    ) {
        if frames.len() == 0 {
            return;
        }
        let part = Some(self.parts.len());
        let first = self.items.len();
        self.items.extend(frames.map(|(handle, score)| Item::new(handle, section, score, part)));
        let cost = tags.iter().map(|tag| self.contexts.cost(tag)).sum();
        self.parts.push(Part { items: first..self.items.len(), tags, counted: None, cost, is_open: false });
    }

    /// Takes the stubs of the parent and the root, which are always shown.
    fn take_parent_and_root(&mut self) {
        self.raise_ends(DetailLevel::Stub);
    }

    /// Returns the cost that the stable part may have, if it needs at least `least`.
    ///
    /// The rest is reserved for the volatile part: `current` + `overhead`, but at most half of the total, and
    /// at least the stub of the current frame. The reserve does not depend on the content of the volatile
    /// part, because then a change there would change the stable part. Stubs of dependencies may use the
    /// reserve, except for the stub of the current frame.
    fn stable_limit(&mut self, least: Cost, required: Cost) -> Cost {
        // Only counters that are not quite subadditive can give a stub more than the maximum.
        let current_stub = self.contexts.costs.volatile_least.max(required);
        let budget = &self.settings.budget;
        let quota = budget.current.saturating_add(budget.overhead);
        let quota = Cost { tokens: quota, bytes: quota.saturating_mul(BYTES_PER_TOKEN) };
        let cap = budget.cap();
        let dependency_stubs = self.dependency_stubs();
        Cost::each(
            [least, dependency_stubs, cap, quota, current_stub],
            |[least, dependency_stubs, cap, quota, current_stub]| {
                let reserved = current_stub.max(quota.min(cap / 2));
                let with_dependencies = (least + dependency_stubs).min(cap.saturating_sub(current_stub));
                least.max(with_dependencies).max(cap.saturating_sub(reserved))
            },
        )
    }

    /// The cost of the stubs of all dependencies, with the elements around them.
    fn dependency_stubs(&mut self) -> Cost {
        let mut cost = Cost::default();
        let mut last = None;
        for place in 0..self.dependencies.len() {
            let index = self.dependencies[place];
            let part = self.items[index].part.filter(|part| last.replace(*part) != Some(*part));
            cost += self.cost(index, DetailLevel::Stub) + part.map_or(Cost::default(), |part| self.parts[part].cost);
        }
        cost
    }

    fn take_dependencies_and_advice(&mut self) {
        self.raise_dependencies(0..self.dependencies.len(), DetailLevel::Stub);
        let cost = if self.ancestors == 0 { self.wording.root_guidance } else { self.wording.brief_guidance };
        self.brief_guidance = self.settings.guidance != Guidance::None && self.spending.spend(cost);
        self.raise_dependencies(0..self.own_dependencies, DetailLevel::Compact);
        self.raise_ends(DetailLevel::Compact);
        for index in 0..self.ancestors {
            let item = &self.items[index];
            self.quotas.charge(item, item.entry.tokens);
        }
    }

    /// Takes the compacted results of what the ancestors depend on. They come behind the criteria of the
    /// ancestors.
    fn take_inherited(&mut self) {
        self.raise_dependencies(self.own_dependencies..self.dependencies.len(), DetailLevel::Compact);
        for index in self.dependencies.iter().copied() {
            let item = &self.items[index];
            self.quotas.charge(item, item.entry.tokens);
        }
    }

    fn raise_dependencies(&mut self, places: Range<usize>, detail_level: DetailLevel) {
        for place in places {
            self.climb(self.dependencies[place], detail_level);
        }
    }

    /// Raises the parent and the root to a detail level.
    fn raise_ends(&mut self, detail_level: DetailLevel) {
        if self.ancestors > 0 {
            self.climb(0, detail_level);
            self.climb(self.ancestors - 1, detail_level);
        }
    }

    /// Takes the stubs of ancestors, nearest first, with up to half of the ancestors' quota, and then their
    /// criteria and results so far, as many as the quota has room for. Returns the number of ancestors whose
    /// stubs fit.
    fn take_spine(&mut self) -> usize {
        let spine = self.take_stubs_of_ancestors();
        self.raise_within_quotas(0..spine.min(DETAILED_ANCESTORS), DetailLevel::Compact);
        spine
    }

    fn take_stubs_of_ancestors(&mut self) -> usize {
        let mut used = 0;
        for index in 0..self.ancestors {
            let cost = self.cost(index, DetailLevel::Stub).tokens;
            used = cost.saturating_add(used);
            if used > self.settings.budget.ancestors / 2 || self.spending.is_closed {
                return index;
            }
            if !self.items[index].is_shown() {
                self.quotas.charge(&self.items[index], cost);
                self.climb(index, DetailLevel::Stub);
            }
        }
        self.ancestors
    }

    /// Raises the earlier attempts to a detail level, newest first, as many as their quota has room for: half
    /// of that of the siblings.
    fn take_attempts_within_quota(&mut self, detail_level: DetailLevel) {
        self.raise_within_quotas(self.attempts.clone(), detail_level);
    }

    /// Raises the finished children to a detail level, newest first, as many as their quota has room for.
    fn take_children_within_quota(&mut self, detail_level: DetailLevel) {
        self.raise_within_quotas(self.children.clone().rev(), detail_level);
    }

    /// Raises frames to a detail level in this order, until one does not fit into its quota.
    fn raise_within_quotas(&mut self, indexes: impl IntoIterator<Item = usize>, detail_level: DetailLevel) {
        for index in indexes {
            let from = self.items[index].entry.detail_level;
            let more = self.cost(index, detail_level).tokens.saturating_sub(self.cost(index, from).tokens);
            if self.spending.is_closed || !self.quotas.allow(&self.items[index], more) {
                return;
            }
            self.quotas.charge(&self.items[index], more);
            self.climb(index, detail_level);
        }
    }

    /// Takes the steps in descending order of utility, each only if its section's quota has room for it.
    /// Returns the other steps.
    fn take_best_within_quotas(&mut self, spine: usize, siblings: Vec<usize>) -> Vec<Step> {
        let mut steps = self.steps(spine, siblings);
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

    /// Takes the stubs of frames below the minimum relevance, as many as the quotas have room for.
    fn take_stubs_within_quotas(&mut self, others: Vec<usize>) {
        self.raise_within_quotas(others, DetailLevel::Stub);
    }

    /// Uses the rest of the budget without regard to quotas: the full guidance, the deferred steps, the other
    /// attempts and finished children, and the stubs of the other ancestors.
    fn take_rest(&mut self, deferred: Vec<Step>, spine: usize) {
        let cost = self.wording.full_guidance;
        let is_full = self.settings.guidance == Guidance::Full && self.ancestors > 0;
        self.full_guidance = is_full && self.spending.spend(cost);
        for step in deferred {
            self.climb(step.index, DetailLevel::Stub);
            self.climb(step.index, step.detail_level);
        }
        for index in self.attempts.clone().chain(self.children.clone().rev()) {
            self.climb(index, DetailLevel::Compact);
        }
        for index in spine..self.ancestors {
            self.climb(index, DetailLevel::Stub);
        }
    }

    fn into_stable(self) -> Stable {
        let taken = if self.spending.is_closed { self.spending.limit } else { self.spending.spent };
        Stable {
            items: self.items,
            ancestors: self.ancestors,
            parts: self.parts,
            heap: self.heap,
            brief_guidance: self.brief_guidance,
            full_guidance: self.full_guidance,
            session: self.session,
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
        let unopened = self.items[index].part.filter(|part| !self.parts[*part].is_open);
        let around = unopened.map_or(Cost::default(), |part| self.parts[part].cost);
        if self.spending.spend(around + cost.saturating_sub(before)) {
            if let Some(part) = unopened {
                self.parts[part].is_open = true;
            }
            let entry = &mut self.items[index].entry;
            (entry.detail_level, entry.tokens, entry.omission) = (detail_level, cost.tokens, None);
        }
    }

    /// Returns all steps above the current detail levels: of the near ancestors, the dependencies and these
    /// siblings.
    fn steps(&mut self, spine: usize, siblings: Vec<usize>) -> Vec<Step> {
        let mut indexes: Vec<usize> = (0..spine.min(DETAILED_ANCESTORS)).collect();
        let is_no_sibling = |index: &&usize| self.items[**index].entry.section != Section::CompletedSiblings;
        indexes.extend(self.dependencies.iter().filter(is_no_sibling));
        indexes.extend(siblings);
        let mut steps = Vec::with_capacity(indexes.len() * 3);
        for index in indexes {
            let mut from = self.items[index].entry.detail_level;
            let mut utility = f32::INFINITY;
            let highest = if self.items[index].is_dependency { DetailLevel::Whole } else { DetailLevel::Full };
            for (detail_level, weight) in [
                (DetailLevel::Compact, 1.0),
                (DetailLevel::Standard, 0.5),
                (DetailLevel::Full, 0.4),
                (DetailLevel::Whole, 0.3),
            ] {
                if detail_level <= from || detail_level > highest {
                    continue;
                }
                let more = self.cost(index, detail_level).tokens - self.cost(index, from).tokens;
                let item = &self.items[index];
                utility = utility.min(item.entry.score * item.weight * weight / more.max(1) as f32);
                steps.push(Step { index, from, detail_level, utility });
                from = detail_level;
            }
        }
        steps
    }

    /// Divides the siblings of the frame and of its ancestors by the minimum relevance; at most the best 512.
    /// Sets the reason of omission of the others.
    fn rank(&mut self) -> Ranked {
        let minimum = f32::from(self.settings.minimum_relevance);
        let (mut relevant, mut others) = (Vec::new(), Vec::new());
        for (index, item) in self.items.iter_mut().enumerate().skip(self.ancestors) {
            if !matches!(item.entry.section, Section::CompletedSiblings | Section::AncestorSiblings) {
                continue;
            }
            if item.is_shown() || item.entry.score >= minimum {
                relevant.push(index);
            } else {
                item.entry.omission = Some(Omission::Irrelevant);
                others.push(index);
            }
        }
        let mut outranked = self.keep_best(&mut relevant, SHOWN_SIBLINGS);
        outranked.extend(self.keep_best(&mut others, SHOWN_SIBLINGS - relevant.len()));
        for index in outranked {
            self.items[index].entry.omission = Some(Omission::Rank);
        }
        relevant.sort_unstable();
        others.sort_unstable_by(|one, other| self.better(one, other));
        Ranked { relevant, others }
    }

    /// Removes all but the `most` best items of a list, and returns the others.
    fn keep_best(&self, indexes: &mut Vec<usize>, most: usize) -> Vec<usize> {
        if indexes.len() <= most {
            return Vec::new();
        }
        indexes.select_nth_unstable_by(most, |one, other| self.better(one, other));
        indexes.split_off(most)
    }

    /// Compares two items: the better score first, else the later place in the text.
    fn better(&self, one: &usize, other: &usize) -> Ordering {
        let score = |index: &usize| self.items[*index].entry.score;
        score(other).total_cmp(&score(one)).then(other.cmp(one))
    }
}
