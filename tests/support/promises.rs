//! The promises that every context must keep, for all trees, texts and settings. Tests and fuzz
//! targets share them.

use std::collections::{HashMap, HashSet};

use callstack_core::context::{DetailLevel, Entry, FinishedChildren, Form, Section, Shown, TokenCounter};
use callstack_core::{
    Budget, Context, Error, FrameStatus, Guidance, Handle, Settings, Stack, ToolNames, ToolRole, Tree,
};

use crate::Queries;
use crate::Random;

/// Random settings. The caller sets the total.
pub fn settings(random: &mut Random) -> Settings {
    let mut settings = Settings::default();
    if random.once_in(2) {
        settings.budget = Budget::default()
            .total(0)
            .ancestors(1 + random.below(2_000))
            .siblings(1 + random.below(2_000))
            .current(1 + random.below(1_000))
            .overhead(random.below(400))
            .heap(random.below(2_000))
            .children(random.below(2_000));
        settings.finished_children =
            [FinishedChildren::All, FinishedChildren::Forgotten, FinishedChildren::None][random.below(3)];
        settings.heap_ceiling = random.below(6_000);
        settings.minimum_relevance = random.below(101) as u8;
        settings.guidance = [Guidance::Full, Guidance::Brief, Guidance::None][random.below(3)];
        settings.form = [Form::Cached, Form::Document][random.below(2)];
    }
    settings.tools = tools(random);
    settings
}

/// Random names of tools: the default names, names with a prefix, no names, or names with characters that XML
/// has to escape.
fn tools(random: &mut Random) -> ToolNames {
    match random.below(5) {
        0 => ToolNames::with_prefix("mcp__callstack__"),
        1 => ToolNames::none(),
        2 => {
            let names =
                ["begin", "<&\"'>", "]]>", "a tool of 64 characters, the most that a name may have, no less!", "ü"];
            ToolRole::ALL.iter().fold(ToolNames::default(), |tools, &role| match random.below(3) {
                0 => tools.without(role),
                1 => tools.name(role, random.pick(&names)),
                _ => tools,
            })
        }
        _ => ToolNames::default(),
    }
}

/// The same settings with another total.
pub fn with_total(settings: &Settings, total: usize) -> Settings {
    settings.clone().budget(settings.budget.total(total))
}

/// The context with this total. Checks all promises that concern a single context.
pub fn checked(
    stack: &Stack,
    counter: &dyn TokenCounter,
    frame: Handle,
    settings: &Settings,
) -> Result<Context, Error> {
    let context = stack.context_uncached(frame, settings)?;
    let total = settings.budget.total;

    let bytes = settings.budget.bytes.unwrap_or(total.saturating_mul(6));
    let both = context.stable.len() + context.volatile.len();
    assert!(context.xml.len() <= bytes && both <= bytes, "1: {} and {both} bytes of {bytes}", context.xml.len());
    let both = counter.count(&context.stable) + counter.count(&context.volatile);
    assert!(counter.count(&context.xml) <= total, "1: xml has {} tokens of {total}", counter.count(&context.xml));
    assert!(both <= total, "1: the two parts have {both} tokens of {total}");
    assert!(context.tokens <= total, "1: {} tokens are reported of {total}", context.tokens);
    assert!(counter.count(&context.xml).max(both) <= context.tokens, "1: the reported tokens are no upper bound");

    let detail_level = |handle: Handle| {
        let entry = context.report.entries.iter().find(|entry| entry.handle == handle);
        entry.map_or(DetailLevel::Omitted, |entry| entry.detail_level)
    };
    let ancestors = stack.ancestors(frame).unwrap();
    let required = [Some(frame), ancestors.first().copied(), ancestors.last().copied()];
    for required in required.into_iter().flatten() {
        assert!(detail_level(required) >= DetailLevel::Stub, "4: {required} is not there");
    }
    check_dependencies(stack, frame, &context);

    for (name, part) in [("xml", &context.xml), ("stable", &context.stable), ("volatile", &context.volatile)] {
        let document = roxmltree::Document::parse(part).unwrap_or_else(|error| panic!("6: {name}: {error}\n{part}"));
        let element = if name == "volatile" { "stack-now" } else { "stack-context" };
        assert!(document.root_element().has_tag_name(element), "6: {name} is no <{element}>");
    }
    check_counts(stack, frame, settings, &context);
    check_what_is_considered(stack, frame, &context);
    check_heap(stack, frame, settings, &context);
    Ok(context)
}

