//! `callstack init`: it writes the settings of each host and changes nothing else. The settings start the
//! server, and `init` can remove them again.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host, the file with its settings, the key of the servers, and settings that people may have in
/// this file.
const HOSTS: [(&str, &str, &str, &str); 10] = [
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
    ("gemini", ".gemini/settings.json", "mcpServers", "{ \"general\": { \"vimMode\": true } }\n"),
    ("qwen", ".qwen/settings.json", "mcpServers", "{\n  // mine\n  \"ui\": { \"theme\": \"x\" }\n}\n"),
    ("copilot", ".github/mcp.json", "mcpServers", "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}}\n"),
    (
        "windsurf",
        "home/.codeium/windsurf/mcp_config.json",
        "mcpServers",
        "{\"mcpServers\": {\"other\": {\"command\": \"y\"}}}\n",
    ),
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
        command
            .arg("init")
            .args(arguments)
            .current_dir(&self.folder)
            .env("CODEX_HOME", self.path("codex"))
            .env("HOME", self.path("home"))
            .env("USERPROFILE", self.path("home"));
        for variable in ["CLAUDE_CONFIG_DIR", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME"] {
            command.env_remove(variable);
        }
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
fn the_guide_says_for_each_host_what_is_written() {
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/hosts/mcp.md")).unwrap();
    let paragraphs = guide.split("\n\n").filter_map(|paragraph| {
        let (name, rest) = paragraph.strip_prefix("**")?.split_once("`callstack init ")?;
        let (host, rest) = rest.split_once("` writes `")?;
        Some((name, host, rest.split('`').next()?))
    });
    let mut told = Vec::new();
    for (name, host, file) in paragraphs {
        let project = Project::new();
        project.done(&[host]);
        let file = file.replace("~/.codex", "codex").replace("~/", "home/");
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

/// Starts the server that the settings name, and sends it a greeting.
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
        if host == "codex" {
            assert!(after.as_object_mut().unwrap().remove("features").is_some(), "the line for its code mode");
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
fn what_a_person_has_changed_is_replaced_only_by_force() {
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
fn comments_around_the_entry_stay_when_it_is_taken_back() {
    for (host, file, section, _) in HOSTS {
        let project = Project::new();
        let text = match file.ends_with(".toml") {
            true => "# above\n[mcp_servers] # of the section\n# within\n".to_owned(),
            false => format!(
                "{{\n  // above\n  \"{section}\": {{\n    // within \"callstack\": {{}},\n  }} // behind, {{}}\n}}\n"
            ),
        };
        project.write(file, &text);
        project.done(&[host]);
        // Comments that people add around the entry.
        let written = project.read(file);
        let noted = match file.ends_with(".toml") {
            true => written.replace("[mcp_servers.callstack]", "# over it\n[mcp_servers.callstack]") + "# under it\n",
            false => written.replace("    \"callstack\"", "    // over it\n    /* at it */ \"callstack\""),
        };
        assert_ne!(noted, written, "{host}");
        project.write(file, &noted);
        project.done(&[host, "--undo"]);
        let restored = project.read(file);
        let entry = parsed(file, &restored)[section]["callstack"].clone();
        assert!(entry.is_null(), "{host}: {restored}");
        let left: Vec<&str> = match file.ends_with(".toml") {
            true => vec!["# above\n[mcp_servers] # of the section\n", "# within", "# over it", "# under it"],
            false => vec!["// above", "// within \"callstack\": {},", "// over it", "/* at it */", "// behind, {}"],
        };
        for comment in left {
            assert!(restored.contains(comment), "{host}: {comment} in {restored}");
        }
    }
}

#[test]
fn comments_around_a_table_of_any_form_stay() {
    let project = Project::new();
    for (entry, next) in [
        ("[mcp_servers.callstack]\ncommand = \"mine\"\n\n[mcp_servers.callstack.env]\nA = \"b\"\n", "[other]\nx = 1\n"),
        ("[\"mcp_servers\".\"callstack\"]\ncommand = \"mine\"\n", "[other]\nx = 1\n"),
        ("[mcp_servers.callstack]\nargs = [\n[\"a\"],\n]\n", "[[list]]\nx = 1\n"),
        ("[\"mcp_servers\".\"callstack\"]\ncommand = \"mine\"\n", ""),
    ] {
        let before = "[first]\ny = 2\n\n# mine\n";
        project.write("codex/config.toml", &format!("{before}{entry}\n# next\n{next}"));
        project.done(&["codex", "--undo", "--force"]);
        let left = project.read("codex/config.toml");
        assert_eq!(left, format!("{before}\n# next\n{next}"), "{entry}");
    }
}

#[test]
fn a_key_of_toml_is_taken_back_without_its_neighbours() {
    let project = Project::new();
    let entry = |text: &str| project.write("codex/config.toml", text);
    entry("[mcp_servers]\n# mine\ncallstack = { command = \"mine\" }\n# other\nother = { command = \"x\" }\n");
    project.done(&["codex", "--undo", "--force"]);
    assert_eq!(project.read("codex/config.toml"), "[mcp_servers]\n# mine\n# other\nother = { command = \"x\" }\n");
    entry("mcp_servers = { callstack = { command = \"mine\" } }\nmodel = \"o5\"\n");
    project.done(&["codex", "--undo", "--force"]);
    assert_eq!(
        project.read("codex/config.toml"),
        "mcp_servers = {}\nmodel = \"o5\"\n",
        "init has not made the section"
    );
}

#[test]
fn each_line_keeps_its_end() {
    for (host, file, _, text) in HOSTS {
        let project = Project::new();
        // One line comes from another editor.
        let mixed = match file.ends_with(".toml") {
            true => text.replacen('\n', "\r\n", 1),
            false => format!("// mine\r\n{text}"),
        };
        project.write(file, &mixed);
        project.done(&[host]);
        let written = project.read(file);
        assert_eq!(written.matches("\r\n").count(), 1, "{host}: {written:?}");
        assert!(written.split('\n').next().unwrap().ends_with('\r'), "{host}: {written:?}");
        project.done(&[host, "--undo"]);
        assert_eq!(project.read(file).matches("\r\n").count(), 1, "{host}");
    }
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    use std::os::unix::fs::symlink;

    for (host, file, _, _) in HOSTS {
        let project = Project::new();
        let path = project.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let make_pipe = || assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for make in
            [&make_pipe as &dyn Fn(), &|| symlink("/dev/zero", &path).unwrap(), &|| fs::create_dir(&path).unwrap()]
        {
            make();
            for arguments in [&[host][..], &[host, "--undo"]] {
                let refused = project.refused(arguments);
                let is_told = refused.contains("it is not a regular file")
                    || refused.contains("out of this folder, to /dev/zero");
                assert!(is_told && refused.contains(&format!("callstack init {host} --print")), "{host}: {refused}");
            }
            let is_folder = path.is_dir() && !path.is_symlink();
            if is_folder { fs::remove_dir(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
        }
        fs::File::create(&path).unwrap().set_len(17 << 20).unwrap();
        assert!(project.refused(&[host]).contains("it has more than 16777216 bytes"), "{host}");
    }
}

#[test]
#[cfg(unix)]
fn links_in_a_project_do_not_lead_to_other_settings() {
    use std::os::unix::fs::symlink;

    for (host, file, _, _) in HOSTS.into_iter().filter(|(host, ..)| !["codex", "windsurf"].contains(host)) {
        let (project, home) = (Project::new(), TempDir::new().unwrap());
        fs::write(home.path().join("settings.json"), "{}").unwrap();
        let path = project.path(file);
        // Links to an existing file and to a file that does not exist yet, and a link in place of the folder.
        let parent = Path::new(file).parent().filter(|parent| !parent.as_os_str().is_empty());
        for target in ["settings.json", "new.json"] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(home.path().join(target), &path).unwrap();
            for arguments in [&[host][..], &[host, "--force"], &[host, "--undo"]] {
                let refused = project.refused(arguments);
                assert!(refused.contains("is a link that leads "), "{host}: {refused}");
            }
            fs::remove_file(&path).unwrap();
        }
        if let Some(parent) = parent {
            fs::remove_dir(project.path(parent.to_str().unwrap())).unwrap();
            symlink(home.path(), project.path(parent.to_str().unwrap())).unwrap();
            assert!(project.refused(&[host]).contains("is a link that leads out of this folder"), "{host}");
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(home.path().join("settings.json")).unwrap(), "{}");
    }
    // The settings of Codex belong to the person, so a link is allowed.
    let (project, home) = (Project::new(), TempDir::new().unwrap());
    fs::create_dir(project.path("codex")).unwrap();
    fs::write(home.path().join("config.toml"), "").unwrap();
    symlink(home.path().join("config.toml"), project.path("codex/config.toml")).unwrap();
    project.done(&["codex"]);
    assert!(fs::read_to_string(home.path().join("config.toml")).unwrap().contains("callstack"));
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

/// With --allow, agents call the tools without a question, if the host has a setting for it. All other
/// settings stay.
#[test]
fn tools_are_allowed_in_the_way_of_each_host() {
    let settings = ".claude/settings.local.json";
    for (host, file, key, value) in [
        ("codex", "codex/config.toml", "default_tools_approval_mode", json!("approve")),
        ("gemini", ".gemini/settings.json", "trust", json!(true)),
        ("qwen", ".qwen/settings.json", "trust", json!(true)),
    ] {
        let project = Project::new();
        let section = HOSTS.iter().find(|(name, ..)| *name == host).unwrap().2;
        let entry = || parsed(file, &project.read(file))[section]["callstack"].clone();
        project.done(&[host]);
        assert!(entry().get(key).is_none(), "{host}: no person was asked");
        project.done(&[host, "--allow"]);
        assert_eq!(entry()[key], value, "{host}");
        assert!(project.done(&[host]).contains("nothing to change"), "{host}: the answer stays");
        project.done(&[host, "--undo"]);
        assert!(!project.path(file).exists(), "{host}");
    }
    let project = Project::new();
    let before = "{\n  // mine\n  \"permissions\": { \"allow\": [\"Bash(ls)\"], \"deny\": [] }\n}\n";
    project.write(settings, before);
    let told = project.done(&["claude", "--allow"]);
    assert!(told.contains(settings) && told.contains("mcp__callstack"), "{told}");
    let allowed = |project: &Project| parsed(settings, &project.read(settings))["permissions"]["allow"].clone();
    assert_eq!(allowed(&project), json!(["Bash(ls)", "mcp__callstack"]));
    assert!(project.read(settings).contains("// mine"));
    assert!(project.done(&["claude", "--allow"]).contains("nothing to change"));
    project.done(&["claude", "--undo"]);
    assert_eq!(allowed(&project), json!(["Bash(ls)"]));
    project.write(settings, "{\"permissions\": {\"allow\": 5}}");
    project.refused(&["claude", "--allow"]);
    assert!(!project.path(".mcp.json").exists(), "nothing is half done");
    let project = Project::new();
    project.done(&["claude", "--allow"]);
    project.done(&["claude", "--undo"]);
    let left = [settings, ".mcp.json", ".claude"].map(|path| project.path(path).exists());
    assert_eq!(left, [false; 3], "nothing is left");
    // A host without such a permission still gets its entry, and the person is told what to do.
    let project = Project::new();
    let output = project.init(&["copilot", "--allow"]);
    let [told, noted] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(told.contains("--allow-tool=callstack") && noted.contains("have no permission"), "{told}{noted}");
    assert!(project.path(".github/mcp.json").exists());
}

/// Newer models of Codex call the tools directly, even if a person has switched the mode for programs on.
#[test]
fn codex_calls_the_tools_directly() {
    let project = Project::new();
    let before = "[features]\ncode_mode = true # mine\n";
    project.write("codex/config.toml", before);
    project.done(&["codex"]);
    let mode = || parsed("config.toml", &project.read("codex/config.toml"))["features"]["code_mode"].clone();
    assert_eq!(mode(), json!({ "enabled": true, "direct_only_tool_namespaces": ["mcp__callstack"] }));
    project.done(&["codex", "--undo"]);
    assert_eq!(mode()["enabled"], true);
    assert!(mode().get("direct_only_tool_namespaces").is_none());
}

#[test]
fn a_package_that_is_installed_is_noticed() {
    for (host, file, text) in [
        ("claude", "home/.claude/settings.json", r#"{"enabledPlugins": {"callstack@callstack": true}}"#),
        ("claude", ".claude/settings.json", r#"{"enabledPlugins": {"callstack@other": true}}"#),
        ("codex", "codex/config.toml", "[plugins.\"callstack@callstack\"]\nenabled = true\n"),
        ("copilot", "home/.copilot/settings.json", r#"{"enabledPlugins": {"callstack@callstack": true}}"#),
        ("gemini", "home/.gemini/extensions/callstack/gemini-extension.json", "{}"),
        ("qwen", "home/.qwen/extensions/callstack/qwen-extension.json", "{}"),
    ] {
        let project = Project::new();
        project.write(file, text);
        assert!(project.refused(&[host]).contains("never both"), "{host}");
        project.done(&[host, "--force"]);
        project.done(&[host, "--undo"]);
        project.write(file, &text.replace("true", "false"));
        if text.contains("true") {
            project.done(&[host]);
        }
    }
}

/// `--undo` removes nothing that was there before `init`: no words of lists, no empty sections, no files.
#[test]
fn what_was_there_before_stays_when_the_entry_is_taken_back() {
    let local = ".claude/settings.local.json";
    let own = "{\n  \"permissions\": {\n    \"allow\": [\n      \"mcp__callstack\"\n    ]\n  }\n}\n";
    for arguments in [&["claude"][..], &["claude", "--allow"]] {
        let project = Project::new();
        project.write(local, own);
        project.done(arguments);
        project.done(&["claude", "--undo"]);
        assert_eq!(project.read(local), own, "{arguments:?}");
        assert!(!project.path(".mcp.json").exists(), "init has made it");
    }
    for own in ["{\"permissions\": {\"allow\": []}}", "{\"permissions\": {}, \"env\": {}}", "{}"] {
        let project = Project::new();
        project.write(local, own);
        project.done(&["claude", "--allow"]);
        project.done(&["claude", "--allow"]);
        project.done(&["claude", "--undo"]);
        let left = project.read(local);
        assert_eq!(parsed(local, &left), parsed(local, own), "{left}");
    }
    for own in [
        "[features.code_mode]\ndirect_only_tool_namespaces = [\"mcp__callstack\"]\n",
        "[features.code_mode]\ndirect_only_tool_namespaces = []\n",
        "[features.code_mode]\n",
        "[features]\n",
    ] {
        let project = Project::new();
        project.write("codex/config.toml", own);
        project.done(&["codex"]);
        project.done(&["codex", "--undo"]);
        assert_eq!(project.read("codex/config.toml"), own);
    }
    for (host, file, section, _) in HOSTS {
        let project = Project::new();
        let bare = match file.ends_with(".toml") {
            true => [String::new(), format!("[{section}]\n")],
            false => ["{}".to_owned(), json!({ section: {} }).to_string()],
        };
        for own in bare {
            project.write(file, &own);
            project.done(&[host]);
            project.done(&[host, "--undo"]);
            let left = project.read(file);
            assert_eq!(parsed(file, &left), parsed(file, &own), "{host}: {left}");
        }
    }
}

/// A second `init` does not forget what the first `init` has made.
#[test]
fn what_init_has_made_is_known_until_it_is_taken_back() {
    for (host, file, _, _) in HOSTS {
        let project = Project::new();
        project.done(&[host]);
        let stack = project.path("other");
        project.done(&["--stack", stack.to_str().unwrap(), host, "--force"]);
        project.done(&["--stack", stack.to_str().unwrap(), host, "--undo"]);
        assert!(!project.path(file).exists(), "{host}: {}", project.read(file));
    }
}

/// An empty variable does not name a folder: the folder of the host is used.
#[test]
fn an_empty_variable_counts_as_none() {
    let project = Project::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.args(["init", "gemini"]).current_dir(&project.folder).env("HOME", project.path("home"));
    command.env("USERPROFILE", project.path("home")).env("GEMINI_CLI_HOME", "").env_remove("CALLSTACK_DIR");
    project.write("home/.gemini/extensions/callstack/gemini-extension.json", "{}");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("never both"), "the extension in the home folder is not seen: {said}");
}

/// The guide says how many tokens a conversation pays for the server, with four characters for a token. The
/// number is right to within a twentieth.
#[test]
fn the_guide_says_what_the_tools_cost() {
    let project = Project::new();
    let mut server = Command::new(env!("CARGO_BIN_EXE_callstack"));
    server.arg("mcp").current_dir(&project.folder).env_remove("CALLSTACK_DIR");
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let mut input = server.stdin.take().unwrap();
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let answers: Vec<Value> = BufReader::new(server.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .filter(|answer: &Value| answer["id"].is_number())
        .take(2)
        .collect();
    drop(input);
    assert!(server.wait().unwrap().success());
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap()["result"].clone();
    let (tools, instructions) = (of(2)["tools"].clone(), of(1)["instructions"].clone());
    let tokens = |text: &str| text.chars().count().div_ceil(4);
    // The parts that hosts give to a model. Hosts use the rest of a definition themselves.
    let tools = tools.as_array().unwrap();
    let keys = ["name", "description", "inputSchema"];
    let read: Vec<Value> =
        tools.iter().map(|tool| keys.map(|key| (key.to_owned(), tool[key].clone())).into_iter().collect()).collect();
    let measured = [tokens(&json!(read).to_string()), tokens(instructions.as_str().unwrap())];
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/mcp.md")).unwrap();
    let told = guide.split_once("The definitions of the ").expect("the guide tells the cost").1;
    let told = told.split_once(" characters)").unwrap().0.replace(',', "");
    let mut numbers = told.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
    assert_eq!(numbers.next(), Some(tools.len()), "the number of tools");
    let told: Vec<usize> = numbers.collect();
    let is_near = told.iter().zip(measured).all(|(told, measured)| told.abs_diff(measured) * 20 <= measured);
    assert!(told.len() == 2 && is_near, "docs/mcp.md says {told:?} tokens, and it is {measured:?}");
}

/// The one number of the README is that of the table that the bench writes.
#[test]
fn the_readme_has_the_figures_of_the_table() {
    let text = |file: &str| fs::read_to_string(format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (readme, hosts) = (text("README.md"), text("docs/hosts.md"));
    let table = hosts.split_once("<!-- make bench-hosts -->").expect("the table is there").1;
    let table = table.split_once("<!-- end -->").expect("the table ends").0;
    let column = |number: usize| -> (usize, usize) {
        let rows = table.lines().filter(|line| line.starts_with('|') && line.contains('%'));
        let cells = rows.map(|row| row.split('|').nth(number).expect("a cell").replace(['*', '%', ' '], ""));
        let shares: Vec<usize> = cells.map(|cell| cell.parse().expect("a number")).collect();
        (*shares.iter().min().expect("a row"), *shares.iter().max().expect("a row"))
    };
    let (least, most) = column(3);
    assert!(readme.contains(&format!("12 sub-tasks costs {least} to {most} %")), "{least} to {most} %");
    let (least, most) = column(2);
    assert!(readme.contains(&format!("2 sub-tasks costs {least} to {most} %")), "{least} to {most} %");
}

/// The question says what an answer allows: two hosts only have a permission for the whole entry.
#[test]
#[cfg(unix)]
fn a_terminal_asks_for_the_permission_and_says_how_far_it_reaches() {
    use pseudo_terminal::{Size, Terminal, text_of};

    for (host, is_whole) in [("claude", false), ("codex", false), ("gemini", true), ("qwen", true)] {
        let project = Project::new();
        let (home, codex) = (project.path("home"), project.path("codex"));
        fs::create_dir(&home).unwrap();
        let [home, codex] = [&home, &codex].map(|path| path.to_str().unwrap());
        let words = format!(
            "cd '{}' && exec '{}' init {host}",
            project.folder.path().display(),
            env!("CARGO_BIN_EXE_callstack")
        );
        let environment = [("HOME", home), ("CODEX_HOME", codex)];
        let size: Size = (250, 30);
        let mut terminal = Terminal::start(Path::new("/bin/sh"), &["-c", &words], &environment, size);
        let asked = text_of(&terminal.wait_until("the question", |screen| text_of(screen).contains("[y/N]")));
        assert_eq!(asked.contains("trusts whatever the command in it offers"), is_whole, "{host}: {asked}");
        terminal.press("y\r");
        assert_eq!(terminal.ending().code, 0, "{host}");
        let written = terminal.text();
        assert!(["mcp__callstack", "approve", "trust"].iter().any(|word| written.contains(word)), "{host}: {written}");
    }
}

/// The table of commands has each option of `init`.
#[test]
fn the_guide_of_the_program_has_every_option() {
    let project = Project::new();
    let help = project.done(&["--help"]);
    let own = help.split("Options of all commands").next().unwrap();
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli.md")).unwrap();
    let row = guide.lines().find(|line| line.starts_with("| `init HOST`")).expect("the table has init");
    let options: Vec<&str> =
        own.split_whitespace().filter(|word| word.starts_with("--") && *word != "--help").collect();
    assert!(options.len() > 2, "{own}");
    for option in options {
        assert!(row.contains(&format!("`{option}`")), "{option} is not in {row}");
    }
}
