//! Tests of the memory that folding takes: less than two copies of a request, and less than one copy if no
//! frame has ended.

use callstack_core::fold::{FoldSettings, Wire, fold};
use support::conversations::{Round, pop, push, request, shell};

/// A megabyte of conversation in which frames begin and, if `ends` is true, end.
fn conversation(wire: Wire, ends: bool) -> String {
    let mut rounds = vec![Round::default().words("Do the job.").text("I begin.")];
    for frame in 1..=30 {
        let (name, title) = (format!("f{frame}"), format!("Part {frame}"));
        rounds.push(push(&name, &title));
        rounds.extend((0..6).map(|step| shell(&format!("cat {step}"), &"let value = 1; // more\n".repeat(250))));
        if ends {
            rounds.push(pop(&name, &title, "completed", "It works", ""));
        }
    }
    request(wire, &rounds)
}

#[test]
fn folding_allocates_less_than_two_requests() {
    let _turn = crate::turn();
    for wire in Wire::ALL.iter().copied() {
        for ends in [true, false] {
            let request = conversation(wire, ends);
            let _profiler = dhat::Profiler::builder().testing().build();
            let before = dhat::HeapStats::get().total_bytes;
            let folded = fold(wire, &request, &FoldSettings::default());
            let taken = dhat::HeapStats::get().total_bytes - before;
            assert_eq!(folded.report.stretches.len(), if ends { 30 } else { 0 }, "{wire}");
            let share = taken as f64 / request.len() as f64;
            println!("{wire}: {share:.3} of a request of {} bytes", request.len());
            assert!(share < if ends { 2.0 } else { 1.0 }, "{wire}: {share} of the request was allocated");
        }
    }
}
