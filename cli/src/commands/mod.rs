//! The commands that look at a stack and change it: a file for each. A command reads its arguments, calls the
//! library, and returns a [`Report`](crate::output::Report).

mod activate;
mod answer;
mod artifact;
mod block;
pub mod changed;
mod compact;
mod context;
mod copy;
mod decide;
mod doctor;
mod done;
mod edit;
mod event_kind;
mod event_line;
mod export;
mod fold;
mod frame_line;
mod git;
mod heap;
mod history;
mod import;
mod init;
mod invalidate;
mod list;
mod log;
mod marks;
mod next;
mod plan;
mod plan_editor;
mod pop;
#[cfg(feature = "postgres")]
mod postgres;
mod programs;
mod push;
mod ready;
mod reopen;
mod retry;
pub mod runs;
mod schema;
mod search;
mod sessions;
pub mod shell;
mod show;
mod status;
mod stop;
mod tidy;
mod tree;
mod undo;
mod usage;
mod view;
mod watch;
mod work;

use std::path::Path;

use callstack_core::FrameRef;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::Output;
use crate::sessions::SessionFiles;

#[derive(clap::Subcommand)]
pub enum StackCommand {
    /// Shows where the work stands: what runs, asks, has failed, can begin and waits.
    Status(status::Arguments),
    /// Shows the frames as a tree.
    Tree(tree::Arguments),
    /// Shows everything about a frame.
    Show(show::Arguments),
    /// Shows what the agent of a frame sees.
    Context(context::Arguments),
    /// Lists the planned frames that can begin.
    Ready(ready::Arguments),
    /// Shows the frame that should begin next, or begins it.
    Next(next::Arguments),
    /// Lists frames in the order of the plan.
    List(list::Arguments),
    /// Finds frames by the words of their titles, tasks, results, decisions and logs.
    Search(search::Arguments),
    /// Shows what was said in the session of a frame.
    Log(log::Arguments),
    /// Lists what has happened, event by event.
    History(history::Arguments),
    /// Sums what requests to models have used, and what they cost.
    Usage(usage::Arguments),
    /// Shows the frames as they change, or writes each change as a line.
    ///
    /// On a terminal it has the full screen: the tree as it grows, beside it the selected frame, and keys to
    /// answer, stop, retry and invalidate. The key ? lists them. Into a file or a pipe, with --json, or with
    /// one of the options for lines, it writes each change as it happens.
    Watch(watch::Arguments),
    /// Writes a page with a flame chart, or serves it while the stack changes.
    View(view::Arguments),
    /// Lists the sessions of agents on this machine, and what they have used.
    ///
    /// Sessions of Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI and pi, as their hosts keep them.
    /// Nothing has to be set up for that. `callstack view ID` shows a session as a flame chart; tree, watch,
    /// usage, log, show and export also take a session, with --session ID.
    Sessions(sessions::Arguments),
    /// Says what folding would have saved in sessions of agents.
    ///
    /// The requests of a session are counted once more, with their recorded sizes and times, and with
    /// finished turns folded: tokens of prompts, the largest prompt, the cost with a cache of five minutes
    /// and of an hour, and how often a name was used that folding would have hidden.
    Fold(fold::Arguments),
    /// Examines the stack, and says what to do if something is wrong.
    Doctor(doctor::Arguments),
    /// Begins a frame, on which you or a script work. For an agent, plan it.
    Push(push::Arguments),
    /// Plans frames, to be begun later.
    #[command(visible_alias = "add")]
    Plan(plan::Arguments),
    /// Changes a planned frame: what it is about, what it needs, or its place. Also corrects the words of a
    /// frame that has begun.
    Edit(edit::Arguments),
    /// Finishes a frame with results, or blocks it.
    Pop(pop::Arguments),
    /// Completes a frame: `callstack done f3 "Totals in src/cart.rs"`.
    Done(done::Arguments),
    /// Blocks a frame until it is answered: `callstack block f3 "Which VAT rate?"`.
    Block(block::Arguments),
    /// Begins a planned frame, or continues an open one.
    Activate(activate::Arguments),
    /// Answers a blocked frame, or lists the blocked frames.
    Answer(answer::Arguments),
    /// Stops frames that agents work on.
    Stop(stop::Arguments),
    /// Plans the next attempt of a frame that failed or is blocked.
    Retry(retry::Arguments),
    /// Reopens a completed frame that turned out to be wrong.
    Reopen(reopen::Arguments),
    /// Removes frames from the plan.
    Invalidate(invalidate::Arguments),
    /// Removes what was planned and can never begin, because the frame above has ended.
    Tidy(tidy::Arguments),
    /// Takes back the last command of a person, if nothing has been built on it.
    ///
    /// What the command has changed is as before; what it has added is removed from the plan. The commands of
    /// agents and workers do not count as commands of a person. Can be repeated: the last 20 are remembered.
    Undo,
    /// Keeps the plan in a file for version control: `plan.md` in the folder of the stack.
    ///
    /// The file follows the stack. A file that others have changed stays until `callstack import` reads it:
    /// what only one side has changed is taken over.
    Git(git::Arguments),
    /// Records a decision in a frame.
    Decide(decide::Arguments),
    /// Records in a frame what its work has made.
    Artifact(artifact::Arguments),
    /// Shows and changes the texts on the heap, which contexts show word for word.
    Heap(heap::Arguments),
    /// Runs a command for each frame that can begin.
    ///
    /// The command gets the context of the frame on its standard input, and the frame in CALLSTACK_FRAME,
    /// CALLSTACK_SESSION and CALLSTACK_TITLE. Exit status 0 completes the frame, with what the command has
    /// written as its results; 75 puts it back for later; 77 blocks it, with what the command has written as
    /// the question; any other one fails it. Several workers share the frames of a stack; a frame whose
    /// worker is gone is given to another one. The program ends when nothing is left that can begin. It ends
    /// with 1 if a frame has failed or is blocked, if frames wait for others, or if persons or hosts have
    /// begun planned ones.
    Work(work::Arguments),
    /// Makes the stack smaller: removes the events of finished trees, and old logs.
    Compact(compact::Arguments),
    /// Adds the plan of another tool, or the frames of a state.
    Import(import::Arguments),
    /// Copies a stack to another place: from a folder to a server, or back.
    ///
    /// The copy has the same history and the same frames, which is checked. The stack itself stays as it is.
    Copy(copy::Arguments),
    /// Prepares a PostgreSQL database for stacks, says who may use them, and lists them.
    #[cfg(feature = "postgres")]
    Postgres(postgres::Arguments),
    /// Tells a host of agents, such as Claude Code or Cursor, to start `callstack mcp` in this project.
    ///
    /// Nothing else in the settings of the host changes. --undo takes the entry back.
    Init(init::Arguments),
    /// Lists the runs of agents, shows one, or ends it.
    Runs(runs::Arguments),
    /// Writes the stack as a file for other programs.
    Export(export::Arguments),
    /// Prints the JSON Schemas of what the commands write with --json.
    Schema(schema::Arguments),
}

