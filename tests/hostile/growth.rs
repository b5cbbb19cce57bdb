//! Work grows linearly with its input. The tests compare steps or allocations of two sizes, never times. The
//! tests of the library's modules count steps inside of the library, and the tests in `tests/allocations`
//! count allocations. The tests here count files.

#[cfg(feature = "sqlite")]
use callstack_core::{Mirroring, StackOptions};
use callstack_core::{NewFrame, PopStatus, Results, Settings, Stack};
use support::Queries;

/// Random words in the texts of many siblings must not fill the memory, so only the first different words of
/// a text count. `tests/allocations` measures the memory that they take.
#[test]
fn the_first_words_of_a_sibling_decide_about_its_relevance() {
    // The first letter of a script, the number of letters, the letters of a word, and a word to find.
    for (first, letters, length, animal) in
        [('a', 26, 8, "zebra"), ('a', 26, 20, "zebra"), ('а', 32, 8, "зебра"), ('一', 5_000, 2, "斑马")]
    {
        // The word comes after this number of words, which are of this number of kinds at most.
        let score = |words_before: usize, kinds: usize| {
            let stack = Stack::in_memory();
            let root = stack.push(NewFrame::new("Root")).unwrap();
            let mut random = support::Random::new(1);
            let letter =
                |random: &mut support::Random| char::from_u32(u32::from(first) + random.below(letters) as u32).unwrap();
            let mut word = || -> String { (0..length).map(|_| letter(&mut random)).collect() };
            let words: Vec<String> = (0..kinds).map(|_| word()).collect();
            let finish = |title: &str, before: usize, last: &str, after: usize| {
                let some = |from: usize, count: usize| -> String {
                    words.iter().cycle().skip(from).take(count).map(|word| format!("{word} ")).collect()
                };
                let results = some(0, before) + last + " " + &some(before, after);
                let frame = stack.push(NewFrame::new(title).below(root)).unwrap();
                stack.pop(frame, PopStatus::Completed, Results::new(results)).unwrap();
                frame
            };
            let found = finish("Part", words_before, animal, 1_000 - words_before);
            finish("Other part", 500, "horse", 500);
            let frame = stack.push(NewFrame::new(format!("Draw {animal}")).below(root)).unwrap();
            let context = stack.context(frame, &Settings::default()).unwrap();
            context.report.entries.iter().find(|entry| entry.handle == found).unwrap().score
        };
        let (early, late, later) = (score(200, 1_000), score(300, 1_000), score(900, 1_000));
        assert!(early > late && late == later, "{animal}: {early} {late} {later}");
        // Repetitions do not take the place of other words.
        let (repeated, early) = (score(600, 40), score(20, 40));
        assert!(repeated > late && repeated == early, "{animal}: {repeated} {early} {late}");
    }
}

/// The frames whose files say that they are planned.
#[cfg(feature = "sqlite")]
fn planned_files(folder: &std::path::Path) -> usize {
    let files = std::fs::read_dir(folder.join("frames")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| std::fs::read_to_string(path).unwrap().contains(r#""status":"planned""#)).count()
}

#[cfg(feature = "sqlite")]
#[test]
fn a_command_writes_a_bounded_number_of_files() {
    let mut written = Vec::new();
    for size in [1_000, 2_000] {
        let folder = tempfile::tempdir().unwrap();
        let stack = Stack::open(folder.path(), StackOptions::default().mirror(Mirroring::WithCommands)).unwrap();
        let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
        let child = |index| NewFrame::new("Task").id(format!("child_{index}"));
        stack.plan_children(root, (0..size).map(child).collect()).unwrap();
        stack.files().flush().unwrap();
        assert_eq!(planned_files(folder.path()), size);
        stack.invalidate(root, "not wanted").unwrap();
        let left = planned_files(folder.path());
        written.push(size - left);
        // Nothing is lost: the remaining files are known, and the calls that serve this purpose write them.
        assert!(stack.files().status().unwrap().stale_frames >= left && left > 0);
        assert!(stack.upkeep().deadline().is_some());
        stack.files().flush().unwrap();
        assert_eq!(planned_files(folder.path()), 0);
        assert_eq!((stack.files().status().unwrap().stale_frames, stack.upkeep().deadline()), (0, None));
    }
    assert!(written.iter().all(|files| (1..=256).contains(files)), "a command wrote {written:?} files");
}

#[cfg(feature = "sqlite")]
#[test]
fn polls_finish_what_a_command_has_left() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    let stack = Stack::open(folder.path(), support::options_at(&now)).unwrap();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let child = |index| NewFrame::new("Task").id(format!("child_{index}"));
    stack.plan_children(root, (0..1_000).map(child).collect()).unwrap();
    let mut polls = 0;
    while let Some(deadline) = stack.upkeep().deadline() {
        now.store(deadline, Ordering::Relaxed);
        stack.upkeep().poll();
        polls += 1;
        // A poll on a slow disk writes few files, but always one.
        assert!(polls < 2_000);
    }
    assert_eq!(planned_files(folder.path()), 1_000);
    let state = std::fs::read_to_string(folder.path().join("state.json")).unwrap();
    assert_eq!(state, stack.state().unwrap().to_json());
}

/// The file of a frame lists its planned children. So if it were written after each plan, the cost would be
/// the square of their number.
#[cfg(feature = "sqlite")]
#[test]
fn a_large_file_is_not_written_after_every_change() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    let folder = tempfile::tempdir().unwrap();
    let options = support::options_at(&Arc::new(AtomicU64::new(10_000))).mirror(Mirroring::WithCommands);
    let stack = Stack::open(folder.path(), options).unwrap();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let listed = || {
        let text = std::fs::read_to_string(folder.path().join("frames/root.json")).unwrap();
        text.matches("child_").count()
    };
    let plan = |index: usize| {
        let id = format!("child_{index}_{}", "x".repeat(980));
        stack.plan(NewFrame::new("Task").id(id).below(root)).unwrap();
    };
    (0..14).for_each(plan);
    assert_eq!(listed(), 14);
    (14..200).for_each(plan);
    let few = listed();
    assert!(few < 30, "{few} of 200 children are listed, so the file was written for each of them");
    stack.files().flush().unwrap();
    assert_eq!(listed(), 200);
}
