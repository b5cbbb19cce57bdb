//! The rule of folding, case by case, in the form of each wire.

use callstack_core::fold::{FoldSettings, FoldedStatus, Wire, fold};
use callstack_core::{ToolNames, ToolRole};
use serde_json::json;
use support::assert_golden;
use support::conversations::{Called, Round, activate, pop, push, request, shell};

fn folded(wire: Wire, rounds: &[Round]) -> String {
    let request = request(wire, rounds);
    let folded = fold(wire, &request, &FoldSettings::default());
    assert_eq!(super::validity::problem(wire, &folded.text), None, "{wire}: {}", folded.text);
    folded.text.into_owned()
}

/// Checks in each wire which words are left, and which words were removed.
fn check(rounds: &[Round], left: &[&str], gone: &[&str]) {
    for wire in Wire::ALL.iter().copied() {
        let text = folded(wire, rounds);
        for word in left {
            assert!(text.contains(word), "{wire}: {word} is gone: {text}");
        }
        for word in gone {
            assert!(!text.contains(word), "{wire}: {word} is left: {text}");
        }
    }
}

fn with(round: Round, status_of: &str, key: &str, value: serde_json::Value) -> Round {
    let mut round = round;
    let call = round.calls.iter_mut().find(|call| call.name == status_of).unwrap();
    call.arguments[key] = value;
    round
}

/// The conversation of docs/fold.md.
fn shop() -> Vec<Round> {
    vec![
        push("f1", "Shop").words("Build the shop."),
        push("f2", "Cart").text("First the cart."),
        shell("cat src/cart.rs", "struct Cart;").reasoning("What is there?").text("I read what is there."),
        Round::call(
            "record",
            json!({ "decisions": ["Prices are integers"], "artifacts": ["src/cart.rs"] }),
            "f2 (Cart): recorded.\nYou are in f2 (Cart).",
        ),
        shell("cargo test", "9 tests passed"),
        pop("f2", "Cart", "completed", "Cart::total() in src/cart.rs; 9 tests", "f1 (Shop)"),
        push("f3", "Pay"),
        shell("cat src/pay.rs", "struct Pay;"),
    ]
}

#[test]
fn a_finished_frame_is_a_call_and_its_return() {
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &shop());
        let pretty = |text: &str| {
            serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap() + "\n"
        };
        assert_golden(&format!("fold/{wire}.before.json"), &pretty(&request));
        assert_golden(&format!("fold/{wire}.json"), &pretty(&folded(wire, &shop())));
    }
    check(
        &shop(),
        &[
            "Cart::total() in src/cart.rs; 9 tests",
            "Prices are integers",
            "First the cart.",
            "struct Pay",
            "Build the shop.",
        ],
        &["struct Cart", "What is there?", "I read what is there.", "9 tests passed"],
    );
}

#[test]
fn the_report_says_what_is_gone() {
    let request = request(Wire::Anthropic, &shop());
    let report = fold(Wire::Anthropic, &request, &FoldSettings::default()).report;
    let stretch = &report.stretches[0];
    assert_eq!(
        (report.stretches.len(), stretch.frame.to_string(), stretch.status),
        (1, "f2".into(), FoldedStatus::Completed)
    );
    // One thought, one text, four calls and their outcomes.
    assert_eq!(stretch.items, 10);
    assert!(stretch.bytes > 400 && stretch.tokens > 100 && stretch.returned > 100, "{stretch:?}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["stretches"][0]["frame"], "f2", "{json}");
}

#[test]
fn what_was_pushed_within_goes_with_it() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        push("f3", "Totals"),
        shell("inner", "innermost"),
        pop("f3", "Totals", "completed", "inner-results", "f2 (Cart)"),
        pop("f2", "Cart", "completed", "outer-results", "f1 (Shop)"),
    ];
    check(&rounds, &["outer-results"], &["innermost", "inner-results", "Totals"]);
}

#[test]
fn decisions_of_a_frame_within_stay_with_that() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        push("f3", "Totals"),
        Round::call(
            "record",
            json!({ "decisions": ["inner-decision"] }),
            "f3 (Totals): recorded.\nYou are in f3 (Totals).",
        ),
        pop("f3", "Totals", "completed", "inner-results", "f2 (Cart)"),
        Round::call(
            "record",
            json!({ "decisions": ["own-decision"], "frame": "f2" }),
            "f2 (Cart): recorded.\nYou are in f2 (Cart).",
        ),
        pop("f2", "Cart", "completed", "outer-results", "f1 (Shop)"),
    ];
    check(&rounds, &["own-decision"], &["inner-decision"]);
}

#[test]
fn calls_of_one_message_are_read_in_their_order() {
    // A pop and the next push: the pop is removed, the push stays.
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)").and(push("f3", "Pay")),
        shell("ls", "pay-files"),
    ];
    check(&rounds, &["cart-results", "Pay", "pay-files"], &["cart-files"]);
    // A command after a push belongs to the pushed frame. A command before the push belongs to the
    // outer frame.
    let rounds = [
        push("f1", "Shop").words("Build."),
        shell("ls", "outer-files").and(push("f2", "Cart")).and(shell("ls", "inner-files")),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)").and(shell("ls", "later-files")),
    ];
    for wire in Wire::ALL.iter().copied() {
        let text = folded(wire, &rounds);
        for (word, is_left) in
            [("outer-files", true), ("inner-files", false), ("later-files", true), ("cart-results", true)]
        {
            assert_eq!(text.contains(word), is_left, "{wire}: {word}: {text}");
        }
    }
}

#[test]
fn a_pop_that_begins_the_next_frame_stays_as_its_beginning() {
    let next = Round::call(
        "pop",
        json!({ "status": "completed", "results": "cart-results", "next": true }),
        "f2 (Cart) is completed.\nf3 (Pay) is in progress: work in it now, then pop it.\n<stack-context>\n</stack-context>\nYou are in f3 (Pay).",
    );
    let mut rounds = vec![
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        next,
        shell("ls", "pay-files"),
    ];
    check(
        &rounds,
        &["cart-results", "f2 (Cart) is completed: see below.", "pay-files", "f3 (Pay) is in progress"],
        &["cart-files"],
    );
    rounds.push(pop("f3", "Pay", "completed", "pay-results", "f1 (Shop)"));
    check(
        &rounds,
        &["cart-results", "f2 (Cart) is completed: see below.", "pay-results"],
        &["cart-files", "pay-files", "stack-context"],
    );
}

/// A finding of the property tests: the line about the next frame was left in the returned results of the
/// first frame, and began the next frame a second time.
#[test]
fn a_frame_that_goes_on_elsewhere_returns_nothing_of_the_next_one() {
    let next = Round::call(
        "pop",
        json!({ "status": "completed", "results": "cart-results", "next": true }),
        "f2 (Cart) is completed.\nf4 (Pay) is in progress: work in it now, then pop it.\nYou are in f4 (Pay).",
    );
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        pop("f2", "Cart", "blocked", "so-far", "f1 (Shop)"),
        push("f3", "Search"),
        activate("f2", "Cart"),
        next,
        pop("f4", "Pay", "completed", "pay-results", "f3 (Search)"),
        pop("f3", "Search", "completed", "search-results", "f1 (Shop)"),
    ];
    check(&rounds, &["cart-results", "search-results"], &["f4 (Pay)", "so-far", "pay-results"]);
}

