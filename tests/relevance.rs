//! The relevance benchmark on the plans of the tests' data: the figures must not sink.

#[allow(dead_code, reason = "shared by several tests")]
mod common;

#[allow(dead_code, reason = "the example has a main of its own")]
#[path = "../examples/relevance.rs"]
mod example;

#[test]
fn siblings_that_tasks_depended_on_are_ranked_high() {
    let files = [
        "ast-mcp.tasks.json",
        "beads_rust.issues.jsonl",
        "prophy-api-client.tasks.json",
        "rivet.issues.jsonl",
        "testcraft.tasks.json",
    ];
    let mut all = example::Figures::default();
    for file in files {
        all.add(&example::measure(common::data("plans").join(file).to_str().unwrap()).unwrap());
    }
    println!("{all}");
    assert_eq!(all.cases, 195);
    let cases = all.cases as f64;
    assert!(all.recall_at_5 / cases >= 0.73, "{all}");
    assert!(all.ndcg_at_5 / cases >= 0.64, "{all}");
}
