//! Renders a selection as XML: as one document, and as two documents (stable and volatile part) for hosts
//! with a prompt cache.

use super::considered::Considered;
use super::select::{Item, Section, Stable};
use super::skeleton::{self, Truncation};
use super::volatile::Volatile;
use super::wording::Wording;
use super::{Context, Contexts, Report};
use crate::frame::Handle;

pub(super) fn render(
    contexts: &Contexts,
    wording: &Wording,
    considered: &Considered,
    selected: Stable,
    volatile: Volatile,
) -> Context {
    let mut stable = open_stable(wording, considered, &selected);
    let mut pieces = String::with_capacity(volatile.cost.bytes + 64);
    volatile.write_pieces(&mut pieces);

    let xml = [&stable, &pieces, skeleton::STABLE_CLOSE].concat();
    let now = match volatile.says_nothing {
        true => String::new(),
        false => [skeleton::VOLATILE_OPEN, &pieces, skeleton::VOLATILE_CLOSE].concat(),
    };
    stable.push_str(skeleton::STABLE_CLOSE);

    let mut entries = Vec::with_capacity(selected.items.len() + 1);
    let handle = volatile.handle;
    volatile.report(&contexts.counts, &mut entries);
    let (stable_tokens, volatile_tokens) = (selected.cost.tokens, volatile.cost.tokens);
    entries.extend(selected.items.into_iter().map(Item::into_entry));
    let chunks = selected.heap.into_entries();
    Context {
        xml,
        stable,
        volatile: now,
        tokens: stable_tokens.saturating_add(volatile_tokens),
        report: Report { handle, stable_tokens, volatile_tokens, entries, chunks },
    }
}

/// Renders a selection without a volatile part as one document; empty if it shows no frame.
pub(super) fn render_alone(wording: &Wording, considered: &Considered, selected: &Stable) -> String {
    if !selected.items.iter().any(Item::is_shown) {
        return String::new();
    }
    open_stable(wording, considered, selected) + skeleton::STABLE_CLOSE
}

/// Returns the stable part without its closing tag. Content that changes more often comes later, for prompt
/// caches: a newly finished sibling after those already shown, the heap (which can change at any time) after
/// all frames, and the counts at the end.
fn open_stable(wording: &Wording, considered: &Considered, selected: &Stable) -> String {
    let mut text = String::with_capacity(selected.cost.bytes + 64);
    let out = &mut text;
    let shown_ancestors = &selected.items[..selected.ancestors];
    let hidden = |section: Section| {
        let of_section = |item: &&Item| item.entry.section == section && !item.is_shown();
        selected.items.iter().filter(of_section).count()
    };

    out.push_str(&skeleton::stable_open(selected.session.as_deref()));
    if selected.brief_guidance {
        out.push_str(skeleton::MANAGEMENT[0]);
        out.push_str(&wording.philosophy);
        if selected.full_guidance {
            out.push_str(&wording.when_to_create_child_frames);
        }
        out.push_str(if considered.ancestors.is_empty() { &wording.root_rules } else { &wording.rules });
        out.push_str(skeleton::MANAGEMENT[1]);
    }
    if let Some(root) = shown_ancestors.last() {
        out.push_str(&skeleton::ancestors_open(shown_ancestors.len()));
        root.write(out);
        let below_root = &shown_ancestors[..shown_ancestors.len() - 1];
        let gap: Vec<Handle> =
            below_root.iter().filter(|item| !item.is_shown()).map(|item| item.entry.handle).collect();
        if let (Some(nearest), Some(farthest)) = (gap.first(), gap.last()) {
            out.push_str(&skeleton::gap(gap.len(), *farthest, *nearest));
        }
        below_root.iter().rev().for_each(|item| item.write(out));
        out.push_str(skeleton::ANCESTORS_CLOSE);
    }
    for part in &selected.parts {
        let items = &selected.items[part.items.clone()];
        let shown = items.iter().filter(|item| item.is_shown()).count();
        if shown > 0 {
            let [open, close] = part.tags(shown);
            out.push_str(&open);
            items.iter().for_each(|item| item.write(out));
            out.push_str(&close);
        }
    }
    selected.heap.write(out);
    let [ancestors, siblings] = [Section::Ancestors, Section::CompletedSiblings].map(hidden);
    let siblings = considered.other_siblings + siblings;
    let ancestor_siblings = considered.other_ancestor_siblings + hidden(Section::AncestorSiblings);
    let ends = [considered.ancestors.last(), considered.ancestors.first()];
    let [root, parent] = ends.map(|end| end.copied().unwrap_or(considered.handle));
    let truncation = Truncation {
        ancestors,
        dependencies: hidden(Section::Dependencies) + hidden(Section::InheritedDependencies),
        attempts: considered.other_attempts + hidden(Section::EarlierAttempts),
        ancestor_siblings,
        siblings,
        children: considered.other_children + hidden(Section::FinishedChildren),
        chunks: selected.heap.omitted(),
        see: match (ancestors + ancestor_siblings, siblings) {
            (0, 0) => considered.handle,
            (0, _) => parent,
            _ => root,
        },
    };
    truncation.write(out);
    text
}
