//! Golden tests: contexts, their two parts and outlines are compared with files. `UPDATE_GOLDEN=1 cargo test
//! golden` rewrites the files; review the difference before you commit it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::frame::{NewChunk, Register};
use callstack_core::{
    Guidance, Identity, NewFrame, OutlineOptions, OutlineStyle, PopStatus, Results, Settings, Stack, ToolNames, import,
};
use support::Queries;

/// The example of the specification: a REST API, with one minute between the steps.
fn api() -> Stack {
    let now = Arc::new(AtomicU64::new(1_700_000_000_000));
    let stack = Stack::with_options(support::options_at(&now));
    let later = || now.fetch_add(60_000, Ordering::Relaxed);
    let root = stack
        .push(NewFrame::new("Build REST API with authentication").id("ses_root").criteria("All endpoints tested"))
        .unwrap();
    let plan = |title: &str, id: &str, criteria: &str| NewFrame::new(title).id(id).criteria(criteria);
    stack
        .plan_children(
            root,
            vec![
                plan("Implement JWT authentication", "auth", "Login, refresh and logout work"),
                plan("Choose a <database>", "database", "Decided & written down"),
                plan("Build API routes", "routes", "CRUD behind authentication").depends_on("auth"),
                plan("Add caching layer", "caching", "Reads come from memory").depends_on("routes"),
            ],
        )
        .unwrap();
    later();
    stack.activate("auth").unwrap();
    stack.add_artifact("auth", "src/auth/jwt.rs").unwrap();
    stack.add_artifact("auth", "src/models/user.rs").unwrap();
    stack.add_decision("auth", "Refresh tokens rotate, since stolen ones must not live on").unwrap();
    later();
    stack
        .pop(
            "auth",
            PopStatus::Completed,
            Results::new("JWT with rotating refresh tokens.")
                .compacted("JWT auth with User model, middleware `require`"),
        )
        .unwrap();
    stack.activate("database").unwrap();
    later();
    stack
        .pop(
            "database",
            PopStatus::Failed,
            Results::new("SQLite locks under load; no server allowed.").compacted("SQLite locks under load"),
        )
        .unwrap();
    stack.activate("routes").unwrap();
    stack.add_artifact("routes", "src/routes/mod.rs").unwrap();
    stack.push(NewFrame::new("CRUD endpoints").id("crud").criteria("GET, POST, PUT, DELETE").below("routes")).unwrap();
    later();
    stack
        .pop(
            "crud",
            PopStatus::Completed,
            Results::new("Four endpoints for users.").compacted("REST endpoints for users"),
        )
        .unwrap();
    stack.plan(NewFrame::new("Pagination").id("pages").criteria("Cursor-based").below("routes")).unwrap();
    stack
}

#[test]
fn contexts_with_chunks_and_registers() {
    let stack = api();
    let chunk =
        |name: &str, content: &str, description: &str| NewChunk::new(name).content(content).description(description);
    let contract = "POST /login -> 200 {\"token\"}\nif (a < b && c[d[0]]>0) { … }\t\u{1b}[0m\n";
    stack.heap("ses_root").allocate(chunk("contract", contract, "what \"clients\" rely on")).unwrap();
    stack.heap("routes").allocate(chunk("notes", "Seen by routes and below", "")).unwrap();
    stack.heap("ses_root").allocate(chunk("long", &"0123456789 ".repeat(900), "does not fit")).unwrap();
    let registers = [(Register::Plan, "1. routes\n2. <caching>"), (Register::Constraints, "no server & no cloud")];
    stack.update_registers("routes", registers.map(|(register, value)| (register, value.into())).into()).unwrap();
    stack.push(NewFrame::new("Search").id("search").criteria("Words are found").below("routes")).unwrap();
    for (name, frame, total) in [("routes", "routes", 4000), ("child", "search", 4000), ("tight", "routes", 700)] {
        let context = stack.context_uncached(frame, &Settings::of_total(total)).unwrap();
        support::assert_golden(&format!("memory/{name}.xml"), &context.xml);
    }
    let settings = Settings::of_total(1300).tools(ToolNames::none());
    for frame in ["ses_root", "routes", "pages"] {
        let context = stack.context_uncached(frame, &settings).unwrap();
        support::assert_golden(&format!("vocabulary/none-{frame}.xml"), &context.xml);
    }
}