impl StackCommand {
    /// The command with the session that it uses itself, and the session that is shown in place of a stack.
    pub fn with_session(self, session: Option<SessionFiles>) -> (Self, Option<SessionFiles>) {
        match self {
            Self::Import(arguments) => (Self::Import(arguments.of_session(session)), None),
            Self::Fold(arguments) => (Self::Fold(arguments.of_session(session)), None),
            command => (command, session),
        }
    }

    /// The session that the command itself names. If it is in the place of a frame or a file, it is taken out
    /// of the command.
    ///
    /// # Errors
    /// If a frame of the session has to be named.
    pub fn take_session(&mut self) -> Result<Option<String>, Failure> {
        // A file with lines of JSON in the place of a frame is meant as a session, even if it is not a
        // session.
        let is_lines = |path: &Path| path.extension().is_some_and(|extension| extension == "jsonl") && path.is_file();
        let session = |frame: &FrameRef| match frame {
            FrameRef::Text(name) if is_lines(name.as_ref()) || crate::sessions::names_session(name) => {
                Some(name.clone())
            }
            _ => None,
        };
        match self {
            Self::Tree(tree::Arguments { frame, .. }) => {
                let named = frame.as_ref().and_then(session);
                *frame = frame.take().filter(|_| named.is_none());
                Ok(named)
            }
            Self::Watch(arguments) => Ok(arguments.session_named.clone()),
            Self::View(arguments) => Ok(arguments.take_session()),
            Self::Usage(arguments) => {
                let named = arguments.frame.as_ref().and_then(session);
                arguments.frame = arguments.frame.take().filter(|_| named.is_none());
                Ok(named)
            }
            Self::Log(log::Arguments { frame, within, .. }) | Self::Show(show::Arguments { frame, within }) => {
                match (frame.as_ref().and_then(session), within.take()) {
                    (Some(named), Some(own)) => {
                        *frame = Some(own);
                        Ok(Some(named))
                    }
                    (Some(named), None) => {
                        let message = format!("`{named}` is a session: name one of its frames after it");
                        Err(Failure::new(Exit::Usage, "no_frame", message).next(format!("callstack tree {named}")))
                    }
                    (None, Some(own)) => {
                        let named = frame.as_ref().map(ToString::to_string).unwrap_or_default();
                        let message = format!("`{named}` is not a session, so `{own}` cannot be one of its frames");
                        Err(Failure::new(Exit::Refused, "unknown_session", message).next("callstack sessions --all"))
                    }
                    (None, None) => Ok(None),
                }
            }
            Self::Export(arguments) => {
                let named = arguments
                    .file
                    .as_deref()
                    .and_then(Path::to_str)
                    .filter(|name| crate::sessions::names_session(name));
                let named = named.map(str::to_owned);
                if let (None, Some(to)) = (&named, &arguments.to) {
                    let message = format!("one file is written; what is `{}`?", to.display());
                    return Err(Failure::new(Exit::Usage, "arguments", message).next("callstack export --help"));
                }
                if named.is_some() {
                    arguments.file = arguments.to.take();
                }
                Ok(named)
            }
            _ => Ok(None),
        }
    }

