//! The planted faults fit the source, and each of them is described.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The numbers that follow a text in a file of the planted faults.
fn numbers(file: &str, before: &str) -> BTreeSet<u32> {
    let text = std::fs::read_to_string(root().join("simulation/faults").join(file)).unwrap();
    let number = |rest: &str| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    text.split(before).skip(1).filter_map(number).collect()
}

#[test]
fn the_planted_faults_fit_the_source() {
    let patch = "simulation/faults/planted.patch";
    let checked = Command::new("git").args(["apply", "--check", patch]).current_dir(root()).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{patch} does not fit the changed source; make it again:\n{said}");
}

#[test]
fn each_planted_fault_is_described() {
    let (planted, described) = (numbers("planted.patch", "planted::is("), numbers("faults.toml", "number = "));
    assert!(planted.len() >= 20, "{planted:?}");
    assert_eq!(planted, described);
}
