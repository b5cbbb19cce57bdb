//! What holds for one context, whatever the tree, the texts and the settings. Tests and fuzzing share it.

use callstack_core::context::{Rung, Section, TokenCounter};
use callstack_core::{Budget, Context, Error, Guidance, Handle, Settings, Stack};

use crate::common::Random;

/// Random settings; the total is for the caller to set.
pub fn settings(random: &mut Random) -> Settings {
    let mut settings = Settings::default();
    if random.once_in(2) {
        settings.budget = Budget {
            total: 0,
            ancestors: 1 + random.below(2_000),
            siblings: 1 + random.below(2_000),
            current: 1 + random.below(1_000),
            overhead: random.below(400),
        };
        settings.minimum_relevance = random.below(101) as u8;
        settings.guidance = [Guidance::Full, Guidance::Brief, Guidance::None][random.below(3)];
    }
    settings
}

/// The settings with another total.
pub fn with_total(settings: &Settings, total: usize) -> Settings {
    Settings { budget: Budget { total, ..settings.budget }, ..*settings }
}

/// The context at this total, after checking all that holds for one context alone.
pub fn checked(
    stack: &Stack,
    counter: &dyn TokenCounter,
    frame: Handle,
    settings: &Settings,
) -> Result<Context, Error> {
    let context = stack.context_uncached(frame, settings)?;
    let total = settings.budget.total;

    let both = counter.count(&context.stable) + counter.count(&context.volatile);
    assert!(counter.count(&context.xml) <= total, "1: xml has {} tokens of {total}", counter.count(&context.xml));
    assert!(both <= total, "1: the two parts have {both} tokens of {total}");
    assert!(context.tokens <= total, "1: {} tokens are reported of {total}", context.tokens);
    assert!(counter.count(&context.xml).max(both) <= context.tokens, "1: the reported tokens are no upper bound");

    let rung = |handle: Handle| {
        let entry = context.report.entries.iter().find(|entry| entry.handle == handle);
        entry.map_or(Rung::Omitted, |entry| entry.rung)
    };
    let ancestors = stack.ancestors(frame).unwrap();
    let required = [Some(frame), ancestors.first().copied(), ancestors.last().copied()];
    for required in required.into_iter().flatten() {
        assert!(rung(required) >= Rung::Stub, "4: {required} is not there");
    }
    let dependencies: Vec<Handle> = stack.read(|tree| {
        let finished = |handle: &&Handle| tree.node(**handle).status().is_finished();
        tree.node(frame).dependencies().iter().filter(finished).copied().collect()
    });
    let others_shown = context.report.entries.iter().any(|entry| {
        entry.section == Section::CompletedSiblings
            && entry.rung > Rung::Omitted
            && !dependencies.contains(&entry.handle)
    });
    for dependency in &dependencies {
        assert!(
            !others_shown || rung(*dependency) >= Rung::Stub,
            "4: siblings are shown, dependency {dependency} is not"
        );
    }

    for (name, part) in [("xml", &context.xml), ("stable", &context.stable), ("volatile", &context.volatile)] {
        let document = roxmltree::Document::parse(part).unwrap_or_else(|error| panic!("6: {name}: {error}\n{part}"));
        let element = if name == "volatile" { "stack-now" } else { "stack-context" };
        assert!(document.root_element().has_tag_name(element), "6: {name} is no <{element}>");
    }
    check_counts(&context);
    Ok(context)
}

/// 5: what is left out is counted, and the count stands beside a handle that leads to it.
fn check_counts(context: &Context) {
    let document = roxmltree::Document::parse(&context.xml).unwrap();
    let find = |name: &str| document.descendants().find(|node| node.has_tag_name(name));
    let attribute = |element: &str, name: &str| {
        find(element).and_then(|node| node.attribute(name)).map_or(0, |count| count.parse::<usize>().unwrap())
    };
    let omitted = |section: Section| {
        context.report.entries.iter().filter(|entry| entry.section == section && entry.rung == Rung::Omitted).count()
    };
    for (name, section) in [
        ("omitted-ancestors", Section::Ancestors),
        ("omitted-dependencies", Section::Dependencies),
        ("omitted-siblings", Section::CompletedSiblings),
    ] {
        assert_eq!(attribute("truncation", name), omitted(section), "5: {name}");
    }
    assert_eq!(attribute("omitted", "count"), omitted(Section::Ancestors), "5: the gap between the ancestors");
    if find("planned-children").is_some() {
        assert_eq!(attribute("planned-children", "omitted"), omitted(Section::PlannedChildren), "5: planned children");
    }
}
