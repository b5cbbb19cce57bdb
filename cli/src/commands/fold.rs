//! `callstack fold`: what folding would have saved in sessions of agents.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use callstack_core::transcript::{LONGEST_TRANSCRIPT_LINE, PolicyOutcome, Replay, Replayed};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::table::{self, Row};
use crate::output::{FAINT, Line, Page, Report, count, note, number};
use crate::sessions::{self, SessionFiles, is_of_project, latest_first, project_folder};

#[derive(Args)]
pub struct Arguments {
    /// A session of an agent: its file, its ID or the beginning of it. Default: all sessions of this project.
    #[arg(value_name = "SESSION", conflicts_with_all = ["session", "latest"])]
    named: Option<String>,
    /// All sessions of all projects.
    #[arg(long, conflicts_with_all = ["named", "session", "latest"])]
    all: bool,
    /// The session that the options of all commands name.
    #[arg(skip)]
    chosen: Option<SessionFiles>,
}

impl Arguments {
    /// The arguments for this session, if there is one.
    pub fn of_session(self, session: Option<SessionFiles>) -> Self {
        Self { chosen: session, ..self }
    }
}

/// The sessions, and what each policy of folding would have made of their requests.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoldReport {
    /// Number of sessions.
    sessions: usize,
    #[serde(flatten)]
    replayed: Replayed,
}

pub fn run(arguments: Arguments) -> Result<FoldReport, Failure> {
    let files = match (arguments.chosen, arguments.named) {
        (Some(chosen), _) => vec![chosen],
        (None, Some(named)) => vec![sessions::find(&named)?],
        (None, None) => {
            let project = project_folder();
            let found = latest_first(None).into_iter().filter(|found| !found.is_of_agent());
            let found = found.filter(|found| arguments.all || is_of_project(found, &project));
            found.map(|found| SessionFiles::of_found(&found)).collect()
        }
    };
    let is_one = files.len() == 1;
    let mut report = FoldReport { sessions: 0, replayed: Replayed::default() };
    for session in &files {
        match replayed(session) {
            Ok(replayed) => {
                report.sessions += 1;
                report.replayed.add(&replayed);
            }
            Err(failure) if is_one => return Err(failure),
            Err(failure) => note(failure.message()),
        }
    }
    if report.replayed.requests == 0 {
        let message = "no requests with their usage were found: there is nothing to compare";
        return Err(Failure::new(Exit::Refused, "no_requests", message).next("callstack sessions --all"));
    }
    Ok(report)
}

/// A session with its subagents: each is a conversation of its own.
fn replayed(session: &SessionFiles) -> Result<Replayed, Failure> {
    if session.has_document() {
        return Ok(Replay::of_document(&session.document_text()?).unwrap_or_default());
    }
    let mut sum = Replayed::default();
    for path in session.paths() {
        sum.add(&of_file(session, &path)?);
    }
    Ok(sum)
}

fn of_file(session: &SessionFiles, path: &Path) -> Result<Replayed, Failure> {
    let failed = |error: io::Error| Failure::of_file("read", path.display(), &error);
    let mut replay = Replay::new(session.form);
    let mut reader = BufReader::with_capacity(1 << 16, sessions::open_file(path, 0).map_err(failed)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = LONGEST_TRANSCRIPT_LINE as u64;
        if (&mut reader).take(limit).read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(replay.finish());
        }
        replay.follow_line(&line);
    }
}

const COLUMNS: [&str; 8] = ["prompt tokens", "share", "peak", "cost 5 min", "share", "cost 1 h", "share", "hidden"];

impl Report for FoldReport {
    const KIND: &'static str = "folded";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Replayed { requests, compactions, needed, policies, recorded_cost, told_cost, written_for_hour, .. } =
            &self.replayed;
        let head = format!(
            "{}: {}, {}, {} of names that were seen before",
            count(self.sessions, "session"),
            count(*requests, "request"),
            count(*compactions, "compaction"),
            count(*needed, "use"),
        );
        page.text(0, &head)?;
        page.gap()?;
        let Some(unfolded) = policies.first() else { return Ok(()) };
        let rows: Vec<Row> = policies.iter().map(|policy| row(policy, unfolded)).collect();
        table::write(page, &COLUMNS, &rows)?;
        page.gap()?;
        let recorded = format!(
            "Cost as it was recorded: {} with prices of a cache of 5 minutes, {} of an hour.",
            number(recorded_cost[0]),
            number(recorded_cost[1])
        );
        page.text(0, &recorded)?;
        if *written_for_hour > 0 {
            let told = format!(
                "{} tokens were written for an hour: as the answers tell it, the cost was {}.",
                number(*written_for_hour),
                number(*told_cost)
            );
            page.text(0, &told)?;
        }
        page.line(Line::new().styled(
            FAINT,
            "Costs are in uncached tokens: read 0.1, written 1.25 or 2, answered 5. See docs/sessions.md.",
        ))
    }
}

fn row(policy: &PolicyOutcome, unfolded: &PolicyOutcome) -> Row {
    let label = match policy.floor {
        Some(floor) => format!("{} above {}", policy.policy, number(floor)),
        None => policy.policy.clone(),
    };
    let share = |part: u64, whole: u64| match whole {
        0 => String::new(),
        _ => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
    };
    let cells = vec![
        number(policy.prompt_tokens),
        share(policy.prompt_tokens, unfolded.prompt_tokens),
        number(policy.peak),
        number(policy.cost[0]),
        share(policy.cost[0], unfolded.cost[0]),
        number(policy.cost[1]),
        share(policy.cost[1], unfolded.cost[1]),
        number(policy.hidden as u64),
    ];
    Row { label, cells }
}
