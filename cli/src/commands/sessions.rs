//! `callstack sessions`: the sessions of agents on this machine, with what they have used.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use callstack_core::frame::{ModelUsage, Prices};
use callstack_core::text::from_json;
use callstack_core::transcript::TranscriptForm;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::host_files;
use crate::output::{EMPHASIS, FAINT, Line, Page, Report, count, money, number, past};
use crate::prices::PricesFile;
use crate::sessions::{self, FoundSession, SessionFiles, is_of_project, latest_first, project_folder};

/// The number of sessions that are listed.
const USUAL: usize = 20;
/// Above this number, sessions in the index that were not looked for leave the index.
const MOST_INDEXED: usize = 20_000;
/// The version of the program that has made the index: another version reads sessions in another way.
const INDEX_VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Args)]
pub struct Arguments {
    /// Sessions of all projects. Default: those that were begun in this project.
    #[arg(long)]
    all: bool,
    /// Sessions of this agent only: claude, codex, gemini, qwen, copilot, opencode or pi.
    #[arg(long, value_name = "AGENT")]
    agent: Option<TranscriptForm>,
    /// Number of sessions, the newest ones.
    #[arg(long, value_name = "SESSIONS", default_value_t = USUAL)]
    limit: usize,
    #[command(flatten)]
    prices: PricesFile,
}

/// Sessions. The session that was written last comes first.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sessions {
    sessions: Vec<ListedSession>,
    /// Number of further sessions, because of `--limit`.
    further: usize,
    /// The sum of all that are listed. If a subagent has a file of its own, its requests are counted with
    /// those of its session.
    total: Sums,
    #[serde(skip)]
    is_of_all: bool,
}

/// A session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedSession {
    /// Its ID, which the other commands take: `callstack view ID`.
    id: String,
    /// The agent: `claude`, `codex`, …
    agent: String,
    /// Its file.
    path: String,
    /// True if something was written a short time ago.
    is_written: bool,
    #[serde(flatten)]
    summary: Summary,
    #[serde(flatten)]
    sums: Sums,
}

/// What is known of a session, as the index keeps it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Default)]
#[serde(rename_all = "camelCase", default)]
struct Summary {
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// When it has begun, in milliseconds since the Unix epoch.
    begun: u64,
    /// When something was written last.
    written: u64,
    turns: usize,
    sub_agents: usize,
    compactions: usize,
    /// Number of lines that were not understood.
    unknown: usize,
    /// The kinds of lines that no known version of the agent writes, with their numbers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    new_kinds: BTreeMap<String, usize>,
    /// What was used, by models.
    models: Vec<ModelUsage>,
}

