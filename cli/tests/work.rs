//! `callstack work` as processes: workers that share a stack, workers that are killed or interrupted, and
//! workers that lose their frames.

// Only on Unix: signals, process groups and a shell.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use callstack_core::{
    Change, EventQuery, Finish, Frame, FrameStatus, Handle, Hold, NewFrame, NewHold, PopStatus, Stack, StackOptions,
};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a stack in it, and space for the files that commands write.
struct Place {
    folder: TempDir,
    stack: Stack,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stack = Stack::open(folder.path().join(".callstack"), StackOptions::default()).unwrap();
        Self { folder, stack }
    }

    fn plan(&self, title: &str) -> Handle {
        self.stack.plan(NewFrame::new(title).root()).unwrap()
    }

    fn command(&self, options: &[&str], script: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.args(["work", "--json"]).args(options).args(["--", "sh", "-c", script]).current_dir(self.folder.path());
        for variable in ["CALLSTACK_DIR", "CALLSTACK_FRAME"] {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, options: &[&str], script: &str) -> Child {
        self.command(options, script).spawn().unwrap()
    }

    fn frame(&self, handle: Handle) -> Frame {
        self.stack.refresh().unwrap();
        self.stack.frame(handle).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits until a file has a number of lines, and returns its text.
    fn wait_for(&self, name: &str, lines: usize) -> String {
        wait_until(|| fs::read_to_string(self.file(name)).ok().filter(|text| text.lines().count() >= lines))
    }
}

/// Waits without a limit: a test that hangs is stopped by its runner.
fn wait_until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        match look() {
            Some(found) => return found,
            None => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// The data of the report of a worker that has ended.
fn worked(output: &Output) -> Value {
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(json["kind"], "worked");
    json["data"].clone()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn is_running(process: &str) -> bool {
    test_kill_process(Pid::from_raw(process.trim().parse().unwrap()).unwrap()).is_ok()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

/// Waits until a process does not exist any more.
fn wait_for_end(process: &str) {
    wait_until(|| (!is_running(process)).then_some(()));
}

fn takes_over(folder: &Path, handle: Handle) -> (Stack, Hold) {
    let later = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64 + 3_600_000;
    let ahead = Stack::open(folder.join(".callstack"), StackOptions::default().clock(Arc::new(later))).unwrap();
    let held = ahead.work().hold(NewHold::new("other", 60_000).frame(handle)).unwrap().unwrap();
    (ahead, held)
}

#[test]
fn workers_share_the_frames_of_a_plan_and_do_each_once() {
    let place = Place::new();
    let mut last: Option<Handle> = None;
    for group in 0..4 {
        let group = place.plan(&format!("Group {group}"));
        for number in 0..12 {
            let mut frame = NewFrame::new(format!("Part {number}")).below(group);
            if let Some(last) = last.filter(|_| number % 3 == 0) {
                frame = frame.depends_on(last);
            }
            last = Some(place.stack.plan(frame).unwrap());
        }
    }
    let script = "echo $CALLSTACK_FRAME >> done; echo \"results of $CALLSTACK_TITLE\"";
    let workers: Vec<Child> = (0..4).map(|_| place.start(&[], script)).collect();
    let reports: Vec<Value> = workers.into_iter().map(|worker| worked(&worker.wait_with_output().unwrap())).collect();
    let completed: u64 = reports.iter().map(|report| report["completed"].as_u64().unwrap()).sum();
    assert_eq!(completed, 52);
    let mut done: Vec<String> = place.wait_for("done", 52).lines().map(str::to_owned).collect();
    done.sort();
    done.dedup();
    assert_eq!(done.len(), 52);
    place.stack.refresh().unwrap();
    for handle in place.stack.read(|tree| tree.with_status(FrameStatus::Completed).collect::<Vec<_>>()).unwrap() {
        let Frame { title, results, .. } = place.stack.frame(handle).unwrap();
        assert_eq!(results.unwrap(), format!("results of {title}"));
    }
}

#[test]
fn the_jobs_of_a_worker_run_at_the_same_time() {
    let place = Place::new();
    let frames = [place.plan("Cart"), place.plan("Taxes"), place.plan("Sizes")];
    // Each command waits for the other command. A command that runs alone would never end.
    let script = r#"
        case $CALLSTACK_TITLE in Sizes) echo none; exit;; esac
        touch "met-$CALLSTACK_TITLE"
        until [ -e met-Cart ] && [ -e met-Taxes ]; do sleep 0.05; done
        echo "$CALLSTACK_TITLE has met the other"
    "#;
    let report = worked(&place.start(&["--jobs", "2"], script).wait_with_output().unwrap());
    assert_eq!(report["completed"], 3, "{report}");
    let results = frames.map(|frame| place.frame(frame).results.unwrap());
    assert_eq!(
        results.each_ref().map(|result| &**result),
        ["Cart has met the other", "Taxes has met the other", "none"]
    );
}

#[test]
fn the_command_finds_its_frame_its_context_and_its_stack() {
    let place = Place::new();
    let frame = place.plan("Cart");
    // Without the name of a frame, a command concerns the frame of its worker. It does not concern the frame
    // in which a person works by hand.
    let errand = place.stack.push(NewFrame::new("Errand").root()).unwrap();
    let script = "cat > context; env | grep -v CALLSTACK_PROCESS_GROUP | grep ^CALLSTACK_ | sort > variables; \
        $PROGRAM artifact $CALLSTACK_FRAME cart.rs; $PROGRAM plan --parent $CALLSTACK_FRAME Sum; \
        $PROGRAM artifact sum.rs; $PROGRAM decide Cents; $PROGRAM plan Taxes";
    let mut command = place.command(&["--worker", "one", "--limit", "1"], script);
    let output = command.env("PROGRAM", env!("CARGO_BIN_EXE_callstack")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let context = fs::read_to_string(place.file("context")).unwrap();
    assert!(context.starts_with("<stack-context") && context.contains("Cart"), "{context}");
    let id = place.frame(frame).session_id;
    assert_eq!(
        fs::read_to_string(place.file("variables")).unwrap(),
        format!(
            "CALLSTACK_DIR={}\nCALLSTACK_FRAME=f1\nCALLSTACK_GENERATION=1\nCALLSTACK_SESSION={id}\nCALLSTACK_TITLE=Cart\nCALLSTACK_WORKER=one\n",
            place.file(".callstack").display()
        )
    );
    let record = place.frame(frame);
    assert_eq!(record.artifacts, ["cart.rs", "sum.rs"]);
    assert_eq!(record.decisions, ["Cents"]);
    assert_eq!(record.planned_children.unwrap().len(), 2);
    let untouched = place.frame(errand);
    assert!(untouched.artifacts.is_empty() && untouched.decisions.is_empty(), "{untouched:?}");
}

#[test]
fn a_lost_hold_stops_the_command_and_its_results_are_refused() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let worker = place.start(&["--lease", "1"], "echo $$ >> processes; exec sleep 1000");
    let process = place.wait_for("processes", 1);
    let (ahead, held) = takes_over(place.folder.path(), frame);
    wait_for_end(&process);
    ahead.as_actor(&held).pop(frame, PopStatus::Completed, "done by another one").unwrap();
    let output = worker.wait_with_output().unwrap();
    let report = worked(&output);
    assert_eq!((&report["lost"], &report["completed"]), (&1.into(), &0.into()));
    assert!(errors(&output).contains("was taken by worker `other` (generation 2)"), "{}", errors(&output));
    assert_eq!(place.frame(frame).results.unwrap(), "done by another one");
}

#[test]
fn a_command_that_ends_after_its_hold_was_lost_changes_nothing() {
    let place = Place::new();
    let frame = place.plan("Cart");
    // The lease is long, so the worker does not notice the loss before the end.
    let script = "echo $$ >> processes; while [ ! -e go ]; do sleep 0.05; done; \
        $PROGRAM decide $CALLSTACK_FRAME 'too late' 2> refusal; echo late";
    let worker = place.command(&["--lease", "3600"], script).env("PROGRAM", env!("CARGO_BIN_EXE_callstack")).spawn();
    place.wait_for("processes", 1);
    // The other clock is ahead by the lease of an hour.
    let (ahead, held) = takes_over(place.folder.path(), frame);
    fs::write(place.file("go"), "").unwrap();
    wait_until(|| {
        fs::read_to_string(place.file("refusal")).ok().filter(|said| said.contains("generation 1 are refused"))
    });
    ahead.as_actor(&held).pop(frame, PopStatus::Completed, "done by another one").unwrap();
    let output = worker.unwrap().wait_with_output().unwrap();
    assert_eq!(worked(&output)["lost"], 1, "{output:?}");
    let record = place.frame(frame);
    assert_eq!((record.results.as_deref(), record.decisions.len()), (Some("done by another one"), 0));
}

#[test]
fn a_killed_worker_takes_its_command_with_it_and_its_frame_goes_to_another_one() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let mut killed = place.start(&["--lease", "1"], "echo $$ >> processes; sleep 1000; echo never");
    let process = place.wait_for("processes", 1);
    signal(&killed, Signal::KILL);
    killed.wait().unwrap();
    wait_for_end(&process);
    let output = place.command(&[], "echo $CALLSTACK_GENERATION").output().unwrap();
    assert_eq!(worked(&output)["completed"], 1);
    assert_eq!(place.frame(frame).results.unwrap(), "2");
}

/// `timeout` makes a group of its own, and `setsid` a session.
#[cfg(target_os = "linux")]
#[test]
fn what_has_left_the_group_of_the_command_ends_with_it() {
    for leaves in ["timeout 1000", "setsid"] {
        for is_killed in [true, false] {
            let place = Place::new();
            place.plan("Cart");
            let end = if is_killed { "sleep 1000" } else { "true" };
            let line = format!(
                "{leaves} sh -c 'echo $$ >> processes; sleep 1000' & while [ ! -s processes ]; do sleep 0.01; done; {end}"
            );
            let mut worker = place.start(&[], &line);
            let process = place.wait_for("processes", 1);
            if is_killed {
                signal(&worker, Signal::KILL);
            }
            worker.wait().unwrap();
            wait_for_end(&process);
        }
    }
}

#[test]
fn a_worker_that_is_killed_while_it_stops_its_command_takes_it_along() {
    let place = Place::new();
    place.plan("Cart");
    let mut killed = place.start(&[], "trap '' TERM; echo $$ >> processes; while :; do sleep 1; done");
    let process = place.wait_for("processes", 1);
    signal(&killed, Signal::TERM);
    // The command has five seconds to end.
    thread::sleep(Duration::from_secs(1));
    assert!(is_running(&process));
    signal(&killed, Signal::KILL);
    killed.wait().unwrap();
    wait_for_end(&process);
}

#[test]
fn a_command_in_a_group_of_its_own_is_taken_along_too() {
    for stop in [Signal::KILL, Signal::TERM] {
        let place = Place::new();
        place.plan("Cart");
        let script = "exec timeout 1000 sh -c 'echo $$ >> processes; sleep 1000'";
        let mut worker = place.start(&["--lease", "3600"], script);
        let process = place.wait_for("processes", 1);
        signal(&worker, stop);
        worker.wait().unwrap();
        wait_for_end(&process);
    }
}

#[test]
fn what_a_command_has_started_has_time_to_tidy_up() {
    let place = Place::new();
    place.plan("Cart");
    let tidy = "trap 'sleep 1; echo tidied >> log; exit' TERM; echo begun >> log; while :; do sleep 0.1; done";
    fs::write(place.file("tidy"), tidy).unwrap();
    let mut worker = place.start(&["--lease", "3600"], "sh tidy; echo after");
    place.wait_for("log", 1);
    signal(&worker, Signal::TERM);
    worker.wait().unwrap();
    assert_eq!(fs::read_to_string(place.file("log")).unwrap(), "begun\ntidied\n");
}

#[test]
fn an_interrupted_worker_stops_its_command_and_releases_the_frame() {
    for stop in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        let frame = place.plan("Cart");
        let worker = place.start(
            &["--lease", "3600"],
            "trap 'echo tidied > tidied; exit 1' TERM; echo $$ >> processes; sleep 1000 & wait",
        );
        let process = place.wait_for("processes", 1);
        signal(&worker, stop);
        let output = worker.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert_eq!(worked(&output)["left"]["free"], 1);
        assert!(!is_running(&process) && place.file("tidied").exists());
        assert_eq!(place.frame(frame).status, FrameStatus::InProgress);
        let output = place.command(&[], "echo done").output().unwrap();
        assert_eq!(worked(&output)["completed"], 1);
    }
}

#[test]
fn a_frame_that_is_put_back_is_tried_again() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let output =
        place.command(&["--lease", "1"], "[ $CALLSTACK_GENERATION -ge 2 ] || exit 75; echo ok").output().unwrap();
    let report = worked(&output);
    assert_eq!((&report["later"], &report["completed"]), (&1.into(), &1.into()));
    assert_eq!(place.frame(frame).results.unwrap(), "ok");
    // A person who looks in the meantime sees it.
    place.plan("Mail");
    let held = place.stack.work().hold(NewHold::new("one", 3_600_000)).unwrap().unwrap();
    let shown = || {
        let mut show = Command::new(env!("CARGO_BIN_EXE_callstack"));
        let show = show.arg("--stack").arg(place.file(".callstack")).args(["show", "Mail"]).output().unwrap();
        String::from_utf8(show.stdout).unwrap()
    };
    assert!(shown().contains("worker   one, since "), "{}", shown());
    place.stack.work().finish(&held, Finish::Later { wait: Some(3_600_000) }).unwrap();
    assert!(shown().contains("worker   one, which has put it back until "), "{}", shown());
}

