//! A machine that dies while it has a frame for each kind of holder, and another machine that resumes the
//! work. The stack can be in any store: the caller says how a process opens it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::session::HostEvent;
use callstack_core::session::calls::CallSettings;
use callstack_core::{Actor, Handle, HolderKind, HostSettings, NewFrame, NewHold, Parent, Stack, StackOptions, tools};
use serde_json::json;

/// The length of the leases of the host and the worker, in milliseconds.
const LEASE: u64 = 600;
/// The variable of the environment that makes a process the machine that dies.
const ROLE: &str = "HOLDER_TEST_ROLE";
/// The line that this machine prints when it holds all of its frames.
const READY: &str = "all are held";

fn conversation(name: &str) -> Actor {
    Actor::new(HolderKind::Conversation, name)
}

/// The work of the machine that dies. It holds one frame each as a host, a worker, a conversation and a
/// person. It renews the leases of the host and the worker until it is killed. Without a role in its
/// environment, as in an ordinary test run, it does nothing.
pub fn hold(open: impl Fn(StackOptions) -> Stack) {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let stack = open(StackOptions::default());
    let worker = stack.work().hold(NewHold::new("far-1", LEASE).frame("Worker")).unwrap().unwrap();
    stack.as_actor(conversation("codex/far")).activate("Conversation").unwrap();
    stack.as_actor(Actor::new(HolderKind::Person, "ann")).activate("Person").unwrap();
    let host = stack.host();
    host.configure(HostSettings::default().calls(CallSettings::default().lease(LEASE)));
    let call = tools::call(&stack, "ses_root", "stack_frame_activate", r#"{"sessionID": "Host", "background": true}"#);
    assert!(!call.is_error, "{call:?}");
    let started = host.poll().into_iter().chain(call.effects).find_map(|effect| json!(effect)["call"].as_u64());
    let started = json!({"kind": "callStarted", "call": started.expect("the host is asked for a session"), "sessionID": "ses_far"});
    let _ = host.report(serde_json::from_value::<HostEvent>(started).unwrap());
    println!("{READY}");
    loop {
        let _ = host.poll();
        stack.work().renew(&worker, LEASE).unwrap();
        thread::sleep(Duration::from_millis(LEASE / 4));
    }
}

/// Starts the other machine in an empty stack, kills it, and resumes all frames that it held. `start` starts
/// a process with these variables in its environment. The standard output of the process is a pipe, and the
/// process calls [`hold`].
pub fn check(stack: &Stack, start: impl Fn(&[(&str, String)]) -> Child) {
    stack.push(NewFrame::new("Root").id("ses_root").root()).unwrap();
    let kinds = ["Host", "Worker", "Conversation", "Person"];
    stack.plan_children(Parent::Frame("f1".into()), kinds.map(NewFrame::new).into()).unwrap();
    let frames: BTreeMap<&str, Handle> = kinds.map(|kind| (kind, stack.resolve(kind).unwrap())).into();
    let frame = |kind: &str| stack.frame(frames[kind]).unwrap();
    let mut machine = start(&[(ROLE, "dies".into())]);
    let said = BufReader::new(machine.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.into_iter().any(|line| line.contains(READY)), "it holds its frames");

    // As long as the machine lives, its frames are its own.
    thread::sleep(Duration::from_millis(2 * LEASE));
    assert_eq!(stack.work().note_interruptions(), [], "the leases are renewed");
    assert_eq!(stack.work().interrupted(), []);
    for kind in kinds {
        let holder = frame(kind).holder.unwrap();
        assert_eq!((holder.kind.as_str(), holder.released), (&*kind.to_lowercase(), None));
        let near = stack.as_actor(conversation("codex/near"));
        let refused = near.resume(frames[kind]).unwrap_err();
        assert_eq!(refused.code(), "held", "{kind}: {refused}");
        let taken = near.as_actor(conversation("codex/near").taking_over(true));
        if matches!(kind, "Host" | "Worker") {
            let refused = taken.resume(frames[kind]).unwrap_err();
            assert_eq!(refused.code(), "held", "{kind} runs: {refused}");
        }
    }
    assert_eq!(stack.work().hold(NewHold::new("near-1", LEASE)).unwrap(), None);

    machine.kill().unwrap();
    machine.wait().unwrap();
    let begun = Instant::now();
    let mut noted = Vec::new();
    while noted.len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(30), "only {noted:?} were interrupted");
        thread::sleep(Duration::from_millis(LEASE / 4));
        noted.extend(stack.work().note_interruptions());
    }
    noted.sort_unstable();
    assert_eq!(noted, [frames["Host"], frames["Worker"]]);
    assert_eq!(stack.work().interrupted(), [frames["Host"]]);
    let again = stack.work().hold(NewHold::new("near-1", LEASE)).unwrap().unwrap();
    assert_eq!((again.handle, again.generation, again.tries), (frames["Worker"], 2, 2));
    let arguments = json!({"sessionID": frames["Host"]}).to_string();
    let resumed = tools::call(stack, "ses_root", "stack_frame_activate", &arguments);
    assert!(!resumed.is_error, "another host goes on in the session of the frame: {resumed:?}");
    assert_eq!(frame("Host").host().unwrap().generation, 2);
    for kind in ["Conversation", "Person"] {
        let near = conversation("codex/near").taking_over(true);
        stack.as_actor(near).resume(frames[kind]).unwrap();
        assert_eq!(frame(kind).holder.unwrap().name, "codex/near");
    }
    let place = stack.read(|tree| [tree.place_of("codex/far"), tree.place_of("codex/near")]).unwrap();
    assert_eq!(place, [Some(frames["Conversation"]), Some(frames["Person"])], "each is where it went last");
    let lost = stack.read(|tree| [tree.lost_place("codex/far"), tree.lost_place("codex/near")]).unwrap();
    assert_eq!(lost, [Some(frames["Conversation"]), None], "one has taken over what the other one had");
}