#[test]
fn contexts_of_a_small_project() {
    let stack = api();
    let settings = Settings::default();
    for frame in ["ses_root", "routes", "crud", "pages", "caching"] {
        let context = stack.context(frame, &settings).unwrap();
        support::assert_golden(&format!("api/{frame}.xml"), &context.xml);
    }
    let parts = stack.context("routes", &settings).unwrap();
    support::assert_golden("api/routes.stable.xml", &parts.stable);
    support::assert_golden("api/routes.volatile.xml", &parts.volatile);
    let report = serde_json::to_string_pretty(&parts.report).unwrap() + "\n";
    support::assert_golden("api/routes.report.json", &report);
}

#[test]
fn contexts_under_small_budgets() {
    let stack = api();
    for total in [110, 200, 320, 480] {
        let settings = Settings::of_total(total).guidance(Guidance::Brief);
        let text =
            stack.context("routes", &settings).map_or_else(|error| format!("{error}\n"), |context| context.xml.clone());
        support::assert_golden(&format!("budgets/routes-{total}.xml"), &text);
    }
}

#[test]
fn context_of_a_new_root() {
    let stack = Stack::in_memory();
    stack.ensure("ses_e002f6dd8ffe7", None, None).unwrap();
    support::assert_golden("root/seen.xml", &stack.context("f1", &Settings::default()).unwrap().xml);
    let identity = Identity {
        title: "Write a parser".into(),
        success_criteria: "All samples parse".into(),
        ..Identity::default()
    };
    stack.identify("f1", identity).unwrap();
    support::assert_golden("root/identified.xml", &stack.context("f1", &Settings::default()).unwrap().xml);
}

#[test]
fn context_of_a_real_plan() {
    let (tree, problems) = import::read(&support::read_data("plans/testcraft.tasks.json")).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    let (stack, _) = Stack::from_state(tree.state(), Default::default());
    for (name, frame) in [("task", "master/30"), ("subtask", "master/34.4")] {
        let Ok(handle) = stack.resolve(frame) else { panic!("the plan has no {frame}") };
        support::assert_golden(
            &format!("testcraft/{name}.xml"),
            &stack.context(handle, &Settings::default()).unwrap().xml,
        );
    }
}

#[test]
fn outlines() {
    let stack = api();
    stack.invalidate("caching", "A CDN does it").unwrap();
    let with = |change: fn(&mut OutlineOptions)| {
        let mut options = OutlineOptions::default();
        change(&mut options);
        stack.outline(&options).unwrap()
    };
    support::assert_golden("outline/marked.txt", &with(|_| ()));
    support::assert_golden("outline/details.txt", &with(|options| options.details = true));
    support::assert_golden("outline/depth-1.txt", &with(|options| options.depth = Some(1)));
    support::assert_golden("outline/width-24.txt", &with(|options| options.width = 24));
    support::assert_golden("outline/indented.txt", &with(|options| options.style = OutlineStyle::Indented));
    let options = OutlineOptions::default().root(Some("routes".into()));
    support::assert_golden("outline/subtree.txt", &stack.outline(&options).unwrap());
    support::assert_golden("outline/empty.txt", &Stack::in_memory().outline(&OutlineOptions::default()).unwrap());
}

#[test]
fn the_readme_shows_what_its_program_prints() {
    let stack = Stack::in_memory();
    let shop = stack.push(NewFrame::new("Build a shop").criteria("Customers can pay")).unwrap();
    let cart = stack.push(NewFrame::new("Shopping cart").below(shop)).unwrap();
    let results = Results::new("Cart with totals in src/cart.rs").compacted("src/cart.rs: Cart::total()");
    stack.pop(cart, PopStatus::Completed, results).unwrap();
    let pay = stack.push(NewFrame::new("Pay for the cart").below(shop)).unwrap();
    let printed = &stack.context(pay, &Settings::default()).unwrap().xml;
    let readme = include_str!("../../README.md");
    let shown = readme.split_once("```xml\n").unwrap().1.split_once("```").unwrap().0;
    assert!(printed.contains(shown), "the README shows\n{shown}\nand the program prints\n{printed}");
}
