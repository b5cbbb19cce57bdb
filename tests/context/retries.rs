//! Contexts of frames that are retries of other frames, and what all other frames see of the attempts.

use callstack_core::context::{DetailLevel, Entry, Section};
use callstack_core::{Context, FrameStatus, NewFrame, PopStatus, Results, Settings, Stack, StackOptions, ToolNames};
use std::sync::Arc;

/// A shop whose taxes (f2) were tried twice; f5 is the third attempt. The totals (f4) depend on them.
fn shop() -> Stack {
    let stack = Stack::with_options(StackOptions::default().clock(Arc::new(|| 1_700_000_000_000)));
    let root = stack.push(NewFrame::new("Build a shop").id("root").criteria("Customers can pay")).unwrap();
    let child = |title: &str, id: &str| NewFrame::new(title).id(id).criteria(format!("{title} are right"));
    let children = vec![child("Taxes", "tax"), child("Prices", "price"), child("Totals", "total").depends_on("tax")];
    stack.plan_children(root, children).unwrap();
    stack.activate("price").unwrap();
    stack.pop("price", PopStatus::Completed, "src/price.rs: Price::of()").unwrap();
    stack.activate("tax").unwrap();
    stack.add_artifact("tax", "src/tax.rs").unwrap();
    stack.add_decision("tax", "Rates come from a table & stay there").unwrap();
    stack.pop("tax", PopStatus::Failed, Results::new("The table of <rates> is old").compacted("table is old")).unwrap();
    let second = stack.retry("tax", Some("Take the rates from the office".into())).unwrap().handle;
    stack.activate(second).unwrap();
    stack.add_artifact(second, "src/office.rs").unwrap();
    stack.block(second, "Which login? The user knows", Some("The office needs a login".into())).unwrap();
    stack.answer(second, "None: use the yearly file").unwrap();
    stack.retry(second, None).unwrap();
    stack
}

fn context(stack: &Stack, frame: &str) -> Context {
    stack.context_uncached(frame, &Settings::default()).unwrap()
}

fn attempts(context: &Context) -> Vec<&Entry> {
    context.report.entries.iter().filter(|entry| entry.section == Section::EarlierAttempts).collect()
}

#[test]
fn a_new_attempt_sees_why_the_earlier_ones_failed_newest_first() {
    let stack = shop();
    stack.activate("f6").unwrap();
    for (name, context) in [
        ("attempt", context(&stack, "f6")),
        ("parent", context(&stack, "root")),
        ("dependent", context(&stack, "total")),
        ("tight", stack.context_uncached("f6", &Settings::of_total(420)).unwrap()),
    ] {
        support::assert_golden(&format!("retries/{name}.xml"), &context.xml);
    }
    let handles = attempts(&context(&stack, "f6")).iter().map(|entry| entry.handle.to_string()).collect::<Vec<_>>();
    assert_eq!(handles, ["f5", "f2"]);
}

#[test]
fn everybody_else_sees_the_newest_attempt_alone() {
    let stack = shop();
    let late = stack.plan(NewFrame::new("Taxes of the table").below("root")).unwrap().to_string();
    stack.activate(late.as_str()).unwrap();
    for frame in [late.as_str(), "root", "total", "price"] {
        let xml = context(&stack, frame).xml;
        for old in ["table is old", "needs a login", "\"f2\"", "\"f5\""] {
            assert!(!xml.contains(old), "{frame} sees {old}: {xml}");
        }
    }
    let position = |frame: &str| {
        let xml = context(&stack, frame).xml;
        let (_, rest) = xml.split_once("<position>").unwrap();
        let end = rest.find("<beside>").or_else(|| rest.find("<next-action>")).unwrap();
        rest[..end].to_owned()
    };
    let counts = "<sibling-status completed=\"1\" in-progress=\"1\" pending=\"2\"/>\n";
    assert_eq!(position("f6"), format!("Task 1 of 4</position>\n{counts}"));
    assert_eq!(position("total"), format!("Task 3 of 4</position>\n{counts}"));
    assert!(context(&stack, "total").xml.contains("This frame depends on f6 (Taxes), which is planned."));

    stack.activate("f6").unwrap();
    stack.pop("f6", PopStatus::Completed, "src/tax.rs: rate()").unwrap();
    for frame in [late.as_str(), "root", "total"] {
        let xml = context(&stack, frame).xml;
        assert_eq!(xml.matches("src/tax.rs: rate()").count(), 1, "{frame}: {xml}");
    }
    let dependent = context(&stack, "total");
    let tax = dependent.report.entries.iter().find(|entry| entry.handle.to_string() == "f6").unwrap();
    assert_eq!((tax.section, tax.score), (Section::CompletedSiblings, 100.0), "it is a dependency");
    assert!(!dependent.xml.contains("depends on"), "nothing is missing: {}", dependent.xml);
}

