//! Measures how work grows with its size: each kind of work at three sizes, as whole runs of the stack's
//! methods in memory. Prints a table with the times in milliseconds, and how many times longer the largest
//! size takes for each unit of work than the smallest one.
//!
//! `GROWTH_BENCH_SIZES=1000,4000` sets other sizes, and `GROWTH_BENCH_ONLY=chunks` measures the rows whose
//! names have this text.

use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

use callstack_core::frame::{ModelRequest, NewChunk, Question};
use callstack_core::import;
use callstack_core::tree::outline;
use callstack_core::{
    Finish, Frame, FrameEdit, FrameStatus, NewFrame, NewHold, OutlineOptions, PopStatus, Settings, Stack, StackOptions,
    StackState,
};
use serde_json::json;

/// A row: its name, and a function that does the work at a size and returns the time that it took.
type Row = (&'static str, fn(usize) -> Duration);

const ROWS: &[Row] = &[
    ("n siblings: push and complete each, with its context", siblings),
    ("n children: push and complete each, with the context of the root", children),
    ("a planned chain of n siblings: begin and complete each, with its context", planned_chain),
    ("n free frames: hold each", holds),
    ("a planned chain of n levels: hold and finish from the end", deep_holds),
    ("n frames that each wait for the next one: hold and finish", reverse_chain),
    ("n chunks: allocate", allocate),
    ("n chunks: free", free),
    ("a chain of n dependencies: edit each", edits),
    ("n lookups of a title that n frames have", lookups),
    ("an outline in which n / 10 frames wait for as many others each", waiting_outline),
    ("n answers to one question", answers),
    ("n models in the usage of one frame", models),
    ("a frame with n questions: import", questions),
    ("100 contexts above n blocked frames", blocked),
    ("n artifacts of one frame", artifacts),
    ("n attempts at one frame", attempts),
    ("n levels: read from a state", read_levels),
    ("n levels: write the documented files", export_levels),
    ("n frames: import into a folder", import_folder),
    ("n items of a check list: read", read_check_list),
    ("n tasks of Task Master: read", read_tasks),
    ("n issues of Beads: read", read_issues),
    ("100 contexts after changes of the n finished siblings", changed_siblings),
];

fn main() {
    let sizes = env::var("GROWTH_BENCH_SIZES").unwrap_or_else(|_| "1000,4000,16000".into());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.trim().parse().expect("a number of frames")).collect();
    let only = env::var("GROWTH_BENCH_ONLY").unwrap_or_default();
    let heads: Vec<String> = sizes.iter().map(|size| format!("n = {size}")).collect();
    println!("| work | {} | growth |", heads.join(" | "));
    println!("|---|{}", "---:|".repeat(sizes.len() + 1));
    for (name, run) in ROWS.iter().filter(|(name, _)| name.contains(&only)) {
        let times: Vec<f64> = sizes.iter().map(|size| run(*size).as_secs_f64() * 1e3).collect();
        let cells: Vec<String> = times.iter().map(|time| format!("{time:.3} ms")).collect();
        let unit = |place: usize| times[place] / sizes[place] as f64;
        println!("| {name} | {} | {:.1} × |", cells.join(" | "), unit(sizes.len() - 1) / unit(0));
    }
}