#[test]
fn a_worker_waits_for_others_and_for_new_frames() {
    let place = Place::new();
    let first = place.plan("First");
    let second = place.stack.plan(NewFrame::new("Second").root().depends_on(first)).unwrap();
    let other = place.stack.work().hold(NewHold::new("other", 3_600_000)).unwrap().unwrap();
    let patient = place.start(&["--wait"], "echo $CALLSTACK_TITLE >> done");
    let worker = place.start(&[], "echo $CALLSTACK_TITLE >> done");
    place.stack.as_actor(&other).pop(first, PopStatus::Completed, "done").unwrap();
    place.wait_for("done", 1);
    assert!(worker.wait_with_output().unwrap().status.success());
    place.plan("Third");
    assert_eq!(place.wait_for("done", 2), "Second\nThird\n");
    signal(&patient, Signal::TERM);
    assert_eq!(patient.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(place.frame(second).status, FrameStatus::Completed);
}

#[test]
fn long_running_commands_keep_their_frame() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let renewed = || {
        let events = place.stack.history().events(&EventQuery::default().kind("held")).unwrap();
        let generations = events.iter().filter_map(|event| match &event.change {
            Change::Held { holder } => Some(holder.generation),
            _ => None,
        });
        generations.collect::<Vec<u64>>()
    };
    let worker = place.start(&["--lease", "1"], "while [ ! -e go ]; do sleep 0.05; done");
    wait_until(|| {
        place.stack.refresh().unwrap();
        (renewed().len() >= 5).then_some(())
    });
    fs::write(place.file("go"), "").unwrap();
    assert_eq!(worked(&worker.wait_with_output().unwrap())["completed"], 1);
    assert!(renewed().iter().all(|generation| *generation == 1));
    assert_eq!(place.frame(frame).results.unwrap(), "The command has ended without output.");
}

