//! `callstack proxy`: stands between an agent and its model on this machine, folds each conversation on its
//! way, and passes on everything else as it came.
//!
//! The agent uses the URL of this proxy in place of the model's URL. What is not folded keeps its bytes, in
//! both directions. Answers pass at once, and their usage is read while they pass.

mod authorities;
mod body;
mod encoding;
mod exchange;
mod folding;
mod forwarding;
mod headers;
mod idle;
mod listening;
mod meter;
mod subagents;
mod totals;
mod upstream;
mod watching;
mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use callstack_core::fold::{FoldSettings, Wire};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::select;

use self::forwarding::Forwarding;
use self::listening::Listening;
pub use self::listening::SECRET_HEADER;
pub use self::totals::{ProxyUsage, Totals};
use self::upstream::Upstream;
pub use self::watching::Watcher;
use crate::caller::Caller;
use crate::ending::ended;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::log;
use crate::output::{Output, Page, Report};
use crate::runtime::runtime;

/// The wires of requests over HTTP.
const WIRES: [&str; 4] = ["anthropic", "responses", "chat", "gemini"];

#[derive(Args)]
pub struct ProxyArguments {
    /// The beginning of the model's URLs, such as `https://api.anthropic.com`.
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// Serve at this address of this machine. Default: a free port of 127.0.0.1.
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), hide_default_value = true)]
    listen: SocketAddr,
    #[command(flatten)]
    options: ProxyOptions,
}

/// How a proxy treats requests.
#[derive(Args)]
pub struct ProxyOptions {
    /// Only watch: send each request as it came.
    #[arg(long)]
    pub no_fold: bool,
    /// The wire of requests whose path does not tell the wire: anthropic, responses, chat or gemini.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(WIRES).try_map(|name| name.parse::<Wire>()), hide_possible_values = true)]
    pub wire: Option<Wire>,
    /// Cut a connection on which nothing has moved for this time.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    pub idle: u32,
}

/// The message if the end of conversations could not be recorded.
pub const NOT_RECORDED: &str = "some of what was said is in no log: the stack is locked, or too slow";

/// A proxy that is ready.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyAddress {
    /// The upstream, without a password.
    upstream: String,
    /// The URL for agents, in place of the URL of the upstream. It has a secret: a program that knows it may
    /// use the proxy.
    url: String,
}

impl Report for ProxyAddress {
    const KIND: &'static str = "proxyAddress";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.raw(&format!("serving {} at {}\n", self.upstream, self.url))
    }
}

/// A proxy that has its address, and serves when it is told to.
pub struct Proxy {
    listening: Listening,
    forwarding: Arc<Forwarding>,
    idle: Duration,
}

impl Proxy {
    /// # Errors
    /// If the URL of the upstream or the address cannot be used.
    ///
    /// `folder`: the stack. Its frames get the conversations in their logs and usage. `conversation`: the
    /// conversation of requests that name no conversation.
    pub async fn new(
        upstream: &str,
        address: SocketAddr,
        options: &ProxyOptions,
        folder: Arc<StackFolder>,
        conversation: Option<Caller>,
    ) -> Result<Self, Failure> {
        let idle = Duration::from_secs(options.idle.into());
        let forwarding = Forwarding {
            upstream: Upstream::new(upstream, idle)?,
            fold: (!options.no_fold).then(FoldSettings::default),
            wire: options.wire,
            totals: Arc::default(),
            conversation: conversation.clone(),
            watcher: Arc::new(Watcher::new(folder, FoldSettings::default(), conversation)),
        };
        Ok(Self { listening: Listening::new(address).await?, forwarding: Arc::new(forwarding), idle })
    }

    /// The URL for agents. It has a secret.
    pub fn url(&self) -> String {
        self.listening.url()
    }

    /// The URL for agents that send the secret in the header [`SECRET_HEADER`].
    pub fn origin(&self) -> String {
        self.listening.origin()
    }

    pub fn secret(&self) -> String {
        self.listening.secret.to_string()
    }

    /// The upstream, without a password.
    pub fn upstream(&self) -> String {
        self.forwarding.upstream.to_string()
    }

    /// What its requests use.
    pub fn totals(&self) -> Arc<Totals> {
        self.forwarding.totals.clone()
    }

    /// The watcher, which records what its conversations say.
    pub fn watcher(&self) -> Arc<Watcher> {
        self.forwarding.watcher.clone()
    }

    /// Serves until the future is dropped.
    pub async fn serve(self) {
        self.listening.serve(self.forwarding, self.idle).await;
    }
}

/// Serves until a signal ends the program, and says what its requests have used.
pub fn start(arguments: &ProxyArguments, folder: StackFolder, output: Output) -> Result<Exit, Failure> {
    log::start(log::Errors::All, None)?;
    hide_texts_of_panics();
    let runtime = runtime("proxy")?;
    let exit = runtime.block_on(async {
        let proxy =
            Proxy::new(&arguments.upstream, arguments.listen, &arguments.options, Arc::new(folder), None).await?;
        let (totals, watcher) = (proxy.totals(), proxy.watcher());
        output.stream(&ProxyAddress { upstream: proxy.upstream(), url: proxy.url() })?;
        let exit = select! {
            exit = ended() => exit,
            () = proxy.serve() => Exit::Done,
        };
        if !watcher.finish() {
            tracing::warn!("{NOT_RECORDED}");
        }
        output.stream(&totals.so_far())?;
        Ok(exit)
    });
    // This does not wait for a request that is being folded.
    runtime.shutdown_background();
    exit
}

/// A panic within the engine says where it occurred, and not what the engine had read.
pub fn hide_texts_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!("panic at {place}");
    }));
}
