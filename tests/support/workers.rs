//! Workers in many processes that share the frames of one stack. Some of the workers are killed, or have a
//! wrong clock. Every frame is done once. If a worker has lost its frame because it was taken for ended, its
//! results are refused. The stack can be in any store: the caller says how a process opens it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use callstack_core::stack::Clock;
use callstack_core::{
    Change, Error, EventQuery, FrameStatus, Handle, Hold, NewFrame, NewHold, Parent, PopStatus, Stack, StackOptions,
};

use crate::Queries;
use crate::Random;

/// The length of leases, in milliseconds.
const LEASE: u64 = 300;
/// The variables of the environment that tell a worker its name and its role.
const NAME: &str = "WORKER_TEST_NAME";
const ROLE: &str = "WORKER_TEST_ROLE";

/// What is wrong with a worker.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    Right,
    /// Ends its first frame only when another worker has it.
    Late,
    /// Its clock stands still.
    Stopped,
    /// Its clock is ahead by a few leases.
    Ahead,
    /// Its clock is ahead by two days.
    FarAhead,
}

/// Late workers are started first, so that each of them gets a frame.
const ROLES: [(Role, usize); 5] =
    [(Role::Late, 4), (Role::Stopped, 3), (Role::Ahead, 3), (Role::FarAhead, 2), (Role::Right, 20)];

fn time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

fn clock(role: Role) -> Clock {
    let start = time();
    Arc::new(move || match role {
        Role::Right | Role::Late => time(),
        Role::Stopped => start,
        Role::Ahead => time() + 3 * LEASE,
        Role::FarAhead => time() + 2 * 86_400_000,
    })
}