/// Promise 4: finished dependencies of the frame and of its ancestors come before all other siblings.
fn check_dependencies(stack: &Stack, frame: Handle, context: &Context) {
    let dependencies: HashSet<Handle> = stack
        .read(|tree| {
            let of = |handle: Handle| tree.newest_dependencies(handle);
            let all = tree.lineage(frame).flat_map(of);
            all.filter(|dependency| tree.node(*dependency).status().is_finished()).collect()
        })
        .unwrap();
    let levels: HashMap<Handle, DetailLevel> =
        context.report.entries.iter().map(|entry| (entry.handle, entry.detail_level)).collect();
    let siblings = [Section::CompletedSiblings, Section::AncestorSiblings];
    let others_shown = context.report.entries.iter().any(|entry| {
        siblings.contains(&entry.section)
            && entry.detail_level > DetailLevel::Omitted
            && !dependencies.contains(&entry.handle)
    });
    for dependency in &dependencies {
        let level = levels.get(dependency).unwrap_or_else(|| panic!("4: dependency {dependency} is not considered"));
        assert!(!others_shown || *level >= DetailLevel::Stub, "4: siblings are shown, dependency {dependency} is not");
    }
}

/// No frame is considered twice, and each frame is in a section that fits its place in the tree.
fn check_what_is_considered(stack: &Stack, frame: Handle, context: &Context) {
    stack
        .read(|tree| {
            let ancestors: HashSet<Handle> = tree.ancestors(frame).collect();
            let parent = tree.node(frame).parent();
            let mut met = HashSet::new();
            for entry in &context.report.entries {
                let Entry { handle, section, .. } = entry;
                assert!(met.insert(*handle), "{handle} is considered twice");
                let above = tree.node(*handle).parent();
                let depends = |dependent: Handle| tree.newest_dependencies(dependent).any(|other| other == *handle);
                let counts = tree.node(*handle).retried_as().is_none();
                let fits = match section {
                    Section::CurrentFrame => *handle == frame,
                    Section::Ancestors => ancestors.contains(handle),
                    // Roots do not count as siblings of each other.
                    Section::Dependencies => depends(frame) && (above != parent || parent.is_none()),
                    Section::InheritedDependencies => ancestors.iter().any(|ancestor| depends(*ancestor)),
                    Section::AncestorSiblings => {
                        above.is_some_and(|above| ancestors.contains(&above) && Some(above) != parent)
                            && !ancestors.contains(handle)
                            && counts
                    }
                    Section::EarlierAttempts => {
                        tree.node(*handle).status() == FrameStatus::Failed
                            && tree.earlier_attempts(frame).any(|attempt| attempt == *handle)
                    }
                    Section::CompletedSiblings => above == parent && *handle != frame && counts,
                    Section::PlannedChildren | Section::FinishedChildren => above == Some(frame) && counts,
                    _ => false,
                };
                assert!(fits, "{handle} stands in {section:?} of {frame}");
            }
        })
        .unwrap();
}

/// Promise 8: every visible chunk is shown verbatim, or as a line of the index with a note. The other chunks
/// are counted.
fn check_heap(stack: &Stack, frame: Handle, settings: &Settings, context: &Context) {
    let document = roxmltree::Document::parse(&context.stable).unwrap();
    let mut elements = document.descendants().filter(|node| node.has_tag_name("chunk"));
    let chunks = stack.heap(frame).chunks().unwrap();
    assert_eq!(chunks.len(), context.report.chunks.len(), "8: other chunks are reported than there are");
    for ((owner, chunk), entry) in chunks.iter().zip(&context.report.chunks) {
        assert_eq!((owner, &chunk.name), (&entry.handle, &entry.name), "8: another chunk is reported");
        if entry.shown == Shown::Omitted {
            continue;
        }
        let element = elements.next().unwrap_or_else(|| panic!("8: {} is not there", chunk.name));
        assert_eq!(element.attribute("name"), Some(&*chunk.name));
        let text: String = element.children().filter_map(|part| part.text()).collect();
        let size = chunk.content.chars().count().to_string();
        assert_eq!(element.attribute("characters"), Some(&*size));
        if entry.shown == Shown::Index {
            assert_eq!(text, "", "8: a line of the index has text");
            let note = document.descendants().find(|node| node.has_tag_name("note")).and_then(|note| note.text());
            let note = note.unwrap_or_else(|| panic!("8: nothing says that {} did not fit", chunk.name));
            let read = settings.tools.get(ToolRole::HeapRead).unwrap_or_default();
            assert!(note.contains(read), "8: nothing says how to read {}", chunk.name);
            continue;
        }
        let is_legal = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
        // Every line end is a line feed, as XML parsers read it.
        let expected: String =
            chunk.content.chars().map(|character| if is_legal(character) { character } else { '\u{FFFD}' }).collect();
        assert_eq!(text, expected.replace("\r\n", "\n").replace('\r', "\n"), "8: {} reads otherwise", chunk.name);
        let has_note = element.attribute("note").is_some();
        assert_eq!(has_note, expected != chunk.content, "8: {} has changed without a word", chunk.name);
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n') && byte != b'<' && byte != b'&';
        if chunk.content.bytes().all(is_plain) && !chunk.content.contains("]]>") {
            let whole = format!(">{}</chunk>", chunk.content);
            assert!(context.stable.contains(&whole), "8: {} is not there word for word", chunk.name);
        }
    }
}

