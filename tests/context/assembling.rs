//! Tests of the content of contexts, case by case.

use callstack_core::context::{
    Approx, Chars4, DetailLevel, FinishedChildren, Form, Omission, Section, TokenCounter, truncate,
};
use callstack_core::tree::sibling_order;
use callstack_core::{Budget, Context, Guidance, Handle, NewFrame, PopStatus, Results, Settings, Stack, StackOptions};
use std::sync::Arc;

struct Project(Stack);

impl Project {
    fn new() -> Self {
        let stack = Stack::in_memory();
        stack.push(NewFrame::new("Root").id("root").criteria("All of it works")).unwrap();
        Self(stack)
    }

    /// Adds a finished child of the root.
    fn finished(&self, id: &str, title: &str, results: &str) -> Handle {
        let handle = self.0.push(NewFrame::new(title).id(id).below("root")).unwrap();
        self.0.pop(handle, PopStatus::Completed, results).unwrap();
        handle
    }

    fn context(&self, frame: &str) -> Arc<Context> {
        self.0.context(frame, &Settings::default()).unwrap()
    }
}

fn detail_level(context: &Context, handle: Handle) -> DetailLevel {
    context
        .report
        .entries
        .iter()
        .find(|entry| entry.handle == handle)
        .map_or(DetailLevel::Omitted, |entry| entry.detail_level)
}

#[test]
fn related_siblings_are_shown_and_unrelated_ones_are_stubs_while_there_is_room() {
    let project = Project::new();
    let parser = project.finished("parser", "Configuration parser", "Reads TOML configuration files");
    let icons = project.finished("icons", "Draw icons", "Twelve pictures");
    for number in 0..8 {
        project.finished(&format!("chore-{number}"), "Weekly chores", "Swept the floor");
    }
    project
        .0
        .push(
            NewFrame::new("Report configuration errors").id("now").criteria("The parser names the line").below("root"),
        )
        .unwrap();
    let context = project.context("now");
    assert!(detail_level(&context, parser) >= DetailLevel::Compact, "{:#?}", context.report);
    assert_eq!(detail_level(&context, icons), DetailLevel::Stub, "{:#?}", context.report);
    let settings = Settings::default().budget(Budget::default().siblings(1));
    let context = project.0.context("now", &settings).unwrap();
    assert_eq!(detail_level(&context, icons), DetailLevel::Omitted, "{:#?}", context.report);
    let entry = context.report.entries.iter().find(|entry| entry.handle == icons).unwrap();
    assert_eq!(entry.omission, Some(Omission::Irrelevant));
}

#[test]
fn a_sibling_named_in_the_task_matters() {
    let project = Project::new();
    let named = project.finished("bd-07b", "Draw icons", "Twelve pictures");
    let counted = project.finished("plan/3", "Sweep the floor", "Clean");
    let handled = project.finished("other", "Water the plants", "Wet");
    for number in 0..8 {
        project.finished(&format!("parser-{number}"), "Parser of tables", "Tables are parsed");
    }
    let criteria = "Builds on bd-07b, on task 3 and on f4; not on 5 other things";
    project.0.push(NewFrame::new("Parser errors").id("now").criteria(criteria).below("root")).unwrap();
    let context = project.context("now");
    for handle in [named, counted, handled] {
        assert!(detail_level(&context, handle) > DetailLevel::Omitted, "{handle}: {:#?}", context.report);
    }
}

#[test]
fn dependencies_come_first_and_others_have_their_own_element() {
    let project = Project::new();
    let stack = &project.0;
    project.finished("a", "Parser of tables", "Parses");
    project.finished("b", "Completely different", "Something");
    stack.push(NewFrame::new("Elsewhere").id("branch").below("root")).unwrap();
    stack.push(NewFrame::new("Far result").id("far").below("branch")).unwrap();
    stack.pop("far", PopStatus::Completed, "A result from far").unwrap();
    stack.plan(NewFrame::new("Not done").id("open").below("root")).unwrap();
    let frame = NewFrame::new("Parser of tables, faster").id("now").below("root");
    stack.push(frame.depends_on("b").depends_on("far").depends_on("open")).unwrap();
    let context = project.context("now");
    let place = |text: &str| context.xml.find(text).unwrap_or_else(|| panic!("{text} is missing in\n{}", context.xml));
    assert!(place("<dependencies>") < place("Far result") && place("Far result") < place("</dependencies>"));
    assert!(place("<completed-siblings>") < place("Completely different"));
    assert!(place("Completely different") < place("<title>Parser of tables</title>"));
    assert!(place("This frame depends on f6 (Not done), which is planned.") > 0);
}

