//! Everything that is released together has one version: the crates, the npm packages, the Python package,
//! the lock file and the changelog. `scripts/set-version` changes all of these except the changelog.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::source::root;

/// The manifests of packages for hosts, and the only marketplace that names a version.
const PACKAGES: [&str; 3] = ["plugin.json", "gemini-extension.json", "qwen-extension.json"];
const MARKETPLACE: &str = ".github/plugin/marketplace.json";

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files with this name below a folder, without the files that were built or installed.
fn files(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let entry = entry.unwrap();
        let own = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            if !["node_modules", "target", "dist", "build", ".git"].iter().any(|other| own == *other) {
                files(&entry.path(), name, found);
            }
        } else if own == name {
            found.push(entry.path());
        }
    }
}

fn manifests(root: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(root, name, &mut found);
    found.sort();
    found
}

/// The value of a line such as `version = "0.1.0"` of a TOML file.
fn value<'a>(toml: &'a str, key: &str) -> Option<&'a str> {
    let start = format!("{key} = \"");
    toml.lines().find_map(|line| line.strip_prefix(&start)?.split('"').next())
}

/// Every place in a source tree that names the version, with the version there.
fn named_versions(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |place: String, version: &str| found.push((place, version.to_owned()));
    let manifest = text(&root.join("Cargo.toml"));
    add("Cargo.toml: version".to_owned(), value(&manifest, "version").unwrap());
    let own = manifest.lines().find(|line| line.starts_with("callstack-core = {")).unwrap();
    add("Cargo.toml: callstack-core".to_owned(), own.split("version = \"").nth(1).unwrap().split('"').next().unwrap());
    for package in text(&root.join("Cargo.lock")).split("[[package]]") {
        let name = value(package, "name").unwrap_or_default();
        if ["callstack-core", "callstack-cli", "callstack-tests"].contains(&name) {
            add(format!("Cargo.lock: {name}"), value(package, "version").unwrap());
        }
    }
    let packages: Vec<(String, Value)> = manifests(&root.join("bindings"), "package.json")
        .iter()
        .map(|path| (path.strip_prefix(root).unwrap().display().to_string(), text(path)))
        .map(|(path, text)| (path, serde_json::from_str::<Value>(&text).unwrap()))
        .collect();
    let names: Vec<&str> = packages.iter().filter_map(|(_, package)| package["name"].as_str()).collect();
    for (path, package) in &packages {
        if let Some(version) = package["version"].as_str() {
            add(format!("{path}: version"), version);
        }
        for (kind, dependencies) in package.as_object().unwrap() {
            // Versions of peers can be ranges.
            if !kind.ends_with("ependencies") || kind == "peerDependencies" {
                continue;
            }
            for (name, version) in dependencies.as_object().unwrap() {
                if names.contains(&name.as_str()) {
                    add(format!("{path}: {kind}: {name}"), version.as_str().unwrap());
                }
            }
        }
    }
    for name in PACKAGES {
        for path in manifests(&root.join("bindings"), name) {
            let plugin: Value = serde_json::from_str(&text(&path)).unwrap();
            let version = plugin["version"].as_str().unwrap();
            add(format!("{}: version", path.strip_prefix(root).unwrap().display()), version);
        }
    }
    let marketplace: Value = serde_json::from_str(&text(&root.join(MARKETPLACE))).unwrap();
    for place in ["/metadata/version", "/plugins/0/version"] {
        add(format!("{MARKETPLACE}: {place}"), marketplace.pointer(place).unwrap().as_str().unwrap());
    }
    for path in manifests(&root.join("bindings"), "pyproject.toml") {
        if let Some(version) = value(&text(&path), "version") {
            add(format!("{}: version", path.strip_prefix(root).unwrap().display()), version);
        }
    }
    found
}

fn assert_all(places: &[(String, String)], version: &str) {
    let others: Vec<String> = places
        .iter()
        .filter(|(_, named)| named != version)
        .map(|(place, named)| format!("{place} is {named}"))
        .collect();
    assert!(others.is_empty(), "not {version}; scripts/set-version sets all of them:\n{}", others.join("\n"));
}

#[test]
fn everything_that_is_released_has_one_version() {
    let root = root();
    let places = named_versions(&root);
    assert!(places.len() >= 12, "only {places:?} were found");
    assert_all(&places, env!("CARGO_PKG_VERSION"));
    let changelog = text(&root.join("CHANGELOG.md"));
    let newest = changelog.lines().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
    assert!(
        newest.starts_with(env!("CARGO_PKG_VERSION")),
        "CHANGELOG.md begins with {newest:?}, not with {}",
        env!("CARGO_PKG_VERSION")
    );
}

#[test]
fn every_crate_has_the_version_of_the_workspace_or_is_not_published() {
    for path in manifests(&root(), "Cargo.toml") {
        let manifest = text(&path);
        let package = manifest.split("[package]\n").nth(1).unwrap_or_else(|| panic!("{}: no package", path.display()));
        let package = package.split("\n[").next().unwrap();
        assert!(
            package.contains("version.workspace = true") || package.contains("publish = false"),
            "{} has a version of its own",
            path.display()
        );
    }
}

#[cfg(unix)]
#[test]
fn one_command_changes_every_version() {
    let root = root();
    let copy = tempfile::tempdir().unwrap();
    let mut copied = vec![root.join("Cargo.toml"), root.join("Cargo.lock"), root.join("scripts/set-version")];
    copied.extend(manifests(&root.join("bindings"), "package.json"));
    copied.extend(manifests(&root.join("bindings"), "pyproject.toml"));
    copied.extend(PACKAGES.iter().flat_map(|name| manifests(&root.join("bindings"), name)));
    copied.push(root.join(MARKETPLACE));
    for path in copied {
        let to = copy.path().join(path.strip_prefix(&root).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&path, &to).unwrap();
    }
    let set = |version: &str| {
        std::process::Command::new(copy.path().join("scripts/set-version")).arg(version).output().unwrap()
    };
    let before = named_versions(copy.path());
    let done = set("12.34.56");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_all(&named_versions(copy.path()), "12.34.56");
    assert!(!set("1.2").status.success() && !set("v1.2.3").status.success() && !set("").status.success());
    assert_all(&named_versions(copy.path()), "12.34.56");
    assert!(set(env!("CARGO_PKG_VERSION")).status.success());
    assert_eq!(named_versions(copy.path()), before);
}