#[test]
fn a_retry_alone_moves_stable_bytes_and_the_new_attempts_lessons_stay() {
    let stack = shop();
    stack.activate("f6").unwrap();
    let stable = || context(&stack, "f6").stable;
    let before = stable();
    stack.add_artifact("f6", "src/new.rs").unwrap();
    stack.add_artifact("tax", "src/late.rs").unwrap();
    stack.block("f6", "Which file?", None).unwrap();
    stack.answer("f6", "the last").unwrap();
    let with_artifact = stable();
    assert_eq!(with_artifact.replace("src/tax.rs, src/late.rs", "src/tax.rs"), before);
    assert!(with_artifact.contains("src/late.rs"), "a change of a status shows it");
    // The context shows nothing of an earlier attempt that is out of the plan.
    stack.invalidate("tax", "somebody else's").unwrap();
    assert!(!stable().contains("table is old") && stable().contains("needs a login"));
}

#[test]
fn many_attempts_stay_within_their_quota_and_are_counted() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let mut newest = stack.push(NewFrame::new("Try").below(root)).unwrap();
    for number in 0..20 {
        let lesson = format!("Lesson {number}. {}", "It was all in vain, and nobody knows why. ".repeat(100));
        stack.pop(newest, PopStatus::Failed, lesson).unwrap();
        newest = stack.retry(newest, None).unwrap().handle;
        stack.activate(newest).unwrap();
    }
    let of = |total: usize| stack.context_uncached(newest, &Settings::of_total(total)).unwrap();
    let large = of(100_000);
    let shown =
        |context: &Context| attempts(context).iter().filter(|entry| entry.detail_level > DetailLevel::Omitted).count();
    assert_eq!((attempts(&large).len(), shown(&large)), (8, 8));
    assert!(large.xml.contains("omitted-attempts=\"12\""), "{}", large.xml);
    assert!(large.xml.contains("Lesson 19.") && large.xml.contains("Lesson 12.") && !large.xml.contains("Lesson 11."));
    // Other parts also need space: the quota of the attempts is half of the quota of the siblings.
    for number in 0..40 {
        let sibling = stack.push(NewFrame::new(format!("Sibling {number}")).below(root)).unwrap();
        stack.pop(sibling, PopStatus::Completed, "Results of a sibling ".repeat(40)).unwrap();
    }
    let small = of(3_000);
    let tokens: usize = attempts(&small).iter().map(|entry| entry.tokens).sum();
    assert!(tokens > 0 && tokens <= Settings::of_total(3_000).budget.siblings / 2, "{tokens} tokens");
    let omitted = 12 + 8 - shown(&small);
    assert!(small.xml.contains(&format!("omitted-attempts=\"{omitted}\"")), "{}", small.xml);
}

#[test]
fn a_retried_sibling_counts_once_in_relevance() {
    /// The scores of the siblings of d, by their titles.
    fn scores(is_retried: bool) -> Vec<(String, f32)> {
        let stack = Stack::with_options(StackOptions::default().clock(Arc::new(|| 1_700_000_000_000)));
        let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
        let child = |title: &str| NewFrame::new(title).id(title);
        let children = vec![
            child("walk"),
            child("swim"),
            child("read").depends_on("swim"),
            child("sing").depends_on("read"),
            child("water"),
        ];
        stack.plan_children(root, children).unwrap();
        let run = |frame: &str, status| {
            stack.activate(frame).unwrap();
            stack.pop(frame, status, "The water was cold").unwrap();
        };
        let done = |frame: &str| match is_retried {
            true => {
                run(frame, PopStatus::Failed);
                let again = stack.retry(frame, None).unwrap().handle;
                run(&again.to_string(), PopStatus::Completed);
            }
            false => run(frame, PopStatus::Completed),
        };
        run("walk", PopStatus::Completed);
        done("swim");
        run("sing", PopStatus::Completed);
        done("read");
        let context = context(&stack, "water");
        let siblings = context.report.entries.iter().filter(|entry| entry.section == Section::CompletedSiblings);
        let mut scores: Vec<(String, f32)> =
            siblings.map(|entry| (stack.frame(entry.handle).unwrap().title, entry.score)).collect();
        scores.sort_by(|one, other| one.0.cmp(&other.0));
        scores
    }
    assert_eq!(scores(true).len(), 4);
    assert_eq!(scores(true), scores(false));
}

