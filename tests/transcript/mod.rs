//! Sessions of agents as trees of frames.

mod branches;
mod damage;
mod replay;
mod taking;
mod trees;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use callstack_core::transcript::{AgentFile, Session, SessionFile, TranscriptForm};

/// A session of `tests/data/sessions`.
struct Fixture {
    name: &'static str,
    /// Its file, and the files of its subagents.
    files: &'static [&'static str],
}

const CLAUDE: &str = "claude/5e55104e-0000-4000-8000-000000000001";

const FIXTURES: [Fixture; 12] = [
    Fixture {
        name: "claude",
        files: &[
            "claude/5e55104e-0000-4000-8000-000000000001.jsonl",
            "claude/5e55104e-0000-4000-8000-000000000001/subagents/agent-a000000000000001.jsonl",
            "claude/5e55104e-0000-4000-8000-000000000001/subagents/agent-a000000000000002.jsonl",
        ],
    },
    Fixture { name: "claude-old", files: &["claude-old/5e55104e-0000-4000-8000-000000000002.jsonl"] },
    Fixture {
        name: "codex",
        files: &[
            "codex/2026/01/15/rollout-2026-01-15T10-00-00-01900000-0000-7000-8000-000000000001.jsonl",
            "codex/2026/01/15/rollout-2026-01-15T10-00-06-01900000-0000-7000-8000-000000000002.jsonl",
        ],
    },
    Fixture {
        name: "codex-old",
        files: &["codex-old/rollout-2025-05-01T10-00-00-5973b6c0-94b8-487b-a530-2aeb6098ae0e.jsonl"],
    },
    Fixture { name: "gemini", files: &["gemini/chats/session-2026-01-15T10-00-5e551003.jsonl"] },
    Fixture { name: "qwen", files: &["qwen/chats/5e551004-0000-4000-8000-000000000004.jsonl"] },
    Fixture { name: "copilot", files: &["copilot/5e551005-0000-4000-8000-000000000005/events.jsonl"] },
    Fixture { name: "pi", files: &["pi/2026-01-15T10-00-00-000Z_5e551006.jsonl"] },
    Fixture { name: "opencode", files: &["opencode.json"] },
    Fixture { name: "atif", files: &["atif.json"] },
    Fixture { name: "swe-agent", files: &["swe-agent.traj"] },
    Fixture { name: "mini-swe-agent", files: &["mini-swe-agent.traj.json"] },
];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sessions").join(name)
}

fn text(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap()
}

impl Fixture {
    fn is_document(&self) -> bool {
        !self.files[0].ends_with(".jsonl")
    }

    fn form(&self) -> TranscriptForm {
        let first = text(self.files[0]);
        let line = first.split(|byte| *byte == b'\n').next().unwrap();
        TranscriptForm::of_line(line).or_else(|| TranscriptForm::of_line(&first)).unwrap()
    }

    /// The number of the subagent of a file, as the name of the file has it.
    fn agent(file: &str) -> AgentFile {
        let name = Path::new(file).file_stem().unwrap().to_str().unwrap();
        let id = name.strip_prefix("agent-").unwrap_or_else(|| &name[name.len() - 36..]);
        AgentFile { id: id.to_owned(), ..AgentFile::default() }
    }

    /// The session in these files, with everything that was said in it.
    fn read(&self) -> Session {
        if self.is_document() {
            return Session::of_document(&String::from_utf8(text(self.files[0])).unwrap(), self.name, Some(None))
                .unwrap();
        }
        let mut session = Session::new(self.form(), self.name).with_entries(None);
        let mut files = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let number = if number == 0 { 0 } else { session.add_agent(Self::agent(file)) };
            files.push(SessionFile::new(number, BufReader::new(File::open(path(file)).unwrap()), 0));
        }
        session.follow_files(&mut files, true).unwrap();
        session
    }
}
