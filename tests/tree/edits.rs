//! Edits of planned frames: every field, moves of frames and of the frames below them, and refused edits;
//! also frames that are named by their titles.

use callstack_core::tree::sibling_order;
use callstack_core::{
    Change, Command, Error, Event, Frame, FrameEdit, FrameRef, FrameStatus, Handle, NewFrame, Parent, PopStatus, Stack,
    StackOptions, StackState, Tree,
};
use support::Queries;

fn f(number: usize) -> Handle {
    Handle::from_index(number - 1).unwrap()
}

fn edit() -> FrameEdit {
    FrameEdit::default()
}

/// f1 Shop, in_progress; below it f2 Schema (planned), f3 Cart (planned, needs f2), f4 Pay (in_progress), f5
/// Invoice (planned, needs f3); below f5 f6 Layout and f7 Print (needs f6), planned.
fn shop() -> Stack {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    stack.plan(NewFrame::new("Schema").id("schema").below(f(1))).unwrap();
    stack.plan(NewFrame::new("Cart").id("cart").below(f(1)).depends_on(f(2))).unwrap();
    stack.push(NewFrame::new("Pay").id("pay").below(f(1))).unwrap();
    stack.plan(NewFrame::new("Invoice").id("invoice").below(f(1)).depends_on(f(3))).unwrap();
    stack.plan(NewFrame::new("Layout").id("layout").below(f(5))).unwrap();
    stack.plan(NewFrame::new("Print").id("print").below(f(5)).depends_on(f(6))).unwrap();
    stack
}

/// Checks that a call is refused and that it changes nothing.
fn refused(stack: &Stack, frame: usize, edit: FrameEdit) -> Error {
    let before = stack.state().unwrap();
    let error = stack.edit(f(frame), edit).unwrap_err();
    assert_eq!(stack.state().unwrap(), before, "a refused edit changes nothing: {error}");
    error
}

/// Checks that the tree is the same after a replay of its history, and after its state was read again.
fn check_again(stack: &Stack) {
    let (again, repairs) = Tree::from_state(StackState::from_json(&stack.state().unwrap().to_json()).unwrap().0);
    assert_eq!(repairs, []);
    assert_eq!(again.state(), stack.state().unwrap());
    assert_eq!(levels(&again), stack.read(levels).unwrap());
}

/// The roots, then the children of each frame.
fn levels(tree: &Tree) -> Vec<Vec<Handle>> {
    std::iter::once(tree.roots().to_vec()).chain(tree.handles().map(|frame| tree.children(frame).to_vec())).collect()
}

#[test]
fn each_field_is_edited_alone() {
    let stack = shop();
    stack.edit(f(3), edit().title("Basket")).unwrap();
    stack.edit(f(3), edit().criteria("Totals are right")).unwrap();
    stack.edit(f(3), edit().criteria_compacted("totals")).unwrap();
    let frame = stack.frame(f(3)).unwrap();
    assert_eq!((&*frame.title, &*frame.success_criteria), ("Basket", "Totals are right"));
    assert_eq!((&*frame.success_criteria_compacted, &frame.depends_on[..]), ("totals", &["schema".to_owned()][..]));
    stack.edit(f(3), edit().depends_on([f(4)])).unwrap();
    assert_eq!(stack.frame(f(3)).unwrap().depends_on, ["pay"]);
    assert!(stack.read(|tree| tree.dependents(f(2)).is_empty() && tree.dependents(f(4)) == [f(3)]).unwrap());
    stack.edit(f(3), edit().depends_on([] as [Handle; 0])).unwrap();
    assert_eq!(stack.ready().unwrap(), [f(2), f(3)]);
    assert_eq!(stack.frame(f(3)).unwrap().title, "Basket", "the rest stays");
    check_again(&stack);
}

#[test]
fn an_event_has_only_what_changes() {
    let stack = shop();
    let events = |edit: FrameEdit| stack.execute(Command::Edit { frame: f(3).into(), edit }).unwrap();
    for same in [
        edit(),
        edit().title("Cart").depends_on(["schema"]),
        edit().depends_on(["schema", "f2"]),
        edit().below("shop"),
        edit().before(f(4)),
        edit().below(f(1)).before("Pay"),
    ] {
        assert_eq!(events(same.clone()), [], "{same:?}");
    }
    let [Event { handle, change: Change::Edited { edit: change, .. }, .. }] =
        &events(edit().title("Cart").criteria("It adds up").before("Schema"))[..]
    else {
        panic!("one event")
    };
    assert_eq!((*handle, &**change), (f(3), &edit().criteria("It adds up").before("f2")));
}

