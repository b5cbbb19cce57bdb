//! The layers of the library, of the program and of the store in PostgreSQL: a module uses only the modules
//! listed before it in the table.

use std::path::{Path, PathBuf};

/// Each layer (a module), and the layers that it may use. They are all listed before it.
type Layers = &'static [(&'static str, &'static [&'static str])];

/// The folders with layers.
const FOLDERS: [(&str, Layers); 3] = [("src", LIBRARY), ("cli/src", PROGRAM), ("postgres/src", POSTGRES)];

const LIBRARY: Layers = &[
    ("error_source", &[]),
    ("steps", &[]),
    ("keys", &[]),
    ("ordered", &["steps"]),
    ("text", &["steps"]),
    ("json", &["text"]),
    ("frame", &["error_source", "text"]),
    ("error", &["error_source", "frame"]),
    ("archive", &["error", "frame"]),
    ("keywords", &[]),
    ("dense", &["text"]),
    ("setters", &[]),
    ("threads", &[]),
    ("variables", &["error"]),
    ("vocabulary", &["error", "frame", "variables"]),
    ("tree", &["archive", "error", "frame", "keys", "ordered", "steps", "text"]),
    (
        "context",
        &["dense", "error", "frame", "keys", "keywords", "ordered", "steps", "text", "tree", "variables", "vocabulary"],
    ),
    ("fold", &["context", "error", "frame", "json", "text", "vocabulary"]),
    ("session", &["dense", "error", "frame", "keywords", "steps", "text", "tree", "variables", "vocabulary"]),
    ("transcript", &["context", "error", "fold", "frame", "text", "tree", "vocabulary"]),
    ("memory", &["error", "frame", "steps", "text", "tree", "vocabulary"]),
    ("work", &["error", "frame", "steps", "tree"]),
    ("search", &["error", "frame", "setters", "steps", "text"]),
    ("import", &["dense", "error", "frame", "json", "text", "tree"]),
    ("store", &["archive", "error", "frame", "text", "threads"]),
    (
        "stack",
        &[
            "archive",
            "error",
            "frame",
            "steps",
            "text",
            "threads",
            "tree",
            "variables",
            "vocabulary",
            "context",
            "memory",
            "session",
            "store",
            "work",
            "import",
            "search",
            "transcript",
        ],
    ),
    (
        "tools",
        &[
            "error",
            "frame",
            "text",
            "tree",
            "vocabulary",
            "context",
            "fold",
            "memory",
            "search",
            "session",
            "store",
            "stack",
            "transcript",
        ],
    ),
    (
        "capi",
        &[
            "error",
            "frame",
            "text",
            "tree",
            "vocabulary",
            "context",
            "fold",
            "transcript",
            "memory",
            "work",
            "import",
            "session",
            "store",
            "stack",
            "tools",
        ],
    ),
];

const PROGRAM: Layers = &[
    ("chart", &[]),
    ("clock", &[]),
    ("exit", &[]),
    ("ending", &["exit"]),
    ("host_files", &[]),
    ("repository", &[]),
    ("run_lock", &[]),
    ("same_stack", &[]),
    ("token", &[]),
    ("process_group", &["token"]),
    ("failure", &["exit", "same_stack"]),
    ("input", &["exit", "failure"]),
    ("output", &["clock", "exit", "failure"]),
    ("caller", &["token"]),
    ("log", &["exit", "failure"]),
    ("prices", &["exit", "failure"]),
    ("runtime", &["exit", "failure"]),
    ("server", &["exit", "failure"]),
    ("holding", &["clock", "output"]),
    ("sessions", &["clock", "exit", "failure", "host_files", "output", "repository"]),
    ("folder", &["exit", "failure", "holding", "output", "repository", "same_stack", "server", "sessions"]),
    ("common_options", &["folder", "sessions"]),
    ("export", &["chart", "output"]),
    ("view", &["chart", "failure", "output", "token"]),
    ("proxy", &["caller", "clock", "ending", "exit", "failure", "folder", "log", "output", "runtime", "token"]),
    ("status_line", &["output"]),
    (
        "mcp",
        &[
            "caller",
            "clock",
            "ending",
            "exit",
            "failure",
            "folder",
            "host_files",
            "log",
            "output",
            "runtime",
            "status_line",
            "token",
        ],
    ),
    (
        "run_agent",
        &[
            "caller",
            "exit",
            "failure",
            "folder",
            "host_files",
            "log",
            "mcp",
            "output",
            "proxy",
            "runtime",
            "status_line",
        ],
    ),
    (
        "commands",
        &[
            "chart",
            "clock",
            "exit",
            "export",
            "failure",
            "folder",
            "holding",
            "host_files",
            "input",
            "output",
            "prices",
            "process_group",
            "proxy",
            "repository",
            "run_agent",
            "run_lock",
            "same_stack",
            "sessions",
            "view",
        ],
    ),
    (
        "agent",
        &["commands", "common_options", "exit", "failure", "folder", "output", "process_group", "run_lock", "runtime"],
    ),
    ("arguments", &["agent", "commands", "common_options", "exit", "mcp", "proxy", "run_agent"]),
    ("completion", &["arguments", "commands", "folder"]),
];