#[test]
fn of_long_outputs_the_end_is_kept() {
    let place = Place::new();
    let frames = ["Long", "Many words", "Failed"].map(|title| place.plan(title));
    let script = "case $CALLSTACK_TITLE in \
        Long) head -c 100000 /dev/zero | tr '\\0' x; echo; echo; echo the end;; \
        Many*) seq 2000; printf '\\nThe sum is 7\\n';; \
        *) seq 100000 >&2; kill -KILL $$;; esac";
    let output = place.command(&[], script).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "a frame has failed");
    let [long, words, failed] = frames.map(|frame| place.frame(frame));
    let results = long.results.unwrap();
    assert!(results.starts_with("[the first 67") && results.ends_with("xxx\n\nthe end"), "{}", &results[..80]);
    assert!(results.len() < 33_000, "{}", results.len());
    assert_eq!(long.results_compacted.unwrap(), "the end");
    assert!(words.results.unwrap().starts_with("1\n2\n3\n"));
    assert_eq!(words.results_compacted.unwrap(), "The sum is 7");
    assert_eq!(failed.status, FrameStatus::Failed);
    let results = failed.results.unwrap();
    assert!(results.starts_with("signal: 9 (SIGKILL)") && results.ends_with("\n100000"), "{results}");
}

#[test]
fn a_frame_that_a_person_has_ended_meanwhile_is_left_alone() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let worker = place.start(&["--lease", "1"], "echo $$ >> processes; sleep 1000");
    let process = place.wait_for("processes", 1);
    place.stack.invalidate(frame, "not needed").unwrap();
    wait_for_end(&process);
    let output = worker.wait_with_output().unwrap();
    assert_eq!(worked(&output)["lost"], 1);
    assert!(errors(&output).contains("stopped f1: Cart"), "{}", errors(&output));
}

#[test]
fn a_stopped_frame_ends_its_command_and_goes_on_when_it_is_answered() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let script = "echo $$ >> processes; grep -q 'be quick' && exit 0; sleep 1000";
    // The lease is long, so the command does not end with a renewal of the hold.
    let worker = place.start(&["--lease", "3600"], script);
    let process = place.wait_for("processes", 1);
    assert_eq!(place.stack.stop(frame, "It takes too long").unwrap(), [frame]);
    wait_for_end(&process);
    let output = worker.wait_with_output().unwrap();
    assert_eq!((worked(&output)["lost"].clone(), output.status.code()), (1.into(), Some(1)));
    assert!(errors(&output).contains("stopped f1: Cart"), "{}", errors(&output));
    let stopped = place.frame(frame);
    assert_eq!((stopped.status, stopped.waits_for()), (FrameStatus::Blocked, "It was stopped: It takes too long"));
    place.stack.answer(frame, "Go on, but be quick").unwrap();
    assert_eq!(worked(&place.command(&[], script).output().unwrap())["completed"], 1);
}

#[test]
fn a_command_that_has_ended_its_frame_itself_may_go_on_for_a_while() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let program = env!("CARGO_BIN_EXE_callstack");
    let script = format!("{program} pop $CALLSTACK_FRAME --results 'by itself' && sleep 2.5 && echo tidied > tidy");
    let output = place.command(&["--lease", "1"], &script).output().unwrap();
    assert_eq!(worked(&output)["completed"], 1, "{}", errors(&output));
    assert_eq!(place.frame(frame).results.unwrap(), "by itself");
    assert_eq!(place.wait_for("tidy", 1), "tidied\n");
    // The worker does not wait forever.
    let frame = place.plan("Late");
    let output = place
        .command(&["--lease", "1"], &format!("{program} pop $CALLSTACK_FRAME --results done && sleep 1000"))
        .output()
        .unwrap();
    assert_eq!(worked(&output)["completed"], 1, "{}", errors(&output));
    assert_eq!(place.frame(frame).status, FrameStatus::Completed);
}

