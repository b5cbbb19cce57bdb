//! Tests that an index follows the changes of a tree: it gives the scores of a new index, and it reads only what has
//! changed.

use proptest::prelude::*;

use super::*;
use crate::frame::{FrameStatus, NewFrame, PopStatus};
use crate::steps::steps_of;
use crate::tree::{Command, decide};

/// Each finished child takes a minute.
fn execute(tree: &mut Tree, command: Command) {
    let finished = tree.roots().first().map_or(0, |root| tree.node(*root).finished_children().len());
    let commit = decide(tree, command, 1 + finished as u64 * 60_000).unwrap();
    commit.events.iter().for_each(|event| tree.apply(event));
}

/// Pushes a frame below the first root.
fn push(tree: &mut Tree, mut frame: NewFrame) -> Handle {
    frame.session_id.get_or_insert(format!("new{}", tree.len()));
    execute(tree, Command::Push(frame.below(tree.roots()[0])));
    tree.handles().next_back().unwrap()
}

fn pop(tree: &mut Tree, frame: Handle, status: PopStatus, results: &str) {
    execute(tree, Command::Pop { frame: frame.into(), status, results: results.into() });
}

fn invalidate(tree: &mut Tree, frame: Handle) {
    execute(tree, Command::Invalidate { frame: frame.into(), reason: "Wrong".into() });
}

fn replace_id(tree: &mut Tree, frame: Handle, session_id: &str) {
    execute(tree, Command::ReplaceId { frame: frame.into(), session_id: session_id.into() });
}

/// Records an artifact of a frame. The stable part of contexts shows it after the push of another task.
fn add_artifact(tree: &mut Tree, frame: Handle, artifact: &str) {
    execute(tree, Command::AddArtifact { frame: frame.into(), artifact: artifact.into() });
    let id = format!("task{}", tree.len());
    execute(tree, Command::Push(NewFrame::new("Another task").id(id).root()));
}

/// A tree with one root.
fn root() -> Tree {
    let mut tree = Tree::new();
    execute(&mut tree, Command::Push(NewFrame::new("The plan").id("root")));
    tree
}

/// Updates an index, and returns the steps.
fn update(index: &mut SiblingIndex, tree: &Tree) -> u64 {
    steps_of(|| index.update(tree, tree.roots()[0])).1
}

/// All scores that the index gives for the children of the root.
fn all_scores(index: &mut SiblingIndex, tree: &Tree) -> Vec<Vec<Scored>> {
    let mut all = Vec::new();
    for child in tree.node(tree.roots()[0]).children() {
        let (from, query) = (Standpoint::new(tree, *child, *child), Query::of(tree.node(*child)));
        all.extend([index.scores(&from, &query), index.best(&from, &query, 4), index.best(&from, &query, 32)]);
    }
    all
}

#[track_caller]
fn check(index: &mut SiblingIndex, tree: &Tree) {
    update(index, tree);
    let mut new = SiblingIndex::default();
    update(&mut new, tree);
    assert_eq!(all_scores(index, tree), all_scores(&mut new, tree));
}

const TITLES: [&str; 8] = [
    "Page of users",
    "Page of orders",
    "Sweep the floor",
    "See c1",
    "API of users and orders",
    "Water the plants",
    "c2 again",
    "Page",
];