const POSTGRES: Layers = &[
    ("errors", &[]),
    ("options", &[]),
    ("tls", &[]),
    ("url", &["tls"]),
    ("connection", &["errors", "tls", "url"]),
    ("pool", &["connection", "errors", "options", "url"]),
    ("schema", &["connection", "errors", "options", "pool", "url"]),
    ("transaction", &["connection", "errors"]),
    ("reader", &["connection", "errors", "pool", "transaction"]),
    ("archive", &["connection", "reader", "transaction"]),
    ("compaction", &["archive", "connection", "errors", "transaction"]),
    ("logs", &["archive", "connection", "errors", "reader", "transaction"]),
    ("words", &["archive", "connection", "errors", "pool", "reader", "transaction"]),
    ("store", &["archive", "compaction", "connection", "errors", "logs", "pool", "reader", "transaction", "words"]),
    ("listener", &["connection", "errors", "pool", "store", "tls"]),
    ("server", &["connection", "errors", "options", "pool", "schema", "store", "transaction", "url"]),
    ("capi", &["server"]),
];

/// Strings that the code of a layer must not contain. They check the sentences of `ARCHITECTURE.md` about the
/// parts of the standard library and about the types that a layer does not know. The first row applies to
/// every layer.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("", &["std::net", "thread::spawn", "thread::scope", "thread::Builder", "std::{"]),
    ("frame", &["std::time", "std::fs", "std::env", "std::path", "quick_xml"]),
    ("tree", &["std::time", "std::fs", "std::env", "std::path", "xml", "token"]),
    ("context", &["std::time", "std::fs", "std::env", "Command", "decide", ".apply(", ".replay("]),
    ("session", &["std::time", "std::fs", "std::env", "std::path"]),
    ("memory", &["std::time", "std::fs", "std::env", "std::path"]),
    ("work", &["std::time", "std::fs", "std::env", "std::path", "decide", ".apply("]),
    ("import", &["std::time", "std::fs", "std::env", "std::path"]),
    ("tools", &["std::time", "std::fs", "std::env", "std::path"]),
];

/// The lines of a text that are not comments.
fn uncommented(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The code of a file: without comments, and without the module of its tests, which is at the end of
/// the file.
fn code(text: &str) -> impl Iterator<Item = &str> {
    uncommented(text.split("#[cfg(test)]\nmod tests {").next().unwrap())
}

/// The name of a source file below `src`, and its layer.
fn name_and_layer(path: &Path, root: &Path) -> (String, String) {
    let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
    let layer = name.split(['/', '.']).next().unwrap().to_owned();
    (name, layer)
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_tables_allow_only_layers_above() {
    for (folder, layers) in FOLDERS {
        for (place, (layer, allowed)) in layers.iter().enumerate() {
            for used in *allowed {
                let is_above = layers[..place].iter().any(|(above, _)| above == used);
                assert!(is_above, "{folder}: {layer} may use {used}, which is not above it in the table");
            }
        }
    }
}

#[test]
fn layers_use_only_the_layers_above_them_in_the_table() {
    for (folder, layers) in FOLDERS {
        let root = support::root().join(folder);
        let mut checked = 0;
        for path in sources(&root) {
            let (name, layer) = name_and_layer(&path, &root);
            if layer == "lib" || layer == "main" {
                continue;
            }
            let (_, allowed) =
                layers.iter().find(|(known, _)| *known == layer).unwrap_or_else(|| panic!("{folder}: {layer}?"));
            let text = std::fs::read_to_string(&path).unwrap();
            for line in uncommented(&text) {
                for used in line.split("crate::").skip(1) {
                    let used: String =
                        used.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect();
                    assert!(
                        used == layer || allowed.contains(&used.as_str()),
                        "{folder}/{name} uses {used}, which the layer {layer} must not use: {line}"
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 20, "only {checked} uses were found in {folder}; has the way to write them changed?");
    }
}

#[test]
fn layers_contain_nothing_that_is_forbidden_there() {
    let root = support::root().join("src");
    let mut checked = vec![0; FORBIDDEN.len()];
    for path in sources(&root) {
        let (name, layer) = name_and_layer(&path, &root);
        let text = std::fs::read_to_string(&path).unwrap();
        for (row, (forbidding, strings)) in FORBIDDEN.iter().enumerate() {
            if name.ends_with("tests.rs") || (!forbidding.is_empty() && *forbidding != layer) {
                continue;
            }
            for line in code(&text) {
                let found = strings.iter().find(|string| line.contains(**string));
                if let Some(found) = found {
                    panic!("{name} contains `{found}`, which the layer {layer} must not contain: {line}");
                }
                checked[row] += 1;
            }
        }
    }
    assert!(checked.iter().all(|lines| *lines > 100), "few lines were found for a layer: {checked:?}");
}

#[test]
fn only_the_stack_uses_the_clocks_of_the_system() {
    let root = support::root().join("src");
    for (clock, users) in
        [("SystemTime", &["stack/options.rs"][..]), ("Instant", &["stack/deadline.rs", "stack/options.rs"])]
    {
        let uses_it = |path: &PathBuf| code(&std::fs::read_to_string(path).unwrap()).any(|line| line.contains(clock));
        let mut found: Vec<String> =
            sources(&root).iter().filter(|path| uses_it(path)).map(|path| name_and_layer(path, &root).0).collect();
        found.sort_unstable();
        assert_eq!(found, users, "{clock}");
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    let root = support::root();
    for folder in ["src", "tests", "benches", "examples", "cli", "fuzz"] {
        for path in sources(&root.join(folder)) {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("//! "), "{} does not say what it is for", path.display());
        }
    }
}