#[test]
fn a_command_that_plans_frames_below_its_own_is_run_again_after_them() {
    let place = Place::new();
    let frame = place.plan("Shop");
    let program = env!("CARGO_BIN_EXE_callstack");
    for end in ["echo 'the parts are planned'", "exit 75"] {
        let script = format!(
            "echo $CALLSTACK_TITLE >> order; \
             if [ \"$CALLSTACK_TITLE\" != Part ]; then \
                 if grep -q 'Part$' order; then echo together; exit 0; fi; \
                 {program} plan Part --below $CALLSTACK_FRAME > /dev/null; {end}; \
             fi"
        );
        fs::write(place.file("order"), "").unwrap();
        let top = if end == "exit 75" { place.plan("Again") } else { frame };
        let output = place.command(&[], &script).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        let data = worked(&output);
        assert_eq!((data["completed"].clone(), data["later"].clone()), (2.into(), 1.into()), "{end}");
        let order = fs::read_to_string(place.file("order")).unwrap();
        let title = place.frame(top).title;
        assert_eq!(order, format!("{title}\nPart\n{title}\n"));
        assert_eq!(place.frame(top).results.unwrap(), "together");
    }
}

#[test]
fn what_ends_in_the_same_moment_as_a_stop_stays_stopped() {
    let place = Place::new();
    for end in ["echo all done", "exit 3", "exit 75"] {
        let frame = place.plan("Cart");
        let worker = place.start(&["--limit", "1"], &format!("echo $$ >> started; sleep 0.6; {end}"));
        place.wait_for("started", 1);
        fs::remove_file(place.file("started")).unwrap();
        place.stack.stop(frame, "Enough").unwrap();
        let output = worker.wait_with_output().unwrap();
        assert_eq!(worked(&output)["lost"], 1, "{end}: {}", errors(&output));
        let stopped = place.frame(frame);
        assert_eq!((stopped.status, stopped.waits_for()), (FrameStatus::Blocked, "It was stopped: Enough"), "{end}");
        let so_far = stopped.results.unwrap_or_default();
        assert_eq!(so_far.contains("all done"), end.contains("all done"), "{so_far}");
        place.stack.invalidate(frame, "not needed").unwrap();
    }
}

#[test]
fn a_frame_that_is_stopped_and_begun_again_ends_its_first_command_at_once() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let worker = place.start(&["--limit", "1", "--lease", "3600"], "echo $$ >> processes; sleep 1000");
    let process = place.wait_for("processes", 1);
    place.stack.stop(frame, "Wrong way").unwrap();
    place.stack.retry(frame, None).unwrap();
    wait_for_end(&process);
    let output = worker.wait_with_output().unwrap();
    let data = worked(&output);
    assert_eq!((data["lost"].clone(), data["failed"].clone()), (1.into(), 0.into()), "{}", errors(&output));
}

#[test]
fn the_exit_code_says_whether_everything_is_done() {
    let code =
        |place: &Place, options: &[&str], script: &str| place.command(options, script).output().unwrap().status.code();
    let place = Place::new();
    let shop = place.plan("Shop");
    let cart = place.stack.plan(NewFrame::new("Cart").below(shop)).unwrap();
    assert_eq!(code(&place, &["--below", &shop.to_string()], "exit 3"), Some(1));
    // The failed frame still prevents the end of the frame that was named.
    let output = place.command(&["--below", &shop.to_string()], "true").output().unwrap();
    assert_eq!(
        (output.status.code(), worked(&output)["inTheWay"].clone()),
        (Some(1), Value::from(vec![cart.to_string()]))
    );
    place.stack.invalidate(cart, "not needed").unwrap();
    assert_eq!(code(&place, &["--below", &cart.to_string()], "true"), Some(4), "there is nothing below it");
    assert_eq!(code(&place, &[], "true"), Some(0));
    // A frame that waits for the frame of a person is not done.
    let own = place.stack.push(NewFrame::new("By hand").root()).unwrap();
    let after = place.stack.plan(NewFrame::new("After").root().depends_on(own)).unwrap();
    assert_eq!(code(&place, &[], "true"), Some(1));
    place.stack.pop(own, PopStatus::Completed, "done").unwrap();
    assert_eq!(code(&place, &[], "true"), Some(0));
    // A root that a person has is left to the person. A part of it is work for workers, and this part
    // is not done.
    let root = place.stack.push(NewFrame::new("Root").root()).unwrap();
    let part = place.stack.plan(NewFrame::new("Part").below(root)).unwrap();
    let detail = place.stack.plan(NewFrame::new("Detail").below(part)).unwrap();
    place.stack.activate(detail).unwrap();
    assert_eq!(code(&place, &["--below", &root.to_string()], "true"), Some(1));
    place.stack.pop(detail, PopStatus::Completed, "done").unwrap();
    assert_eq!(code(&place, &[], "true"), Some(0), "the root is left to the person");
    assert_eq!(place.frame(after).status, FrameStatus::Completed);
}

#[test]
fn parts_in_the_hands_of_a_person_are_not_done() {
    let place = Place::new();
    let root = place.stack.push(NewFrame::new("Shop").root()).unwrap();
    let [cart, mail, total] =
        ["Cart", "Mail", "Total"].map(|title| place.stack.plan(NewFrame::new(title).below(root)).unwrap());
    let output = place.command(&[], "[ $CALLSTACK_TITLE != Cart ] || exit 77").output().unwrap();
    assert_eq!((worked(&output)["blocked"].clone(), output.status.code()), (1.into(), Some(1)));
    place.stack.refresh().unwrap();
    // A frame that no worker has had.
    place.stack.resume(cart).unwrap();
    let detail = place.stack.plan(NewFrame::new("Detail").below(root)).unwrap();
    place.stack.activate(detail).unwrap();
    place.stack.push(NewFrame::new("An idea").below(root)).unwrap();
    for below in [&[][..], &["--below", &root.to_string()]] {
        let output = place.command(below, "true").output().unwrap();
        assert_eq!(
            (worked(&output)["byHand"].clone(), output.status.code()),
            (Value::from(vec![cart.to_string(), detail.to_string()]), Some(1)),
            "{below:?}: {}",
            errors(&output)
        );
    }
    for part in [cart, detail] {
        place.stack.pop(part, PopStatus::Completed, "by me").unwrap();
    }
    assert_eq!(place.command(&[], "true").status().unwrap().code(), Some(0), "what a person has pushed is theirs");
    assert_eq!([mail, total].map(|part| place.frame(part).status), [FrameStatus::Completed; 2]);
}