/// These words, in the order in which they occur in a text.
fn order<'a>(text: &str, words: &[&'a str]) -> Vec<&'a str> {
    let mut places: Vec<(usize, &str)> =
        words.iter().flat_map(|word| text.match_indices(word).map(|(place, _)| (place, *word))).collect();
    places.sort_unstable();
    places.into_iter().map(|(_, word)| word).collect()
}

#[test]
fn failed_siblings_have_an_element_of_their_own() {
    let project = Project::new();
    let fail = |id: &str, title: &str| {
        project.0.push(NewFrame::new(title).id(id).below("root")).unwrap();
        project.0.pop(id, PopStatus::Failed, format!("{title} cannot be done")).unwrap();
    };
    project.finished("a", "Tables first", "Tables are there");
    fail("b", "Tables second");
    fail("c", "Tables third");
    project.finished("d", "Tables fourth", "Tables are complete");
    let now = NewFrame::new("Tables last").id("ses<now>").below("root");
    project.0.push(now.depends_on("d")).unwrap();
    let words = [
        "<completed-siblings>",
        "</completed-siblings>",
        "<failed-siblings>",
        "</failed-siblings>",
        "<completed-siblings count=\"3\">",
        "<failed-siblings count=\"2\">",
        "Tables first<",
        "Tables second<",
        "Tables third<",
        "Tables fourth<",
        "<stack-context>",
        "<stack-context session=\"ses&lt;now&gt;\">",
    ];
    let cached = project.context("ses<now>");
    assert_eq!(
        order(&cached.stable, &words),
        [
            "<stack-context>",
            "<completed-siblings>",
            "Tables fourth<",
            "Tables first<",
            "</completed-siblings>",
            "<failed-siblings>",
            "Tables second<",
            "Tables third<",
            "</failed-siblings>",
        ],
        "{}",
        cached.stable
    );
    project.finished("e", "Tables fifth", "Tables have an index");
    let then = project.context("ses<now>");
    let failed = then.stable.split_once("</failed-siblings>\n").unwrap();
    assert_eq!(cached.stable.split_once("</failed-siblings>\n").unwrap().0, failed.0, "what was there stays");
    assert!(failed.1.starts_with("<completed-siblings>\n"), "{}", failed.1);

    let document = project.0.context("ses<now>", &Settings::default().form(Form::Document)).unwrap();
    assert_eq!(
        order(&document.stable, &words),
        [
            "<stack-context session=\"ses&lt;now&gt;\">",
            "<completed-siblings count=\"3\">",
            "Tables fourth<",
            "Tables first<",
            "</completed-siblings>",
            "<failed-siblings count=\"2\">",
            "Tables second<",
            "Tables third<",
            "</failed-siblings>",
        ],
        "{}",
        document.stable
    );
    // The count is the number of frames that are shown.
    let small = Settings::default().minimum_relevance(100);
    let small = small.budget(Budget::default().siblings(1)).form(Form::Document);
    let few = project.0.context("ses<now>", &small).unwrap();
    let shown =
        few.stable.split_once("<completed-siblings count=\"").map_or("0", |(_, rest)| rest.split_once('"').unwrap().0);
    let inside = few.stable.split("-siblings").nth(1).map_or(0, |text| text.matches("<frame ").count());
    assert_eq!(shown, inside.to_string(), "{}", few.stable);
}

