//! Tests of the scores of siblings.

use std::path::PathBuf;
use std::sync::Arc;

use super::scores::Extent;
use super::*;
use crate::context::{Approx, Contexts};
use crate::frame::{Frame, FrameStatus, StackState};
use crate::steps::steps_of;
use crate::tree::Node;

/// The time at which the frame whose siblings are scored started.
const STARTED: u64 = 1_000_000;

/// The children of a root: their titles, and the IDs on which they depend. Their IDs are c0, c1 and so on.
/// All are finished in this order, except the last one, which started after them; `below` stands below it.
struct Children(Vec<Frame>);

impl Children {
    fn new<'a>(children: impl IntoIterator<Item = (&'a str, &'a [&'a str])>) -> Self {
        let mut frames: Vec<Frame> = children
            .into_iter()
            .enumerate()
            .map(|(index, (title, depends_on))| Frame {
                title: title.into(),
                session_id: format!("c{index}"),
                parent_session_id: Some("root".into()),
                status: FrameStatus::Completed,
                created_at: 1,
                updated_at: 10 + index as u64,
                depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
                ..Frame::default()
            })
            .collect();
        let last = frames.last_mut().unwrap();
        (last.status, last.created_at) = (FrameStatus::InProgress, STARTED);
        Self(frames)
    }

    fn tree(&self) -> Tree {
        let root = Frame { session_id: "root".into(), status: FrameStatus::InProgress, ..Frame::default() };
        let below = Frame {
            title: "Below".into(),
            session_id: "below".into(),
            parent_session_id: self
                .0
                .iter()
                .find(|frame| frame.created_at == STARTED)
                .map(|frame| frame.session_id.clone()),
            status: FrameStatus::InProgress,
            created_at: STARTED + 1,
            ..Frame::default()
        };
        let frames = [root].into_iter().chain(self.0.iter().cloned()).chain([below]).collect();
        let (tree, repairs) = Tree::from_state(StackState {
            frames,
            revision: 1,
            root_frame_ids: vec!["root".into()],
            active_frame_id: Some("below".into()),
            ..StackState::default()
        });
        assert!(repairs.is_empty(), "{}", repairs[0].message);
        tree
    }
}

/// The query of a frame.
pub(super) fn query_of(node: &Node) -> Query {
    Query::of(node, &mut WordCounts::default())
}

fn index(tree: &Tree) -> SiblingIndex {
    let mut index = SiblingIndex::default();
    index.update(tree, tree.roots()[0], &mut WordCounts::default());
    index
}

/// The scores of the siblings of a frame by their IDs.
fn scores(tree: &Tree, id: &str) -> impl Fn(&str) -> f32 + use<> {
    let frame = tree.by_id(id).unwrap();
    let scored = index(tree).scores(&Standpoint::new(tree, frame, frame), &query_of(tree.node(frame)), Extent::ALL);
    let scored: Vec<(String, f32)> =
        scored.into_iter().map(|sibling| (tree.node(sibling.handle).session_id().to_owned(), sibling.score)).collect();
    move |id| scored.iter().find(|(other, _)| other == id).unwrap_or_else(|| panic!("{id} has no score")).1
}

/// The scores for the frame below the last child.
fn best(tree: &Tree, most: usize) -> Vec<Scored> {
    let below = tree.by_id("below").unwrap();
    let beside = tree.node(below).parent().unwrap();
    let query = Query::beside(&query_of(tree.node(below)), &[query_of(tree.node(beside)).into()]);
    index(tree).scores(&Standpoint::new(tree, below, beside), &query, Extent::of(most))
}

#[test]
fn the_newest_sibling_passes_the_minimum_without_a_common_word() {
    let minimum = f32::from(crate::context::Settings::default().minimum_relevance);
    let mut children = Children::new([("Water the plants", &[][..]), ("Sweep the floor", &[]), ("Deploy", &[])]);
    let score = scores(&children.tree(), "c2");
    assert!(score("c1") >= minimum && score("c1") > score("c0"), "{} {}", score("c0"), score("c1"));
    assert_eq!(best(&children.tree(), 8)[1].score, score("c1"));
    // Also if it was planned after the frame: the frame is the first child then.
    children.0.rotate_right(1);
    let score = scores(&children.tree(), "c2");
    assert!(score("c1") >= minimum, "{}", score("c1"));
}