#[test]
fn a_refused_call_is_no_boundary() {
    let refused = |name: &'static str, text: &str| {
        let mut round = Round::call(name, json!({ "status": "completed", "results": "too-early" }), text);
        round.calls[0].is_error = true;
        round
    };
    let rounds = [
        push("f1", "Shop").words("Build."),
        shell("ls", "files"),
        refused("pop", "f1 (Shop) is not done: below it are f2"),
        refused("push", "the depth is too large"),
        shell("ls", "more-files"),
    ];
    for wire in Wire::ALL.iter().copied() {
        assert_eq!(folded(wire, &rounds), request(wire, &rounds), "{wire}");
    }
}

#[test]
fn a_pop_of_an_outer_frame_ends_those_within() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        push("f3", "Totals"),
        shell("ls", "inner-files"),
        with(pop("f2", "Cart", "failed", "outer-results", "f1 (Shop)"), "pop", "frame", json!("f2")),
        shell("ls", "later-files"),
    ];
    check(&rounds, &["outer-results", "f2 (Cart) is failed", "later-files"], &["inner-files", "Totals"]);
}

#[test]
fn calls_without_an_answer_at_the_end_stay() {
    let mut rounds = vec![
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "files"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
    ];
    let mut last = push("f3", "Pay").and(shell("make", ""));
    last.calls.iter_mut().for_each(|call| call.answer = None);
    rounds.push(last);
    check(&rounds, &["cart-results", "make", "Pay"], &["\"files\"", "files\\n"]);
}

#[test]
fn the_persons_words_stay_in_their_place() {
    let mut rounds = vec![
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "files-of-cart").words("Use <b>integers</b> for prices!"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        shell("ls", "later"),
    ];
    rounds.insert(3, shell("ls", "files-of-cart"));
    rounds[3].note = Some("a-note-of-the-host".into());
    for wire in Wire::ALL.iter().copied() {
        let text = folded(wire, &rounds);
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{wire}: {word}: {text}"));
        let (returned, words, later) =
            (place("cart-results"), place("Use <b>integers</b> for prices!"), place("later"));
        assert!(returned < words && words < later, "{wire}: {text}");
        assert!(!text.contains("a-note-of-the-host") && !text.contains("files-of-cart"), "{wire}: {text}");
    }
}

#[test]
fn a_blocked_frame_goes_when_another_one_begins_and_comes_back() {
    let blocked = with(pop("f2", "Cart", "blocked", "so-far", "f1 (Shop)"), "pop", "question", json!("which-rate"));
    let mut rounds = vec![
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        blocked,
        shell("ls", "outer-files"),
    ];
    check(&rounds, &["cart-files", "which-rate"], &[]);
    rounds.push(push("f3", "Pay"));
    check(&rounds, &["f2 (Cart) is blocked", "which-rate", "so-far", "outer-files"], &["cart-files"]);
    rounds.push(pop("f3", "Pay", "completed", "pay-results", "f1 (Shop)"));
    rounds.push(activate("f2", "Cart"));
    check(&rounds, &["cart-files", "which-rate", "pay-results"], &[]);
    rounds.push(shell("ls", "new-files"));
    rounds.push(pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"));
    check(&rounds, &["cart-results", "f2 (Cart) is completed: see below."], &["cart-files", "new-files", "which-rate"]);
}

#[test]
fn an_invalidated_frame_returns_the_reason() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        Round::call(
            "invalidate",
            json!({ "frame": "f2", "reason": "nobody-buys" }),
            "f2 (Cart) is out of the plan.\nYou are in f1 (Shop).",
        ),
    ];
    check(&rounds, &["nobody-buys", "out of the plan"], &["cart-files"]);
}

#[test]
fn long_results_are_cut_with_a_pointer() {
    let results = "ü".repeat(16_000) + "behind the limit";
    let rounds =
        [push("f1", "Shop").words("Build."), push("f2", "Cart"), pop("f2", "Cart", "completed", &results, "f1 (Shop)")];
    check(&rounds, &["(16 more characters)", "status {\\\"of\\\": \\\"f2\\\"} shows all of it"], &["behind the limit"]);
    let exactly = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        pop("f2", "Cart", "completed", &results[..32_000], "f1 (Shop)"),
    ];
    check(&exactly, &[], &["more characters"]);
}

#[test]
fn the_pointer_can_be_set() {
    let request = request(Wire::Chat, &shop());
    let with = |pointer: &str| {
        fold(Wire::Chat, &request, &FoldSettings::default().pointer(Some(pointer.into()))).text.into_owned()
    };
    assert!(with("Log: callstack log {frame}").contains("Log: callstack log f2\\nYou are in f1 (Shop)."));
    assert!(!with("").contains("shows all of it"));
}

#[test]
fn work_that_was_handed_over_is_no_stretch() {
    let handed = Round::call(
        "push",
        json!({ "title": "Cart", "handOver": true }),
        "f2 (Cart) has begun, for a subagent. Give it this prompt:\nYour task on the call stack is frame f2 (Cart).\nYou are in f1 (Shop).",
    );
    let rounds = [push("f1", "Shop").words("Build."), handed, shell("ls", "files")];
    for wire in Wire::ALL.iter().copied() {
        assert_eq!(folded(wire, &rounds), request(wire, &rounds), "{wire}");
    }
}

#[test]
fn a_conversation_can_begin_within_a_frame() {
    // A compaction has removed the push.
    let rounds = [
        shell("ls", "old-files").words("A summary."),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        push("f3", "Pay"),
        shell("ls", "pay-files"),
        pop("f3", "Pay", "completed", "pay-results", "f1 (Shop)"),
        pop("f1", "Shop", "completed", "shop-results", ""),
    ];
    check(&rounds[..5], &["old-files", "cart-results", "pay-results"], &["pay-files"]);
    // Now the whole task has ended.
    check(&rounds, &["A summary.", "shop-results"], &["old-files", "cart-results", "pay-files", "pay-results"]);
}