/// Requests and their cost.
#[derive(Serialize, JsonSchema, Clone, Default)]
#[serde(rename_all = "camelCase")]
struct Sums {
    requests: u64,
    /// Tokens of prompts, and of answers.
    input: u64,
    /// See `input`.
    output: u64,
    /// In US dollars, as far as the prices of its models are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// False: some of its models have no price.
    #[serde(skip_serializing_if = "is_true")]
    is_complete: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_true(is: &bool) -> bool {
    *is
}

impl Sums {
    fn of(models: &[ModelUsage], prices: Option<&Prices>) -> Self {
        let sum: ModelUsage = models.iter().sum();
        let costs: Option<Vec<Option<f64>>> =
            prices.map(|prices| models.iter().map(|usage| prices.cost(usage)).collect());
        let is_complete = costs.iter().flatten().all(Option::is_some);
        let cost = costs.map(|costs| costs.into_iter().flatten().fold(0.0, |sum, cost| sum + cost));
        Self { requests: sum.requests, input: sum.input(), output: sum.answer(), cost, is_complete }
    }
}

/// An entry of the index: a summary of a file as it was.
#[derive(Serialize, Deserialize, Clone)]
struct Indexed {
    changed: u64,
    bytes: u64,
    /// True if the files of the session were being written. The next listing reads it again.
    is_written: bool,
    summary: Summary,
}

#[derive(Serialize, Deserialize, Default)]
struct Index {
    version: String,
    sessions: HashMap<String, Indexed>,
}

pub fn run(arguments: &Arguments) -> Result<Sessions, Failure> {
    let prices = arguments.prices.read()?;
    if let Some(agent) = arguments.agent {
        sessions::check_listed(agent)?;
    }
    let mut index = Index::read();
    let found = selected(arguments, &index);
    let further = found.len().saturating_sub(arguments.limit);
    let found: Vec<FoundSession> = found.into_iter().take(arguments.limit).collect();
    let summaries = summarized(&found, &mut index);
    let mut sessions: Vec<ListedSession> = found
        .into_iter()
        .zip(summaries)
        .filter_map(|(found, summary)| {
            let summary = summary.filter(|summary| summary.turns > 0 || !summary.models.is_empty())?;
            Some(ListedSession {
                agent: found.form.to_string(),
                path: found.path.display().to_string(),
                is_written: found.is_written(),
                sums: Sums::of(&summary.models, prices.as_ref()),
                id: found.id,
                summary,
            })
        })
        .collect();
    // A file can be younger than what was said in it.
    sessions.sort_by_key(|session| std::cmp::Reverse(session.summary.written));
    let models: Vec<ModelUsage> = sessions.iter().flat_map(|session| session.summary.models.clone()).collect();
    Ok(Sessions { further, total: Sums::of(&models, prices.as_ref()), is_of_all: arguments.all, sessions })
}

/// The sessions that are asked for. The sessions of subagents that are found among the others are left out.
fn selected(arguments: &Arguments, index: &Index) -> Vec<FoundSession> {
    let mut found = latest_first(arguments.agent);
    found.retain(|found| found.bytes > 0 && !found.is_of_agent());
    if arguments.all {
        return found;
    }
    let project = project_folder();
    // Sessions that the index knows need not be opened.
    let is_here = |found: &FoundSession| match index.of(found).and_then(|known| known.folder.clone()) {
        Some(folder) => PathBuf::from(folder).starts_with(&project) || is_of_project(found, &project),
        None => is_of_project(found, &project),
    };
    found.retain(is_here);
    found
}

/// The summaries of sessions. Sessions that have changed are read again, by as many threads as there are
/// processors.
fn summarized(found: &[FoundSession], index: &mut Index) -> Vec<Option<Summary>> {
    let known: Vec<Option<Summary>> = found.iter().map(|found| index.of(found).cloned()).collect();
    let missing: Vec<&FoundSession> =
        found.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(found, _)| found).collect();
    let waiting = Mutex::new(missing.iter().copied());
    let next = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
    let threads = thread::available_parallelism().map_or(1, usize::from).min(missing.len());
    let read: Vec<(String, Indexed)> = thread::scope(|scope| {
        let reading = || {
            let mut read = Vec::new();
            while let Some(found) = next() {
                if let Some((summary, is_written)) = summary_of(found) {
                    let entry = Indexed { changed: found.changed, bytes: found.bytes, is_written, summary };
                    read.push((found.key(), entry));
                }
            }
            read
        };
        let readers: Vec<_> = (0..threads).map(|_| scope.spawn(reading)).collect();
        readers.into_iter().flat_map(|reader| reader.join().unwrap_or_default()).collect()
    });
    let is_new = !read.is_empty();
    index.sessions.extend(read);
    if is_new {
        index.write();
    }
    let read = |found: &FoundSession| Some(index.sessions.get(&found.key())?.summary.clone());
    found.iter().zip(known).map(|(found, known)| known.or_else(|| read(found))).collect()
}

/// The summary of a session. True: an agent still writes one of its files.
fn summary_of(found: &FoundSession) -> Option<(Summary, bool)> {
    let (session, is_written) = SessionFiles::of_found(found).read_now(None).ok()?;
    let (facts, tree) = (session.facts(), session.tree());
    let root = tree.roots().first().copied();
    let summary = Summary {
        title: root.map(|root| tree.node(root).title().to_owned()).unwrap_or_default(),
        folder: facts.folder.clone(),
        begun: facts.begun,
        written: facts.written,
        turns: facts.turns,
        sub_agents: facts.agents,
        compactions: facts.compactions,
        unknown: facts.unknown,
        new_kinds: facts.new_kinds.clone(),
        models: root.map(|root| tree.usage(root).total).unwrap_or_default(),
    };
    Some((summary, is_written))
}