fn timed(run: impl FnOnce()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

fn id(number: usize) -> String {
    format!("ses_{number:08}")
}

fn stack(frames: Vec<Frame>) -> Stack {
    // The lists of roots and of planned children, which are missing, are made from the parents.
    let state = StackState { frames, revision: 1, ..StackState::default() };
    Stack::from_state(state, StackOptions::default()).0
}

fn frame(number: usize, parent: Option<usize>, status: FrameStatus) -> Frame {
    Frame {
        session_id: id(number),
        parent_session_id: parent.map(id),
        status,
        title: format!("Task {number}: parse part {}", number % 97),
        success_criteria: "All options of the file are read".into(),
        created_at: number as u64,
        ..Frame::default()
    }
}

/// A root in progress with `size` children.
fn family(size: usize, child: impl Fn(usize) -> Frame) -> Vec<Frame> {
    let mut frames = vec![frame(0, None, FrameStatus::InProgress)];
    frames.extend((1..=size).map(child));
    frames
}

fn new_frame(number: usize) -> NewFrame {
    NewFrame::new(format!("Task {number}: parse part {}", number % 97)).id(id(number)).below(id(0))
}

fn see(stack: &Stack, number: usize) {
    black_box(stack.context(id(number), &Settings::default()).unwrap());
}

fn complete(stack: &Stack, number: usize) {
    stack.pop(id(number), PopStatus::Completed, "The parser reads all options").unwrap();
}

fn siblings(size: usize) -> Duration {
    let stack = stack(family(0, |_| unreachable!()));
    timed(|| {
        for number in 1..=size {
            stack.push(new_frame(number)).unwrap();
        }
        for number in 1..=size {
            complete(&stack, number);
            see(&stack, number);
        }
    })
}

fn children(size: usize) -> Duration {
    let stack = stack(family(0, |_| unreachable!()));
    timed(|| {
        for number in 1..=size {
            stack.push(new_frame(number)).unwrap();
            complete(&stack, number);
            see(&stack, 0);
        }
    })
}

/// A root with planned children. Each child depends on the child before it.
fn dependent_chain(size: usize) -> Stack {
    stack(family(size, |number| Frame {
        depends_on: if number > 1 { vec![id(number - 1)] } else { Vec::new() },
        ..frame(number, Some(0), FrameStatus::Planned)
    }))
}

fn planned_chain(size: usize) -> Duration {
    let stack = dependent_chain(size);
    timed(|| {
        for number in 1..=size {
            stack.activate(id(number)).unwrap();
            see(&stack, number);
            complete(&stack, number);
        }
    })
}

fn holds(size: usize) -> Duration {
    let stack = stack(family(size, |number| frame(number, Some(0), FrameStatus::Planned)));
    timed(|| {
        for number in 0..size {
            stack.work().hold(NewHold::new(format!("worker {number}"), 60_000)).unwrap().unwrap();
        }
    })
}

fn hold_and_finish_all(stack: &Stack, size: usize) {
    for _ in 0..size {
        let hold = stack.work().hold(NewHold::new("worker", 60_000)).unwrap().unwrap();
        stack.work().finish(&hold, Finish::Done("Done".into())).unwrap();
    }
}

fn deep_holds(size: usize) -> Duration {
    let stack = stack((0..size).map(|number| frame(number, number.checked_sub(1), FrameStatus::Planned)).collect());
    timed(|| hold_and_finish_all(&stack, size))
}

fn reverse_chain(size: usize) -> Duration {
    let stack = stack(family(size, |number| Frame {
        depends_on: if number < size { vec![id(number + 1)] } else { Vec::new() },
        ..frame(number, Some(0), FrameStatus::Planned)
    }));
    timed(|| hold_and_finish_all(&stack, size))
}

fn with_chunks(size: usize) -> Stack {
    let stack = stack(family(0, |_| unreachable!()));
    for number in 0..size {
        stack.heap(id(0)).allocate(NewChunk::new(format!("chunk-{number}")).content("text")).unwrap();
    }
    stack
}

fn allocate(size: usize) -> Duration {
    timed(|| drop(with_chunks(size)))
}

fn free(size: usize) -> Duration {
    let stack = with_chunks(size);
    timed(|| (0..size).for_each(|number| stack.heap(id(0)).free(format!("chunk-{number}")).unwrap()))
}

fn edits(size: usize) -> Duration {
    let stack = dependent_chain(size);
    timed(|| {
        for number in 2..=size {
            let depends_on = [id(number - 1), id(number.saturating_sub(2).max(1))];
            stack.edit(id(number), FrameEdit::default().depends_on(depends_on)).unwrap();
        }
    })
}

fn lookups(size: usize) -> Duration {
    let stack = stack(family(size, |number| Frame {
        title: "The same".into(),
        ..frame(number, Some(0), FrameStatus::Planned)
    }));
    timed(|| (0..size).for_each(|_| assert!(black_box(stack.resolve("The same")).is_err())))
}

fn waiting_outline(size: usize) -> Duration {
    let part = size / 10;
    let stack = stack(family(2 * part, |number| Frame {
        depends_on: if number > part { (1..=part).map(id).collect() } else { Vec::new() },
        ..frame(number, Some(0), FrameStatus::Planned)
    }));
    timed(|| drop(black_box(stack.read(|tree| outline(tree, &OutlineOptions::default())).unwrap())))
}

fn answers(size: usize) -> Duration {
    let stack = stack(family(0, |_| unreachable!()));
    stack.block(id(0), "Which rate?", None).unwrap();
    timed(|| (0..size).for_each(|number| stack.answer(id(0), format!("{number} %")).unwrap()))
}

fn models(size: usize) -> Duration {
    let stack = stack(family(0, |_| unreachable!()));
    timed(|| {
        for number in 0..size {
            let mut request = ModelRequest::new(format!("model-{number}"));
            request.output = 10;
            stack.record_usage(id(0), request).unwrap();
        }
    })
}

fn questions(size: usize) -> Duration {
    let asked = |number: usize| Question {
        question: format!("Question {number}?"),
        asked_at: number as u64,
        answer: Some(format!("Answer {number}")),
        answered_at: Some(number as u64),
        ..Question::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let one = Frame { questions: (0..size).map(asked).collect(), ..frame(0, None, FrameStatus::InProgress) };
    timed(|| drop(stack.import(vec![one]).unwrap()))
}

fn blocked(size: usize) -> Duration {
    let question = Question { question: "Which rate?".into(), asked_at: 1, ..Question::default() };
    let stack = stack(family(size, |number| Frame {
        questions: vec![question.clone()],
        ..frame(number, Some(0), FrameStatus::Blocked)
    }));
    let handle = stack.resolve(id(0)).unwrap();
    timed(|| {
        (0..100).for_each(|_| drop(black_box(stack.context_uncached(handle, &Settings::default()).unwrap())));
    })
}

fn artifacts(size: usize) -> Duration {
    let stack = stack(family(0, |_| unreachable!()));
    timed(|| {
        for number in 0..size {
            stack.add_artifact(id(0), format!("src/{number}.rs")).unwrap();
        }
    })
}

fn attempts(size: usize) -> Duration {
    let stack = stack(family(1, |number| frame(number, Some(0), FrameStatus::InProgress)));
    let mut newest = stack.resolve(id(1)).unwrap();
    timed(|| {
        for _ in 0..size {
            stack.pop(newest, PopStatus::Failed, "It did not work").unwrap();
            newest = stack.retry(newest, None).unwrap().handle;
            stack.activate(newest).unwrap();
        }
    })
}

fn levels(size: usize) -> Vec<Frame> {
    (0..size).map(|number| frame(number, number.checked_sub(1), FrameStatus::InProgress)).collect()
}

fn read_levels(size: usize) -> Duration {
    let mut frames = levels(size);
    frames.reverse();
    timed(|| drop(stack(frames)))
}

fn export_levels(size: usize) -> Duration {
    let stack = stack(levels(size));
    let folder = tempfile::tempdir().unwrap();
    timed(|| stack.files().export(folder.path()).unwrap())
}

fn import_folder(size: usize) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let frames = family(size, |number| frame(number, Some(0), FrameStatus::Planned));
    timed(|| drop(stack.import(frames).unwrap()))
}

fn read_check_list(size: usize) -> Duration {
    let items: String = (0..size).map(|number| format!("- [ ] Task {number}\n  Its rates are right.\n")).collect();
    timed(|| drop(black_box(import::frames(&items).unwrap())))
}

fn read_tasks(size: usize) -> Duration {
    let task = |number: usize| json!({ "id": number + 1, "title": format!("Task {number}"), "status": "pending" });
    let tasks = json!({ "master": { "tasks": (0..size).map(task).collect::<Vec<_>>() } }).to_string();
    timed(|| drop(black_box(import::frames(&tasks).unwrap())))
}

fn read_issues(size: usize) -> Duration {
    let issue = |number: usize| {
        let issue = json!({ "id": format!("bd-{number}"), "title": format!("Task {number}"), "status": "open" });
        format!("{issue}\n")
    };
    let issues: String = (0..size).map(issue).collect();
    timed(|| drop(black_box(import::frames(&issues).unwrap())))
}

fn changed_siblings(size: usize) -> Duration {
    let mut frames = family(size, |number| Frame {
        results: Some(format!("The parser reads part {number}")),
        ..frame(number, Some(0), FrameStatus::Completed)
    });
    frames.push(frame(size + 1, Some(0), FrameStatus::InProgress));
    let stack = stack(frames);
    let settings = Settings::default();
    let handle = stack.resolve(id(size + 1)).unwrap();
    black_box(stack.context_uncached(handle, &settings).unwrap());
    let mut time = Duration::ZERO;
    for number in 0..100 {
        let number = 1 + number * size / 100;
        stack.record_usage(id(number), ModelRequest::new("model")).unwrap();
        stack.push(new_frame(size + 2 + number)).unwrap();
        complete(&stack, size + 2 + number);
        time += timed(|| drop(black_box(stack.context_uncached(handle, &settings).unwrap())));
    }
    time
}
