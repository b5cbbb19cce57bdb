//! Sessions of OpenCode in the places where it keeps them: in its database, and in the JSON files of earlier
//! versions.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The fixture of an export, with the session of its subagent.
fn sessions() -> Vec<Value> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/sessions/opencode.json");
    let session: Value = serde_json::from_str(&fs::read_to_string(fixture).unwrap()).unwrap();
    let child = json!({
        "info": { "id": "ses_2", "parentID": "ses_1", "directory": "/home/ann/shop", "title": "Look (@general subagent)",
            "version": "1.18.33", "time": { "created": 1_768_471_202_000_u64, "updated": 1_768_471_205_000_u64 } },
        "messages": [
            { "info": { "id": "msg_11", "role": "user", "time": { "created": 1_768_471_202_000_u64 } },
              "parts": [{ "type": "text", "text": "Look at cart.rs" }] },
            { "info": { "id": "msg_12", "role": "assistant", "modelID": "claude-haiku", "finish": "stop",
                "time": { "created": 1_768_471_203_000_u64, "completed": 1_768_471_205_000_u64 } },
              "parts": [
                { "type": "text", "text": "It is fine." },
                { "type": "step-finish", "cost": 0.002,
                  "tokens": { "input": 30, "output": 4, "reasoning": 0, "cache": { "read": 0, "write": 0 } } }] },
        ],
    });
    vec![session, child]
}

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.folder.path().join("project")).unwrap();
        fs::create_dir_all(place.data()).unwrap();
        place
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join(".local/share/opencode")
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.args(arguments).current_dir(self.folder.path().join("project")).stdin(Stdio::null());
        command.env("HOME", self.folder.path()).env("USERPROFILE", self.folder.path()).env("TZ", "UTC");
        for variable in ["CALLSTACK_DIR", "CALLSTACK_PRICES", "XDG_CACHE_HOME", "XDG_DATA_HOME", "OPENCODE_DB"] {
            command.env_remove(variable);
        }
        command
    }

    fn data_of(&self, arguments: &[&str]) -> Value {
        let json = self.done(&[arguments, &["--json"]].concat());
        serde_json::from_str::<Value>(&json).unwrap()["data"].take()
    }

    /// The database, with the tables that the program reads.
    fn database(&self, name: &str) -> Connection {
        let database = Connection::open(self.data().join(name)).unwrap();
        database
            .execute_batch(
                "PRAGMA journal_mode = WAL;
                 CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL,
                     title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER, time_updated INTEGER);
                 CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER,
                     time_updated INTEGER, data TEXT NOT NULL);
                 CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
                     time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL);",
            )
            .unwrap();
        database
    }

    /// The same sessions in the files of earlier versions.
    fn write_files(&self, sessions: &[Value]) {
        let storage = self.data().join("storage");
        let write = |path: PathBuf, record: &Value| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, record.to_string()).unwrap();
        };
        for session in sessions {
            let id = session["info"]["id"].as_str().unwrap();
            write(storage.join("session/project").join(format!("{id}.json")), &session["info"]);
            for message in session["messages"].as_array().unwrap() {
                let name = message["info"]["id"].as_str().unwrap();
                write(storage.join("message").join(id).join(format!("{name}.json")), &message["info"]);
                for (number, part) in message["parts"].as_array().unwrap().iter().enumerate() {
                    write(storage.join("part").join(name).join(format!("prt_{number:02}.json")), part);
                }
            }
        }
    }
}

fn add_session(database: &Connection, info: &Value) {
    let values = params![
        info["id"].as_str(),
        info["parentID"].as_str(),
        info["directory"].as_str(),
        info["title"].as_str(),
        info["version"].as_str(),
        info["time"]["created"].as_i64(),
        info["time"]["updated"].as_i64()
    ];
    database.execute("INSERT INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", values).unwrap();
}

/// Adds a session that was written just now, without its messages. Returns the time in milliseconds since the
/// Unix epoch.
fn add_recent_session(database: &Connection, info: &Value) -> i64 {
    add_session(database, info);
    let now = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    database.execute("UPDATE session SET time_updated = ?1", params![now]).unwrap();
    now
}