impl Index {
    fn path() -> Option<PathBuf> {
        let cache = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        Some(cache.or_else(|| Some(host_files::home()?.join(".cache")))?.join("callstack").join("sessions.json"))
    }

    /// The index, which is a cache: without the index everything is read again.
    fn read() -> Self {
        let text = Self::path().and_then(|path| fs::read_to_string(path).ok());
        let index: Option<Self> = text.and_then(|text| from_json(&text).ok());
        let new = || Self { version: INDEX_VERSION.to_owned(), ..Self::default() };
        index.filter(|index| index.version == INDEX_VERSION).unwrap_or_else(new)
    }

    fn of(&self, found: &FoundSession) -> Option<&Summary> {
        let known = self.sessions.get(&found.key())?;
        let is_same = (known.changed, known.bytes) == (found.changed, found.bytes);
        (is_same && !known.is_written).then_some(&known.summary)
    }

    /// Writes the index. A failure costs time, and nothing else.
    fn write(&mut self) {
        if self.sessions.len() > MOST_INDEXED {
            self.sessions.retain(|key, _| PathBuf::from(key.split('#').next().unwrap_or(key)).is_file());
        }
        let write = || -> Option<()> {
            let path = Self::path()?;
            let folder = path.parent()?;
            fs::create_dir_all(folder).ok()?;
            let mut file = tempfile::NamedTempFile::new_in(folder).ok()?;
            serde_json::to_writer(&mut file, self).ok()?;
            file.persist(&path).ok()?;
            Some(())
        };
        let _ = write();
    }
}

impl Sums {
    fn words(&self) -> String {
        let requests = count(usize::try_from(self.requests).unwrap_or(usize::MAX), "request");
        let cost = match self.cost {
            None => String::new(),
            Some(cost) if self.is_complete => format!(", ${}", money(cost)),
            Some(cost) if cost > 0.0 => format!(", ${} and more: models without a price", money(cost)),
            Some(_) => ", no prices of its models".to_owned(),
        };
        format!("{requests}, {} tokens in, {} out{cost}", number(self.input), number(self.output))
    }
}

impl ListedSession {
    fn words(&self) -> String {
        let Summary { written, turns, sub_agents, compactions, .. } = &self.summary;
        let parts = [(*turns, "turn"), (*sub_agents, "subagent"), (*compactions, "compaction")];
        let parts = parts.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun));
        [past(*written)].into_iter().chain(parts).chain([self.sums.words()]).collect::<Vec<_>>().join(", ")
    }
}

impl Report for Sessions {
    const KIND: &'static str = "sessions";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.sessions.is_empty() {
            let what = if self.is_of_all {
                "No sessions of agents were found."
            } else {
                "No sessions of agents in this project."
            };
            page.line(Line::new().plain(what))?;
            let next = "callstack sessions --all lists those of all projects";
            return if self.is_of_all { Ok(()) } else { page.line(Line::new().styled(FAINT, next)) };
        }
        for session in &self.sessions {
            let mark = if session.is_written { "is written now" } else { "" };
            let head = Line::new().styled(EMPHASIS, session.agent.clone()).plain(" ").said(&session.summary.title);
            page.line_with_end(head, Line::new().styled(FAINT, format!("  {mark}")))?;
            page.line(Line::new().plain("  ").plain(session.words()))?;
            let folder = session.summary.folder.as_deref().filter(|_| self.is_of_all);
            let folder = folder.map(|folder| format!("  {folder}")).unwrap_or_default();
            page.line(Line::new().styled(FAINT, format!("  {}{folder}", session.id)))?;
        }
        page.gap()?;
        let total = format!("{}: {}", count(self.sessions.len(), "session"), self.total.words());
        page.line(Line::new().plain(total))?;
        if self.further > 0 {
            page.line(Line::new().styled(FAINT, format!("and {} more; --limit shows more", self.further)))?;
        }
        let costs = if self.total.cost.is_none() { "; --prices FILE adds costs" } else { "" };
        page.line(Line::new().styled(FAINT, format!("callstack view ID shows one as a flame chart{costs}")))
    }
}