#[test]
fn a_task_that_began_with_the_persons_words_goes_when_it_has_ended() {
    let decide = |frame: &str, title: &str, decision: &str| {
        let answer = format!("{frame} ({title}): recorded.\nYou are in {frame} ({title}).");
        Round::call("record", json!({ "decisions": [decision] }), answer)
    };
    let rounds = [
        shell("ls", "shop-files").words("Build the shop.").text("I look."),
        decide("f1", "Shop", "Prices are integers"),
        push("f2", "Cart"),
        shell("cat", "cart-files").words("Use Rust."),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        pop("f1", "Shop", "completed", "shop-results", ""),
        Round::default().text("The shop is open."),
        shell("ls", "docs-files").words("Now the docs."),
        pop("f3", "Docs", "failed", "docs-results", ""),
        Round::default().text("There are no docs."),
    ];
    let kept = ["Build the shop.", "Use Rust.", "shop-results", "Prices are integers", "The shop is open."];
    let gone = ["I look.", "shop-files", "cart-files", "cart-results"];
    check(&rounds[..5], &["I look.", "shop-files", "cart-results"], &["cart-files"]);
    check(&rounds[..6], &kept[..4], &gone);
    check(&rounds[..8], &[&kept[..], &["docs-files"]].concat(), &gone);
    check(&rounds, &[&kept[..], &["Now the docs.", "docs-results", "There are no docs."]].concat(), &["docs-files"]);
    // A call that names a frame may concern any other frame than the one in which the conversation was.
    let named = with(rounds[5].clone(), "pop", "frame", json!("f1"));
    check(&[rounds[0].clone(), named.clone()], &["shop-files"], &[]);
    check(&[rounds[0].clone(), rounds[1].clone(), named], &["Prices are integers"], &["shop-files"]);
    // A blocked task continues.
    check(&[rounds[0].clone(), pop("f1", "Shop", "blocked", "so far", "f1 (Shop)")], &["shop-files"], &[]);
}

/// The answer of the push of f2 was lost: only the end of f3 says that the conversation is in f2.
#[test]
fn a_frame_whose_beginning_is_not_known_is_within_the_frames_before_it() {
    let mut lost = Round::call("push", json!({ "title": "Cart" }), "The server has ended.");
    lost.calls[0].is_error = true;
    let rounds = [
        push("f1", "Shop").words("Build the shop."),
        lost,
        push("f3", "Options"),
        pop("f3", "Options", "completed", "options-results", "f2 (Cart)"),
        push("f4", "Pay"),
        shell("cat", "pay-files"),
        activate("f1", "Shop"),
        shell("cat", "shop-files"),
        activate("f4", "Pay"),
        pop("f4", "Pay", "completed", "pay-results", "f2 (Cart)"),
        with(pop("f1", "Shop", "completed", "shop-results", ""), "pop", "frame", json!("f1")),
    ];
    check(&rounds[..10], &["options-results", "shop-files", "pay-results"], &["pay-files"]);
    check(&rounds, &["shop-results"], &["options-results", "shop-files", "pay-results"]);
}

/// The conversation was rewound: the call with which it has gone back to f1 cannot be seen any more.
#[test]
fn an_answer_that_names_the_frame_around_says_where_the_conversation_is() {
    let place = "f1 (Shop): recorded.\nYou are in f1 (Shop).";
    let rounds = [
        push("f1", "Shop").words("Build the shop."),
        push("f2", "Cart"),
        shell("cat", "cart-files"),
        Round::call("record", json!({ "frame": "f1", "decisions": ["shop-decision"] }), place),
        shell("cat", "shop-files"),
        activate("f2", "Cart"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        with(pop("f1", "Shop", "completed", "shop-results", ""), "pop", "frame", json!("f1")),
    ];
    check(&rounds[..7], &["shop-decision", "shop-files", "cart-results"], &["cart-files"]);
    check(&rounds, &["shop-results"], &["shop-files", "cart-results"]);
}

/// Inside another frame, the conversation ends a frame that it has not begun: the results of this frame are
/// nowhere else.
#[test]
fn the_end_of_a_frame_around_stays() {
    let rounds = [
        shell("ls", "shop-files").words("Build the shop."),
        push("f2", "Cart"),
        shell("cat", "cart-files"),
        Round::call(
            "pop",
            json!({ "frame": "f1", "status": "completed", "results": "shop-results" }),
            "f1 (Shop) is completed.\nYou are in f2 (Cart).",
        ),
        shell("cat", "later-files").words("Go on."),
        pop("f2", "Cart", "completed", "cart-results", ""),
        Round::default().text("Done."),
    ];
    check(&rounds, &["Build the shop.", "shop-results", "Go on.", "cart-results"], &["cart-files", "later-files"]);
}

/// The answer says that the frame is below another frame than the one in which the conversation was.
#[test]
fn a_frame_beside_the_one_in_which_it_was_gone_on_with_returns_its_own_results() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f3", "Mail"),
        Round::call(
            "activate",
            json!({ "frame": "f2" }),
            "f2 (Cart) has begun: work in it now, then finish it with pop. It is below f1 (Shop).\nYou are in f2 (Cart).",
        ),
        shell("cat", "cart-files"),
        pop("f2", "Cart", "completed", "cart-results", "f3 (Mail)"),
        pop("f3", "Mail", "completed", "mail-results", "f1 (Shop)"),
    ];
    check(&rounds, &["cart-results", "mail-results"], &["cart-files"]);
}

/// The person has written nothing after the summary: the host lets the model continue automatically.
#[test]
fn a_task_that_a_summary_tells_goes_when_it_has_ended() {
    let mut summary = shell("ls", "shop-files");
    summary.summary = Some("The shop is half built.".to_owned());
    let rounds = [
        shell("ls", "old-files").words("Build the shop."),
        summary,
        shell("cat", "cart-files").text("I go on."),
        pop("f1", "Shop", "completed", "shop-results", ""),
        Round::default().text("The shop is open."),
    ];
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Opencode, Wire::Pi] {
        let text = folded(wire, &rounds);
        for kept in ["The shop is half built.", "shop-results", "The shop is open."] {
            assert!(text.contains(kept), "{wire}: {kept} is gone: {text}");
        }
        assert!(!text.contains("cart-files") && !text.contains("I go on."), "{wire}: {text}");
        // From the message with the summary, a call stays if another message of the model cannot follow.
        assert_eq!(text.contains("shop-files"), wire == Wire::Anthropic, "{wire}: {text}");
    }
}

#[test]
fn a_task_that_was_folded_has_nothing_to_fold() {
    let rounds = [
        shell("ls", "files").words("Build the shop."),
        pop("f1", "Shop", "completed", "shop-results", ""),
        Round::default().text("The shop is open."),
    ];
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &rounds);
        let once = fold(wire, &request, &FoldSettings::default());
        assert_eq!(once.report.stretches.len(), 1, "{wire}");
        let again = fold(wire, &once.text, &FoldSettings::default());
        assert!(again.report.is_empty() && again.text == once.text, "{wire}");
    }
}

#[test]
fn names_of_tools_can_be_those_of_the_host() {
    let mut rounds = shop();
    for call in rounds.iter_mut().flat_map(|round| &mut round.calls) {
        call.name = match call.name {
            "push" => "begin_task",
            "pop" => "end_task",
            other => other,
        };
    }
    let request = request(Wire::Chat, &rounds);
    let tools = ToolNames::default().name(ToolRole::Push, "begin_task").name(ToolRole::Pop, "end_task");
    let fold = |settings: FoldSettings| fold(Wire::Chat, &request, &settings).text.into_owned();
    assert!(!fold(FoldSettings::default().tools(tools)).contains("struct Cart"));
    assert_eq!(fold(FoldSettings::default()), request);
}