#[test]
fn a_failed_sibling_scores_below_a_completed_one_that_says_the_same() {
    let mut children = Children::new([("Sweep the floor", &[][..]), ("Sweep the floor", &[]), ("Sweep the hall", &[])]);
    let completed = scores(&children.tree(), "c2")("c1");
    let nephew = best(&children.tree(), 8)[1].score;
    children.0[1].status = FrameStatus::Failed;
    children.0[1].results = Some("The broom".into());
    children.0[0].results = Some("The broom".into());
    let score = scores(&children.tree(), "c2");
    assert!(score("c1") < score("c0"), "the newer one failed: {} {}", score("c1"), score("c0"));
    assert!(score("c1") < completed && score("c1") > 0.0, "{} {completed}", score("c1"));
    assert!(best(&children.tree(), 8)[1].score < nephew, "also for a nephew");
}

#[test]
fn a_sibling_on_which_similar_ones_depended_is_better() {
    let children = |with: &'static [&'static str]| {
        let titles = ["Sweep the floor", "Water the plants", "Page of users", "Feed the cat", "Page of orders"];
        Children::new(titles.map(|title| (title, if title == "Page of users" { with } else { &[] })))
    };
    let (without, with) = (scores(&children(&[]).tree(), "c4"), scores(&children(&["c0"]).tree(), "c4"));
    assert!(with("c0") > without("c0") + 10.0, "{} {}", without("c0"), with("c0"));
    assert!(with("c0") > with("c1"), "{} {}", with("c0"), with("c1"));
}

#[test]
fn the_usual_distance_in_the_plan_matters() {
    let titles = ["Walk", "Swim", "Read", "Sing", "Cook", "Draw", "Sleep"];
    let none: [&[&str]; 7] = [&[]; 7];
    let two_before: [&[&str]; 7] = [&[], &[], &["c0"], &["c1"], &["c2"], &["c3"], &[]];
    let one_before: [&[&str]; 7] = [&[], &["c0"], &["c1"], &["c2"], &["c3"], &["c4"], &[]];
    let score =
        |links: [&'static [&'static str]; 7]| scores(&Children::new(titles.into_iter().zip(links)).tree(), "c6");
    let (unknown, chain, pairs) = (score(none), score(one_before), score(two_before));
    assert!(unknown("c5") > unknown("c4"));
    assert!(chain("c5") > unknown("c5") && chain("c4") < unknown("c4"));
    assert!(pairs("c4") > pairs("c5"), "{} {}", pairs("c4"), pairs("c5"));
}

#[test]
fn the_place_in_the_plan_counts_although_the_siblings_finished_in_another_order() {
    let titles = ["Walk", "Swim", "Read", "Sing"];
    let mut children = Children::new(titles.map(|title| (title, &[][..])));
    let newest = |children: &Children| scores(&children.tree(), "c3")("c2") - scores(&children.tree(), "c3")("c1");
    let planned_last = newest(&children);
    // c2 still finishes last, but is now planned after the frame.
    children.0.swap(2, 3);
    assert!(newest(&children) < planned_last, "{} {planned_last}", newest(&children));
}

