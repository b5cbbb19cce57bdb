//! Makes the schema in a database, or brings it up to date, as `callstack postgres migrate` does: cargo run
//! -p callstack-postgres --example migrate -- postgres://HOST/DATABASE

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(url) = env::args().nth(1) else {
        eprintln!("usage: migrate postgres://HOST/DATABASE");
        return ExitCode::from(2);
    };
    match callstack_postgres::migrate(&url) {
        Ok(migrated) => {
            println!("the schema callstack has version {}", migrated.to);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