#[test]
fn siblings_stand_in_their_new_order() {
    let stack = shop();
    let order = || stack.children(f(1)).unwrap().iter().map(|child| child.index() + 1).collect::<Vec<_>>();
    stack.edit(f(5), edit().before(f(4))).unwrap();
    assert_eq!(order(), [2, 3, 5, 4]);
    stack.edit(f(2), edit().last()).unwrap();
    assert_eq!(order(), [3, 5, 4, 2]);
    stack.edit(f(5), edit().before(f(3))).unwrap();
    assert_eq!(order(), [5, 3, 4, 2]);
    let position = |frame| stack.read(|tree| sibling_order(tree, frame).unwrap().position).unwrap();
    assert_eq!([f(5), f(3), f(4), f(2)].map(position), [1, 2, 3, 4]);
    let frame = stack.frame(f(1)).unwrap();
    assert_eq!(frame.planned_children.unwrap(), ["invoice", "cart", "schema"]);
    assert_eq!(frame.child_order, ["invoice", "cart", "pay", "schema"]);
    // A frame that is added comes last, and a frame that begins keeps its place.
    stack.push(NewFrame::new("Ship").id("ship").below(f(1))).unwrap();
    stack.activate(f(5)).unwrap();
    assert_eq!(order(), [5, 3, 4, 2, 8]);
    check_again(&stack);
    let frame = refused(&stack, 3, edit().before(f(6)));
    assert_eq!(
        frame.to_string(),
        "frame f3 cannot stand before f6, which is not another child of the same parent; name a sibling"
    );
    assert_eq!(refused(&stack, 3, edit().before(f(3))).code(), "not_sibling");
    assert_eq!(refused(&stack, 3, edit().below(f(5)).before(f(4))).code(), "not_sibling");
}

#[test]
fn roots_are_moved_too() {
    let stack = shop();
    stack.plan(NewFrame::new("Blog").id("blog").root()).unwrap();
    stack.edit(f(8), edit().before(f(1))).unwrap();
    stack.edit(f(3), edit().root().before(f(1))).unwrap();
    assert_eq!(stack.read(|tree| tree.roots().to_vec()).unwrap(), [f(8), f(3), f(1)]);
    assert_eq!(stack.state().unwrap().root_frame_ids, ["blog", "cart", "shop"]);
    assert_eq!(stack.frame(f(3)).unwrap().parent_session_id, None);
    check_again(&stack);
}

#[test]
fn a_frame_moves_with_all_frames_below_it() {
    let stack = shop();
    stack.edit(f(5), edit().below(f(4))).unwrap();
    stack
        .read(|tree| {
            assert_eq!((tree.children(f(1)), tree.children(f(4))), (&[f(2), f(3), f(4)][..], &[f(5)][..]));
            assert_eq!(tree.ancestors(f(7)).collect::<Vec<_>>(), [f(5), f(4), f(1)]);
            assert_eq!((tree.node(f(5)).depth(), tree.node(f(7)).depth()), (2, 3));
            assert!(tree.is_ancestor(f(4), f(7)) && !tree.is_ancestor(f(5), f(4)));
            assert_eq!(tree.unfinished_below(f(4)).collect::<Vec<_>>(), [f(5), f(6), f(7)]);
        })
        .unwrap();
    check_again(&stack);
    stack.edit(f(5), edit().root()).unwrap();
    assert!(stack.read(|tree| !tree.node(f(4)).has_unfinished_below() && tree.root(f(7)) == f(5)).unwrap());
    // The frame is moved below a frame with a higher handle. In a state of this library, the handles stay.
    stack.edit(f(2), edit().below(f(7))).unwrap();
    check_again(&stack);
    stack.invalidate(f(5), "no invoices").unwrap();
    assert_eq!(stack.with_status(FrameStatus::Invalidated).unwrap(), [f(2), f(5), f(6), f(7)]);
}

