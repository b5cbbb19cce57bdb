//! Sessions of agents, as the program lists, shows, follows, replays and imports them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

const CLAUDE: &str = "5e55104e-0000-4000-8000-000000000001";

/// A person's home with the sessions of the fixtures, and a project.
struct Place {
    folder: TempDir,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/sessions")
}

/// Copies a folder. Its files were written long ago.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            // The sessions were begun in another folder.
            let project = to.ancestors().find(|folder| folder.join("project").is_dir()).unwrap().join("project");
            let text = fs::read_to_string(entry.path()).unwrap();
            let project = serde_json::to_string(&project).unwrap();
            fs::write(&target, text.replace("/home/ann/shop", project.trim_matches('"'))).unwrap();
            age(&target);
        }
    }
}

fn age(file: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3_600);
    fs::File::options().append(true).open(file).unwrap().set_modified(long_ago).unwrap();
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.project()).unwrap();
        let homes = [
            ("claude", ".claude/projects/-shop"),
            ("claude-old", ".claude/projects/-old"),
            ("codex", ".codex/sessions"),
            ("gemini", ".gemini/tmp/shop"),
            ("qwen", ".qwen/projects/-shop"),
            ("copilot", ".copilot/session-state"),
            ("pi", ".pi/agent/sessions/--shop--"),
        ];
        for (fixture, folder) in homes {
            copy(&fixtures().join(fixture), &place.home().join(folder));
        }
        let noted = place.project().display().to_string();
        fs::write(place.home().join(".gemini/tmp/shop/.project_root"), noted).unwrap();
        place
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn session(&self) -> PathBuf {
        self.home().join(".claude/projects/-shop").join(format!("{CLAUDE}.jsonl"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.args(arguments).current_dir(self.project()).stdin(Stdio::null());
        command.env("HOME", self.home()).env("USERPROFILE", self.home()).env("TZ", "UTC");
        for variable in [
            "CALLSTACK_DIR",
            "CALLSTACK_PRICES",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "GEMINI_CLI_HOME",
            "QWEN_HOME",
            "COPILOT_HOME",
            "PI_CODING_AGENT_DIR",
            "XDG_CACHE_HOME",
            "XDG_DATA_HOME",
            "OPENCODE_DB",
        ] {
            command.env_remove(variable);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn data(&self, arguments: &[&str]) -> Value {
        let json = self.done(&[arguments, &["--json"]].concat());
        serde_json::from_str::<Value>(&json).unwrap()["data"].take()
    }

    /// The message and the code of a command that is refused.
    fn refused(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
        let error: Value = serde_json::from_slice(&output.stderr).unwrap_or_else(|_| {
            panic!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        });
        let text = |key: &str| error["data"][key].as_str().unwrap_or_default().to_owned();
        (text("code"), text("message"))
    }
}

fn titles(tree: &Value) -> Vec<String> {
    let frames = tree["frames"].as_array().unwrap();
    frames.iter().map(|frame| format!("{} {}", frame["level"], frame["title"].as_str().unwrap())).collect()
}

#[test]
fn all_sessions_are_listed_with_what_they_have_used() {
    let place = Place::new();
    let listed = place.data(&["sessions"]);
    let sessions = listed["sessions"].as_array().unwrap();
    let mut agents: Vec<&str> = sessions.iter().map(|session| session["agent"].as_str().unwrap()).collect();
    agents.sort_unstable();
    assert_eq!(agents, ["claude", "claude", "codex", "copilot", "gemini", "pi", "qwen"]);
    let claude = sessions.iter().find(|session| session["id"] == CLAUDE).unwrap();
    assert_eq!(claude["title"], "The cart of the shop");
    assert_eq!((&claude["turns"], &claude["subAgents"], &claude["compactions"]), (&4.into(), &2.into(), &1.into()));
    // With the requests of its subagents.
    assert_eq!(claude["requests"], 11);
    assert_eq!(claude["isWritten"], false);
    let index = place.home().join(".cache/callstack/sessions.json");
    assert!(index.is_file());
    assert_eq!(place.data(&["sessions"]), listed, "from the index");
    fs::write(&index, "{\"version\": 1, \"sessions\": 5").unwrap();
    assert_eq!(place.data(&["sessions"]), listed, "a damaged index is made again");
    let text = place.done(&["sessions", "--agent", "codex"]);
    assert!(text.contains("codex Fix the cart.") && text.contains("1 session: 5 requests"), "{text}");
    // A session that grows is read again.
    let mut file = fs::File::options().append(true).open(place.session()).unwrap();
    writeln!(file, r#"{{"type":"user","sessionId":"{CLAUDE}","timestamp":"2026-01-15T11:00:00.000Z","message":{{"role":"user","content":"More"}}}}"#).unwrap();
    let grown = place.data(&["sessions", "--agent", "claude", "--limit", "1"]);
    assert_eq!((&grown["sessions"][0]["turns"], &grown["further"]), (&5.into(), &1.into()));
    assert_eq!(grown["sessions"][0]["isWritten"], true);
    let elsewhere = place.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let none = place.command(&["sessions"]).current_dir(&elsewhere).output().unwrap();
    assert!(String::from_utf8_lossy(&none.stdout).contains("No sessions of agents in this project"));
    let all = place.command(&["sessions", "--all"]).current_dir(&elsewhere).output().unwrap();
    assert!(String::from_utf8_lossy(&all.stdout).contains("The cart of the shop"));
}

#[test]
fn every_command_that_looks_shows_a_session() {
    let place = Place::new();
    let path = place.session().display().to_string();
    let by_path = place.data(&["tree", &path]);
    assert_eq!(titles(&by_path)[..3], ["0 The cart of the shop", "1 Build the cart, with tests.", "2 Read the code"]);
    assert_eq!(place.data(&["tree", &CLAUDE[..36]]), by_path, "by its ID");
    assert_eq!(place.data(&["tree", "--session", CLAUDE]), by_path);
    let usage = place.data(&["usage", "--session", CLAUDE]);
    assert_eq!(usage["total"]["models"].as_array().unwrap().len(), 2, "{usage}");
    let log = place.done(&["log", "f2", "--session", CLAUDE, "--search", "rounded"]);
    assert!(log.contains("The cart is built; totals are rounded."), "{log}");
    assert!(place.done(&["show", "f5", "--session", CLAUDE]).contains("Prices are in cents."));
    assert!(place.done(&["context", "f2", "--session", CLAUDE]).contains("Build the cart, with tests."));
    assert!(place.done(&["history", "--session", CLAUDE]).contains("Look at prices"));
    let page = place.data(&["view", CLAUDE]);
    assert!(page["path"].as_str().unwrap().ends_with("callstack-view.html"));
    let page = fs::read_to_string(place.project().join("callstack-view.html")).unwrap();
    for part in ["Look at prices", "Outcome", "File does not exist.", "cargo test"] {
        assert!(page.contains(part), "what was said is in the details: {part}");
    }
    place.done(&["view", CLAUDE, "--output", "other.html"]);
    assert!(place.project().join("other.html").is_file());
    // The name of a session instead of a frame or a file.
    assert_eq!(place.data(&["usage", CLAUDE]), usage);
    assert_eq!(place.done(&["log", CLAUDE, "f2", "--search", "rounded"]), log);
    assert!(place.done(&["show", CLAUDE, "f5"]).contains("Prices are in cents."));
    place.done(&["export", "--format", "svg", CLAUDE, "other.svg"]);
    assert!(fs::read_to_string(place.project().join("other.svg")).unwrap().contains("<svg"));
    fs::remove_file(place.project().join("other.svg")).unwrap();
    let trace = place.done(&["export", "--format", "chrome", "--session", CLAUDE]);
    assert!(trace.contains("Look at taxes"));
    let latest = place.data(&["tree", "--latest", "codex"]);
    assert_eq!(titles(&latest)[..2], ["0 Fix the cart.", "1 Fix the cart."]);
    assert_eq!(titles(&latest)[4], "2 explorer");
    for document in ["opencode.json", "atif.json", "swe-agent.traj", "mini-swe-agent.traj.json"] {
        let path = fixtures().join(document).display().to_string();
        assert!(place.data(&["tree", &path])["frames"].as_array().unwrap().len() > 1, "{document}");
        place.done(&["log", "f2", "--session", &path]);
    }
    // The folder is unchanged, apart from the pages.
    let mut names: Vec<_> = fs::read_dir(place.project()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["callstack-view.html", "other.html"]);
}

#[test]
fn what_is_no_session_is_named() {
    let place = Place::new();
    assert_eq!(place.refused(&["tree", "5e55104e"]).0, "ambiguous_session");
    assert_eq!(place.refused(&["tree", "--session", "nothing-like-it"]).0, "unknown_session");
    assert_eq!(place.refused(&["tree", "--session", "no/such/file.jsonl"]).0, "unknown_session");
    let other = place.project().join("notes.jsonl");
    fs::write(&other, "{\"a\": 1}\n").unwrap();
    let (code, message) = place.refused(&["tree", "notes.jsonl"]);
    assert!(code == "no_session" && message.contains("notes.jsonl"), "{code}: {message}");
    assert_eq!(place.refused(&["tree", "--latest", "clod"]).0, "setting");
    let (code, message) = place.refused(&["push", "More", "--session", CLAUDE]);
    assert!(code == "session" && message.contains("only be looked at"), "{code}: {message}");
    assert_eq!(place.refused(&["fold", "--session", "nothing-like-it"]).0, "unknown_session");
    assert_eq!(place.refused(&["log", CLAUDE]).0, "no_frame");
    assert_eq!(place.refused(&["log", "nothing-like-it", "f2"]).0, "unknown_session");
    assert_eq!(place.refused(&["export", "a.html", "b.html"]).0, "arguments");
}

#[test]
fn a_session_becomes_a_part_of_a_stack_and_goes_on_there() {
    let place = Place::new();
    let first = place.data(&["import", "--latest", "codex"]);
    assert_eq!((&first["frames"], &first["requests"]), (&7.into(), &5.into()), "{first}");
    let again = place.data(&["import", "--latest", "codex"]);
    assert_eq!(
        (&again["frames"], &again["changed"], &again["requests"], &again["entries"]),
        (&0.into(), &0.into(), &0.into(), &0.into())
    );
    let path = place.session().display().to_string();
    let whole = place.data(&["import", &path]);
    assert_eq!(whole["interrupted"].as_array().unwrap().len(), 1, "{whole}");
    let frame = whole["interrupted"][0].as_str().unwrap();
    assert!(place.done(&["show", frame]).contains("has ended in the middle of this"));
    let log = place.done(&["log", frame]);
    assert!(log.contains("cargo test"), "{log}");
    // Another agent continues, and the session continues too.
    place.done(&["activate", frame]);
    place.done(&["pop", frame, "--results", "Reviewed by another agent"]);
    let mut file = fs::File::options().append(true).open(place.session()).unwrap();
    for line in [
        r#"{"type":"user","timestamp":"2026-01-15T10:05:00.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t7","content":"ok"}]}}"#,
        r#"{"type":"assistant","timestamp":"2026-01-15T10:05:01.000Z","message":{"id":"msg_8","role":"assistant","model":"claude-opus-4-5","stop_reason":"end_turn","content":[{"type":"text","text":"Reviewed."}],"usage":{"input_tokens":1,"output_tokens":2}}}"#,
    ] {
        writeln!(file, "{line}").unwrap();
    }
    drop(file);
    let later = place.data(&["import", &path]);
    assert_eq!((&later["frames"], &later["requests"]), (&0.into(), &1.into()), "{later}");
    assert_eq!(later["kept"][0], frame);
    assert!(place.done(&["show", frame]).contains("Reviewed by another agent"));
    assert!(place.done(&["doctor"]).contains("sound"));
    for option in [&["--dry-run"][..], &["--update"], &["--below", "f1"], &["--prefix", "x"]] {
        let arguments = [&["import", &path][..], option].concat();
        assert_eq!(place.refused(&arguments).0, "session", "{option:?}");
    }
}

#[test]
fn a_session_is_followed_as_it_grows() {
    let place = Place::new();
    let text = fs::read_to_string(place.session()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(place.session(), format!("{}\n", lines[..9].join("\n"))).unwrap();
    let mut watch =
        place.command(&["watch", CLAUDE, "--lines", "--json", "--since", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    for line in &lines[9..] {
        let mut file = fs::File::options().append(true).open(place.session()).unwrap();
        writeln!(file, "{line}").unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = BufReader::new(watch.stdout.take().unwrap());
    let is_seen =
        seen.lines().map_while(Result::ok).any(|line| line.contains("The cart is built; totals are rounded."));
    let _ = watch.kill();
    watch.wait().unwrap();
    assert!(is_seen, "the change was written while the session grew");
}

#[test]
fn lines_that_cannot_be_read_are_left_out_and_named() {
    let place = Place::new();
    let text = fs::read_to_string(place.session()).unwrap();
    let first = text.find('\n').unwrap() + 1;
    fs::write(place.session(), format!("{}spilled coffee\n{}", &text[..first], &text[first..])).unwrap();
    let output = place.run(&["tree", CLAUDE]);
    let told = String::from_utf8(output.stderr).unwrap();
    let path = place.session().display().to_string();
    assert!(told.contains("not understood: 1 line") && told.contains(&format!("at byte {first} of {path}")), "{told}");
}

#[test]
fn compressed_threads_of_codex_are_read_as_the_others() {
    let place = Place::new();
    let whole = [place.data(&["sessions", "--agent", "codex"]), place.data(&["tree", "--latest", "codex"])];
    let day = place.home().join(".codex/sessions/2026/01/15");
    let mut compressed = 0;
    for entry in fs::read_dir(&day).unwrap() {
        let path = entry.unwrap().path();
        let packed = PathBuf::from(format!("{}.zst", path.display()));
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        fs::write(&packed, ruzstd::encoding::compress_to_vec(&*fs::read(&path).unwrap(), level)).unwrap();
        age(&packed);
        // During the compression, both files exist.
        assert_eq!(titles(&place.data(&["tree", "--latest", "codex"])), titles(&whole[1]));
        fs::remove_file(path).unwrap();
        compressed += 1;
    }
    assert_eq!(compressed, 2, "a thread and its sub-agent");
    let read = [place.data(&["sessions", "--agent", "codex"]), place.data(&["tree", "--latest", "codex"])];
    assert_eq!(titles(&read[1]), titles(&whole[1]));
    for key in ["id", "turns", "subAgents", "requests", "input", "output"] {
        assert_eq!(read[0]["sessions"][0][key], whole[0]["sessions"][0][key], "{key}");
    }
    let requests = |folded: &Value| folded["requests"].clone();
    assert!(
        requests(&place.data(&["fold", "--session", read[0]["sessions"][0]["id"].as_str().unwrap()])).as_u64()
            > Some(0)
    );
    let packed = fs::read_dir(&day).unwrap().map(|entry| entry.unwrap().path()).min().unwrap();
    let bytes = fs::read(&packed).unwrap();
    // Several frames are one file.
    let text = fs::read_to_string(fixtures().join("codex/2026/01/15").join(packed.file_stem().unwrap())).unwrap();
    let (one, two) = text.split_at(text.find('\n').unwrap() + 1);
    let frames = [one, two].map(|part| {
        let part = part.replace("/home/ann/shop", &place.project().display().to_string());
        ruzstd::encoding::compress_to_vec(part.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
    });
    fs::write(&packed, frames.concat()).unwrap();
    age(&packed);
    assert_eq!(titles(&place.data(&["tree", "--latest", "codex"])), titles(&whole[1]));
    // A file that is cut shows nothing, because all sums would be wrong. The other files are still shown.
    fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
    let name = packed.display().to_string();
    let output = place.run(&["tree", "--session", &name]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains(&name), "{output:?}");
    place.done(&["sessions", "--agent", "codex"]);
}

#[test]
fn folding_is_replayed_over_all_sessions_of_a_project() {
    let place = Place::new();
    let all = place.data(&["fold"]);
    assert_eq!(all["sessions"], 7);
    let requests: u64 = place.data(&["sessions"])["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["requests"].as_u64().unwrap())
        .sum();
    // Apart from two requests that have failed.
    assert_eq!(all["requests"].as_u64().unwrap() + 2, requests);
    let policies = all["policies"].as_array().unwrap();
    let names: Vec<&str> = policies.iter().map(|policy| policy["policy"].as_str().unwrap()).collect();
    assert_eq!(names, ["unfolded", "frames", "turns", "turns", "turns"]);
    assert_eq!(policies[0]["promptTokens"], all["promptTokens"]);
    let text = place.done(&["fold", CLAUDE]);
    assert!(text.contains("1 session: ") && text.contains("turns above 40,000"), "{text}");
}

/// The picture in the README is the one that the program draws.
#[test]
fn the_picture_of_a_session_is_current() {
    let session = fixtures().join("claude").join(format!("{CLAUDE}.jsonl")).display().to_string();
    let place = Place::new();
    let drawn = place.done(&["export", "--format", "svg", "--session", &session]);
    let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/session.svg");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&picture, &drawn).unwrap();
    }
    assert!(
        fs::read_to_string(picture).unwrap() == drawn,
        "docs/session.svg is not current: UPDATE_GOLDEN=1 writes it"
    );
}
