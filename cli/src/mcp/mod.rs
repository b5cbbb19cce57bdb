//! `callstack mcp`: the stack as a server of the Model Context Protocol, for the agents of other hosts.
//!
//! No matter which version of the protocol is used, a server keeps no state of a connection: frames have
//! handles, and the stack knows which conversation holds which frame.

mod hook;
mod http;
mod messages;
mod person;
mod progress;
mod prompts;
mod resources;
mod server;

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callstack_core::HostSettings;
use callstack_core::tools::conversation;
use clap::Args;
use clap::builder::PossibleValuesParser;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio;
use tokio::select;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::caller::{Caller, run_name};
use crate::ending::ended;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::log;
use crate::output::Output;
use crate::runtime::runtime;
pub use hook::WATCHED;
pub use hook::{HookArguments, run as run_hook, run_status_line};
#[cfg(feature = "proxy")]
pub use hook::{HookHost, OF_RUN, WORKER_AGENT};
use messages::Lines;
use server::{Server, Shared};
#[cfg(feature = "proxy")]
pub use server::{TOLD_BY_HOOKS, WORKER};

/// The longest pause between two looks at what is due, such as writing `state.json`.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Args)]
pub struct McpArguments {
    /// Offer these tools. Default: all except heap.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = PossibleValuesParser::new(conversation::list().into_iter().map(|tool| tool.name)))]
    tools: Vec<String>,
    /// Serve HTTP at this address of this machine, such as 127.0.0.1:8400, instead of the standard input and
    /// output.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Offer the tree, frames and logs as resources too, for people who put them into a conversation. Hosts
    /// add tools to each request for this.
    #[arg(long)]
    resources: bool,
    /// Write down which tools are called, and what goes wrong, at the end of this file. At 4 MiB a new one
    /// begins, and FILE.1 keeps the old one.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Work in this folder: the stack is looked for there and above it. Default: the folder in which the
    /// server is started.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Serves until the client has gone, or a signal ends the program.
pub fn start(arguments: McpArguments, folder: StackFolder, output: Output) -> Result<Exit, Failure> {
    if let Some(folder) = &arguments.folder {
        env::set_current_dir(folder).map_err(|error| Failure::of_file("work in", folder.display(), &error))?;
    }
    log::start(log::Errors::Warnings, arguments.log.as_deref())?;
    let runtime = runtime("server")?;
    let exit = runtime.block_on(serve(arguments, folder, output));
    // A read of the standard input cannot be given up.
    runtime.shutdown_background();
    exit
}

async fn serve(arguments: McpArguments, folder: StackFolder, output: Output) -> Result<Exit, Failure> {
    let McpArguments { tools, http, resources, .. } = arguments;
    let (settings, problems) = HostSettings::from_environment("{}");
    problems.iter().for_each(|problem| tracing::warn!("{problem}"));
    let HostSettings { context, autonomy, .. } = settings;
    let settings = (context.tools(conversation::names(&tools)), autonomy);
    // A server over HTTP has many clients. The conversation that has started it is not one of them.
    let (starter, name) = match http {
        Some(_) => (None, None),
        None => (Caller::of_environment(), Some(run_name()?)),
    };
    tracing::info!("callstack {} begins", env!("CARGO_PKG_VERSION"));
    let shared = Arc::new(Shared::new(folder, settings, &tools, (starter, name), resources));
    let serving = async {
        match http {
            Some(address) => http::serve(address, shared.clone(), output).await,
            None => {
                let looking = shared.clone();
                let _ = spawn_blocking(move || looking.look_around()).await;
                serve_pipe(shared.clone()).await
            }
        }
    };
    let exit = select! {
        exit = serving => exit,
        exit = ended() => Ok(exit),
        // A server over HTTP can outlive the terminal that it was started in.
        () = hung_up(), if http.is_none() => Ok(Exit::Done),
        never = poll(shared.clone()) => never,
    };
    shared.end();
    tracing::info!("callstack ends");
    exit
}

/// Serves one client on the standard input and output.
async fn serve_pipe(shared: Arc<Shared>) -> Result<Exit, Failure> {
    let (input, output) = stdio();
    let lines = Lines::new(input, output, shared.gone.clone());
    let served = match Server::new(shared).serve(lines).await {
        Ok(served) => served,
        // The client has gone before it has said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(Exit::Done),
        Err(error) => {
            return Err(Failure::new(Exit::Failed, "protocol", format!("the client cannot be served: {error}")));
        }
    };
    match served.waiting().await {
        Ok(_) => Ok(Exit::Done),
        Err(error) => Err(Failure::new(Exit::Failed, "protocol", format!("the server has failed: {error}"))),
    }
}

/// Does what is due between calls. The first calls of a client do not wait for it.
async fn poll(shared: Arc<Shared>) -> Result<Exit, Failure> {
    let mut pause = PAUSE;
    loop {
        sleep(pause).await;
        let shared = shared.clone();
        // A poll that fails is repeated.
        pause = spawn_blocking(move || shared.poll(PAUSE)).await.unwrap_or(PAUSE);
    }
}

/// Waits until the terminal of the program is closed.
async fn hung_up() {
    #[cfg(unix)]
    if let Ok(mut hung_up) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) {
        hung_up.recv().await;
        return;
    }
    std::future::pending().await
}