#[test]
fn only_planned_frames_are_edited() {
    let stack = shop();
    let message = refused(&stack, 4, edit().title("Checkout")).to_string();
    assert_eq!(
        message,
        "frame f4 is in_progress and cannot be edited; once begun, it keeps its place and what it needs, and only a person \
         corrects its words; finish it, or invalidate it and plan another frame"
    );
    stack.pop(f(4), PopStatus::Completed, "Paid").unwrap();
    let message = refused(&stack, 4, edit().last()).to_string();
    assert!(message.contains("is completed and cannot be edited; it is finished; plan another frame"), "{message}");
    stack.invalidate(f(5), "no").unwrap();
    let message = refused(&stack, 6, edit().root()).to_string();
    assert!(message.contains("is invalidated and cannot be edited; it is out of the plan"), "{message}");
    assert_eq!(refused(&stack, 3, edit().title(" ")), Error::Empty { field: "title" });
}

#[test]
fn a_new_parent_takes_only_what_can_be_below_it() {
    let stack = shop();
    assert_eq!(refused(&stack, 5, edit().below(f(5))).code(), "parent_circle");
    let circle = refused(&stack, 5, edit().below("Print")).to_string();
    assert!(circle.starts_with("`invoice` cannot be below `print`, because `print` is below `invoice`"), "{circle}");
    stack.pop(f(4), PopStatus::Completed, "Paid").unwrap();
    assert_eq!(
        refused(&stack, 3, edit().below(f(4))),
        Error::ParentClosed { handle: f(4), status: FrameStatus::Completed }
    );
    assert_eq!(refused(&stack, 3, edit().below("nothing")).code(), "unknown_frame");
    stack.edit(f(6), edit().below(f(2))).unwrap();
    assert_eq!(stack.frame(f(6)).unwrap().parent_session_id.as_deref(), Some("schema"), "below a planned one");
}

#[test]
fn dependencies_stay_possible() {
    let stack = shop();
    let says = |error: Error, start: &str| {
        assert_eq!(error.code(), "dependency");
        assert!(error.to_string().starts_with(start), "{error}");
    };
    let kin = "a frame cannot depend on itself or on one above or below it";
    says(refused(&stack, 5, edit().depends_on(["invoice"])), &format!("`invoice` cannot depend on `invoice`: {kin}"));
    says(refused(&stack, 5, edit().depends_on([f(7)])), &format!("`invoice` cannot depend on `print`: {kin}"));
    says(refused(&stack, 6, edit().depends_on([f(1)])), "`layout` cannot depend on `shop`");
    // f5 needs f3, which needs f2.
    let circle = "`schema` cannot depend on `invoice`: each would wait for the other";
    says(refused(&stack, 2, edit().depends_on([f(4), f(5)])), circle);
    // A move can put frames above or below each other that depend on each other: the moved frame, a frame
    // below it, or a new ancestor.
    says(refused(&stack, 3, edit().below(f(2))), "`cart` cannot depend on `schema`");
    says(refused(&stack, 2, edit().below(f(3))), "`cart` cannot depend on `schema`");
    stack.edit(f(7), edit().depends_on([f(4)])).unwrap();
    says(refused(&stack, 5, edit().below(f(4))), "`print` cannot depend on `pay`");
    stack.edit(f(3), edit().below(f(2)).depends_on([f(4)])).unwrap();
    assert_eq!(stack.frame(f(3)).unwrap().parent_session_id.as_deref(), Some("schema"), "both at once");
    check_again(&stack);
}

/// As [`shop`], after f4 has failed and was retried as f8.
fn shop_with_attempts() -> Stack {
    let stack = shop();
    stack.pop(f(4), PopStatus::Failed, "no bank").unwrap();
    assert_eq!(stack.retry(f(4), None).unwrap().handle, f(8));
    stack
}