/// Changes a tree. `kind` and `which` choose what changes.
fn change(tree: &mut Tree, kind: u8, which: usize) {
    let number = tree.len();
    let children = tree.node(tree.roots()[0]).children().to_vec();
    let chosen = |is_right: &dyn Fn(FrameStatus) -> bool| {
        let right: Vec<Handle> =
            children.iter().copied().filter(|child| is_right(tree.node(*child).status())).collect();
        (!right.is_empty()).then(|| right[which % right.len()])
    };
    let title = TITLES[which % TITLES.len()];
    let mut frame = NewFrame::new(title).id(format!("c{number}")).criteria("All users see the orders");
    let finished = chosen(&FrameStatus::is_finished);
    if let Some(dependency) = finished.filter(|_| which.is_multiple_of(2)) {
        frame = frame.depends_on(dependency).depends_on(children[which / 2 % children.len()]);
    }
    match kind {
        0..=3 => {
            let child = push(tree, frame);
            let status = if which.is_multiple_of(5) { PopStatus::Failed } else { PopStatus::Completed };
            pop(tree, child, status, ["", "Users are done", "The orders of page 3"][which % 3]);
        }
        4 => drop(push(tree, frame)),
        5 => execute(tree, Command::Plan(frame.below(tree.roots()[0]))),
        6 | 7 => {
            if let Some(planned) = chosen(&|status| status == FrameStatus::Planned) {
                execute(tree, Command::Activate { frame: planned.into() });
            } else if let Some(open) = chosen(&FrameStatus::is_open) {
                pop(tree, open, PopStatus::Completed, "It works");
            }
        }
        8 => chosen(&|status| status != FrameStatus::Invalidated).into_iter().for_each(|child| invalidate(tree, child)),
        9 => finished.into_iter().for_each(|child| invalidate(tree, child)),
        10 => chosen(&|_| true)
            .into_iter()
            .for_each(|child| replace_id(tree, child, &format!("c{}/new", number * 100 + which))),
        _ => finished.into_iter().for_each(|child| add_artifact(tree, child, &format!("src/page_{which}.rs"))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn an_index_that_was_changed_gives_the_same_scores_as_a_new_one(
        changes in proptest::collection::vec((0u8..13, 0usize..1_000, any::<bool>()), 1..60),
    ) {
        let mut tree = root();
        let mut versions = vec![tree.clone()];
        let mut index = SiblingIndex::default();
        for (kind, which, is_looked_at) in changes {
            // The last kind is a reader of an older version.
            if kind == 12 {
                check(&mut index, &versions[which % versions.len()]);
            } else {
                change(&mut tree, kind, which);
                versions.push(tree.clone());
            }
            if is_looked_at {
                check(&mut index, &tree);
            }
        }
        check(&mut index, &tree);
    }
}

/// A root with this number of finished children with the same words.
fn finished(count: usize) -> Tree {
    let mut tree = root();
    for number in 0..count {
        let child = push(&mut tree, NewFrame::new("Page of the shop").id(format!("c{number}")));
        pop(&mut tree, child, PopStatus::Completed, "All users see the page with the orders");
    }
    tree
}

#[test]
fn an_index_reads_only_the_children_that_have_changed() {
    let steps = |count: usize| {
        let mut tree = finished(count);
        let mut index = SiblingIndex::default();
        assert!(update(&mut index, &tree) > 5 * count as u64, "all are read");
        let middle = tree.by_id(&format!("c{}", count / 2)).unwrap();
        let mut steps = Vec::new();
        let retry = push(&mut tree, NewFrame::new("Another try"));
        pop(&mut tree, retry, PopStatus::Completed, "It works");
        steps.push(update(&mut index, &tree));
        let old = tree.clone();
        invalidate(&mut tree, retry);
        steps.push(update(&mut index, &tree));
        steps.extend([update(&mut index, &old), update(&mut index, &tree)]);
        replace_id(&mut tree, middle, "other");
        steps.push(update(&mut index, &tree));
        add_artifact(&mut tree, middle, "src/shop.rs");
        steps.push(update(&mut index, &tree));
        execute(&mut tree, Command::Deliver { frame: middle.into() });
        assert_eq!(update(&mut index, &tree), 0);
        check(&mut index, &tree);
        invalidate(&mut tree, middle);
        assert_eq!(update(&mut index, &tree), 0, "numbers change, but nothing is read");
        check(&mut index, &tree);
        steps
    };
    let few = steps(20);
    assert!(few.iter().all(|steps| (1..=20).contains(steps)), "{few:?}");
    assert_eq!(few, steps(200));
}

#[test]
fn the_beginning_of_a_text_is_read() {
    let steps = |words: usize| {
        let mut tree = root();
        let text: String = (0..words).map(|number| format!("word{number} ")).collect();
        let child = push(&mut tree, NewFrame::new("Page").criteria(text.clone()));
        (0..words / 20_000).for_each(|number| add_artifact(&mut tree, child, &format!("{number}{text}")));
        pop(&mut tree, child, PopStatus::Completed, &text);
        let (_, query) = steps_of(|| Query::of(tree.node(child)));
        (update(&mut SiblingIndex::default(), &tree), query)
    };
    let (index, query) = steps(40_000);
    assert!((2_000..8_000).contains(&index) && (1_000..3_000).contains(&query), "{index} {query}");
    let (longer, longer_query) = steps(80_000);
    assert!(longer <= index + 10 && longer_query == query, "{longer} {longer_query}");
    // Empty texts count too, and no character is split.
    assert_eq!(super::query::beginnings(&vec![String::new(); 20_000]).count(), 16_000);
    assert_eq!(super::query::beginning(&"ü".repeat(20_000)).chars().count(), 16_000);
}

#[test]
fn invalidated_siblings_have_no_place() {
    let scores = |invalidated: usize| {
        let mut tree = root();
        for title in ["Walk", "Swim", "Read"] {
            let child = push(&mut tree, NewFrame::new(title).id(title));
            pop(&mut tree, child, PopStatus::Completed, "Done");
        }
        for number in 0..invalidated {
            let frame = NewFrame::new(format!("Wrong {number}")).id(format!("wrong{number}"));
            let child = match number % 3 {
                0 => push(&mut tree, frame),
                1 => {
                    let parent = tree.roots()[0];
                    execute(&mut tree, Command::Plan(frame.below(parent)));
                    tree.handles().next_back().unwrap()
                }
                _ => {
                    let child = push(&mut tree, frame);
                    pop(&mut tree, child, PopStatus::Completed, "Done");
                    child
                }
            };
            invalidate(&mut tree, child);
        }
        let next = push(&mut tree, NewFrame::new("Sing").id("Sing"));
        let mut index = SiblingIndex::default();
        update(&mut index, &tree);
        let (from, query) = (Standpoint::new(&tree, next, next), Query::of(tree.node(next)));
        assert_eq!(index.scores(&from, &query), index.best(&from, &query, 32));
        index.scores(&from, &query).iter().map(|scored| scored.score).collect::<Vec<_>>()
    };
    assert_eq!(scores(0).len(), 3);
    assert_eq!(scores(12), scores(0));
}

#[test]
fn invalidated_siblings_do_not_change_the_habit() {
    let share = |invalidated: usize| {
        let mut tree = root();
        let mut before = None;
        for number in 0..6 {
            let mut frame = NewFrame::new(format!("Walk {number}"));
            if let Some(before) = before {
                frame = frame.depends_on(before);
            }
            let child = push(&mut tree, frame);
            pop(&mut tree, child, PopStatus::Completed, "Done");
            for _ in 0..invalidated {
                let wrong = push(&mut tree, NewFrame::new("Swim"));
                pop(&mut tree, wrong, PopStatus::Completed, "Done");
                invalidate(&mut tree, wrong);
            }
            before = Some(child);
        }
        let mut index = SiblingIndex::default();
        update(&mut index, &tree);
        index.habit.before(6).share(1)
    };
    assert!(share(0) > 0.8 && share(2) == share(0), "{} {}", share(0), share(2));
}