/// The work of a worker process, until nothing is left to do. It prints a line for each result that was
/// acknowledged or refused. `open` opens the stack. Without a role in its environment, as in an ordinary test
/// run, it does nothing.
pub fn work(open: impl Fn(StackOptions) -> Stack) {
    let (Ok(name), Ok(role)) = (std::env::var(NAME), std::env::var(ROLE)) else { return };
    let role = ROLES.into_iter().map(|(known, _)| known).find(|known| format!("{known:?}") == role).unwrap();
    let stack = open(StackOptions::default().busy_timeout(120_000).clock(clock(role)));
    let random = &mut Random::new(u64::from(std::process::id()));
    let mut was_late = false;
    loop {
        let Some(held) = stack.work().hold(NewHold::new(&name, LEASE)).unwrap() else {
            let left = stack.work().left(None).unwrap();
            if left.free == 0 && left.held == 0 && left.later == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        if role == Role::Late && !was_late {
            was_late = wait_until_lost(&stack, &held);
        } else if random.once_in(50) {
            thread::sleep(Duration::from_millis(random.below(2 * LEASE as usize) as u64));
        }
        let refused = finish(&stack, &held).err();
        let said = refused.as_ref().map_or("done", Error::code);
        // One write per line, so a kill can only cut the output between lines or within the last one.
        let line = format!("result {said} {} {}\n", held.handle, held.generation);
        std::io::stdout().write_all(line.as_bytes()).unwrap();
    }
}

/// The data that a worker records. All of it contains the generation of the worker's hold.
fn finish(stack: &Stack, held: &Hold) -> Result<(), Error> {
    let stack = stack.as_actor(held);
    let said = format!("generation {}", held.generation);
    stack.add_artifact(held.handle, &said)?;
    stack.add_decision(held.handle, &said)?;
    stack.pop(held.handle, PopStatus::Completed, said).map(drop)
}

/// Waits until another worker has the frame. Returns true.
fn wait_until_lost(stack: &Stack, held: &Hold) -> bool {
    loop {
        stack.refresh().unwrap();
        if stack.frame(held.handle).unwrap().holder.is_some_and(|newest| newest.generation > held.generation) {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Plans a thousand frames on three levels below a root, with dependencies between and within the groups.
fn plan(stack: &Stack, random: &mut Random) -> Vec<Handle> {
    let groups = (0..20).map(|group| {
        let mut frame = NewFrame::new(format!("Group {group}")).id(format!("group_{group}"));
        if group >= 5 && random.once_in(3) {
            frame = frame.depends_on(format!("group_{}", group - 5));
        }
        frame
    });
    let groups = stack.plan_children(Parent::Root, groups.collect()).unwrap();
    let mut leaves: Vec<String> = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let first = leaves.len();
        let mut children = Vec::new();
        for child in 0..49 {
            let id = format!("leaf_{number}_{child}");
            let mut frame = NewFrame::new(&id).id(&id);
            for _ in 0..random.below(3) {
                // A frame of the same group, or of a group before it.
                let earliest = if random.once_in(4) { first.saturating_sub(49) } else { first };
                if let Some(other) = leaves.get(earliest + random.below(leaves.len() - earliest)) {
                    frame = frame.depends_on(format!("id:{other}"));
                }
            }
            leaves.push(id);
            children.push(frame);
        }
        stack.plan_children(*group, children).unwrap();
    }
    stack.with_status(FrameStatus::Planned).unwrap()
}

/// Plans the frames in an empty stack, lets 32 workers do them, kills some of the workers, and checks the
/// result. `start` starts a process with these variables in its environment. The standard output of the
/// process is a pipe, and the process calls [`work`].
pub fn check(stack: &Stack, start: impl Fn(&[(&str, String)]) -> Child) {
    let random = &mut Random::new(time());
    let frames = plan(stack, random);
    assert_eq!(frames.len(), 1_000);
    let roles = ROLES.into_iter().flat_map(|(role, number)| std::iter::repeat_n(role, number));
    let mut workers: Vec<(Role, Child)> = roles
        .enumerate()
        .map(|(number, role)| (role, start(&[(NAME, format!("worker {number}")), (ROLE, format!("{role:?}"))])))
        .collect();
    let outputs: Vec<_> = workers
        .iter_mut()
        .map(|(_, worker)| {
            let mut output = worker.stdout.take().unwrap();
            thread::spawn(move || {
                let mut text = String::new();
                output.read_to_string(&mut text).unwrap();
                text
            })
        })
        .collect();
    // Enough workers with a right clock continue.
    for place in [4, 7, 10, 12, 13, 14, 15, 16, 17] {
        thread::sleep(Duration::from_millis(random.below(300) as u64));
        workers[place].1.kill().unwrap();
    }
    for (role, worker) in &mut workers {
        let ended = worker.wait().unwrap();
        assert!(ended.success() || ended.code().is_none(), "a worker of the kind {role:?}: {ended}");
    }
    let said: String = outputs.into_iter().map(|output| output.join().unwrap()).collect();
    stack.refresh().unwrap();
    check_history(stack, &frames);
    check_results(&said, ROLES[0].1);
}

/// Each frame has begun after the frames that it needs, and was completed once. It only has data that its
/// newest holder recorded at that time.
fn check_history(stack: &Stack, frames: &[Handle]) {
    let mut newest: BTreeMap<Handle, u64> = BTreeMap::new();
    let mut completed: BTreeMap<Handle, u64> = BTreeMap::new();
    for event in stack.history().events(&EventQuery::default()).unwrap() {
        let is_newest = |said: &str| {
            assert_eq!(said, format!("generation {}", newest[&event.handle]), "{}", event.handle);
        };
        match &event.change {
            Change::Held { holder } => {
                let last = newest.insert(event.handle, holder.generation).unwrap_or_default();
                assert_eq!(holder.generation, last + 1, "generations of {}", event.handle);
                assert!(!completed.contains_key(&event.handle), "{} was taken when it was done", event.handle);
                stack
                    .read(|tree| {
                        let node = tree.node(event.handle);
                        let needed = node.dependencies().iter().chain(node.children());
                        needed
                            .for_each(|other| assert!(completed.contains_key(other), "{} needs {other}", event.handle));
                    })
                    .unwrap();
            }
            Change::ArtifactAdded { artifact: said } | Change::DecisionAdded { decision: said } => is_newest(said),
            Change::StatusChanged { status: FrameStatus::Completed, results, .. } => {
                is_newest(results.as_deref().unwrap_or_default());
                let earlier = completed.insert(event.handle, event.revision);
                assert_eq!(earlier, None, "{} was completed twice", event.handle);
            }
            _ => {}
        }
    }
    assert_eq!(completed.keys().copied().collect::<Vec<_>>(), frames);
}

/// No frame was acknowledged twice, and the results of each late worker were refused.
fn check_results(said: &str, late: usize) {
    let whole = &said[..said.rfind('\n').map_or(0, |end| end + 1)];
    let results = whole.lines().filter_map(|line| line.split_once("result ").map(|(_, result)| result));
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused = 0;
    for result in results {
        match result.split(' ').collect::<Vec<_>>()[..] {
            ["done", handle, _] => *done.entry(handle).or_default() += 1,
            ["hold_lost", _, _] => refused += 1,
            _ => panic!("{result}"),
        }
    }
    assert!(done.values().all(|times| *times == 1), "{done:?}");
    assert!(done.len() > 900, "{} results were acknowledged", done.len());
    assert!(refused >= late, "{refused} results were refused");
}