#[test]
fn a_new_attempt_has_a_place_like_any_other_frame() {
    let stack = shop_with_attempts();
    let children = || stack.children(f(1)).unwrap();
    assert_eq!(children(), [f(2), f(3), f(4), f(8), f(5)]);
    stack.edit(f(8), edit().before(f(2)).title("Pay later")).unwrap();
    assert_eq!(children(), [f(8), f(2), f(3), f(4), f(5)]);
    assert_eq!(stack.read(|tree| sibling_order(tree, f(8))).unwrap().unwrap().position, 1);
    assert_eq!(
        stack.read(|tree| sibling_order(tree, f(5))).unwrap().unwrap().position,
        4,
        "the newest attempt counts alone"
    );
    // The next attempt comes directly after the attempt that it retries, not after the first attempt.
    stack.activate(f(8)).unwrap();
    stack.pop(f(8), PopStatus::Failed, "still no bank").unwrap();
    assert_eq!(stack.retry(f(8), None).unwrap().handle, f(9));
    assert_eq!(children(), [f(8), f(9), f(2), f(3), f(4), f(5)]);
    stack.edit(f(9), edit().last()).unwrap();
    check_again(&stack);
    stack.edit(f(9), edit().before(f(2))).unwrap();
    // Other frames can move between two attempts.
    stack.edit(f(3), edit().before(f(9))).unwrap();
    assert_eq!(children(), [f(8), f(3), f(9), f(2), f(4), f(5)]);
    check_again(&stack);
}

#[test]
fn an_attempt_keeps_its_parent() {
    let stack = shop_with_attempts();
    for elsewhere in [edit().below(f(2)), edit().root()] {
        let error = refused(&stack, 8, elsewhere);
        assert_eq!(error.code(), "retry_link");
        let message = error.to_string();
        assert!(
            message.contains("cannot be the next attempt of `pay`: attempts at the same work have one parent"),
            "{message}"
        );
        assert!(message.contains("invalidate this one and plan a new frame there"), "{message}");
    }
    stack.edit(f(8), edit().below(f(1)).criteria("It pays")).unwrap();
    // All attempts move together with their parent.
    stack.edit(f(5), edit().depends_on([f(2)])).unwrap();
    stack.activate(f(5)).unwrap();
    stack.activate(f(6)).unwrap();
    stack.pop(f(6), PopStatus::Failed, "no paper").unwrap();
    let again = stack.retry(f(6), None).unwrap().handle;
    assert_eq!(stack.children(f(5)).unwrap(), [f(6), again, f(7)]);
    check_again(&stack);
}

#[test]
fn edited_dependencies_mean_the_newest_attempt() {
    let stack = shop_with_attempts();
    let dependents = |frame: usize| stack.read(|tree| tree.dependents(f(frame)).to_vec()).unwrap();
    stack.edit(f(6), edit().depends_on([f(4)])).unwrap();
    stack.edit(f(5), edit().depends_on([f(8), f(4), f(3)])).unwrap();
    // Both attempts are the same work. The record keeps the attempt that was named first.
    assert_eq!(stack.frame(f(5)).unwrap().depends_on, [stack.frame(f(8)).unwrap().session_id, "cart".into()]);
    assert_eq!([dependents(4), dependents(8)], [[f(5), f(6)], [f(5), f(6)]]);
    assert!(stack.read(|tree| tree.unfinished_dependencies(f(6)).eq([f(8)])).unwrap());
    let error = refused(&stack, 8, edit().depends_on([f(5)])).to_string();
    assert!(error.contains("cannot depend on `invoice`: each would wait for the other"), "{error}");
    let error = refused(&stack, 8, edit().depends_on([f(4)])).to_string();
    assert!(error.contains("a frame cannot depend on itself"), "{error}");
    // A frame below the newest attempt cannot wait for that attempt, no matter by which name.
    let below = stack.plan(NewFrame::new("Card").id("card").below(f(8))).unwrap();
    for named in [4, 8] {
        assert_eq!(refused(&stack, below.index() + 1, edit().depends_on([f(named)])).code(), "dependency");
    }
    for moved in [5, 6] {
        assert_eq!(refused(&stack, moved, edit().below(f(8))).code(), "dependency", "its dependency is the new parent");
    }
    check_again(&stack);
    stack.edit(f(5), edit().depends_on([f(3)])).unwrap();
    assert_eq!([dependents(4), dependents(8)], [[f(6)], [f(6)]]);
    stack.edit(f(6), edit().depends_on([] as [Handle; 0])).unwrap();
    assert_eq!([dependents(4), dependents(8)], [[], []] as [[Handle; 0]; 2]);
    stack.edit(f(6), edit().below(f(8))).unwrap();
    check_again(&stack);
}