#[test]
fn half_characters_and_control_characters_are_returned_as_they_can_be() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        pop("f2", "Cart", "completed", "cut HALF \u{1}\n\"", "f1 (Shop)"),
    ];
    for wire in Wire::ALL.iter().copied() {
        let half = if matches!(wire, Wire::Chat | Wire::Responses) { "\\\\ud83d" } else { "\\ud83d" };
        let request = request(wire, &rounds).replace("HALF", half);
        let folded = fold(wire, &request, &FoldSettings::default()).text;
        assert!(folded.contains("cut \u{fffd}") && !folded.contains("ud83d"), "{wire}: {folded}");
    }
}

#[test]
fn a_gemini_call_whose_signature_is_checked_stays() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)").and(push("f3", "Pay")),
    ];
    let text = folded(Wire::Gemini, &rounds);
    assert_eq!(text.matches("mcp_callstack_pop").count(), 2, "the call and its outcome: {text}");
    assert_eq!(text.matches("cart-results").count(), 1, "{text}");
    assert_eq!(folded(Wire::Chat, &rounds).matches("callstack-pop").count(), 0);
}

#[test]
fn requests_with_a_part_that_is_elsewhere_stay() {
    let request = request(Wire::Responses, &shop());
    for (key, value, is_folded) in [
        ("previous_response_id", "\"resp_1\"", false),
        ("conversation", "{\"id\":\"conv_1\"}", false),
        ("previous_response_id", "null", true),
    ] {
        let request = request.replacen('{', &format!("{{\"{key}\":{value},"), 1);
        let folded = fold(Wire::Responses, &request, &FoldSettings::default()).text;
        assert_eq!(*folded != *request, is_folded, "{key}: {value}");
    }
    let text = r#"{"input": "Build the shop."}"#;
    assert_eq!(&*fold(Wire::Responses, text, &FoldSettings::default()).text, text);
}

#[test]
fn a_request_that_breaks_a_rule_stays() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        let request = request(wire, &shop());
        // An outcome without a call; two calls with the same ID; the conversation twice.
        for broken in [request.replacen("\"call_2\"", "\"call_99\"", 1), request.replace("\"call_4\"", "\"call_2\"")] {
            assert_ne!(broken, request);
            // Some models number the calls of each message from the start.
            if wire == Wire::Chat && !broken.contains("call_99") {
                continue;
            }
            assert_eq!(&*fold(wire, &broken, &FoldSettings::default()).text, &*broken, "{wire}");
        }
    }
    let request = request(Wire::Anthropic, &shop());
    let twice = format!("{},\"messages\":[]}}", &request[..request.len() - 1]);
    assert_eq!(&*fold(Wire::Anthropic, &twice, &FoldSettings::default()).text, &*twice);
}

#[test]
fn states_of_the_host_and_summaries_stay() {
    let state = r#"{"type":"message","role":"developer","content":"approvals are off"},"#;
    let summary = r#"{"type":"compaction","encrypted_content":"c3VtbWFyeQ=="},"#;
    let request = request(Wire::Responses, &shop());
    let place = request.find(r#"{"type":"reasoning""#).or_else(|| request.find(r#"{"encrypted_content""#)).unwrap();
    let with = |more: &str| format!("{}{more}{}", &request[..place], &request[place..]);
    let request = with(state);
    let folded = fold(Wire::Responses, &request, &FoldSettings::default()).text;
    assert!(folded.contains(state) && !folded.contains("cargo test"), "{folded}");
    // The provider drops everything before a summary: the results of the frame must be after the summary.
    let request = with(summary);
    let folded = fold(Wire::Responses, &request, &FoldSettings::default()).text;
    let place = folded.find(summary).unwrap();
    assert!(folded[place..].contains("Cart::total() in src/cart.rs; 9 tests"), "{folded}");
}

#[test]
fn a_mark_moves_to_what_is_last() {
    let rounds = &shop()[..6];
    let request = request(Wire::Anthropic, rounds);
    let folded = fold(Wire::Anthropic, &request, &FoldSettings::default()).text;
    let folded: serde_json::Value = serde_json::from_str(&folded).unwrap();
    let last = folded["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["cache_control"], json!({ "type": "ephemeral" }), "{folded:#}");
}

#[test]
fn callers_that_no_host_names_are_understood() {
    let place = "This was for f1 (Shop): pass \"frame\": \"f1\" to work in it.";
    let rounds = [
        Round::call(
            "push",
            json!({ "title": "Shop" }),
            format!("f1 (Shop) has begun: work in it now, then pop it.\n{place}"),
        )
        .words("Build."),
        Round::call(
            "push",
            json!({ "title": "Cart", "frame": "f1" }),
            "f2 (Cart) has begun.\nThis was for f2 (Cart): pass \"frame\": \"f2\" to work in it.",
        ),
        shell("ls", "cart-files"),
        Round::call(
            "pop",
            json!({ "status": "completed", "results": "cart-results", "frame": "f2" }),
            format!("f2 (Cart) is completed.\n{place}"),
        ),
    ];
    check(&rounds, &["cart-results"], &["cart-files"]);
}

#[test]
fn words_that_a_host_passes_on_stay() {
    let sent = "The user sent a new message while you were working:\nuse tabs";
    let mut rounds = vec![
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        shell("ls", &format!("more-files\n<system-reminder>\n{sent}\n</system-reminder>")),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
    ];
    rounds[2].note = Some("The user sent the following message:\nno semicolons".into());
    for wire in Wire::ALL.iter().copied() {
        let text = folded(wire, &rounds);
        assert!(text.contains("use tabs") && !text.contains("more-files"), "{wire}: {text}");
        assert!(wire == Wire::Pi || text.contains("no semicolons"), "{wire}: {text}");
    }
}

#[test]
fn a_turn_that_has_begun_with_thinking_begins_so() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)").words("Use tabs.").reasoning("They want tabs."),
        shell("ls", "later-files"),
    ];
    let text = folded(Wire::Anthropic, &rounds);
    let request: serde_json::Value = serde_json::from_str(&text).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let words = messages.iter().position(|message| message.to_string().contains("Use tabs.")).unwrap();
    assert_eq!(messages[words + 1]["content"][0]["type"], "thinking", "{request:#}");
    assert!(!text.contains("cart-files") && !folded(Wire::Chat, &rounds).contains("They want tabs."), "{text}");
}

#[test]
fn a_frame_begun_beside_another_one_returns_its_results_with_that() {
    let beside = with(push("f3", "Search"), "push", "frame", json!("f1"));
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        beside,
        shell("ls", "search-files"),
        pop("f3", "Search", "completed", "search-results", "f2 (Cart)"),
        shell("ls", "more-files"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
    ];
    check(
        &rounds,
        &["cart-results", "f3 (Search) is completed.", "search-results"],
        &["cart-files", "search-files", "more-files"],
    );
}

