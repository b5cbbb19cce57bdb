//! A stack on disk: opens a folder, executes some commands, and prints the contents of the folder.
//!
//! ```sh
//! cargo run --example store                # in a temporary folder
//! cargo run --example store -- FOLDER      # in this folder, also repeatedly or from several terminals at once
//! ```

use std::path::{Path, PathBuf};

use callstack_core::tree::outline;
use callstack_core::{EventQuery, LogQuery, NewFrame, OutlineOptions, PopStatus, Results, Stack, StackOptions};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = match std::env::args_os().nth(1) {
        Some(folder) => PathBuf::from(folder),
        None => std::env::temp_dir().join(format!("callstack-example-{}", std::process::id())),
    };
    let stack = Stack::open(&folder, StackOptions::default())?;
    for repair in stack.upkeep().repairs() {
        println!("imported with a repair: {repair}");
    }
    work(&stack)?;
    stack.files().flush()?;

    println!("{}", stack.read(|tree| outline(tree, &OutlineOptions::default()))??);
    println!("In {}:", folder.display());
    print_files(&folder, 1)?;
    let history = stack.history().events(&EventQuery::default())?;
    println!("\nThe last 4 of {} events in the database:", history.len());
    for event in &history[history.len().saturating_sub(4)..] {
        println!("  {}", serde_json::to_string(event)?);
    }
    println!("\nThe folder can be opened again, also by several processes at once.");
    Ok(())
}

/// Creates a task with one completed child and one planned child, and writes a log for the completed one.
fn work(stack: &Stack) -> callstack_core::Result<()> {
    let task = stack.push(NewFrame::new("Build a shop").criteria("Customers can pay").root())?;
    let children = ["Shopping cart", "Payment"].map(NewFrame::new);
    let planned = stack.plan_children(task, children.to_vec())?;
    stack.activate(planned[0])?;
    stack.log(planned[0]).append(&[json!({"role": "user", "text": "Write the cart"}), json!({"role": "assistant"})])?;
    stack.add_artifact(planned[0], "src/cart.rs")?;
    stack.pop(
        planned[0],
        PopStatus::Completed,
        Results::new("Cart with totals in src/cart.rs").compacted("src/cart.rs: Cart::total()"),
    )?;
    let found = stack.log(planned[0]).read(&LogQuery::default().search("cart"))?;
    println!("The log of {} has {} lines, {} of them about the cart.\n", planned[0], found.total, found.lines.len());
    Ok(())
}

fn print_files(folder: &Path, depth: usize) -> std::io::Result<()> {
    let mut paths = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            println!("{}{name}/", "  ".repeat(depth));
            print_files(&path, depth + 1)?;
        } else {
            println!("{}{name:<40} {:>7} bytes", "  ".repeat(depth), path.metadata()?.len());
        }
    }
    Ok(())
}