#[test]
fn siblings_that_finish_later_change_no_score_of_the_others() {
    let titles: Vec<String> = (0..200).map(|number| format!("Page {} of shop {}", number % 7, number % 11)).collect();
    let links: Vec<[String; 2]> =
        (0..200usize).map(|number| [3, 5].map(|before| format!("c{}", number.saturating_sub(before)))).collect();
    let links: Vec<[&str; 2]> = links.iter().map(|[one, other]| [one.as_str(), other.as_str()]).collect();
    let children = |begun: usize, finished: usize| {
        let pairs = titles.iter().zip(&links).enumerate();
        let pairs =
            pairs.map(|(number, (title, links))| (title.as_str(), if number < 5 { &[][..] } else { &links[..] }));
        let mut children = Children::new(pairs.chain([("Page of the shop", &[][..])]));
        for (number, frame) in children.0.iter_mut().take(200).enumerate().skip(begun) {
            // They finish after the last child and the frame below it have started.
            frame.updated_at = 2 * STARTED + number as u64;
            if number >= finished {
                frame.status = FrameStatus::InProgress;
            }
        }
        // It was planned before those that finish later, so they have the habit that counts for those before
        // it.
        children.0[100..].rotate_right(1);
        children.tree()
    };
    for most in [8, 64] {
        let before = best(&children(100, 100), most);
        assert!(before.len() >= most / 2, "{}", before.len());
        for finished in [101, 120, 200] {
            let after = best(&children(100, finished), most);
            assert_eq!(after[..before.len()], before[..], "{most} {finished}");
            assert_eq!(after.len(), before.len() + (finished - 100).min(most / 4), "{most} {finished}");
        }
    }
    let own = |finished: usize| {
        let tree = children(100, finished);
        let frame = tree.by_id("c200").unwrap();
        index(&tree).scores(&Standpoint::new(&tree, frame, frame), &query_of(tree.node(frame)), Extent::ALL)
    };
    assert_eq!(own(200)[..150], own(150)[..]);
}

#[test]
fn an_index_that_grew_gives_the_same_scores_as_a_new_one() {
    let titles: Vec<String> = (0..50).map(|number| format!("Page {}", number % 7)).collect();
    let links: Vec<String> = (0..50usize).map(|number| format!("c{}", number.saturating_sub(2))).collect();
    let links: Vec<[&str; 1]> = links.iter().map(|id| [id.as_str()]).collect();
    let pairs = titles.iter().zip(&links).enumerate();
    let pairs = pairs.map(|(number, (title, link))| (title.as_str(), if number < 2 { &[][..] } else { &link[..] }));
    let children = Children::new(pairs);
    let tree = children.tree();
    let mut grown = SiblingIndex::default();
    for open in (0..49).rev() {
        let mut children = Children(children.0.clone());
        children.0[49 - open..49].iter_mut().for_each(|frame| frame.status = FrameStatus::InProgress);
        grown.update(&children.tree(), tree.roots()[0], &mut WordCounts::default());
    }
    grown.update(&tree, tree.roots()[0], &mut WordCounts::default());
    let frame = tree.by_id("c49").unwrap();
    let from = Standpoint::new(&tree, frame, frame);
    let query = query_of(tree.node(frame));
    assert_eq!(grown.scores(&from, &query, Extent::ALL), index(&tree).scores(&from, &query, Extent::ALL));
    assert_eq!(grown.scores(&from, &query, Extent::ALL).len(), 49);
}

#[test]
fn few_siblings_of_an_ancestor_are_scored_like_own_ones() {
    let titles = ["Page of users", "Sweep the floor", "Page of orders", "See c1"];
    let links: [&[&str]; 4] = [&[], &[], &["c0"], &[]];
    let tree = Children::new(titles.into_iter().zip(links)).tree();
    let beside = tree.by_id("c3").unwrap();
    let (from, query) = (Standpoint::new(&tree, beside, beside), query_of(tree.node(beside)));
    assert_eq!(index(&tree).scores(&from, &query, Extent::of(8)), index(&tree).scores(&from, &query, Extent::ALL));
    assert_eq!(index(&tree).scores(&from, &query, Extent::of(8)).len(), 3);
}