/// Specification, section 5: B1 sees the results of A, a finished sibling of its parent, and nothing of A1
/// and A2.
#[test]
fn finished_siblings_of_ancestors_are_shown_but_not_what_is_below_them() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Build App").id("root").criteria("App with auth and API")).unwrap();
    stack.push(NewFrame::new("Auth").id("A").below("root")).unwrap();
    for (id, title, results) in [("A1", "Hash passwords", "Argon in hash.rs"), ("A2", "Sign tokens", "Keys in keys.rs")]
    {
        stack.push(NewFrame::new(title).id(id).below("A")).unwrap();
        stack.pop(id, PopStatus::Completed, results).unwrap();
    }
    stack.pop("A", PopStatus::Completed, "JWT with refresh tokens; middleware `require`").unwrap();
    stack.push(NewFrame::new("API Routes").id("B").criteria("REST endpoints").below("root")).unwrap();
    stack.push(NewFrame::new("CRUD Endpoints").id("B1").criteria("GET, POST, PUT, DELETE").below("B")).unwrap();
    stack.plan(NewFrame::new("Pagination").id("B2").below("B")).unwrap();
    let xml = &stack.context("B1", &Settings::default()).unwrap().xml;
    let beside = xml.split_once("<ancestor-siblings beside=\"f5\">").map_or("", |(_, rest)| rest);
    let beside = beside.split_once("</ancestor-siblings>").map_or("", |(inside, _)| inside);
    assert!(beside.contains("<results>JWT with refresh tokens; middleware `require`</results>"), "{xml}");
    for word in ["Hash passwords", "Sign tokens", "Argon", "keys.rs", "\"f3\"", "\"f4\""] {
        assert!(!xml.contains(word), "{word} is from below A\n{xml}");
    }
}

#[test]
fn dependencies_of_ancestors_are_inherited_whatever_their_scores() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    stack.push(NewFrame::new("Elsewhere").id("elsewhere").below("root")).unwrap();
    stack.push(NewFrame::new("Choose colours").id("colours").below("elsewhere")).unwrap();
    stack.pop("colours", PopStatus::Completed, "Red and green").unwrap();
    stack.plan(NewFrame::new("Draw icons").id("icons").below("root")).unwrap();
    let depending = NewFrame::new("Shop").id("shop").below("root").depends_on("colours").depends_on("icons");
    stack.push(depending).unwrap();
    stack.push(NewFrame::new("Basket").id("basket").below("shop")).unwrap();
    stack.push(NewFrame::new("Sum of the prices").id("sum").below("basket")).unwrap();
    let settings = Settings::default().minimum_relevance(100);
    let xml = &stack.context("sum", &settings).unwrap().xml;
    let inherited = xml.split_once("<inherited-dependencies of=\"f5\">").map_or("", |(_, rest)| rest);
    assert!(inherited.split("</inherited-dependencies>").next().unwrap().contains("Red and green"), "{xml}");
    assert!(xml.contains("<warning>Its ancestor f5 depends on f4 (Draw icons), which is planned.</warning>"), "{xml}");
    // A dependency of the frame itself is shown once, among the frame's own dependencies.
    stack.push(NewFrame::new("Taxes").id("taxes").below("basket").depends_on("colours")).unwrap();
    let xml = &stack.context("taxes", &settings).unwrap().xml;
    assert_eq!(xml.matches("Red and green").count(), 1, "{xml}");
    assert!(xml.contains("<dependencies>") && !xml.contains("<inherited-dependencies"), "{xml}");
}

#[test]
fn results_so_far_of_an_open_ancestor_reach_frames_below_it_at_the_next_push() {
    let project = Project::new();
    let stack = &project.0;
    stack.push(NewFrame::new("Shop").id("shop").below("root")).unwrap();
    stack.push(NewFrame::new("Basket").id("basket").below("shop")).unwrap();
    stack.summarize("shop", Results::new("Prices are integers of cents, long").compacted("Prices are cents")).unwrap();
    let before = project.context("basket");
    assert!(!before.xml.contains("Prices are"), "{}", before.xml);
    stack.push(NewFrame::new("Sum").id("sum").below("basket")).unwrap();
    stack.summarize("shop", "Prices are floats").unwrap();
    for frame in ["sum", "basket"] {
        let xml = &project.context(frame).xml;
        assert!(xml.contains("<partial-results>Prices are cents</partial-results>"), "{xml}");
    }
    // A finished frame shows its results, and no partial results.
    stack.pop("shop", PopStatus::Completed, "Prices are floats").unwrap();
    let xml = &project.context("sum").xml;
    assert!(xml.contains("<results>Prices are floats</results>") && !xml.contains("partial"), "{xml}");
}