#[test]
fn what_others_have_failed_is_in_the_way() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_callstack");
    let [_, other] = ["One", "Other"].map(|title| place.plan(title));
    // Another process takes the second root, and pops it as failed.
    let script = format!(
        "{program} activate Other > /dev/null; \
         {program} pop Other --status failed --results no > /dev/null"
    );
    let output = place.command(&[], &script).output().unwrap();
    let in_the_way = worked(&output)["inTheWay"].clone();
    assert_eq!((in_the_way, output.status.code()), (Value::from(vec![other.to_string()]), Some(1)));
    assert_eq!(place.command(&[], "true").status().unwrap().code(), Some(1), "it is still in the way of a second run");
    place.stack.refresh().unwrap();
    place.stack.invalidate(other, "not needed").unwrap();
    assert_eq!(place.command(&[], "true").status().unwrap().code(), Some(0));
    // A failed part prevents the end as long as the frame above it is not finished.
    let root = place.stack.push(NewFrame::new("Shop").root()).unwrap();
    let part = place.stack.plan(NewFrame::new("Cart").below(root)).unwrap();
    let tried = place.stack.push(NewFrame::new("One way").below(root)).unwrap();
    place.stack.pop(tried, PopStatus::Failed, "it was a try").unwrap();
    assert_eq!(place.command(&[], "exit 3").status().unwrap().code(), Some(1));
    let output = place.command(&[], "true").output().unwrap();
    let in_the_way = worked(&output)["inTheWay"].clone();
    assert_eq!((in_the_way, output.status.code()), (Value::from(vec![part.to_string()]), Some(1)));
    place.stack.refresh().unwrap();
    place.stack.retry(part, None).unwrap();
    assert_eq!(place.command(&[], "true").status().unwrap().code(), Some(0));
}

#[test]
fn frames_that_wait_for_each_other_are_in_the_way() {
    let place = Place::new();
    let cart = place.plan("Cart");
    let mail = place.stack.plan(NewFrame::new("Mail").root().depends_on(cart)).unwrap();
    let part = place.stack.plan(NewFrame::new("Part").below(cart).depends_on(mail)).unwrap();
    let output = place.command(&[], "true").output().unwrap();
    let in_the_way = worked(&output)["inTheWay"].clone();
    let circle = [cart, part, mail].map(|frame| frame.to_string());
    assert_eq!((in_the_way, output.status.code()), (Value::from(circle.to_vec()), Some(1)));
    let program = env!("CARGO_BIN_EXE_callstack");
    let status = Command::new(program).arg("status").current_dir(place.folder.path()).output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("it waits for frames that wait for it"), "{status}");
    assert!(status.contains("callstack edit f2 --depends-on OTHER"), "{status}");
}

#[test]
fn the_frame_of_below_counts_if_it_is_blocked_or_has_failed() {
    let place = Place::new();
    let root = place.plan("Release");
    place.stack.plan(NewFrame::new("Part").below(root)).unwrap();
    let below = || place.command(&["--below", &root.to_string()], "true").output().unwrap();
    assert_eq!(below().status.code(), Some(0), "the release itself is left to others");
    assert_eq!(place.command(&[], "exit 77").status().unwrap().code(), Some(1));
    let output = below();
    assert_eq!((worked(&output)["left"]["blocked"].clone(), output.status.code()), (1.into(), Some(1)));
    place.stack.refresh().unwrap();
    place.stack.answer(root, "go on").unwrap();
    assert_eq!(place.command(&[], "exit 3").status().unwrap().code(), Some(1));
    let output = below();
    let in_the_way = worked(&output)["inTheWay"].clone();
    assert_eq!((in_the_way, output.status.code()), (Value::from(vec![root.to_string()]), Some(1)));
    place.stack.refresh().unwrap();
    place.stack.invalidate(root, "not needed").unwrap();
    assert_eq!(below().status.code(), Some(1));
}

#[test]
fn a_planned_root_in_the_hands_of_a_person_is_not_done() {
    let place = Place::new();
    let root = place.plan("Release");
    place.stack.activate(root).unwrap();
    let output = place.command(&[], "true").output().unwrap();
    assert_eq!(
        (worked(&output)["byHand"].clone(), output.status.code()),
        (Value::from(vec![root.to_string()]), Some(1))
    );
    // After an answer, only the person can resume the frame.
    place.stack.block(root, "Which one?", None).unwrap();
    place.stack.answer(root, "the first").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.args(["work", "--", "true"]).current_dir(place.folder.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("callstack activate f1") && !said.contains("callstack answer"), "{said}");
}

#[test]
fn a_pop_without_a_name_leaves_the_frame_of_a_worker() {
    let place = Place::new();
    let root = place.plan("Shop");
    let held = place.stack.work().hold(NewHold::new("anna", 60_000)).unwrap().unwrap();
    place.stack.as_actor(&held).set_active(root).unwrap();
    let pop = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.arg("pop").args(arguments).args(["--results", "done"]).current_dir(place.folder.path());
        command.output().unwrap()
    };
    let refused = pop(&[]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(errors(&refused).contains("f1 is the active frame, but it belongs to workers"), "{}", errors(&refused));
    assert!(pop(&["f1"]).status.success());
}

#[test]
fn a_part_that_a_person_has_begun_is_waited_for() {
    let place = Place::new();
    let frame = place.plan("Shop");
    let program = env!("CARGO_BIN_EXE_callstack");
    let script =
        format!("[ ! -e split ] || exec cat; touch split; {program} plan --below $CALLSTACK_FRAME Part > /dev/null");
    let output = place.command(&["--limit", "1"], &script).output().unwrap();
    assert_eq!(worked(&output)["later"], 1, "{}", errors(&output));
    place.stack.refresh().unwrap();
    let part = place.stack.resolve("f2").unwrap();
    place.stack.activate(part).unwrap();
    for status in [FrameStatus::InProgress, FrameStatus::Failed] {
        if status == FrameStatus::Failed {
            place.stack.pop(part, PopStatus::Failed, "no").unwrap();
        }
        thread::sleep(Duration::from_millis(1_100));
        let output = place.command(&[], &script).output().unwrap();
        assert_eq!((worked(&output)["completed"].clone(), output.status.code()), (0.into(), Some(1)), "{status}");
    }
    let again = place.stack.retry(part, None).unwrap().handle;
    place.stack.activate(again).unwrap();
    place.stack.pop(again, PopStatus::Completed, "made by hand").unwrap();
    assert_eq!(place.command(&[], &script).status().unwrap().code(), Some(0));
    assert!(place.frame(frame).results.unwrap().contains("made by hand"));
}