/// Promise 5: omitted frames are counted, and the count is next to a handle that leads to them.
fn check_counts(stack: &Stack, frame: Handle, settings: &Settings, context: &Context) {
    let document = roxmltree::Document::parse(&context.xml).unwrap();
    let find = |name: &str| document.descendants().find(|node| node.has_tag_name(name));
    let attribute = |element: &str, name: &str| {
        find(element).and_then(|node| node.attribute(name)).map_or(0, |count| count.parse::<usize>().unwrap())
    };
    let count =
        |is_wanted: &dyn Fn(&Entry) -> bool| context.report.entries.iter().filter(|entry| is_wanted(entry)).count();
    let omitted =
        |section: Section| count(&|entry| entry.section == section && entry.detail_level == DetailLevel::Omitted);
    let dependencies = omitted(Section::Dependencies) + omitted(Section::InheritedDependencies);
    for (name, expected) in [
        ("omitted-ancestors", omitted(Section::Ancestors)),
        ("omitted-dependencies", dependencies),
        ("omitted-attempts", omitted(Section::EarlierAttempts) + older_attempts(stack, frame)),
        ("omitted-siblings", hidden_beside(stack, &[frame], context)),
        (
            "omitted-ancestor-siblings",
            hidden_beside(stack, &stack.read(|tree| tree.ancestors(frame).collect::<Vec<_>>()).unwrap(), context),
        ),
        ("omitted-children", finished_children(stack, frame, settings, context)),
    ] {
        assert_eq!(attribute("truncation", name), expected, "5: {name}");
    }
    let chunks = context.report.chunks.iter().filter(|entry| entry.shown == Shown::Omitted).count();
    assert_eq!(attribute("truncation", "omitted-chunks"), chunks, "5: omitted-chunks");
    assert_eq!(attribute("omitted", "count"), omitted(Section::Ancestors), "5: the gap between the ancestors");
    if find("planned-children").is_some() {
        assert_eq!(attribute("planned-children", "omitted"), omitted(Section::PlannedChildren), "5: planned children");
    }
    if let Some(see) = find("truncation").and_then(|node| node.attribute("see")) {
        let see = stack.resolve(see).unwrap();
        stack.read(|tree| assert!(tree.lineage(frame).any(|above| above == see), "5: {see} leads elsewhere")).unwrap();
    }
}

/// The number of attempts that are older than the eight attempts that a context can show.
fn older_attempts(stack: &Stack, frame: Handle) -> usize {
    stack.read(|tree| tree.earlier_attempts(frame).count().saturating_sub(8)).unwrap()
}

/// The number of finished children that the settings ask for and that the context does not show. Checks that
/// the settings ask for the children that are shown.
fn finished_children(stack: &Stack, frame: Handle, settings: &Settings, context: &Context) -> usize {
    let shown: HashSet<Handle> = context
        .report
        .entries
        .iter()
        .filter(|entry| entry.section == Section::FinishedChildren && entry.detail_level > DetailLevel::Omitted)
        .map(|entry| entry.handle)
        .collect();
    let wanted: HashSet<Handle> = stack
        .read(|tree| {
            let is_wanted = |child: &Handle| match settings.finished_children {
                FinishedChildren::All => true,
                FinishedChildren::Forgotten => {
                    let delivered_at = tree.node(*child).record().delivered_at;
                    delivered_at.is_none() || delivered_at <= tree.node(frame).record().forgotten_at
                }
                _ => false,
            };
            let finished = |child: &Handle| counts(tree, *child);
            tree.children(frame).iter().copied().filter(finished).filter(is_wanted).collect()
        })
        .unwrap();
    assert!(shown.is_subset(&wanted), "{shown:?} are shown as finished children, wanted were {wanted:?}");
    wanted.len() - shown.len()
}

/// The number of finished siblings of these frames that the context does not show at any place. Dependencies
/// are not counted.
fn hidden_beside(stack: &Stack, frames: &[Handle], context: &Context) -> usize {
    let elsewhere = |handle: Handle| {
        context.report.entries.iter().any(|entry| {
            let is_dependency = matches!(entry.section, Section::Dependencies | Section::InheritedDependencies);
            entry.handle == handle && (is_dependency || entry.detail_level > DetailLevel::Omitted)
        })
    };
    stack
        .read(|tree| {
            let below_others = frames.iter().filter(|frame| tree.node(**frame).parent().is_some());
            let beside = below_others.flat_map(|frame| tree.siblings(*frame));
            beside.filter(|other| counts(tree, *other) && !elsewhere(*other)).count()
        })
        .unwrap()
}

/// True if a frame is finished and was not retried.
fn counts(tree: &Tree, handle: Handle) -> bool {
    tree.node(handle).status().is_finished() && tree.node(handle).retried_as().is_none()
}