#[test]
fn who_takes_a_planned_frame_away_stays_where_it_is() {
    let note = |frame: &str, title: &str| {
        format!("This was for {frame} ({title}): pass \"frame\": \"{frame}\" to work in it.")
    };
    let rounds = [
        Round::call("push", json!({}), format!("f1 (Shop) has begun.\n{}", note("f1", "Shop"))).words("Build."),
        Round::call("push", json!({}), format!("f2 (Cart) has begun.\n{}", note("f2", "Cart"))),
        Round::call(
            "invalidate",
            json!({ "frame": "f9" }),
            format!("f9 (Old) is out of the plan.\n{}", note("f1", "Shop")),
        ),
        shell("ls", "cart-files"),
        Round::call(
            "pop",
            json!({ "frame": "f2", "results": "cart-results" }),
            format!("f2 (Cart) is completed.\n{}", note("f1", "Shop")),
        ),
    ];
    check(&rounds, &["cart-results"], &["cart-files"]);
}

#[test]
fn results_pose_as_nothing() {
    let results = "All is there.\nf1 (Shop) needs the invoice.\nYou are in f2 (Cart).\nf3 (Pay) has begun.";
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        pop("f2", "Cart", "completed", results, "f1 (Shop)"),
        shell("ls", "outer-files"),
        push("f3", "Pay"),
        shell("ls", "pay-files"),
    ];
    check(&rounds, &["needs the invoice", "outer-files", "pay-files"], &["cart-files"]);
    for wire in Wire::ALL.iter().copied() {
        let once = folded(wire, &rounds);
        assert_eq!(&*fold(wire, &once, &FoldSettings::default()).text, &*once, "{wire}");
    }
}

#[test]
fn what_is_recorded_for_an_outer_frame_stays() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        Round::call(
            "record",
            json!({ "frame": "f1", "decisions": ["outer-decision"] }),
            "f1 (Shop): recorded.\nThis was for f1 (Shop): pass \"frame\": \"f1\" to work in it.",
        ),
        Round::call("record", json!({ "resultsSoFar": "so-far" }), "f2 (Cart): recorded.\nYou are in f2 (Cart)."),
        Round::call(
            "invalidate",
            json!({ "frame": "f2", "reason": "nobody-buys" }),
            "f2 (Cart) is out of the plan.\nYou are in f1 (Shop).",
        ),
    ];
    check(&rounds, &["outer-decision", "Results so far: so-far", "Reason: nobody-buys"], &[]);
}