#[test]
fn parts_below_what_a_command_has_imported_are_done_before_its_frame() {
    let place = Place::new();
    let frame = place.plan("Shop");
    let program = env!("CARGO_BIN_EXE_callstack");
    let tasks = r#"{"tasks": [{"id": 1, "title": "Schema", "status": "done"}, {"id": 2, "title": "Routes", "dependencies": [1]}]}"#;
    fs::write(place.file("tasks.json"), tasks).unwrap();
    let script = format!(
        "echo $CALLSTACK_TITLE >> order; [ ! -e split ] || exit 0; touch split; \
         {program} import tasks.json --below $CALLSTACK_FRAME > /dev/null"
    );
    let output = place.command(&["--limit", "3"], &script).output().unwrap();
    assert_eq!(place.wait_for("order", 3), "Shop\nRoutes\nShop\n", "{}", errors(&output));
    assert_eq!(place.frame(frame).status, FrameStatus::Completed);
}

#[test]
fn a_command_can_work_on_another_stack() {
    let place = Place::new();
    let frame = place.plan("Here");
    let there = Stack::open(place.file("there"), StackOptions::default()).unwrap();
    let part = there.plan(NewFrame::new("There").root()).unwrap();
    let program = env!("CARGO_BIN_EXE_callstack");
    let output = place.command(&[], &format!("{program} --stack there work -- echo done there")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    there.refresh().unwrap();
    assert_eq!(there.frame(part).unwrap().results.unwrap(), "done there");
    assert!(place.frame(frame).results.unwrap().contains("1 frame completed"));
}

#[test]
fn what_a_command_has_done_by_hand_below_its_frame_is_its_own_work() {
    let place = Place::new();
    let [frame, other] = ["Cart", "Mail"].map(|title| place.plan(title));
    let program = env!("CARGO_BIN_EXE_callstack");
    // An attempt that has failed, and a frame that the command pops although a frame is planned below it.
    let script = format!(
        "[ \"$CALLSTACK_TITLE\" = Cart ] || exit 0; \
         {program} activate $CALLSTACK_FRAME && {program} push 'One way' --below $CALLSTACK_FRAME && \
         {program} pop 'One way' --status failed --results no && {program} plan Later --below $CALLSTACK_FRAME && \
         ! {program} pop $CALLSTACK_FRAME --results 'too early' && \
         {program} pop $CALLSTACK_FRAME --anyway --results 'by itself'"
    );
    let output = place.command(&[], &script).output().unwrap();
    assert_eq!(
        (worked(&output)["completed"].clone(), output.status.code()),
        (2.into(), Some(1)),
        "{}",
        errors(&output)
    );
    assert_eq!(place.frame(frame).results.unwrap(), "by itself");
    assert_eq!(place.frame(other).status, FrameStatus::Completed);
    assert_eq!(
        worked(&output)["inTheWay"],
        Value::from(vec![frame.to_string()]),
        "no worker does what is planned below it"
    );
    let again = place.plan("Again");
    let script = format!(
        "{program} push Try --below $CALLSTACK_FRAME > /dev/null; {program} pop Try --status failed --results no > /dev/null; echo well"
    );
    assert_eq!(worked(&place.command(&[], &script).output().unwrap())["completed"], 1);
    assert_eq!(place.frame(again).results.unwrap(), "well");
}

#[test]
fn what_waits_in_vain_is_named() {
    let place = Place::new();
    let failed = place.plan("Failed");
    let shop = place.stack.plan(NewFrame::new("Shop").root().depends_on(failed)).unwrap();
    let cart = place.stack.plan(NewFrame::new("Cart").below(shop)).unwrap();
    place.stack.plan(NewFrame::new("Total").below(cart)).unwrap();
    let left_over = place.plan("Left over");
    place.stack.plan(NewFrame::new("Below it").below(left_over)).unwrap();
    place.stack.work().hold(NewHold::new("anna", 1).frame(failed)).unwrap().unwrap();
    place.stack.pop(failed, PopStatus::Failed, "no").unwrap();
    place.stack.activate(left_over).unwrap();
    place.stack.pop(left_over, PopStatus::Completed, "done").unwrap();
    let output = place.command(&["--below", &cart.to_string()], "true").output().unwrap();
    assert_eq!(
        (output.status.code(), worked(&output)["inTheWay"].clone()),
        (Some(1), Value::from(vec![failed.to_string()]))
    );
    let output = place.command(&[], "true").output().unwrap();
    let both = Value::from(vec![failed.to_string(), left_over.to_string()]);
    assert_eq!((output.status.code(), worked(&output)["inTheWay"].clone()), (Some(1), both));
}

#[test]
fn a_worker_within_a_worker_does_what_is_below_its_frame() {
    let place = Place::new();
    place.plan("Shop");
    let program = env!("CARGO_BIN_EXE_callstack");
    let script = format!(
        "[ \"$CALLSTACK_TITLE\" = Shop ] || exit 0; {program} work -- true && exit 9; \
         [ -e planned ] || {program} plan Cart --below $CALLSTACK_FRAME > planned; \
         {program} work --below $CALLSTACK_FRAME -- echo cart"
    );
    let output = place.command(&[], &script).output().unwrap();
    assert_eq!(worked(&output)["completed"], 1, "{}", errors(&output));
    assert!(errors(&output).contains("works on f1 for a worker already"), "{}", errors(&output));
}

#[test]
fn what_is_put_back_or_interrupted_is_no_try() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let worker = place.start(&["--tries", "1"], "echo $$ >> processes; sleep 1000");
    place.wait_for("processes", 1);
    signal(&worker, Signal::TERM);
    worker.wait_with_output().unwrap();
    let script = "echo >> tries; [ $(wc -l < tries) -ge 2 ] || exit 75";
    let output = place.command(&["--tries", "1"], script).output().unwrap();
    assert_eq!(worked(&output)["completed"], 1, "{}", errors(&output));
    assert_eq!(place.frame(frame).status, FrameStatus::Completed);
}

