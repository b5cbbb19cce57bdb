//! Reads a request to a model from the standard input, and writes it without what its finished frames have
//! said; what was folded goes to the standard error:
//!
//! ```sh
//! cargo run --example fold -- anthropic < request.json > folded.json
//! ```

use std::io::{Read, Write, stdin, stdout};
use std::process::ExitCode;

use callstack_core::fold::{FoldSettings, Wire, fold};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("fold: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let wire: Wire = std::env::args().nth(1).unwrap_or_default().parse()?;
    let mut request = String::new();
    stdin().read_to_string(&mut request)?;
    let folded = fold(wire, &request, &FoldSettings::default());
    for stretch in &folded.report.stretches {
        eprintln!(
            "{} ({:?}): {} items, {} bytes, {} tokens are gone; {} bytes stand for them",
            stretch.frame, stretch.status, stretch.items, stretch.bytes, stretch.tokens, stretch.returned
        );
    }
    Ok(stdout().write_all(folded.text.as_bytes())?)
}
