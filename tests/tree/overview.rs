//! The overview of the state of the work.

use callstack_core::frame::NewHold;
use callstack_core::{Command, NewFrame, PopStatus, Stack};

#[test]
fn each_frame_stands_in_one_list() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let begin = |title: &str| stack.push(NewFrame::new(title).id(title).below(root)).unwrap();
    let [runs, asks, answered, stopped] = ["runs", "asks", "answered", "stopped"].map(begin);
    let plan = |title: &str| stack.plan(NewFrame::new(title).id(title).below(root)).unwrap();
    let [ready, let_go, failed] = ["ready", "let go", "failed"].map(plan);
    stack.activate(failed).unwrap();
    let waits = stack.plan(NewFrame::new("waits").id("waits").below(root).depends_on("ready")).unwrap();
    stack.block(asks, "Which one?", None).unwrap();
    stack.block(answered, "Which one?", None).unwrap();
    stack.answer(answered, "That").unwrap();
    let stop = Command::Block {
        frame: stopped.into(),
        question: Some("It was stopped".into()),
        results: None,
        interruption: true,
    };
    stack.execute(stop).unwrap();
    stack.pop(failed, PopStatus::Failed, "no").unwrap();
    let held = stack.work().hold(NewHold::new("box", 60_000).frame(let_go)).unwrap().unwrap();
    stack.work().release(&held).unwrap();
    let overview = stack.read(|tree| tree.overview(None)).unwrap();
    assert_eq!((overview.running, overview.asking, overview.answered), (vec![runs], vec![asks], vec![answered]));
    assert_eq!((overview.interrupted, overview.in_the_way), (vec![stopped, let_go], vec![failed]));
    assert_eq!((overview.ready, overview.waiting), (vec![ready], vec![waits]));
    assert_eq!((overview.completed, overview.frames), (0, 9));
    let below = stack.read(|tree| tree.overview(Some(asks))).unwrap();
    assert_eq!((below.asking, below.frames, below.ready), (vec![asks], 1, vec![]));
}