#[test]
fn a_title_of_several_attempts_names_the_newest() {
    let stack = shop_with_attempts();
    assert_eq!(stack.resolve("Pay").unwrap(), f(8));
    stack.edit(f(8), edit().title("Pay later")).unwrap();
    assert_eq!(stack.resolve("Pay").unwrap(), f(4), "now the two have different titles");
    stack.plan(NewFrame::new("Pay").id("other").below(f(1))).unwrap();
    assert_eq!(stack.resolve("pay later").unwrap(), f(8));
    assert_eq!(stack.read(|tree| tree.resolve_near(&"Pay".into(), Some(f(2)))).unwrap().unwrap(), f(9));
}

#[test]
fn frames_with_generated_ids_are_named_by_handle_or_title() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    let one = stack.plan(NewFrame::new("One").below(root)).unwrap();
    let two = stack.plan(NewFrame::new("Two").below(root).depends_on(one)).unwrap();
    let error = stack.edit(one, edit().depends_on([two])).unwrap_err().to_string();
    assert!(error.starts_with("`f2` cannot depend on `f3`: "), "{error}");
    let circle = vec![NewFrame::new("Three").depends_on("Four"), NewFrame::new("Four").depends_on("Three")];
    let error = stack.plan_children(root, circle).unwrap_err().to_string();
    assert!(error.starts_with("`Four` cannot depend on `Three`: "), "{error}");
}

#[test]
fn a_move_fixes_the_identity_of_the_new_parent() {
    let stack = shop();
    stack.ensure("ses", Some("Session"), None).unwrap();
    let identity =
        callstack_core::Identity { title: "Blog".into(), success_criteria: "It runs".into(), ..Default::default() };
    stack.execute(Command::Identify { frame: f(8).into(), identity, provisional: true }).unwrap();
    assert!(stack.frame(f(8)).unwrap().placeholder);
    stack.edit(f(2), edit().below(f(8))).unwrap();
    assert!(!stack.frame(f(8)).unwrap().placeholder);
}

#[test]
fn a_title_names_a_frame() {
    let stack = shop();
    let named = |text: &str| stack.resolve(text).map(|frame| frame.index() + 1);
    assert_eq!(named("Cart"), Ok(3));
    assert_eq!(named("  cART "), Ok(3), "case and blanks do not matter");
    assert_eq!(named("caR"), Ok(3), "the beginning is enough, from three characters on");
    assert_eq!(named("Ca").unwrap_err().code(), "unknown_frame");
    assert_eq!(named("art").unwrap_err().to_string(), "no frame matches `art`; did you mean f3 (Cart, planned)?");
    assert_eq!(named("  ").unwrap_err().code(), "unknown_frame");
    assert_eq!(stack.resolve(FrameRef::Id("Cart".into())).unwrap_err().code(), "unknown_frame");
    stack.edit(f(3), edit().title("Basket")).unwrap();
    assert_eq!((named("Basket"), named("Cart").is_err()), (Ok(3), true), "the index follows an edit");
    let next = stack.push(NewFrame::new("Ship").id("s").below("Shop").depends_on("basket")).unwrap();
    assert_eq!((named("ship"), stack.frame(next).unwrap().depends_on), (Ok(8), vec!["cart".to_owned()]));
    // An ID has precedence, and so has a part of an ID.
    stack.plan(NewFrame::new("layout").id("other").below(f(1))).unwrap();
    assert_eq!(named("layout"), Ok(6));
    assert_eq!(named("sch"), Ok(2));
}

#[test]
fn a_title_of_several_frames_names_none() {
    let stack = shop();
    stack.plan(NewFrame::new("Schema").id("again").below(f(1))).unwrap();
    stack.plan(NewFrame::new("CART").id("loud").below(f(1))).unwrap();
    let error = stack.resolve("Schema").unwrap_err().to_string();
    assert_eq!(
        error,
        "`Schema` matches several frames: f2 (Schema, planned), f8 (Schema, planned); give the handle of one, or a longer \
         part of its ID"
    );
    assert_eq!((stack.resolve("Cart"), stack.resolve("CART")), (Ok(f(3)), Ok(f(9))), "the same case is preferred");
    assert_eq!(stack.resolve("cart"), Ok(f(3)), "this is an ID");
    assert_eq!(stack.resolve("caRT").unwrap_err().code(), "ambiguous_frame");
    stack.invalidate(f(8), "twice").unwrap();
    assert_eq!(stack.resolve("schema "), Ok(f(2)), "what is out of the plan is not meant");
    // The title may mean a finished frame or a new frame with the same title.
    stack.pop(f(4), PopStatus::Failed, "no").unwrap();
    stack.plan(NewFrame::new("Pay").id("retry").below(f(1))).unwrap();
    let error = stack.resolve("Pay").unwrap_err().to_string();
    assert!(error.contains("f4 (Pay, failed), f10 (Pay, planned)"), "{error}");
    // A title that is also the beginning of another ID.
    stack.plan(NewFrame::new("retr").id("x").below(f(1))).unwrap();
    let error = stack.resolve("retr").unwrap_err().to_string();
    assert!(error.contains("f10 (retry), f11 (retr, planned)"), "{error}");
}

