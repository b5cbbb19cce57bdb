//! The main functions in a few lines: push, plan and pop frames, and print the context of a frame.
//!
//! `cargo run --example quickstart`

use callstack_core::tree::outline;
use callstack_core::{NewFrame, OutlineOptions, PopStatus, Result, Results, Settings, Stack};

fn main() -> Result<()> {
    let stack = Stack::in_memory();
    let root =
        stack.push(NewFrame::new("Build a REST API").id("ses_root").criteria("All endpoints pass their tests"))?;
    let children = stack.plan_children(
        root,
        vec![
            NewFrame::new("JWT authentication").id("auth").criteria("Login, logout and refresh work"),
            NewFrame::new("User routes").id("routes").criteria("CRUD behind authentication").depends_on("auth"),
            NewFrame::new("Caching layer").id("cache").criteria("Reads are served from memory"),
        ],
    )?;

    stack.activate(children[0])?;
    stack.add_artifact("auth", "src/auth.rs")?;
    stack.add_decision("auth", "Tokens live 15 minutes, refresh tokens 30 days")?;
    stack.pop(
        "auth",
        PopStatus::Completed,
        Results::new("JWT with refresh tokens; see src/auth.rs.").compacted("JWT auth: auth::require(user)"),
    )?;

    stack.activate("routes")?;
    println!("{}", stack.read(|tree| outline(tree, &OutlineOptions::default()))??);
    println!("{}", stack.context("routes", &Settings::default())?.xml);
    Ok(())
}
