//! The files of the source tree.

use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The files with these endings in the folders, without those that other programs have made or that are
/// generated.
#[cfg(feature = "tools")]
pub fn files(folders: &[&str], endings: &[&str]) -> Vec<PathBuf> {
    const LEFT_OUT: [&str; 9] =
        ["target", "node_modules", "dist", "build", "data", "golden", "generated", "snapshots", ".git"];
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(path) = open.pop() {
        if path.is_file() {
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if endings.contains(&ending) {
                found.push(path);
            }
            continue;
        }
        for entry in std::fs::read_dir(&path).into_iter().flatten() {
            let entry = entry.unwrap().path();
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !LEFT_OUT.contains(&name.as_str()) {
                open.push(entry);
            }
        }
    }
    found.sort();
    found
}

/// The documents that people write and read.
#[cfg(feature = "tools")]
pub fn documents() -> Vec<PathBuf> {
    let top = ["README.md", "COMPARE.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "RELEASING.md"];
    let found = files(&[&top[..], &["docs", "examples", "bindings"]].concat(), &["md"]);
    assert!(found.len() > 20, "{found:?}");
    found
}