#[test]
fn a_title_means_a_frame_of_the_same_tree() {
    let stack = shop();
    let other = stack.push(NewFrame::new("Blog").id("blog").root()).unwrap();
    let schema = stack.plan(NewFrame::new("Schema").id("other").below(other)).unwrap();
    assert_eq!(stack.resolve("Schema").unwrap_err().code(), "ambiguous_frame");
    let post = stack.plan(NewFrame::new("Posts").id("posts").below(other).depends_on("Schema")).unwrap();
    assert_eq!(stack.frame(post).unwrap().depends_on, ["other"]);
    stack.edit(f(5), edit().depends_on(["Schema"])).unwrap();
    assert_eq!(stack.frame(f(5)).unwrap().depends_on, ["schema"]);
    assert_eq!(stack.read(|tree| tree.resolve_near(&"schema ".into(), Some(post))).unwrap(), Ok(schema));
}

#[test]
fn the_roots_of_one_list_name_each_other_by_ids_made_beforehand() {
    let stack = shop();
    let first = stack.planned_id();
    let roots = vec![NewFrame::new("Docs").id(&*first), NewFrame::new("Docs").depends_on(FrameRef::Id(first.clone()))];
    let planned = stack.plan_children(Parent::Root, roots).unwrap();
    assert!(stack.read(|tree| planned.iter().all(|root| tree.roots().contains(root))).unwrap());
    assert_eq!(stack.read(|tree| tree.node(planned[1]).dependencies().to_vec()).unwrap(), [planned[0]]);
    let frame = stack.frame(planned[0]).unwrap();
    assert!(!frame.has_session(), "the ID {first} is that of no session");
    assert_ne!(stack.planned_id(), first);
    stack.replace_id(planned[0], "ses_docs").unwrap();
    assert!(stack.frame(planned[0]).unwrap().has_session());
    check_again(&stack);
}

#[test]
fn children_of_one_list_name_each_other_in_both_directions() {
    let stack = shop();
    let plan = |children: Vec<NewFrame>| stack.plan_children(f(1), children);
    let planned = plan(vec![
        NewFrame::new("Deploy").depends_on("Tests ").depends_on("build"),
        NewFrame::new("Build").id("b"),
        NewFrame::new("Tests").depends_on("b").depends_on("Pay"),
        NewFrame::new("Schema").id("new"),
        NewFrame::new("Migrate").depends_on("Schema"),
    ])
    .unwrap();
    let needs = |index: usize| stack.read(|tree| tree.node(planned[index]).dependencies().to_vec()).unwrap();
    assert_eq!(needs(0), [planned[2], planned[1]]);
    assert_eq!(needs(2), [planned[1], f(4)]);
    assert_eq!(needs(4), [planned[3]], "a child of the list is meant before a frame of the tree");
    check_again(&stack);
    let before = stack.state().unwrap();
    let twice = vec![NewFrame::new("Cart"), NewFrame::new("Cart "), NewFrame::new("Pay it").depends_on("cart. ")];
    let error = plan(twice).unwrap_err();
    assert_eq!(error.code(), "unknown_frame");
    assert!(
        error.to_string().starts_with("child 3 (Pay it): no frame matches `cart. `; did you mean f3 (Cart"),
        "{error}"
    );
    let twice = vec![NewFrame::new("One"), NewFrame::new("One"), NewFrame::new("Pay it").depends_on("One")];
    let error = plan(twice).unwrap_err();
    assert_eq!(error.code(), "ambiguous_frame");
    let start = "child 3 (Pay it): `One` matches several frames: child 1 (One), child 2 (One); ";
    assert!(error.to_string().starts_with(start), "{error}");
    assert!(serde_json::to_value(&error).unwrap()["candidates"].is_array(), "{error:?}");
    assert_eq!(plan(vec![NewFrame::new("A").depends_on("A")]).unwrap_err().code(), "dependency");
    assert_eq!(
        plan(vec![NewFrame::new("A"), NewFrame::new(" ")]).unwrap_err().to_string(),
        "child 2 (): `title` is empty; give it a value"
    );
    assert_eq!(stack.state().unwrap(), before);
}