#[test]
fn why_an_ancestor_was_blocked_is_no_result() {
    let project = Project::new();
    let stack = &project.0;
    stack.push(NewFrame::new("Shop").id("shop").below("root")).unwrap();
    stack.summarize("shop", "Prices are cents").unwrap();
    stack.pop("shop", PopStatus::Blocked, "Which key?").unwrap();
    stack.resume("shop").unwrap();
    stack.push(NewFrame::new("Basket").id("basket").below("shop")).unwrap();
    assert!(!project.context("basket").xml.contains("Which key?"));
    stack.summarize("shop", "The key is found").unwrap();
    stack.push(NewFrame::new("Sum").id("sum").below("basket")).unwrap();
    let xml = &project.context("sum").xml;
    assert!(xml.contains("<partial-results>The key is found</partial-results>"), "{xml}");
}

#[test]
fn the_parent_and_the_siblings_of_a_blocked_frame_see_why_it_is_blocked() {
    let project = Project::new();
    let stack = &project.0;
    let push = |id: &str| stack.push(NewFrame::new("Deploy").id(id).below("root")).unwrap();
    push("blocked");
    stack.pop("blocked", PopStatus::Blocked, "Which key?\nThe <old> one is expired").unwrap();
    push("silent");
    stack.pop("silent", PopStatus::Blocked, "").unwrap();
    push("now");
    let xml = &project.context("root").xml;
    let why = "Which key? The &lt;old&gt; one is expired";
    assert!(xml.contains(&format!("<warning>Child f2 (Deploy) is blocked: {why}</warning>")), "{xml}");
    assert!(xml.contains("<warning>Child f3 (Deploy) is blocked: no reason was given</warning>"), "{xml}");
    let xml = &project.context("now").xml;
    assert!(xml.contains(&format!("<blocked-sibling id=\"f2\" title=\"Deploy\">{why}</blocked-sibling>")), "{xml}");
    stack.resume("blocked").unwrap();
    assert!(!project.context("now").xml.contains(why));
}

/// The handles in an element of a context, in order.
fn handles_in(xml: &str, element: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(xml).unwrap();
    let found = document.descendants().find(|node| node.has_tag_name(element));
    let frames = found.into_iter().flat_map(|node| node.children().filter(|child| child.is_element()));
    frames.map(|frame| frame.attribute("id").unwrap().to_owned()).collect()
}

#[test]
fn finished_children_are_shown_unless_the_conversation_holds_their_results() {
    let project = Project::new();
    let stack = &project.0;
    for number in 1..=3 {
        project.finished(&format!("child-{number}"), "Parser of tables", &format!("Tables {number}"));
    }
    let shown = || handles_in(&project.context("root").xml, "finished-children");
    assert_eq!(shown(), ["f2", "f3", "f4"]);
    stack.deliver("child-1").unwrap();
    stack.deliver("child-2").unwrap();
    assert_eq!(shown(), ["f4"]);
    stack.forget("root").unwrap();
    assert_eq!(shown(), ["f2", "f3", "f4"]);
    // A result that is delivered after that is in the conversation, even within the same millisecond.
    stack.deliver("child-3").unwrap();
    assert_eq!(shown(), ["f2", "f3"]);
    let with = |children| stack.context("root", &Settings::default().finished_children(children)).unwrap();
    assert_eq!(handles_in(&with(FinishedChildren::All).xml, "finished-children"), ["f2", "f3", "f4"]);
    assert!(handles_in(&with(FinishedChildren::None).xml, "finished-children").is_empty());
    // The frame continues in another session, whose conversation is new.
    stack.replace_id("root", "another session").unwrap();
    let context = stack.context("f1", &Settings::default()).unwrap();
    assert_eq!(handles_in(&context.xml, "finished-children"), ["f2", "f3", "f4"]);
    assert!(context.stable.contains("<results>Tables 2</results>"), "{}", context.stable);
}