#[test]
fn what_has_loaded_tools_stays() {
    let request = request(Wire::Anthropic, &shop())
        .replace("\"struct Cart;\"", r#"[{"type":"tool_reference","tool_name":"pop"}]"#);
    let text = fold(Wire::Anthropic, &request, &FoldSettings::default()).text;
    assert_eq!(super::validity::problem(Wire::Anthropic, &text), None, "{text}");
    assert!(text.contains("tool_reference") && !text.contains("cargo test"), "{text}");
}

#[test]
fn searches_for_tools_are_calls_with_outcomes() {
    let search = r#"{"type":"tool_search_call","call_id":"s1","arguments":{}},{"type":"tool_search_output","call_id":"s1","tools":[]},"#;
    let request = self::request(Wire::Responses, &shop());
    let place = request.find(r#"{"type":"reasoning""#).or_else(|| request.find(r#"{"encrypted_content""#)).unwrap();
    let request = format!("{}{search}{}", &request[..place], &request[place..]);
    let folded = fold(Wire::Responses, &request, &FoldSettings::default()).text;
    assert!(folded.contains(search) && !folded.contains("cargo test"), "{folded}");
    let reference = request.replacen(
        "{\"type\":\"tool_search_call\"",
        "{\"type\":\"item_reference\",\"id\":\"rs_1\"},{\"type\":\"tool_search_call\"",
        1,
    );
    assert_eq!(&*fold(Wire::Responses, &reference, &FoldSettings::default()).text, &*reference);
}

#[test]
fn pictures_that_a_tool_has_shown_go_and_those_of_the_person_stay() {
    let picture = r#"{"type":"image","source":{"type":"base64","data":"UElDVFVSRQ"}}"#;
    let request = request(Wire::Anthropic, &shop());
    let with = |more: &str| {
        request.replace(r#""content":"struct Cart;"}]"#, &format!(r#""content":"struct Cart;"}},{picture}{more}]"#))
    };
    for (more, is_left) in [("", false), (r#",{"type":"text","text":"Look at this."}"#, true)] {
        let text = fold(Wire::Anthropic, &with(more), &FoldSettings::default()).text.into_owned();
        assert!(with(more).contains("UElDVFVSRQ") && !text.contains("struct Cart"), "{text}");
        assert_eq!(text.contains("UElDVFVSRQ"), is_left, "{text}");
    }
}

#[test]
fn marks_are_written_where_they_can_be() {
    let request = request(Wire::Anthropic, &shop()[..6]);
    // The answer that stays has an entry that says that it has no mark.
    let place = request.find("f2 (Cart) has begun").unwrap();
    let end = place + request[place..].find("]}").unwrap() + 1;
    let request = format!("{},\"cache_control\":null{}", &request[..end], &request[end..]);
    let text = fold(Wire::Anthropic, &request, &FoldSettings::default()).text;
    let last = &text[text.find("f2 (Cart) is completed").unwrap()..];
    assert_eq!(last.matches("cache_control").count(), 1, "{text}");
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
}

#[test]
fn signatures_of_gemini_are_known_in_other_wires() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)").and(push("f3", "Pay")),
    ];
    let signed = r#""function":{"name":"callstack-pop""#;
    let request = request(Wire::Chat, &rounds);
    let signed_request =
        request.replace(signed, &format!(r#""extra_content":{{"google":{{"thought_signature":"c2ln"}}}},{signed}"#));
    assert_ne!(request, signed_request);
    let count =
        |request: &str| fold(Wire::Chat, request, &FoldSettings::default()).text.matches("callstack-pop").count();
    assert_eq!((count(&request), count(&signed_request)), (0, 1));
}

#[test]
fn calls_that_are_numbered_from_the_start_in_each_message_are_folded() {
    let request = request(Wire::Chat, &shop());
    let renumbered = (0..9).fold(request, |text, number| text.replace(&format!("\"call_{number}\""), "\"call_0\""));
    assert!(!fold(Wire::Chat, &renumbered, &FoldSettings::default()).text.contains("struct Cart"));
}

/// Hostile requests. Each of them took seconds when a search was repeated at each step.
#[test]
fn long_requests_are_folded_in_steps_that_do_not_grow() {
    let many = 20_000;
    let place = |frame: usize| format!("You are in f{frame} (x).");
    // Many calls in one message; frames inside each other; many artifacts; a deeply nested answer.
    let parallel = (0..many).fold(Round::default(), |round, _| round.and(shell("ls", "x"))).words("Build.");
    let nested: Vec<Round> = (1..=many)
        .map(|frame| Round::call("push", json!({}), format!("f{frame} (x) has begun.\n{}", place(frame))))
        .collect();
    let artifacts: Vec<String> = (0..many).map(|number| number.to_string()).collect();
    let deep = json!({ "status": "completed", "results": "done" });
    let rounds: Vec<Round> = [parallel]
        .into_iter()
        .chain(nested)
        .chain([Round::call(
            "record",
            json!({ "artifacts": artifacts }),
            format!("f{many} (x): recorded.\n{}", place(many)),
        )])
        .chain([Round::call("pop", deep, format!("f{many} (x) is completed.\n{}", place(many - 1)))])
        .collect();
    let request = self::request(Wire::Chat, &rounds);
    let folded = fold(Wire::Chat, &request, &FoldSettings::default());
    assert_eq!(folded.report.stretches.len(), 1);
    assert!(folded.text.contains("- 19999"));
}

/// The person has answered while the pop was being performed: the frame continues.
#[test]
fn a_blocked_frame_that_goes_on_at_once_has_not_ended() {
    let answered = Round::call(
        "pop",
        json!({ "status": "blocked", "results": "so-far", "question": "Which rate?" }),
        "f2 (Cart) is in progress again: continue it. The person has answered:\n  19 %\nYou are in f2 (Cart).",
    );
    let mut rounds = vec![
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        answered,
        push("f3", "Tax"),
    ];
    check(&rounds, &["cart-files", "19 %"], &[]);
    rounds.push(pop("f3", "Tax", "completed", "tax-results", "f2 (Cart)"));
    rounds.push(pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"));
    check(&rounds, &["cart-results"], &["cart-files", "tax-results", "19 %"]);
}

#[test]
fn a_frame_in_which_the_conversation_stays_goes_on_beside_the_one_that_ends() {
    let inner = with(pop("f2", "Cart", "failed", "cart-results", "f3 (Totals)"), "pop", "frame", json!("f2"));
    let mut rounds = vec![
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        push("f3", "Totals"),
        shell("ls", "totals-files"),
        inner,
        shell("ls", "more-files"),
    ];
    check(&rounds, &["cart-results", "totals-files", "more-files"], &["cart-files"]);
    rounds.push(pop("f3", "Totals", "completed", "totals-results", "f1 (Shop)"));
    rounds.push(pop("f1", "Shop", "completed", "shop-results", ""));
    check(&rounds, &["shop-results"], &["totals-files", "more-files", "cart-files"]);
}

#[test]
fn the_context_of_a_frame_says_where_it_belongs() {
    let mut begun = activate("f3", "Pay");
    begun.calls[0].answer = Some(
        "f3 (Pay) is in progress: work in it now, then pop it.\n<stack-context><ancestors count=\"1\">\n<frame id=\"f1\" status=\"in_progress\">\n</frame>\n</ancestors></stack-context>\nYou are in f3 (Pay)."
            .into(),
    );
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        begun,
        shell("ls", "pay-files"),
        pop("f3", "Pay", "completed", "pay-results", "f2 (Cart)"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
    ];
    check(&rounds, &["cart-results", "pay-results"], &["pay-files"]);
}

#[test]
fn handles_begin_from_the_start_in_another_stack() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        shell("ls", "shop-files"),
        pop("f1", "Shop", "completed", "shop-results", ""),
        push("f1", "Docs").words("Write."),
        shell("ls", "docs-files"),
        pop("f1", "Docs", "completed", "docs-results", ""),
    ];
    check(&rounds, &["shop-results", "docs-results"], &["shop-files", "docs-files"]);
    check(&rounds[..5], &["shop-results", "docs-files"], &["shop-files"]);
}

#[test]
fn a_frame_from_before_the_conversation_begins_with_its_activate() {
    let rounds = [
        push("f2", "Cart").words("A summary."),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        activate("f1", "Shop"),
        shell("ls", "shop-files"),
        pop("f1", "Shop", "completed", "shop-results", ""),
    ];
    check(&rounds, &["cart-results", "shop-results"], &["shop-files"]);
}

#[test]
fn arguments_that_cannot_be_read_end_nothing() {
    let request = request(Wire::Chat, &shop()).replace(r#"; 9 tests\"}""#, r#"; 9 tests\",}""#);
    assert_eq!(&*fold(Wire::Chat, &request, &FoldSettings::default()).text, &*request);
    assert!(request.contains(r#"; 9 tests\",}""#));
}

/// Newer models of Anthropic bind each thought to the text before it.
#[test]
fn thoughts_that_are_bound_to_what_is_gone_go() {
    let next = Round::call(
        "pop",
        json!({ "status": "completed", "results": "cart-results", "next": true }),
        "f2 (Cart) is completed.\nf3 (Pay) is in progress: work in it now, then pop it.\nYou are in f3 (Pay).",
    );
    let rounds = [
        push("f1", "Shop").words("Build.").reasoning("before-all").text("I begin."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        next.reasoning("bound-to-the-files"),
        shell("ls", "pay-files").reasoning("behind-the-fold"),
    ];
    let text = folded(Wire::Anthropic, &rounds);
    assert!(text.contains("before-all") && text.contains("behind-the-fold") && !text.contains("bound-to"), "{text}");
    // Models that are told how much to think need the thinking of their messages.
    let mut told = rounds.to_vec();
    told[0].text = None;
    assert!(folded(Wire::Anthropic, &told).contains("bound-to-the-files"));
}

#[test]
fn messages_of_the_system_stand_where_they_may() {
    let mut rounds = vec![
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        shell("ls", "more-files").words("Use tabs."),
    ];
    rounds.push(pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"));
    let request = request(Wire::Anthropic, &rounds);
    let place =
        request.find("\n  {\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"call_3\"").unwrap();
    let system = "\n  {\"role\":\"system\",\"content\":\"Plan mode is off.\"},";
    let earlier =
        request.find("\n  {\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"call_2\"").unwrap();
    for (place, is_left) in [(earlier, false), (place, true)] {
        let request = format!("{}{system}{}", &request[..place], &request[place..]);
        let text = fold(Wire::Anthropic, &request, &FoldSettings::default()).text;
        assert_eq!(text.contains("Plan mode is off."), is_left, "{text}");
        assert!(!text.contains("cart-files") && text.contains("Use tabs."), "{text}");
    }
}

#[test]
fn what_opencode_hides_from_the_model_is_not_written_to() {
    let request = request(Wire::Opencode, &shop());
    let place = request.find("f2 (Cart) has begun").unwrap();
    let end = place + request[place..].find(NUMBER_OF_TIME).unwrap();
    let hidden = format!("{}\"time\":{{\"compacted\":3}}{}", &request[..end], &request[end + NUMBER_OF_TIME.len()..]);
    let text = fold(Wire::Opencode, &hidden, &FoldSettings::default()).text;
    assert!(text.contains("struct Cart"), "the stretch stays: {text}");
}

/// The time of a call, in the form in which the support code writes it.
const NUMBER_OF_TIME: &str = "\"time\":1.50E+2";

#[test]
fn a_request_without_frames_is_not_copied() {
    let rounds = [
        shell("ls", "files").words("Look."),
        Round { calls: vec![Called::new("git_push", json!({}), "pushed")], ..Round::default() },
    ];
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &rounds);
        let folded = fold(wire, &request, &FoldSettings::default());
        assert!(matches!(folded.text, std::borrow::Cow::Borrowed(_)), "{wire}");
    }
}

/// All kinds of messages that pi has, within a finished frame.
#[test]
fn messages_of_pi_that_are_no_work_stay() {
    let call = |id: u8, name: &str, arguments: serde_json::Value, answer: &str| {
        let call = json!({"type": "toolCall", "id": format!("call_{id}"), "name": name, "arguments": arguments});
        let thinking = json!({"type": "thinking", "thinking": format!("thought-{id}"), "thinkingSignature": "c2ln"});
        let redacted = json!({"type": "thinking", "thinking": "", "thinkingSignature": "cmVk", "redacted": true});
        let picture = json!({"type": "image", "data": format!("picture-{id}"), "mimeType": "image/png"});
        let answer = json!([{"type": "text", "text": answer}, picture]);
        [
            json!({"role": "assistant", "content": [thinking, redacted, call], "api": "openai-responses", "timestamp": 1}),
            json!({"role": "toolResult", "toolCallId": format!("call_{id}"), "toolName": name, "content": answer, "isError": false}),
        ]
    };
    let words = |content: serde_json::Value| [json!({"role": "user", "content": content, "timestamp": 1})];
    let begun = "f2 (Cart) has begun.\nYou are in f2 (Cart).";
    let popped = "f2 (Cart) is completed.\nYou are in f1 (Shop).";
    let messages: Vec<serde_json::Value> = [
        &words(json!("Build.")) as &[_],
        &call(1, "stack_frame_push", json!({"title": "Cart"}), begun),
        &call(2, "bash", json!({"command": "ls"}), "cart-files"),
        &words(json!([{"type": "text", "text": "Like this:"}, {"type": "image", "data": "their-picture", "mimeType": "image/png"}])),
        &[
            json!({"role": "bashExecution", "command": "ls", "output": "their-files", "exitCode": 0, "timestamp": 1}),
            json!({"role": "custom", "customType": "other", "content": "of-an-extension", "display": true, "timestamp": 1}),
            json!({"role": "branchSummary", "summary": "of-another-branch", "fromId": "a", "timestamp": 1}),
        ],
        &call(3, "stack_frame_pop", json!({"status": "completed", "results": "cart-results"}), popped),
    ]
    .concat();
    let request = json!(messages).to_string();
    let text = fold(Wire::Pi, &request, &FoldSettings::default()).text;
    assert_eq!(super::validity::problem(Wire::Pi, &text), None);
    for word in
        ["cart-results", "thought-1", "cmVk", "their-picture", "their-files", "of-an-extension", "of-another-branch"]
    {
        assert!(text.contains(word), "{word} is gone: {text}");
    }
    for word in ["cart-files", "thought-2", "picture-2", "thought-3"] {
        assert!(!text.contains(word), "{word} is left: {text}");
    }
    // pi begins with the summary of a compaction, and keeps some messages from before it.
    let summed_up =
        json!({"role": "compactionSummary", "summary": "The cart was begun.", "tokensBefore": 9, "timestamp": 1});
    let kept = [&[summed_up], &messages[3..]].concat();
    let request = json!(kept).to_string();
    assert_eq!(&*fold(Wire::Pi, &request, &FoldSettings::default()).text, &*request, "the frame has no beginning");
}

/// Models of Anthropic. These models are also tested where pi calls them.
#[test]
fn a_turn_of_pi_that_has_begun_with_thinking_begins_so() {
    let rounds = [
        push("f1", "Shop").words("Build."),
        push("f2", "Cart"),
        shell("ls", "cart-files"),
        pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)").words("Use tabs.").reasoning("They want tabs."),
        shell("ls", "later-files"),
    ];
    let plain = request(Wire::Pi, &rounds);
    for (api, stays) in [("anthropic-messages", true), ("bedrock-converse-stream", true), ("openai-responses", false)] {
        let request = plain.replace("\"role\":\"assistant\"", &format!("\"role\":\"assistant\",\"api\":\"{api}\""));
        assert_ne!(request, plain);
        let text = fold(Wire::Pi, &request, &FoldSettings::default()).text;
        assert_eq!(text.contains("They want tabs."), stays, "{api}: {text}");
        assert!(!text.contains("cart-files"), "{api}: {text}");
    }
}

/// Findings of an attack on folding.
mod attack {
    use super::*;

    fn stays(frame: &str, title: &str, place: &str) -> Round {
        let answer = format!("{frame} ({title}) is completed. Still open below it: f3.\nYou are in {place}.");
        Round::call(
            "pop",
            json!({ "status": "completed", "results": format!("{title}-results"), "frame": frame }),
            answer,
        )
    }

    #[test]
    fn a_frame_that_stayed_open_when_the_outer_one_ended_is_folded_in_its_turn() {
        let mut rounds = vec![
            push("f1", "Shop").words("Build."),
            push("f2", "Cart"),
            shell("ls", "cart-files"),
            push("f3", "Sum"),
            shell("ls", "sum-files"),
            stays("f2", "Cart", "f3 (Sum)"),
        ];
        check(&rounds, &["Cart-results", "f3 (Sum) has begun", "sum-files"], &["cart-files"]);
        rounds.push(pop("f3", "Sum", "completed", "sum-results", "f1 (Shop)"));
        check(&rounds, &["Cart-results", "sum-results"], &["cart-files", "sum-files"]);
    }

    #[test]
    fn titles_may_have_the_words_of_an_end() {
        for title in ["x) is in progress", "x) is blocked", "a) is completed. (b"] {
            let rounds = [
                push("f1", "Shop").words("Build."),
                push("f2", title),
                shell("ls", "cart-files"),
                pop("f2", title, "completed", "cart-results", "f1 (Shop)"),
                shell("ls", "shop-files"),
            ];
            check(&rounds, &["cart-results", "shop-files"], &["cart-files"]);
        }
        let title = "a) is completed. (b";
        let blocked = [
            push("f1", "Shop").words("Build."),
            push("f2", title),
            shell("ls", "cart-files"),
            pop("f2", title, "blocked", "so-far", "f1 (Shop)"),
        ];
        check(&blocked, &["cart-files"], &[]);
    }

    #[test]
    fn what_is_recorded_for_a_finished_frame_does_not_change_what_it_has_returned() {
        let late = Round::call(
            "record",
            json!({ "frame": "f2", "decisions": ["late"] }),
            "f2 (Cart): recorded.\nYou are in f1 (Shop).",
        );
        let mut rounds = vec![
            push("f1", "Shop").words("Build."),
            push("f2", "Cart"),
            shell("ls", "cart-files"),
            pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        ];
        for wire in Wire::ALL.iter().copied() {
            let before = folded(wire, &rounds);
            rounds.push(late.clone());
            let behind = folded(wire, &rounds);
            rounds.pop();
            assert_eq!(
                before.matches("Decisions:").count() + behind.matches("Decisions:").count(),
                0,
                "{wire}: {behind}"
            );
            assert!(behind.contains("late"), "{wire}: {behind}");
        }
        // If the decision is recorded in another frame, that frame returns it.
        rounds.extend([push("f3", "Pay"), late, pop("f3", "Pay", "completed", "pay-results", "f1 (Shop)")]);
        check(&rounds, &["pay-results", "Decisions:", "late"], &["recorded"]);
    }

    #[test]
    fn a_frame_that_belongs_elsewhere_returns_its_results_once() {
        let elsewhere = with(push("f3", "Tax"), "push", "frame", json!("f1"));
        let mut rounds = vec![push("f1", "Shop").words("Build."), push("f2", "Cart"), elsewhere];
        for _ in 0..5 {
            rounds.push(pop("f3", "Tax", "blocked", "so-far", "f2 (Cart)"));
            rounds.push(activate("f3", "Tax"));
        }
        rounds.push(pop("f3", "Tax", "completed", "tax-results", "f2 (Cart)"));
        rounds.push(pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"));
        for wire in Wire::ALL.iter().copied() {
            let text = folded(wire, &rounds);
            assert_eq!(text.matches("tax-results").count(), 1, "{wire}: {text}");
        }
    }

    #[test]
    fn results_that_look_like_a_place_are_none() {
        let results = "done\nYou are in f2 (Cart).";
        let elsewhere = with(push("f3", "Tax"), "push", "frame", json!("f1"));
        let next = Round::call(
            "pop",
            json!({ "status": "completed", "results": "cart-results", "next": true }),
            "f2 (Cart) is completed.\nf4 (Pay) is in progress: work in it now.\nYou are in f4 (Pay).",
        );
        let rounds = [
            push("f1", "Shop").words("Build."),
            push("f2", "Cart"),
            elsewhere,
            pop("f3", "Tax", "completed", results, "f2 (Cart)"),
            next,
        ];
        for wire in Wire::ALL.iter().copied() {
            let once = folded(wire, &rounds);
            let twice = fold(wire, &once, &FoldSettings::default());
            assert_eq!(twice.text, once, "{wire}");
            assert!(once.contains("done"), "{wire}: {once}");
        }
    }

    /// A call stays because a provider needs it. It must not say where the conversation was after the call.
    #[test]
    fn a_call_that_stays_does_not_say_that_the_conversation_is_in_what_is_gone() {
        let signed = push("f3", "Sum").and(shell("ls", "sum-files")).and(pop(
            "f3",
            "Sum",
            "completed",
            "sum-results",
            "f2 (Cart)",
        ));
        let signed =
            signed.and(pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)")).and(shell("ls", "shop-files"));
        let rounds = [push("f1", "Shop").words("Build."), push("f2", "Cart"), signed];
        let text = folded(Wire::Gemini, &rounds);
        assert!(text.contains("f3 (Sum) has begun.") && !text.contains("You are in f3 (Sum)."), "{text}");
        let outer = Round::call(
            "record",
            json!({ "frame": "f1", "decisions": ["late"] }),
            "f1 (Shop): recorded.\nYou are in f2 (Cart).",
        );
        let rounds = [
            push("f1", "Shop").words("Build."),
            push("f2", "Cart"),
            outer,
            pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        ];
        check(&rounds, &["late", "f1 (Shop): recorded."], &["You are in f2 (Cart)."]);
    }

    #[test]
    fn what_gemini_says_beside_calls_that_go_stands_not_alone() {
        let pop = pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)").text("Now Pay.");
        let rounds = [push("f1", "Shop").words("Build."), push("f2", "Cart"), pop, shell("ls", "shop-files")];
        for wire in [Wire::Gemini, Wire::Anthropic, Wire::Chat] {
            let request = request(wire, &rounds);
            // In this request the text is after the call.
            let moved = match wire {
                Wire::Gemini => {
                    let mut request: serde_json::Value = serde_json::from_str(&request).unwrap();
                    let parts = request["contents"][5]["parts"].as_array_mut().unwrap();
                    parts.rotate_left(1);
                    request.to_string()
                }
                _ => request,
            };
            let folded = fold(wire, &moved, &FoldSettings::default());
            assert_eq!(super::super::validity::problem(wire, &folded.text), None, "{}", folded.text);
            assert!(!folded.text.contains("Now Pay."), "{}", folded.text);
        }
    }

    #[test]
    fn what_the_provider_has_run_itself_goes_with_its_outcome() {
        let before = r#"{"type":"server_tool_use","id":"srv1","name":"web_search","input":{}},"#;
        let behind = r#"{"type":"web_search_tool_result","tool_use_id":"srv1","content":[]},"#;
        let rounds = [
            push("f1", "Shop").words("Build."),
            push("f2", "Cart"),
            shell("ls", "cart-files"),
            pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        ];
        let request = request(Wire::Anthropic, &rounds);
        let call = |number: usize| format!(r#"{{"type":"tool_use","id":"call_{number}""#);
        let put =
            |text: String, number: usize, block: &str| text.replace(&call(number), &format!("{block}{}", call(number)));
        let request = put(put(request, 1, before), 2, behind);
        let folded = fold(Wire::Anthropic, &request, &FoldSettings::default()).text;
        assert!(!folded.contains("srv1") && folded.contains("cart-results"), "{folded}");
        assert!(!folded.contains("cart-files"), "{folded}");
    }

    #[test]
    fn a_reference_of_the_responses_is_no_message() {
        let rounds = [
            push("f1", "Shop").words("Build."),
            push("f2", "Cart"),
            pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        ];
        let request = request(Wire::Responses, &rounds).replacen(r#""input":["#, r#""input":[{"id":"rs_1"},"#, 1);
        assert_eq!(fold(Wire::Responses, &request, &FoldSettings::default()).text, request);
    }

    #[test]
    fn what_looks_like_a_refusal_and_is_none_goes() {
        let mut rounds = vec![
            push("f1", "Shop").words("Build."),
            push("f2", "Cart"),
            shell("cat notes", "The user doesn't want to pay twice"),
            pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
        ];
        check(&rounds, &["cart-results"], &["pay twice"]);
        rounds[2].calls[0].is_error = true;
        let text = folded(Wire::Anthropic, &rounds);
        assert!(text.contains("pay twice"), "{text}");
    }

    #[test]
    fn a_turn_of_opencode_with_a_model_of_anthropic_begins_with_thinking() {
        let rounds = [
            push("f1", "Shop").words("Build."),
            push("f2", "Cart"),
            shell("ls", "cart-files").words("Use tabs.").reasoning("thought-of-turn"),
            pop("f2", "Cart", "completed", "cart-results", "f1 (Shop)"),
            shell("ls", "shop-files"),
        ];
        let request = request(Wire::Opencode, &rounds);
        let of_anthropic =
            request.replace(r#""role":"assistant""#, r#""role":"assistant","modelID":"claude-sonnet-4""#);
        let kept =
            |request: &str| fold(Wire::Opencode, request, &FoldSettings::default()).text.contains("thought-of-turn");
        assert!(kept(&of_anthropic) && !kept(&request));
    }
}