#[test]
fn a_plan_says_what_is_not_ready() {
    let stack = shop();
    let check = |frame: usize| stack.read(|tree| tree.check_ready(f(frame))).unwrap();
    assert_eq!(check(2), Ok(()));
    let error = check(3).unwrap_err().to_string();
    assert_eq!(error, "frame f3 cannot begin yet: f2 (Schema) is planned; run f2 first, or begin it `anyway`");
    stack.invalidate(f(2), "no\ndatabase").unwrap();
    let error = check(3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "frame f3 cannot begin yet: f2 (Schema) is invalidated: no database; give f3 other \
         dependencies, or begin it `anyway`"
    );
    assert_eq!(serde_json::to_value(&error).unwrap()["dependencies"], serde_json::json!(["f2"]));
    // A failed dependency can be retried. Then the new attempt is the dependency.
    stack.edit(f(3), edit().depends_on([f(4)])).unwrap();
    stack.pop(f(4), PopStatus::Failed, "no bank").unwrap();
    let error = check(3).unwrap_err().to_string();
    assert!(error.ends_with("no bank; retry f4, or give f3 other dependencies, or begin it `anyway`"), "{error}");
    let again = stack.retry(f(4), None).unwrap().handle;
    let error = check(3).unwrap_err().to_string();
    assert!(error.ends_with("f8 (Pay) is planned; run f8 first, or begin it `anyway`"), "{error}");
    stack.activate(again).unwrap();
    stack.pop(again, PopStatus::Completed, "paid").unwrap();
    assert_eq!(check(3), Ok(()));
    stack.activate(f(3)).unwrap();
}

#[test]
fn a_state_with_a_wrong_order_is_repaired() {
    let stack = shop();
    stack.edit(f(5), edit().before(f(2))).unwrap();
    let mut state = stack.state().unwrap();
    let order = &mut state.frames[0].child_order;
    assert_eq!(*order, ["invoice", "schema", "cart", "pay"]);
    *order = ["pay", "nobody", "print", "invoice", "pay", "cart"].map(str::to_owned).into();
    let (again, repairs) = Stack::from_state(state, StackOptions::default());
    assert_eq!(again.children(f(1)).unwrap(), [f(4), f(5), f(3), f(2)]);
    let messages: Vec<String> = repairs.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "frame shop: its childOrder names frames twice, or frames that are not its children; left out",
            "frame shop: its childOrder lacks children; they come last"
        ]
    );
    // Files of the original plugin have no order: their frames are sorted by time.
    let frame = |id: &str, at: u64| Frame { session_id: id.into(), created_at: at, ..Frame::default() };
    let state = StackState {
        frames: vec![frame("b", 2), frame("a", 1)],
        root_frame_ids: vec!["b".into(), "a".into()],
        ..Default::default()
    };
    assert_eq!(Tree::from_state(state).0.state().root_frame_ids, ["a", "b"]);
}

#[test]
fn an_import_keeps_parents_that_come_later() {
    let stack = Stack::in_memory();
    let frame = |id: &str, parent: Option<&str>| Frame {
        session_id: id.into(),
        title: id.into(),
        parent_session_id: parent.map(str::to_owned),
        ..Frame::default()
    };
    let frames = vec![frame("child", Some("parent")), frame("parent", None)];
    stack.import(frames).unwrap();
    assert_eq!(stack.children("parent").unwrap(), [stack.resolve("child").unwrap()]);
    let auto = Command::PlanChildren {
        parent: Parent::Frame("parent".into()),
        caller: None,
        children: vec![NewFrame::new("x").id("x")],
    };
    stack.execute(auto).unwrap();
    check_again(&stack);
}