#[test]
fn of_many_finished_children_the_newest_are_shown_and_the_rest_counted() {
    let project = Project::new();
    for number in 0..400 {
        project.finished(&format!("child-{number}"), "Weekly chores", "Swept the floor of the hall and of the kitchen");
    }
    let xml = &project.context("root").xml;
    let shown = handles_in(xml, "finished-children");
    assert!(shown.len() > 20 && shown.last().unwrap() == "f401" && shown.is_sorted_by_key(|handle| handle.len()));
    assert!(xml.contains(&format!("omitted-children=\"{}\"", 400 - shown.len())), "{xml}");
    let few = Settings::default().budget(Budget::of_total(900).children(100));
    let xml = &project.0.context("root", &few).unwrap().xml;
    let shown = handles_in(xml, "finished-children").len();
    assert!((2..20).contains(&shown) && xml.contains(&format!("omitted-children=\"{}\"", 400 - shown)), "{xml}");
}

#[test]
fn failed_siblings_are_shown_for_their_lessons_only() {
    let project = Project::new();
    let stack = &project.0;
    let push = |id: &str| stack.push(NewFrame::new("Parser of tables").id(id).below("root")).unwrap();
    let (with, without) = (push("with"), push("without"));
    stack.pop(with, PopStatus::Failed, "Regular expressions do not nest").unwrap();
    stack.pop(without, PopStatus::Failed, "").unwrap();
    push("now");
    let context = project.context("now");
    assert!(context.xml.contains("Regular expressions do not nest"));
    assert!(!context.report.entries.iter().any(|entry| entry.handle == without));
}

#[test]
fn only_the_path_to_the_root_is_shown_of_other_branches() {
    let project = Project::new();
    let stack = &project.0;
    stack.push(NewFrame::new("Tables").id("tables").below("root")).unwrap();
    stack.push(NewFrame::new("Deep detail about tables").id("detail").below("tables")).unwrap();
    stack.pop("detail", PopStatus::Completed, "Secret of the tables").unwrap();
    stack.pop("tables", PopStatus::Completed, "Tables work").unwrap();
    stack.push(NewFrame::new("Print tables").id("now").below("root")).unwrap();
    let context = project.context("now");
    assert!(context.xml.contains("Tables work") && !context.xml.contains("Secret of the tables"));
}

#[test]
fn long_texts_are_cut_between_words_and_say_so() {
    let project = Project::new();
    project.finished("long", "Long results", &"many words of results ".repeat(2_000));
    project.0.push(NewFrame::new("Long results read").id("now").below("root")).unwrap();
    let context = project.context("now");
    let results = |xml: &str| xml.split_once("<results>").unwrap().1.split_once("</results>").unwrap().0.to_owned();
    let cut = results(&context.xml);
    assert!(cut.ends_with(" …") && Approx.count(&cut) <= 300, "{cut}");

    // A dependency gets all of the space that is left.
    project.0.push(NewFrame::new("Uses them").id("user").below("root").depends_on("long")).unwrap();
    let more = results(&project.context("user").xml);
    assert!(more.ends_with(" …") && (1_800..=2_000).contains(&Approx.count(&more)), "{}", Approx.count(&more));
}

#[test]
fn of_many_artifacts_the_newest_are_shown_and_the_rest_counted() {
    let project = Project::new();
    for number in 0..500 {
        project.0.add_artifact("root", format!("src/module_{number}.rs")).unwrap();
    }
    let xml = &project.context("root").xml;
    assert!(xml.contains("src/module_499.rs") && !xml.contains("src/module_0.rs,"), "{xml}");
    let shown = xml.matches("src/module_").count();
    assert!(xml.contains(&format!("(and {} before)", 500 - shown)), "{xml}");
}

#[test]
fn the_current_frame_has_its_criteria_in_full_if_there_is_room() {
    let project = Project::new();
    let full = "The parser reads every table of the manual, and reports each one that it cannot read with its line";
    let frame = NewFrame::new("Parser").id("now").criteria(full).criteria_compacted("Reads all tables").below("root");
    project.0.push(frame).unwrap();
    assert!(project.context("now").xml.contains(full));
    let small = (100..400).find_map(|total| {
        let context = project.0.context("now", &Settings::of_total(total)).ok()?;
        context.xml.contains("<success-criteria>Reads all tables</success-criteria>").then_some(context)
    });
    assert!(!small.expect("a small budget has the compacted criteria").xml.contains(full));
}