    /// True for the commands that change no stack.
    fn looks(&self) -> bool {
        matches!(
            self,
            Self::Status(_)
                | Self::Tree(_)
                | Self::Show(_)
                | Self::Context(_)
                | Self::Ready(_)
                | Self::List(_)
                | Self::Search(_)
                | Self::Log(_)
                | Self::History(_)
                | Self::Usage(_)
                | Self::Watch(_)
                | Self::View(_)
                | Self::Doctor(_)
                | Self::Export(_)
        )
    }
}

/// Runs a command and writes its report.
pub fn run(command: StackCommand, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    let looks = command.looks();
    carry_out(command, folder, output).map_err(|failure| {
        let failure = if looks { failure.before_change() } else { failure };
        failure.of_stack(&folder.same_stack())
    })
}

fn carry_out(command: StackCommand, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    match command {
        StackCommand::Status(arguments) => output.report(&status::run(&arguments, folder, output.is_json)?)?,
        StackCommand::Tree(arguments) => {
            output.report(&tree::run(&arguments, folder, output.is_json)?)?;
        }
        StackCommand::Show(arguments) => output.report(&show::run(&arguments, folder)?)?,
        StackCommand::Context(arguments) => output.report(&context::run(&arguments, folder)?)?,
        StackCommand::Ready(arguments) => output.report(&ready::run(&arguments, folder)?)?,
        StackCommand::Next(arguments) if arguments.begins() => output.report_change(&next::run(&arguments, folder)?)?,
        StackCommand::Next(arguments) => output.report(&next::run(&arguments, folder)?)?,
        StackCommand::List(arguments) => output.report(&list::run(&arguments, folder)?)?,
        StackCommand::Search(arguments) => output.report(&search::run(&arguments, folder)?)?,
        StackCommand::Log(arguments) => output.report(&log::run(arguments, folder)?)?,
        StackCommand::History(arguments) => output.report(&history::run(&arguments, folder)?)?,
        StackCommand::Watch(arguments) => return watch::run(&arguments, folder, output),
        StackCommand::View(arguments) => return view::run(&arguments, folder, output),
        StackCommand::Sessions(arguments) => output.report(&sessions::run(&arguments)?)?,
        StackCommand::Fold(arguments) => output.report(&fold::run(arguments)?)?,
        StackCommand::Doctor(arguments) => return doctor::run(&arguments, folder, output),
        StackCommand::Usage(arguments) => output.report(&usage::run(&arguments, folder)?)?,
        StackCommand::Push(arguments) => output.report_change(&push::run(arguments, folder)?)?,
        StackCommand::Plan(arguments) => match arguments.edits() {
            Some((below, file)) => output.report_change(&plan_editor::run(below, file, folder)?)?,
            None => output.report_change(&plan::run(arguments, folder)?)?,
        },
        StackCommand::Edit(arguments) => output.report_change(&edit::run(arguments, folder)?)?,
        StackCommand::Pop(arguments) => output.report_change(&pop::run(arguments, folder)?)?,
        StackCommand::Done(arguments) => output.report_change(&done::run(arguments, folder)?)?,
        StackCommand::Block(arguments) => output.report_change(&block::run(arguments, folder)?)?,
        StackCommand::Activate(arguments) => output.report_change(&activate::run(arguments, folder)?)?,
        StackCommand::Answer(arguments) => match answer::run(arguments, folder)? {
            answer::Outcome::Answered(answered) => output.report_change(&answered)?,
            answer::Outcome::Listed(blocked) => output.report(&blocked)?,
        },
        StackCommand::Stop(arguments) => output.report_change(&stop::run(arguments, folder)?)?,
        StackCommand::Retry(arguments) => output.report_change(&retry::run(arguments, folder)?)?,
        StackCommand::Reopen(arguments) => output.report_change(&reopen::run(arguments, folder)?)?,
        StackCommand::Git(arguments) => output.report_change(&git::run(&arguments, folder)?)?,
        StackCommand::Undo => output.report_change(&undo::run(folder)?)?,
        StackCommand::Invalidate(arguments) => output.report_change(&invalidate::run(arguments, folder)?)?,
        StackCommand::Tidy(arguments) => output.report_change(&tidy::run(arguments, folder)?)?,
        StackCommand::Decide(arguments) => output.report_change(&decide::run(arguments, folder)?)?,
        StackCommand::Artifact(arguments) => output.report_change(&artifact::run(arguments, folder)?)?,
        StackCommand::Heap(arguments) => heap::run(arguments, folder, output)?,
        StackCommand::Work(arguments) => return work::run(&arguments, folder, output),
        StackCommand::Compact(arguments) => output.report_change(&compact::run(&arguments, folder)?)?,
        StackCommand::Import(arguments) => match import::run(arguments, folder)? {
            import::Outcome::Plan(imported) => output.report_change(&imported)?,
            import::Outcome::Session(imported) => output.report_change(&imported)?,
        },
        StackCommand::Copy(arguments) => output.report_change(&copy::run(arguments)?)?,
        #[cfg(feature = "postgres")]
        StackCommand::Postgres(arguments) => postgres::run(arguments, output)?,
        StackCommand::Init(arguments) => output.report_change(&init::run(&arguments, folder)?)?,
        StackCommand::Runs(arguments) => return runs::run(&arguments, folder, output),
        StackCommand::Export(arguments) => return export::run(&arguments, folder, output),
        StackCommand::Schema(arguments) => output.report(&schema::run(&arguments, schemas())?)?,
    }
    Ok(Exit::Done)
}