#[test]
fn a_person_does_not_take_a_frame_that_a_worker_has() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let activate = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command
            .args(["activate", "f1"])
            .current_dir(place.folder.path())
            .env_remove("CALLSTACK_FRAME")
            .output()
            .unwrap()
    };
    place.stack.work().hold(NewHold::new("anna", 400)).unwrap().unwrap();
    let refused = activate();
    assert_eq!(refused.status.code(), Some(4));
    assert!(errors(&refused).contains("the worker anna has f1 until"), "{}", errors(&refused));
    thread::sleep(Duration::from_millis(500));
    assert_eq!(activate().status.code(), Some(0));
    assert_eq!(worked(&place.command(&[], "true").output().unwrap())["left"]["begun"], 1);
    assert_eq!(place.frame(frame).status, FrameStatus::InProgress);
}

#[test]
fn a_command_that_does_not_exist_begins_no_frame() {
    let place = Place::new();
    let frame = place.plan("Cart");
    fs::write(place.file("plain"), "no program").unwrap();
    for command in ["no-such-command", "./no-such-command", "/no/such/command", "./plain", "/"] {
        let mut work = Command::new(env!("CARGO_BIN_EXE_callstack"));
        let output = work.args(["work", "--", command]).current_dir(place.folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            errors(&output).contains(&format!("cannot run {command}: there is no such program")),
            "{}",
            errors(&output)
        );
    }
    assert_eq!(place.frame(frame).status, FrameStatus::Planned);
}