#[test]
fn the_position_counts_what_is_in_the_plan() {
    let project = Project::new();
    let stack = &project.0;
    project.finished("done", "Done", "ok");
    let gone = stack.plan(NewFrame::new("Gone").below("root")).unwrap();
    stack.invalidate(gone, "no").unwrap();
    let now = stack.push(NewFrame::new("Now").id("now").below("root")).unwrap();
    stack.plan(NewFrame::new("Next").below("root")).unwrap();
    let order = stack.read(|tree| sibling_order(tree, now)).unwrap().unwrap();
    assert_eq!((order.position, order.total, order.completed, order.in_progress, order.planned), (2, 3, 1, 1, 1));
    assert!(project.context("now").xml.contains("<position>Task 2 of 3</position>"));
    assert_eq!(stack.read(|tree| sibling_order(tree, gone)).unwrap(), None);
}

#[test]
fn guidance_keeps_within_its_tokens() {
    let cost = |guidance: Guidance| {
        let project = Project::new();
        let settings = Settings::of_total(10_000).guidance(guidance);
        let with = project.0.context("root", &settings).unwrap();
        let planning = with.volatile.split_once("<initial-planning").map_or("", |(_, rest)| rest);
        let planning = planning.split_once("</initial-planning>").map_or("", |(text, _)| text);
        let management = with.stable.split_once("<stack-task-management>").map_or("", |(_, rest)| rest);
        let management = management.split_once("</stack-task-management>").map_or("", |(text, _)| text);
        (Approx.count(management), Approx.count(planning))
    };
    let (full, planning) = cost(Guidance::Full);
    let (brief, _) = cost(Guidance::Brief);
    assert!(full + planning <= 350, "{full} + {planning} tokens");
    assert!((1..=120).contains(&brief), "{brief} tokens");
    assert_eq!(cost(Guidance::None).0, 0);
}

#[test]
fn planned_children_left_out_are_counted() {
    let project = Project::new();
    for number in 0..200 {
        project.0.plan(NewFrame::new(format!("Planned child number {number}")).below("root")).unwrap();
    }
    let context = project.0.context("root", &Settings::of_total(600)).unwrap();
    let shown = context.xml.matches("<frame id=").count();
    assert!((8..200).contains(&shown), "{shown} are shown");
    assert!(context.xml.contains(&format!("<planned-children count=\"200\" omitted=\"{}\">", 200 - shown)));
    let entries = context.report.entries.iter().filter(|entry| entry.section == Section::PlannedChildren);
    assert_eq!(entries.filter(|entry| entry.omission.is_some()).count(), 200 - shown);
}

#[test]
fn unused_quota_flows_on() {
    let project = Project::new();
    for number in 0..30 {
        project.finished(
            &format!("sibling-{number}"),
            "Parser of tables",
            &"The parser of tables reads them. ".repeat(12),
        );
    }
    project.0.push(NewFrame::new("Parser of tables").id("now").below("root")).unwrap();
    let context = project.context("now");
    let siblings: usize = context
        .report
        .entries
        .iter()
        .filter(|entry| entry.section == Section::CompletedSiblings)
        .map(|entry| entry.tokens)
        .sum();
    assert!(siblings > Budget::default().siblings, "the ancestors leave room: {siblings} tokens");
    assert!(context.tokens <= 4_000);
}

#[test]
fn any_counter_keeps_the_cap() {
    let project = |counter: Arc<dyn TokenCounter>| {
        let stack = Stack::with_options(StackOptions::default().counter(counter));
        stack.push(NewFrame::new("Root").id("root")).unwrap();
        for number in 0..40 {
            let id = format!("s{number}");
            stack.push(NewFrame::new("Parser 解析器 & <tables>").id(&id).below("root")).unwrap();
            stack.pop(id.as_str(), PopStatus::Completed, "It parses 表格 \u{0} ".repeat(20)).unwrap();
        }
        stack.push(NewFrame::new("Parser").id("now").below("root")).unwrap();
        stack
    };
    let counters: &[Arc<dyn TokenCounter>] = &[
        Arc::new(Approx),
        Arc::new(Chars4),
        #[cfg(feature = "tokenizer")]
        Arc::new(callstack_core::context::O200k),
    ];
    for counter in counters {
        let stack = project(counter.clone());
        for total in [300, 700, 1_500, 4_000] {
            let context = stack.context("now", &Settings::of_total(total)).unwrap();
            assert!(counter.count(&context.xml) <= context.tokens && context.tokens <= total);
            assert!(counter.count(&context.stable) + counter.count(&context.volatile) <= context.tokens);
        }
    }
}

