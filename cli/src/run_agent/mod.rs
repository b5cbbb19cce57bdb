//! `callstack run`: runs an agent of another maker on the call stack, by one command. For this run only, the
//! agent gets the tools of the stack and a proxy before its model, or a plugin that does both. It gets them
//! by its environment, its arguments, and files in a temporary folder. None of the person's files change.

mod agent;
mod claude;
mod codex;
mod copilot;
mod gemini;
mod launch;
mod lent_folder;
mod opencode;
mod pi;
mod plugin;
mod process;
mod qwen;
mod run_folder;
mod settings_files;
mod summary;
mod title;
mod upstreams;

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use callstack_core::fold::Wire;
use clap::Args;
use tokio::select;

use self::agent::Agent;
use self::launch::Scene;
use self::run_folder::RunFolder;
use self::summary::Before;
pub use self::summary::RunUsage;
use crate::caller::Caller;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::log;
use crate::output::{Output, note};
use crate::proxy::{NOT_RECORDED, Proxy, ProxyOptions, hide_texts_of_panics};
use crate::runtime::runtime;

#[derive(Args)]
#[command(override_usage = "callstack run [OPTIONS] AGENT [ARGUMENTS]...")]
pub struct RunArguments {
    #[command(flatten)]
    proxy: ProxyOptions,
    /// The beginning of the model's URLs. Default: the value in the agent's own settings, else the value of
    /// its vendor.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// For any other agent: the variable from which it gets the beginning of its model's URLs. Needs --wire.
    #[arg(long, value_name = "NAME", requires = "wire")]
    base_url_variable: Option<String>,
    /// Write a line for each request, and what goes wrong, at the end of this file.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Leave the title of the terminal alone. Otherwise it shows the frame, and what the frame has cost.
    #[arg(long)]
    no_title: bool,
    /// The agent: claude, codex, gemini, qwen, copilot, opencode or pi, or the path of one of them; with
    /// --base-url-variable any command. What follows are its own arguments.
    // In one list, so that options after the agent belong to the agent.
    #[arg(value_name = "AGENT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs the agent until it ends. Returns its exit code.
pub fn start(arguments: RunArguments, folder: StackFolder, output: Output) -> Result<u8, Failure> {
    log::start(log::Errors::Nothing, arguments.log.as_deref())?;
    hide_texts_of_panics();
    let runtime = runtime("proxy")?;
    let code = runtime.block_on(run(arguments, folder, output));
    // This does not wait for a request that is being folded.
    runtime.shutdown_background();
    code
}

async fn run(arguments: RunArguments, folder: StackFolder, output: Output) -> Result<u8, Failure> {
    let RunArguments { proxy: options, upstream, base_url_variable, no_title, mut command, .. } = arguments;
    let program = command.remove(0);
    if let Some(option) = program.to_str().filter(|word| word.starts_with('-')) {
        let message = format!("`{option}` is not an option of `callstack run`, and not an agent");
        return Err(Failure::new(Exit::Usage, "arguments", message)
            .next("callstack run --help lists the options; the options of the agent come after its name"));
    }
    let agent = match base_url_variable {
        Some(variable) => Agent::Other { variable, wire: options.wire.unwrap_or(Wire::Chat) },
        None => Agent::named(&program)?,
    };
    let has_plugin = agent.has_plugin();
    if has_plugin {
        refuse_options_of_proxy(&options, upstream.as_deref())?;
    }
    let program = process::find(&program)?;
    // Without its stack the agent would work as before, and nothing of its work would be kept.
    folder.check_usable()?;
    if let Some(error) = run_folder::clear_abandoned(&std::env::temp_dir()) {
        note(&format!("what an earlier run has left stays: {error}"));
    }
    let files = RunFolder::new().map_err(|error| Failure::of_file("make", "a temporary folder", &error))?;
    let folder = Arc::new(folder);
    let conversation = Caller::of_run(&program.file_stem().unwrap_or_default().to_string_lossy())
        .map_err(|error| Failure::new(Exit::Failed, "io", format!("no name can be made for the run: {error}")))?;
    let mut scene = Scene::new(files.path(), &folder, &program, &command, &conversation)?;
    let upstream = match upstream {
        Some(given) => Some(given),
        None => agent.upstream(&scene)?,
    };
    // Without an upstream the agent's requests cannot be sent to the proxy: the agent gets only the tools, or
    // a plugin folds its requests.
    let proxy = match &upstream {
        Some(upstream) => Some(
            Proxy::new(
                upstream,
                SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                &options,
                folder.clone(),
                Some(conversation),
            )
            .await?,
        ),
        None => None,
    };
    scene.is_watched = proxy.is_some();
    scene.has_title = !no_title && title::is_possible();
    let has_title = scene.has_title;
    let mut launch = agent.launch(&scene, proxy.as_ref())?;
    let lent = launch.lent.take();
    lent.as_ref()
        .map_or(Ok(()), |lent| files.note(lent))
        .map_err(|error| Failure::of_file("write", "a note", &error))?;
    launch.notes.iter().for_each(|text| note(text));
    let before = Before::read(folder.clone());
    let titled = async {
        if has_title {
            title::keep(folder).await;
        }
        std::future::pending::<()>().await;
    };
    let sums = proxy.as_ref().map(|proxy| (proxy.totals(), proxy.watcher()));
    let serving = async {
        match proxy {
            Some(proxy) => proxy.serve().await,
            None => std::future::pending().await,
        }
    };
    let code = select! {
        code = process::run(&program, launch, &command) => code?,
        () = serving => Exit::Failed as u8,
        () = titled => Exit::Failed as u8,
    };
    if let Some(Err(error)) = lent.map(|lent| lent.give_back()) {
        note(&format!("some files of the agent could not be brought back into its folder: {error}"));
    }
    let by_proxy = sums.map(|(totals, watcher)| {
        if !watcher.finish() {
            note(NOT_RECORDED);
        }
        totals.so_far()
    });
    if by_proxy.is_some() || has_plugin {
        output.aside(&before.until_now(by_proxy).await);
    }
    Ok(code)
}

/// An agent whose requests are folded by its plugin goes to its model directly.
fn refuse_options_of_proxy(options: &ProxyOptions, upstream: Option<&str>) -> Result<(), Failure> {
    let given =
        [("--no-fold", options.no_fold), ("--upstream", upstream.is_some()), ("--wire", options.wire.is_some())];
    let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let message =
        format!("{option} is for agents with a proxy, and this one has a plugin, which folds its requests itself");
    Err(Failure::new(Exit::Usage, "has_plugin", message).next(format!("leave out {option}")))
}