#[test]
fn a_frame_that_was_begun_too_often_is_blocked() {
    let place = Place::new();
    let frame = place.plan("Cart");
    // Two workers that have ended.
    for _ in 0..2 {
        place.stack.work().hold(NewHold::new("gone", 1)).unwrap().unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    let tried = |tries: &str| worked(&place.command(&["--tries", tries], "echo done").output().unwrap());
    assert_eq!(tried("2")["blocked"], 1);
    assert_eq!(place.frame(frame).waits_for(), "It was begun 2 times without a result. What is to be done?");
    place.stack.answer(frame, "Once more").unwrap();
    assert_eq!(tried("2")["completed"], 1, "an answer begins a new count");
}

/// A text that is too long for a variable of a command.
fn huge() -> String {
    "long ".repeat(40_000)
}

#[test]
fn a_plan_with_a_huge_id_is_done() {
    let place = Place::new();
    let plan = format!(r#"{{"{}": {{"tasks": [{{"id": 1, "title": "Cart"}}]}}}}"#, huge());
    let imported = callstack_core::import::frames(&plan).unwrap();
    place.stack.import(imported.frames).unwrap();
    let output = place.command(&[], "true").output().unwrap();
    assert_eq!(worked(&output)["completed"], 1, "{}", errors(&output));
    assert_eq!(place.frame("f2".parse().unwrap()).status, FrameStatus::Completed);
}

/// A place with two planned frames. No command can be started for the first one.
fn with_a_frame_that_cannot_be_started() -> (Place, Handle, Handle) {
    let folder = tempfile::tempdir().unwrap();
    let before = tempfile::tempdir().unwrap();
    let stack = Stack::open(before.path(), StackOptions::default()).unwrap();
    let [bad, good] = ["BAD", "good"].map(|id| stack.plan(NewFrame::new("Part").id(id).root()).unwrap());
    let mut history = Vec::new();
    stack.history().export(&mut history).unwrap();
    // An ID that cannot come from a command or from an import.
    let history = String::from_utf8(history).unwrap().replace("BAD", &huge());
    let stack = Stack::rebuild(folder.path().join(".callstack"), history.as_bytes(), StackOptions::default()).unwrap();
    (Place { folder, stack }, bad, good)
}

#[test]
fn a_frame_on_which_no_command_can_be_started_ends_no_worker() {
    let (place, bad, good) = with_a_frame_that_cannot_be_started();
    for worker in ["one", "two"] {
        let output = place.command(&["--worker", worker, "--tries", "2", "--lease", "1"], "true").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
        let report = worked(&output);
        match worker {
            "one" => {
                assert_eq!(
                    (&report["completed"], &report["later"], &report["notStarted"], &report["blocked"]),
                    (&1.into(), &0.into(), &1.into(), &1.into())
                );
                assert!(errors(&output).contains("not started: f1: cannot run sh: "), "{}", errors(&output));
            }
            _ => assert_eq!(report["left"]["blocked"], 1),
        }
    }
    let question = place.frame(bad).waits_for().to_owned();
    assert!(question.starts_with("It was tried 2 times, and could not be started: cannot run sh: "), "{question}");
    assert_eq!(place.frame(good).status, FrameStatus::Completed);
    // Another worker also counts the attempts of the first worker.
    place.stack.answer(bad, "Once more").unwrap();
    let begun = |tries: &str| {
        let options = ["--worker", "three", "--tries", tries, "--lease", "1", "--limit", "1"];
        worked(&place.command(&options, "true").output().unwrap())
    };
    assert_eq!(begun("2")["notStarted"], 1);
    thread::sleep(Duration::from_millis(1_100));
    assert_eq!(begun("1")["blocked"], 1);
    assert_eq!(place.frame(bad).waits_for(), "It was begun 1 time without a result. What is to be done?");
}

#[test]
fn an_answer_begins_a_new_count_of_the_starts_of_a_command() {
    let (place, bad, good) = with_a_frame_that_cannot_be_started();
    let options = ["--wait", "--tries", "2", "--lease", "1", "--limit", "4"];
    let worker = place.start(&options, "true");
    wait_until(|| (place.frame(bad).status == FrameStatus::Blocked).then_some(()));
    place.stack.answer(bad, "Once more").unwrap();
    let report = worked(&worker.wait_with_output().unwrap());
    assert_eq!(
        (&report["notStarted"], &report["blocked"]),
        (&2.into(), &1.into()),
        "two starts before the answer, and one after it"
    );
    assert_eq!(place.frame(good).status, FrameStatus::Completed);
}

#[test]
fn a_machine_that_can_start_nothing_blocks_no_frame() {
    let place = Place::new();
    let frames = ["Cart", "Payment", "Mail"].map(|title| place.plan(title));
    let output = place.command(&["--lease", "1"], "true").env("TMPDIR", place.file("missing")).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(errors(&output).contains(r#""code": "io""#), "{}", errors(&output));
    for frame in frames {
        assert_ne!(place.frame(frame).status, FrameStatus::Blocked);
    }
    // The frames are free for other workers at once.
    let output = place.command(&["--tries", "1"], "true").output().unwrap();
    assert_eq!((output.status.code(), &worked(&output)["completed"]), (Some(0), &3.into()), "{}", errors(&output));
}

#[test]
fn a_budget_that_is_too_small_for_every_frame_ends_the_worker() {
    let place = Place::new();
    let frame = place.plan("Cart");
    let output = place.command(&["--lease", "1"], "true").env("STACK_TOKEN_BUDGET_TOTAL", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", errors(&output));
    assert!(errors(&output).contains(r#""code": "budget_too_small""#), "{}", errors(&output));
    assert_eq!(place.frame(frame).status, FrameStatus::InProgress);
    let output = place.command(&[], "true").output().unwrap();
    assert_eq!(worked(&output)["completed"], 1, "{}", errors(&output));
}

#[test]
fn no_command_of_an_old_generation_changes_the_stack() {
    let place = Place::new();
    let frame = place.plan("Build");
    let hold = |worker: &str| place.stack.work().hold(NewHold::new(worker, 1)).unwrap();
    hold("slow").unwrap();
    thread::sleep(Duration::from_millis(5));
    assert_eq!(hold("fast").unwrap().generation, 2);
    let other = tempfile::tempdir().unwrap();
    let stack = place.folder.path().join(".callstack").display().to_string();
    let run = |arguments: &[&str], generation: &str| {
        Command::new(env!("CARGO_BIN_EXE_callstack"))
            .args(arguments)
            .current_dir(place.folder.path())
            .env_remove("CALLSTACK_DIR")
            .envs([("CALLSTACK_FRAME", frame.to_string()), ("CALLSTACK_WORKER", "slow".into())])
            .env("CALLSTACK_GENERATION", generation)
            .output()
            .unwrap()
    };
    let name = frame.to_string();
    for generation in ["1", "", "x"] {
        for arguments in [
            &["artifact", &name, "late"][..],
            &["push", "--new", "--root", "Late"],
            &["--stack", ".callstack", "decide", &name, "late"],
            &["--stack", &stack, "pop", &name, "--results", "late"],
        ] {
            let refused = run(arguments, generation);
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(
                !refused.status.success() && said.contains("was taken by"),
                "{arguments:?} of `{generation}`: {said}"
            );
        }
    }
    let elsewhere = other.path().join("stack").display().to_string();
    assert!(run(&["--stack", &elsewhere, "push", "--new", "Elsewhere"], "1").status.success());
    assert!(place.frame(frame).artifacts.is_empty());
}

/// An agent with the tools of `callstack mcp` works in the frame of its worker, although it was given
/// no name.
#[test]
fn an_agent_of_a_worker_pops_by_its_tools() {
    let place = Place::new();
    let root = place.plan("Release");
    let frame = place.stack.plan(NewFrame::new("Cart").below(root)).unwrap();
    let call = |id: u32, tool: &str, arguments: Value| {
        let params = serde_json::json!({ "name": tool, "arguments": arguments });
        serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    };
    let hello = serde_json::json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "agent", "version": "1" } } });
    let said = [
        hello.to_string(),
        serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
        call(1, "push", serde_json::json!({ "title": "Sums", "successCriteria": "They are right" })),
        call(2, "pop", serde_json::json!({ "status": "completed", "results": "sums.rs" })),
        call(3, "pop", serde_json::json!({ "status": "blocked", "results": "", "question": "Which tax?" })),
    ];
    fs::write(place.file("said"), format!("{}\n", said.join("\n"))).unwrap();
    // Calls that are sent together are performed one after the other.
    let script = "$PROGRAM mcp < said > heard; echo 'It is done.'";
    let mut command = place.command(&["--limit", "1"], script);
    // A worker that was started within a conversation does not count as that conversation.
    command.env("PROGRAM", env!("CARGO_BIN_EXE_callstack")).env("CLAUDE_CODE_SESSION_ID", "outer");
    let output = command.output().unwrap();
    let heard = fs::read_to_string(place.file("heard")).unwrap();
    assert!(heard.contains("A worker has given you frame f2 (Cart)"), "{heard}");
    let sums = place.frame("f3".parse().unwrap());
    assert_eq!((sums.status, sums.results.as_deref()), (FrameStatus::Completed, Some("sums.rs")), "{heard}");
    let cart = place.frame(frame);
    assert_eq!((cart.status, cart.waits_for()), (FrameStatus::Blocked, "Which tax?"), "{heard}");
    assert_eq!(worked(&output)["completed"], 0, "what the agent has said by its tools stays: {output:?}");
}

/// The example of the documents, with agents that end with 0 no matter what has happened to their task.
#[test]
fn the_last_line_of_an_agent_says_what_the_frame_becomes() {
    let place = Place::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/agent-worker");
    let answers = [
        ("Done", "It is in cart.rs.", FrameStatus::Completed),
        ("Failed", "I tried.\nFAILED: the tests do not compile", FrameStatus::Failed),
        ("Blocked", "I need more.\nBLOCKED: Which tax applies?", FrameStatus::Blocked),
    ];
    for (title, answer, status) in answers {
        let frame = place.plan(title);
        fs::write(place.file("answer"), answer).unwrap();
        let script = format!("{} sh -c 'cat > context; cat answer' agent", example.display());
        place.command(&["--limit", "1"], &script).output().unwrap();
        let record = place.frame(frame);
        assert_eq!(record.status, status, "{title}: {record:?}");
        assert!(fs::read_to_string(place.file("context")).unwrap().contains(title));
    }
    assert!(place.frame("f3".parse().unwrap()).waits_for().contains("Which tax applies?"));
}

/// The text that a worker's agent gets about the frames around its own frame.
#[test]
fn a_part_of_a_planned_frame_is_not_the_whole_task() {
    let place = Place::new();
    let root = place.plan("Release");
    place.stack.plan(NewFrame::new("Cart").below(root).criteria("Totals are right")).unwrap();
    place.command(&["--limit", "1"], "cat > context").output().unwrap();
    let context = fs::read_to_string(place.file("context")).unwrap();
    assert!(context.contains("f1 is planned and follows."), "{context}");
    for wrong in ["ends the whole task", "not activated yet"] {
        assert!(!context.contains(wrong), "{wrong}: {context}");
    }
}