#[test]
fn texts_are_truncated_between_words() {
    let cut = |text: &'static str, limit: usize| truncate(text, limit, "…", &Chars4);
    assert_eq!(cut("one two three four five", 100), "one two three four five");
    assert_eq!(cut("one two three four five", 4), "one two…");
    assert_eq!(cut("oneverylongwordwithoutspaces", 3), "oneveryl…");
    assert_eq!(cut("解析器完成解析器完成解析器完成", 2), "解析器完…");
    assert_eq!(cut("anything", 0), "");
    assert_eq!(truncate("one two three", 1, " [cut short]", &Chars4), "", "no room for the indicator");
    let long = "word ".repeat(200_000);
    let short = truncate(&long, 1_000, "…", &Approx);
    assert!(Approx.count(&short) <= 1_000 && short.len() > 4_000);
}

#[test]
fn what_ancestors_depend_on_does_not_push_out_their_criteria() {
    let stack = Stack::in_memory();
    let criteria = ["WCAG AA; no new dependencies", "Only touch src/area", "The form works"];
    stack.push(NewFrame::new("Root").id("root").criteria(criteria[0])).unwrap();
    stack.push(NewFrame::new("Area").id("area").below("root").criteria(criteria[1])).unwrap();
    let mut form = NewFrame::new("Form").id("form").below("area").criteria(criteria[2]);
    for number in 0..11 {
        let id = format!("part-{number}");
        stack.push(NewFrame::new(format!("Part {number}")).id(&id).below("area")).unwrap();
        stack.pop(id.as_str(), PopStatus::Completed, "A result of some length. ".repeat(40)).unwrap();
        form = form.depends_on(id.as_str());
    }
    stack.push(form).unwrap();
    stack.push(NewFrame::new("Field").id("field").below("form")).unwrap();
    let context = stack.context("field", &Settings::default()).unwrap();
    for criterion in criteria {
        assert!(context.stable.contains(criterion), "{criterion} is missing in\n{}", context.stable);
    }
    assert_eq!(context.stable.matches("<title>Part ").count(), 11, "{}", context.stable);
}

#[test]
fn finished_children_are_shown_with_their_decisions() {
    let project = Project::new();
    let stack = &project.0;
    stack.push(NewFrame::new("Cart").id("cart").below("root")).unwrap();
    stack.add_decision("cart", "Money is integer cents").unwrap();
    stack.add_artifact("cart", "src/cart.rs").unwrap();
    stack.pop("cart", PopStatus::Completed, "The cart works").unwrap();
    let stable = &project.context("root").stable;
    let children = stable.split_once("<finished-children>").unwrap().1;
    for text in ["The cart works", "Money is integer cents", "src/cart.rs"] {
        assert!(children.contains(text), "{text} is missing in\n{stable}");
    }
}

#[test]
fn a_sibling_that_waits_for_the_frame_alone_is_next() {
    let project = Project::new();
    let stack = &project.0;
    stack.push(NewFrame::new("Tables").id("tables").below("root").criteria("They parse")).unwrap();
    stack.plan(NewFrame::new("Indexes").id("indexes").below("root").depends_on("tables")).unwrap();
    stack.plan(NewFrame::new("Queries").id("queries").below("root").depends_on("indexes")).unwrap();
    let volatile = &project.context("tables").volatile;
    assert!(volatile.contains("next is stack_frame_activate f3"), "{volatile}");
    let volatile = &project.context("queries").volatile;
    assert!(volatile.contains("This frame is planned. It can begin when f3 is completed."), "{volatile}");
}

