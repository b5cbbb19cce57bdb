//! `callstack init`: the settings of each host are written, change nothing else, start the server, and are taken back.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host, the file with its settings, the key of the servers, and settings that people may have there.
const HOSTS: [(&str, &str, &str, &str); 6] = [
    ("claude", ".mcp.json", "mcpServers", "{\n  \"mcpServers\": { \"other\": { \"command\": \"x\" } }\n}\n"),
    (
        "codex",
        "codex/config.toml",
        "mcp_servers",
        "# mine\nmodel = 'o5' # best\n\n[mcp_servers.other]\ncommand = \"x\"\n",
    ),
    ("cursor", ".cursor/mcp.json", "mcpServers", "{\"mcpServers\":{}, \"a\": 1}"),
    (
        "vscode",
        ".vscode/mcp.json",
        "servers",
        "{\n\t// mine\n\t\"servers\": {\n\t\t\"other\": { \"command\": \"x\" }, // another\n\t},\n}\n",
    ),
    ("zed", ".zed/settings.json", "context_servers", "// mine\n{\n  \"tab_size\": 2,\n}\n"),
    ("opencode", "opencode.json", "mcp", "{ \"$schema\": \"https://opencode.ai/config.json\" }\n"),
];

struct Project {
    folder: TempDir,
}

impl Project {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn init(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.arg("init").args(arguments).current_dir(&self.folder).env("CODEX_HOME", self.path("codex"));
        command.env_remove("CALLSTACK_DIR").output().unwrap()
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.init(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.init(arguments);
        assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).unwrap()
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }
}

/// The settings as JSON, without comments.
fn parsed(file: &str, text: &str) -> Value {
    if file.ends_with(".toml") {
        return json!(toml::from_str::<toml::Table>(text).unwrap());
    }
    CstRootNode::parse(text, &ParseOptions::default()).unwrap().to_serde_value().unwrap()
}

#[test]
fn settings_are_made_start_the_server_and_are_taken_back() {
    for (host, file, section, _) in HOSTS {
        let project = Project::new();
        let told = project.done(&[host]);
        assert!(told.contains("config.toml") || told.contains(file), "{told}");
        let entry = parsed(file, &project.read(file))[section]["callstack"].clone();
        let words: Vec<String> = match entry["command"].as_array() {
            Some(words) => words.clone(),
            None => [entry["command"].clone()].into_iter().chain(entry["args"].as_array().unwrap().clone()).collect(),
        }
        .iter()
        .map(|word| word.as_str().unwrap().replace("${workspaceFolder}", project.folder.path().to_str().unwrap()))
        .collect();
        serves(&words, project.folder.path());
        assert!(project.done(&[host]).contains("nothing to change"), "{host}");
        assert!(project.done(&[host, "--undo"]).contains("removed"), "{host}");
        assert!(!project.path(file).exists(), "{host}: the file had nothing else");
        assert!(project.done(&[host, "--undo"]).contains("nothing to change"), "{host}");
    }
}

#[test]
fn the_readme_says_for_each_host_what_is_written() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let paragraphs = readme.split("\n\n").filter_map(|paragraph| {
        let (name, rest) = paragraph.strip_prefix("**")?.split_once("`callstack init ")?;
        let (host, rest) = rest.split_once("` writes `")?;
        Some((name, host, rest.split('`').next()?))
    });
    let mut told = Vec::new();
    for (name, host, file) in paragraphs {
        let project = Project::new();
        project.done(&[host]);
        let file = file.replace("~/.codex", "codex");
        assert!(project.path(&file).is_file(), "{name}: {file} is not written");
        told.push((host, file));
    }
    let expected = HOSTS.map(|(host, file, ..)| (host, file.to_owned()));
    assert_eq!(told, expected);
}

#[test]
fn marks_of_other_editors_stay() {
    for (host, file, _, text) in HOSTS {
        let project = Project::new();
        let text = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        project.write(file, &text);
        project.done(&[host]);
        let written = project.read(file);
        assert!(written.starts_with('\u{feff}') && written.contains("callstack"), "{host}: {written:?}");
        assert!(!text.contains('\n') || !written.replace("\r\n", "").contains('\n'), "{host}: {written:?}");
        project.done(&[host, "--undo"]);
        assert!(project.read(file).starts_with('\u{feff}'), "{host}");
    }
}

#[test]
fn the_entry_names_the_stack_that_is_named() {
    for (host, file, _, _) in HOSTS {
        let project = Project::new();
        let stack = project.path("other");
        project.done(&["--stack", stack.to_str().unwrap(), host]);
        assert!(project.read(file).contains(&json!(stack).to_string()), "{host}: {}", project.read(file));
        assert!(project.refused(&[host]).contains("another entry"), "{host}");
        assert!(project.done(&["--stack", stack.to_str().unwrap(), host, "--undo"]).contains("removed"), "{host}");
    }
}