#[test]
fn the_siblings_of_an_ancestor_are_scored_without_looking_at_all() {
    let steps = |count: usize| {
        let titles: Vec<String> = (0..count).map(|number| format!("Page {} of the shop", number % 10)).collect();
        let links = |number: usize| -> &'static [&'static str] { if number > 0 { &["c0"] } else { &[] } };
        let pairs = titles.iter().enumerate().map(|(number, title)| (title.as_str(), links(number)));
        let tree = Children::new(pairs.chain([("Page 3 of the shop", &[][..])])).tree();
        let mut index = index(&tree);
        let below = tree.by_id("below").unwrap();
        let beside = tree.node(below).parent().unwrap();
        let query = Query::beside(&query_of(tree.node(below)), &[query_of(tree.node(beside)).into()]);
        let (scored, steps) = steps_of(|| index.scores(&Standpoint::new(&tree, below, beside), &query, Extent::of(64)));
        let oldest = tree.by_id("c0").unwrap();
        assert!(scored.iter().any(|sibling| sibling.handle == oldest), "all depend on it");
        steps
    };
    let (some, many) = (steps(1_000), steps(10_000));
    assert!(some > 100, "{some} steps are too few; are they still counted?");
    assert!(many <= some + some / 10, "{some} steps for 1,000 siblings, but {many} for 10,000");
}

#[test]
fn the_words_of_the_frames_between_a_frame_and_its_ancestor_count() {
    let frame = |title: &str, id: &str, parent: &str, status| Frame {
        title: title.into(),
        session_id: id.into(),
        parent_session_id: Some(parent.into()).filter(|parent: &String| !parent.is_empty()),
        status,
        ..Frame::default()
    };
    let scores = |criteria: &str| {
        let (open, done) = (FrameStatus::InProgress, FrameStatus::Completed);
        let mut frames = vec![
            frame("Shop", "root", "", open),
            frame("Authentication", "authentication", "root", done),
            frame("Catalogue", "catalogue", "root", done),
            frame("Shipping", "shipping", "root", done),
            frame("Mobile app", "app", "root", open),
            frame("Log in on the phone", "login", "app", open),
            frame("Refresh token rotation", "tokens", "login", open),
        ];
        frames[1].results = Some("Google OAuth and 2FA work in the browser".into());
        frames[2].results = Some("Pictures and prices work in the browser".into());
        frames[5].success_criteria = criteria.into();
        let (tree, repairs) = Tree::from_state(StackState {
            frames,
            revision: 1,
            root_frame_ids: vec!["root".into()],
            active_frame_id: Some("tokens".into()),
            ..StackState::default()
        });
        assert!(repairs.is_empty());
        let contexts = Contexts::new(Arc::new(Approx), PathBuf::new());
        let [tokens, app] = ["tokens", "app"].map(|id| tree.by_id(id).unwrap());
        let scored = contexts.scores_beside(&tree, tokens, app);
        ["authentication", "catalogue"]
            .map(|id| scored.iter().find(|one| one.handle == tree.by_id(id).unwrap()).unwrap().score)
    };
    let [authentication, catalogue] = scores("Google OAuth and 2FA");
    assert!(authentication > catalogue, "{authentication} {catalogue}");
    let [authentication, catalogue] = scores("");
    assert!(authentication < catalogue, "{authentication} {catalogue}");
}

#[test]
fn function_words_find_no_siblings_in_any_language() {
    // A task, a sibling with a word of it, and the newest sibling, which has only function words of it.
    let cases = [
        ("Order for the customers", "All customers", "Landing page for the shop"),
        ("Rechnung mit Versandkosten", "Versandkosten", "Übersetzungen (i18n mit Fallback)"),
        ("Facture pour les clients", "Fiche clients", "Page d'accueil pour les visiteurs"),
        ("Pagar el pedido con tarjeta", "Datos de tarjeta", "Página de inicio con el menú"),
        ("Pagamento dos pedidos com cartão", "Validar cartão", "Página inicial com menu"),
        ("Fattura per gli ordini con IVA", "Calcolo IVA", "Pagina iniziale con gli articoli"),
        ("Factuur met de verzendkosten", "Verzendkosten", "Startpagina met de artikelen"),
        ("Faktura dla klienta oraz rabat", "Baza klienta", "Strona dla mobilnych oraz menu"),
        ("Заказ для клиента", "Карточка клиента", "Главная страница для сайта"),
        ("🔥", "🔥", "Home"),
    ];
    for (task, right, wrong) in cases {
        let children = [right, "Sweep", wrong, task].map(|title| (title, &[][..]));
        let score = scores(&Children::new(children).tree(), "c3");
        assert!(score("c0") > score("c2"), "{task}: {} {}", score("c0"), score("c2"));
    }
}