#[test]
fn a_parent_is_offered_a_retry_of_the_child_that_failed_last() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Shop").id("root")).unwrap();
    let tax = stack.push(NewFrame::new("Taxes").id("tax").below(root)).unwrap();
    stack.plan(NewFrame::new("Totals").id("total").below(root).depends_on(tax)).unwrap();
    stack.pop(tax, PopStatus::Failed, "no").unwrap();
    let volatile = |tools: ToolNames| {
        let settings = Settings::default().tools(tools);
        stack.context_uncached(root, &settings).unwrap().volatile
    };
    // The warning about the child that waits for the failed child is enough.
    let warning = "<warning>Child f3 (Totals) depends on f2 (Taxes), which is failed: no (to try f2 again, call \
                   stack_frame_activate f2 (retry); or stack_frame_edit f3 {\"dependsOn\": […]})</warning>";
    let next = "No planned child can begin: f3 waits for f2, which is failed. To try f2 again, call \
                stack_frame_activate f2 (retry).";
    let text = volatile(ToolNames::default());
    assert!(text.contains(warning) && text.contains(next) && !text.contains("has failed"), "{text}");
    let wordless = "(to try f2 again, retry it; or give f3 other dependencies)</warning>";
    assert!(volatile(ToolNames::none()).contains(wordless));
    let again = stack.retry(tax, None).unwrap().handle;
    let text = volatile(ToolNames::default());
    assert!(!text.contains("has failed") && text.contains(&format!("<first-child id=\"{again}\"")), "{text}");
    stack.invalidate(again, "no taxes").unwrap();
    assert!(!volatile(ToolNames::default()).contains("has failed"));

    // Once another child has finished, the parent has decided.
    let other = stack.push(NewFrame::new("Invoices").below(root)).unwrap();
    stack.pop(other, PopStatus::Failed, "no").unwrap();
    let text = volatile(ToolNames::default());
    let warning = "(Invoices) has failed. To try it again, call stack_frame_activate f5 (retry).</warning>";
    assert!(text.contains(warning), "{text}");
    assert!(volatile(ToolNames::none()).contains("has failed. To try it again, retry it.</warning>"));
    let last = stack.push(NewFrame::new("Letters").below(root)).unwrap();
    stack.pop(last, PopStatus::Completed, "done").unwrap();
    assert!(!volatile(ToolNames::default()).contains("has failed"));
    assert_eq!(stack.frame(other).unwrap().status, FrameStatus::Failed);
}

/// A frame that depends on an attempt and is elsewhere in the tree has no revision in common with the
/// attempt.
#[test]
fn cached_contexts_follow_a_retry_elsewhere() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let library = stack.push(NewFrame::new("Library").id("library").below(root)).unwrap();
    stack.push(NewFrame::new("Parse").id("parse").below(library)).unwrap();
    let program = stack.push(NewFrame::new("Program").id("program").below(root)).unwrap();
    stack.plan(NewFrame::new("Read").id("read").below(program).depends_on("parse")).unwrap();
    let check = |expected: &str| {
        let cached = ["read", "program"].map(|frame| stack.context(frame, &Settings::default()).unwrap().xml.clone());
        let made = ["read", "program"].map(|frame| context(&stack, frame).xml);
        assert_eq!(cached, made);
        assert!(cached[1].contains(expected), "{}", cached[1]);
    };
    stack.pop("parse", PopStatus::Failed, "no grammar").unwrap();
    check("f5 waits for f3, which is failed.");
    let second = stack.retry("parse", None).unwrap().handle;
    check("f5 waits for f6, which is planned.");
    stack.activate(second).unwrap();
    check("f5 waits for f6, which is in_progress.");
    stack.block(second, "Which grammar?", None).unwrap();
    check("f5 waits for f6, which is blocked.");
    stack.answer(second, "LL(1)").unwrap();
    check("f5 waits for f6, which is blocked.");
    let third = stack.retry(second, None).unwrap().handle;
    check("f5 waits for f7, which is planned.");
    stack.activate(third).unwrap();
    stack.pop(third, PopStatus::Completed, "parse()").unwrap();
    check("Begin the next planned child with stack_frame_activate f5.");
    let context = context(&stack, "read");
    let parse = context.report.entries.iter().find(|entry| entry.handle == third).unwrap();
    assert_eq!(parse.section, Section::Dependencies);
}