/// Starts the server that settings name, and says hello.
fn serves(words: &[String], folder: &Path) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let mut input = server.stdin.take().unwrap();
    input.write_all(format!("{message}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("\"callstack\""), "{words:?}: {line}");
    drop(input);
    assert!(server.wait().unwrap().success());
}

#[test]
fn other_settings_keep_every_character() {
    for (host, file, section, text) in HOSTS {
        let project = Project::new();
        project.write(file, text);
        let before = parsed(file, text);
        project.done(&[host]);
        let written = project.read(file);
        let mut after = parsed(file, &written);
        assert!(after[section]["callstack"].is_object(), "{host}: {written}");
        for comment in
            ["// mine", "// another", "# mine", "# best"].into_iter().filter(|comment| text.contains(comment))
        {
            assert!(written.contains(comment), "{host}: {written}");
        }
        after[section].as_object_mut().unwrap().remove("callstack");
        let had_section = before.get(section).is_some();
        if !had_section {
            after.as_object_mut().unwrap().remove(section);
        }
        assert_eq!(after, before, "{host}");
        project.done(&[host, "--undo"]);
        let restored = project.read(file);
        assert!(
            !parsed(file, &restored).get(section).is_some_and(|section| section["callstack"].is_object()),
            "{host}"
        );
        for comment in
            ["// mine", "// another", "# mine", "# best"].into_iter().filter(|comment| text.contains(comment))
        {
            assert!(restored.contains(comment), "{host}: {restored}");
        }
    }
}

#[test]
fn what_somebody_has_changed_is_replaced_only_by_force() {
    for (host, file, section, _) in HOSTS {
        let project = Project::new();
        let mine = match file.ends_with(".toml") {
            true => "[mcp_servers.callstack]\ncommand = \"mine\"\n".to_owned(),
            false => json!({ section: { "callstack": { "command": "mine" } } }).to_string(),
        };
        project.write(file, &mine);
        for arguments in [&[host][..], &[host, "--undo"]] {
            let refused = project.refused(arguments);
            let step = format!("callstack init {} --force", arguments.join(" "));
            assert!(refused.contains("another entry") && refused.contains(&step), "{refused}");
            assert_eq!(project.read(file), mine);
        }
        project.done(&[host, "--force"]);
        assert!(!project.read(file).contains("mine"), "{host}: {}", project.read(file));
    }
}

#[test]
fn settings_that_cannot_be_read_are_left_alone() {
    for (host, file, section, _) in HOSTS {
        let project = Project::new();
        let no_object = match file.ends_with(".toml") {
            true => format!("{section} = 5\n"),
            false => format!("{{\"{section}\": 5}}"),
        };
        for text in ["{", "[1]", "key = ", &no_object] {
            if file.ends_with(".toml") && text == "[1]" {
                continue;
            }
            project.write(file, text);
            let refused = project.refused(&[host]);
            let step = format!("callstack init {host} --print");
            assert!(refused.contains("cannot be read") && refused.contains(&step), "{host} {text}: {refused}");
            assert!(project.done(&[host, "--print"]).contains("callstack"), "{host} {text}");
            assert_eq!(project.read(file), text);
        }
    }
}

#[test]
fn settings_are_printed_without_being_written() {
    for (host, file, section, _) in HOSTS {
        let project = Project::new();
        let told = project.done(&[host, "--print"]);
        assert!(told.contains(section) && told.contains("mcp"), "{told}");
        assert!(!project.path(file).exists());
    }
    let project = Project::new();
    let output = project.init(&["--json", "claude"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&told["kind"], &told["data"]["done"], &told["data"]["path"]),
        (&json!("initialized"), &json!("written"), &json!(".mcp.json"))
    );
}

#[test]
#[cfg(unix)]
fn a_link_to_settings_stays_one_and_keeps_its_rights() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let project = Project::new();
    project.write("shared.json", "{}");
    fs::set_permissions(project.path("shared.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("shared.json", project.path(".mcp.json")).unwrap();
    project.done(&["claude"]);
    assert!(project.path(".mcp.json").is_symlink() && project.read("shared.json").contains("callstack"));
    assert_eq!(fs::metadata(project.path("shared.json")).unwrap().permissions().mode() & 0o777, 0o640);
    project.done(&["claude", "--undo"]);
    assert!(project.path(".mcp.json").is_symlink() && !project.read("shared.json").contains("callstack"));
}