/// The schemas of all kinds.
fn schemas() -> Vec<schema::Named> {
    Vec::from([
        schema::of::<Failure>(),
        schema::of::<activate::Activated>(),
        schema::of::<answer::Answered>(),
        schema::of::<answer::BlockedFrames>(),
        schema::of::<artifact::RecordedArtifact>(),
        schema::of::<compact::Compacted>(),
        schema::of::<context::FrameContext>(),
        schema::of::<copy::Copied>(),
        schema::of::<decide::RecordedDecision>(),
        schema::of::<doctor::Diagnosis>(),
        schema::of::<edit::Edited>(),
        schema::of::<export::Export>(),
        schema::of::<heap::ChangedChunk>(),
        schema::of::<heap::Heap>(),
        schema::of::<heap::ShownChunk>(),
        schema::of::<history::History>(),
        schema::of::<import::ImportedPlan>(),
        schema::of::<init::Initialized>(),
        schema::of::<invalidate::Invalidated>(),
        schema::of::<list::FrameList>(),
        schema::of::<log::Log>(),
        schema::of::<next::Next>(),
        schema::of::<plan::Planned>(),
        schema::of::<git::PlanInGit>(),
        schema::of::<plan_editor::PlanEdited>(),
        schema::of::<pop::Popped>(),
        #[cfg(feature = "postgres")]
        schema::of::<postgres::ChangedAccess>(),
        #[cfg(feature = "postgres")]
        schema::of::<postgres::MigratedSchema>(),
        #[cfg(feature = "postgres")]
        schema::of::<postgres::RemovedStack>(),
        #[cfg(feature = "postgres")]
        schema::of::<postgres::Grants>(),
        #[cfg(feature = "postgres")]
        schema::of::<postgres::Stacks>(),
        #[cfg(feature = "proxy")]
        schema::of::<crate::proxy::ProxyAddress>(),
        #[cfg(feature = "proxy")]
        schema::of::<crate::proxy::ProxyUsage>(),
        schema::of::<push::Pushed>(),
        schema::of::<ready::Ready>(),
        schema::of::<reopen::Reopened>(),
        schema::of::<retry::Retried>(),
        #[cfg(feature = "proxy")]
        schema::of::<crate::run_agent::RunUsage>(),
        schema::of::<runs::RunDetails>(),
        schema::of::<runs::RunDropped>(),
        schema::of::<runs::Runs>(),
        schema::of::<schema::Schemas>(),
        schema::of::<shell::Completions>(),
        schema::of::<shell::ManPages>(),
        schema::of::<show::FrameDetails>(),
        schema::of::<status::Status>(),
        schema::of::<stop::Stopped>(),
        schema::of::<tidy::Tidied>(),
        schema::of::<tree::FrameTree>(),
        schema::of::<undo::UndoneCommand>(),
        schema::of::<usage::Usage>(),
        schema::of::<search::Search>(),
        schema::of::<sessions::Sessions>(),
        schema::of::<fold::FoldReport>(),
        schema::of::<import::session::ImportedSession>(),
        schema::of::<view::ServedView>(),
        schema::of::<view::WrittenView>(),
        watch::schemas(),
        schema::of::<work::Worked>(),
        #[cfg(all(unix, feature = "agent"))]
        schema::of::<runs::RunResult>(),
    ])
}