#[test]
fn a_blocked_child_does_not_keep_its_parent_from_what_can_begin() {
    let project = Project::new();
    let stack = &project.0;
    stack.push(NewFrame::new("Payment").id("payment").below("root")).unwrap();
    stack.plan(NewFrame::new("Invoice").id("invoice").below("root").depends_on("payment")).unwrap();
    stack.pop("payment", PopStatus::Blocked, "Which provider?").unwrap();
    let next = |project: &Project| {
        let volatile = &project.context("root").volatile;
        volatile.split_once("<next-action>").unwrap().1.split_once("</next-action>").unwrap().0.to_owned()
    };
    assert_eq!(
        next(&project),
        "Child f2 is blocked: answer it with stack_frame_activate f2 (answer), or stack_frame_invalidate it."
    );
    stack.plan(NewFrame::new("Search").id("search").below("root")).unwrap();
    assert_eq!(next(&project), "Begin the next planned child with stack_frame_activate f4.");
}

#[test]
fn truncation_names_the_frame_below_which_the_omitted_ones_are() {
    let project = Project::new();
    let stack = &project.0;
    stack.push(NewFrame::new("Parts").id("parts").below("root")).unwrap();
    for number in 0..300 {
        let part = stack.push(NewFrame::new(format!("Part {number}")).below("parts")).unwrap();
        stack.pop(part, PopStatus::Completed, "It works, and this says how it does").unwrap();
    }
    let stable = &project.context("parts").stable;
    assert!(stable.contains("<truncation omitted-children=") && stable.contains(" see=\"f2\"/>"), "{stable}");
    stack.push(NewFrame::new("Part 300").id("last").below("parts")).unwrap();
    let tight = Settings::default().budget(Budget::default().total(400));
    let stable = &stack.context("last", &tight).unwrap().stable;
    assert!(stable.contains("<truncation omitted-siblings=") && stable.contains(" see=\"f2\"/>"), "{stable}");
}

#[test]
fn siblings_that_failed_without_results_are_counted_beside_a_frame_and_below_it() {
    let project = Project::new();
    let stack = &project.0;
    stack.push(NewFrame::new("Parts").id("parts").below("root")).unwrap();
    for (number, results) in ["", "It does not compile because of the old toolchain", ""].into_iter().enumerate() {
        let part = stack.push(NewFrame::new(format!("Part {number}")).below("parts")).unwrap();
        stack.pop(part, PopStatus::Failed, results).unwrap();
    }
    stack.push(NewFrame::new("Newcomer").id("newcomer").below("parts")).unwrap();
    stack.push(NewFrame::new("Nephew").id("nephew").below("newcomer")).unwrap();
    let (newcomer, nephew) = (&project.context("newcomer").stable, &project.context("nephew").stable);
    assert!(newcomer.contains("<truncation omitted-siblings=\"2\""), "{newcomer}");
    assert!(nephew.contains("omitted-ancestor-siblings=\"2\""), "{nephew}");
}

#[test]
fn planned_children_and_registers_are_counted_even_if_none_fits() {
    let project = Project::new();
    let stack = &project.0;
    let criteria = "many words of criteria ".repeat(40);
    stack.push(NewFrame::new("Parts").id("parts").below("root").criteria(&criteria)).unwrap();
    for number in 0..30 {
        stack.plan(NewFrame::new(format!("Part {number}")).below("parts")).unwrap();
    }
    for total in [150, 200, 300] {
        let volatile =
            &stack.context("parts", &Settings::default().budget(Budget::default().total(total))).unwrap().volatile;
        assert!(volatile.contains("<planned-children count=\"30\" omitted=\"30\"/>"), "{total}: {volatile}");
    }
}

#[test]
fn numbers_of_a_counter_do_not_overflow() {
    struct Large(usize);
    impl TokenCounter for Large {
        fn count(&self, text: &str) -> usize {
            if text.is_empty() { 0 } else { self.0 }
        }
    }
    for count in [usize::MAX, usize::MAX / 2, usize::MAX / 15] {
        let stack = Stack::with_options(StackOptions::default().counter(Arc::new(Large(count))));
        stack.push(NewFrame::new("Root").id("root").criteria("It works")).unwrap();
        let error = stack.context("root", &Settings::default()).unwrap_err();
        assert_eq!(error.code(), "budget_too_small", "{error}");
    }
}
