//! Tests with many processes on one folder, and with processes that are killed at any moment. The work of the
//! workers is in `support::processes`.

use std::fs;
use std::path::Path;

use callstack_core::{Frame, NewFrame, Stack, StackOptions, StackState};
use support::processes::{Pauses, Suite};
use support::{Queries, setting};
use tempfile::tempdir;

const SUITE: Suite =
    Suite { open, worker: "store::processes::a_worker", check_left: check_frame_files, check_place: check_files };

fn open(folder: &str, options: StackOptions) -> Stack {
    Stack::open(folder, options).unwrap()
}

fn name(folder: &Path) -> &str {
    folder.to_str().unwrap()
}

/// Checks that the files of frames are whole.
fn check_frame_files(folder: &str) {
    for entry in fs::read_dir(Path::new(folder).join("frames")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read(&path).unwrap();
        let is_mirrored = path.extension().is_some_and(|extension| extension == "json");
        assert!(!is_mirrored || serde_json::from_slice::<Frame>(&text).is_ok(), "{} is not whole", path.display());
    }
}

/// Does nothing without a role, as in an ordinary test run.
#[test]
fn a_worker() {
    SUITE.work();
}

/// Checks the files beside the database, and the database itself.
fn check_files(folder: &str, stack: &Stack, state: &StackState) {
    let health = stack.upkeep().health().unwrap();
    assert!(health.is_sound(), "{health:?}");
    let folder = Path::new(folder);
    let text = fs::read_to_string(folder.join("state.json")).unwrap();
    assert_eq!(StackState::from_json(&text).unwrap(), (state.clone(), vec![]), "state.json equals the tree");
    for frame in &state.frames {
        let (found, _) = support::read_frame_file(&folder.join(format!("frames/{}.json", frame.session_id)));
        assert_eq!(found, *frame, "the file equals the frame");
    }
    let names = fs::read_dir(folder.join("frames")).unwrap().map(|entry| entry.unwrap().file_name());
    // A killed process can leave one partially written file. The next writer overwrites this file.
    let left_over = names.filter(|name| name != ".next.tmp").count() - state.frames.len();
    assert_eq!(left_over, 0, "files of no frame");
    let connection = rusqlite::Connection::open(folder.join("stack.db")).unwrap();
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn processes_share_a_tree_without_losing_anything() {
    let folder = tempdir().unwrap();
    SUITE.share(name(folder.path()));
    let log = fs::metadata(folder.path().join("stack.db-wal")).map_or(0, |data| data.len());
    assert!(log < 64 << 20, "the write-ahead log has grown to {log} bytes");
}

#[test]
fn an_import_may_be_killed_at_any_moment() {
    let old = Stack::in_memory();
    for number in 0..300 {
        old.push(NewFrame::new("Old").id(format!("ses_{number}")).root()).unwrap();
    }
    let kills = setting("STACK_TEST_KILLS", 25);
    let mut pauses = Pauses(362_436_069);
    let mut unfinished = 0;
    for round in 0..kills {
        let folder = tempdir().unwrap();
        old.files().export(folder.path()).unwrap();
        let original = fs::read(folder.path().join("state.json")).unwrap();
        let mut importer = SUITE.start("import", "importer", name(folder.path()));
        std::thread::sleep(pauses.below(40_000));
        importer.kill().unwrap();
        unfinished += usize::from(!importer.wait().unwrap().success());
        let stack = SUITE.stack(name(folder.path()));
        assert_eq!(stack.upkeep().repairs(), [], "round {round}");
        assert_eq!(
            stack.state().unwrap().frames,
            old.state().unwrap().frames,
            "round {round}: every frame is there once"
        );
        assert_eq!(stack.active(), old.active());
        let kept = fs::read(folder.path().join("before-import/state.json")).unwrap();
        assert_eq!(kept, original, "round {round}: the original is kept");
        assert!(!folder.path().join(".before-import").exists(), "round {round}: nothing is left half done");
    }
    assert!(unfinished > 0, "no import was killed");
    println!("{unfinished} of {kills} imports killed: nothing lost");
}

#[test]
fn processes_may_be_killed_at_any_moment() {
    let folder = tempdir().unwrap();
    SUITE.kill_at_any_moment(name(folder.path()), &["endless", "endless"]);
}

#[test]
fn a_compaction_may_be_killed_at_any_moment_beside_others() {
    let folder = tempdir().unwrap();
    SUITE.kill_at_any_moment(name(folder.path()), &["endless", "compact", "endless"]);
}

#[test]
fn a_snapshot_and_a_repair_may_be_killed_at_any_moment_beside_others() {
    let folder = tempdir().unwrap();
    SUITE.kill_at_any_moment(name(folder.path()), &["endless", "snapshot", "endless"]);
}