fn add_message(database: &Connection, session: &str, message: &Value) {
    let (id, created) = (message["info"]["id"].as_str().unwrap(), message["info"]["time"]["created"].as_i64());
    let mut data = message["info"].clone();
    data.as_object_mut().unwrap().retain(|key, _| key != "id" && key != "sessionID");
    let values = params![id, session, created, data.to_string()];
    database.execute("INSERT OR REPLACE INTO message VALUES (?1, ?2, ?3, ?3, ?4)", values).unwrap();
    for (number, part) in message["parts"].as_array().unwrap().iter().enumerate() {
        let values = params![format!("{id}-{number:02}"), id, session, part.to_string()];
        database.execute("INSERT OR REPLACE INTO part VALUES (?1, ?2, ?3, 0, 0, ?4)", values).unwrap();
    }
}

fn add(database: &Connection, session: &Value) {
    add_session(database, &session["info"]);
    for message in session["messages"].as_array().unwrap() {
        add_message(database, session["info"]["id"].as_str().unwrap(), message);
    }
}

fn titles(tree: &Value) -> Vec<String> {
    let frames = tree["frames"].as_array().unwrap();
    frames.iter().map(|frame| format!("{} {}", frame["level"], frame["title"].as_str().unwrap())).collect()
}

#[test]
fn the_database_and_the_files_of_earlier_versions_give_the_same_tree() {
    let (new, old) = (Place::new(), Place::new());
    let database = new.database("opencode.db");
    sessions().iter().for_each(|session| add(&database, session));
    old.write_files(&sessions());
    let trees = [&new, &old].map(|place| {
        let listed = place.data_of(&["sessions", "--all"]);
        let session = &listed["sessions"][0];
        assert_eq!((&session["id"], &session["agent"]), (&json!("ses_1"), &json!("opencode")), "{listed}");
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "the sub-agent's belongs to its session: {listed}");
        assert_eq!(session["subAgents"], 1);
        place.data_of(&["tree", "--session", "ses_1"])
    });
    assert_eq!(titles(&trees[0]), titles(&trees[1]));
    assert_eq!(titles(&trees[0])[0], "0 Cart work");
    assert!(titles(&trees[0]).contains(&"2 Look".to_owned()), "{:?}", titles(&trees[0]));

    // The usage of the subagent belongs to its frame, with its times.
    let frames = trees[0]["frames"].as_array().unwrap();
    let agent = frames.iter().find(|frame| frame["title"] == "Look").unwrap()["handle"].as_str().unwrap();
    let used = new.data_of(&["usage", agent, "--session", "ses_1"]);
    assert_eq!(used["total"]["models"][0]["model"], "claude-haiku", "{used}");
    assert!(new.done(&["log", agent, "--session", "ses_1"]).contains("It is fine."));
    assert!(new.done(&["fold", "ses_1"]).contains("requests"));

    // A command that does not run in the folder of the session does not see the session.
    assert_eq!(new.data_of(&["sessions"])["sessions"], json!([]));
}

#[test]
fn a_session_that_is_in_both_places_is_one_and_other_channels_have_their_own_database() {
    let place = Place::new();
    place.write_files(&sessions());
    sessions().iter().for_each(|session| add(&place.database("opencode.db"), session));
    let mut other = sessions().remove(0);
    other["info"]["id"] = "ses_9".into();
    for (number, message) in other["messages"].as_array_mut().unwrap().iter_mut().enumerate() {
        message["info"]["id"] = format!("msg_9{number}").into();
    }
    add(&place.database("opencode-local.db"), &other);
    place.database("other.db");
    fs::write(place.data().join("opencode-broken.db"), "spilled coffee").unwrap();
    let listed = place.data_of(&["sessions", "--all", "--agent", "opencode"]);
    let mut ids: Vec<&str> =
        listed["sessions"].as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["ses_1", "ses_9"]);
    let paths: Vec<&str> =
        listed["sessions"].as_array().unwrap().iter().map(|session| session["path"].as_str().unwrap()).collect();
    assert!(paths.iter().all(|path| path.ends_with(".db")), "{paths:?}");
}

#[test]
fn records_of_files_count_once_and_one_without_an_id_has_no_sub_agents() {
    let place = Place::new();
    place.write_files(&sessions());
    let folder = place.data().join("storage/session");
    fs::create_dir_all(folder.join("moved")).unwrap();
    fs::copy(folder.join("project/ses_1.json"), folder.join("moved/ses_1.json")).unwrap();
    fs::write(folder.join("moved/empty.json"), json!({ "id": "", "title": "None", "directory": "/" }).to_string())
        .unwrap();
    let listed = place.data_of(&["sessions", "--all"]);
    let sessions: Vec<(&Value, &Value)> =
        listed["sessions"].as_array().unwrap().iter().map(|session| (&session["id"], &session["subAgents"])).collect();
    assert_eq!(sessions, [(&json!("ses_1"), &json!(1))]);
    assert_eq!(place.data_of(&["tree", "--session", "ses_1"])["frames"][0]["title"], "Cart work");
}

#[test]
fn a_database_is_read_by_any_name_and_not_while_another_process_has_locked_it() {
    let place = Place::new();
    let database = place.database("mine.sqlite");
    sessions().iter().for_each(|session| add(&database, session));
    database.pragma_update(None, "journal_mode", "DELETE").unwrap();
    let listed = || {
        let output =
            place.command(&["sessions", "--all", "--json"]).env("OPENCODE_DB", "mine.sqlite").output().unwrap();
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
        (listed["data"]["sessions"].as_array().unwrap().len(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(listed(), (1, String::new()));
    database.execute_batch("BEGIN EXCLUSIVE; UPDATE session SET title = 'Not yet'").unwrap();
    let (number, told) = listed();
    assert!(number == 0 && told.contains("mine.sqlite") && told.contains("locked"), "{number} sessions; {told}");
    database.execute_batch("ROLLBACK").unwrap();
    assert_eq!(listed().0, 1);
}

#[test]
fn messages_are_taken_over_once_they_cannot_change_any_more() {
    let place = Place::new();
    let database = place.database("opencode.db");
    let all = sessions();
    let messages = all[0]["messages"].as_array().unwrap();
    add_recent_session(&database, &all[0]["info"]);
    add_message(&database, "ses_1", &messages[0]);
    let mut running = messages[1].clone();
    running["info"]["time"].as_object_mut().unwrap().remove("completed");
    running["info"].as_object_mut().unwrap().remove("finish");
    add_message(&database, "ses_1", &running);
    add(&database, &all[1]);

    // The call of the subagent runs.
    let begun = place.data_of(&["tree", "--session", "ses_1"]);
    assert_eq!(titles(&begun), ["0 Cart work", "1 Look at the cart."]);
    let imported = place.data_of(&["import", "ses_1"]);
    assert_eq!(imported["interrupted"].as_array().unwrap().len(), 1, "the turn: {imported}");

    messages[1..].iter().for_each(|message| add_message(&database, "ses_1", message));
    let whole = place.data_of(&["tree", "--session", "ses_1"]);
    assert!(titles(&whole).contains(&"2 Look".to_owned()), "{whole}");
    // The stack takes over the new items, once.
    place.done(&["import", "ses_1"]);
    let requests = |used: &Value| -> u64 {
        used["total"]["models"].as_array().unwrap().iter().map(|model| model["requests"].as_u64().unwrap()).sum()
    };
    let (taken, recorded) = (place.data_of(&["usage"]), place.data_of(&["usage", "--session", "ses_1"]));
    assert_eq!((requests(&taken), requests(&recorded)), (4, 4), "{taken}");
}

/// An answer that is still running appears after its end, even if the person has typed more in the meantime.
#[test]
fn a_session_is_followed_while_its_answers_run() {
    let place = Place::new();
    let database = place.database("opencode.db");
    let all = sessions();
    let messages = all[0]["messages"].as_array().unwrap();
    let now = add_recent_session(&database, &all[0]["info"]);
    let mut running = messages[3].clone();
    running["info"]["time"].as_object_mut().unwrap().remove("completed");
    running["parts"] = json!([]);
    messages[..3].iter().for_each(|message| add_message(&database, "ses_1", message));
    add_message(&database, "ses_1", &running);
    let queued = json!({ "info": { "id": "msg_99", "role": "user", "time": { "created": 1_768_471_230_000_u64 } },
        "parts": [{ "type": "text", "text": "Now the taxes." }] });
    add_message(&database, "ses_1", &queued);
    add(&database, &all[1]);

    let arguments = ["watch", "--session", "ses_1", "--lines", "--json", "--since", "0"];
    let mut watch = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.by_ref().take_while(|line| !line.contains("Look at the cart.")).count();
    assert!(first < 20);
    std::thread::sleep(std::time::Duration::from_millis(500));
    add_message(&database, "ses_1", &messages[3]);
    database.execute("UPDATE message SET time_updated = ?1 WHERE id = 'msg_04'", params![now + 1]).unwrap();
    let told: Vec<String> = {
        let mut told = Vec::new();
        for line in lines.by_ref() {
            let is_last = line.contains("Now the taxes.");
            told.push(line);
            if is_last {
                break;
            }
        }
        told
    };
    let _ = watch.kill();
    watch.wait().unwrap();
    let told = told.join("\n");
    assert!(told.contains("\"status\":\"completed\"") && !told.contains("continued without an end"), "{told}");
}
