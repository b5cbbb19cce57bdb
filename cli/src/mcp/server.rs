//! The server as the protocol sees it: what it offers, and the way of a request to a tool, a resource or a
//! prompt.

use std::env;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::session::autonomy::AutonomySettings;
use callstack_core::tools::conversation::{
    self, Called, Conversation, Question, Refusal, SubagentReports, Tool, ToolEffect, Wait,
};
use callstack_core::{Command, Error, Handle, Settings, Stack};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    self, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::messages::Turn;
use super::person::{self, Outcome, Way};
use super::progress::Progress;
use super::{WATCHED, prompts, resources};
use crate::caller::{self, Caller};
use crate::clock::{now, until_files_are_due};
use crate::failure::Failure;
use crate::folder::StackFolder;

/// The variable in which a package with hooks says that the hooks tell a conversation where the work stands.
pub const TOLD_BY_HOOKS: &str = "CALLSTACK_TOLD_BY_HOOKS";
/// The variable in which a package whose hooks report subagents names its kind of subagent for frames that
/// are handed over.
pub const WORKER: &str = "CALLSTACK_WORKER";
/// Agents that do not show their models the description of a server. They find in the description of this
/// tool where the work stands.
const WITHOUT_INSTRUCTIONS: [&str; 2] = ["copilot", "qwen"];
const FIRST_TOOL: &str = "push";
/// At this number of characters, Claude Code cuts the description of a server.
const LONGEST_INSTRUCTIONS: usize = 2_048;
/// The description of the server that hosts give to their agents.
pub const INSTRUCTIONS: &str = "\
A call stack for your work: a tree of frames, each with a task, criteria and results, which outlives your conversation.
- push a frame for your task, and one for each part that has its own result. Work in it, then pop it with results: what exists now, where, \
and how it is used. Later frames see only that.
- plan several steps, and begin each with activate. record decisions and files at once.
- After a compaction, or in a new conversation: status shows where you are, context all that your frame needs.
- For subagents: push, activate or plan with handOver gives you their prompts; their answers are the results of their frames.
- Frames have handles such as f3. Each answer ends with the frame in which you are, or says to pass its handle as frame.";

/// How many calls may wait at the same time. Each has a thread.
const MOST_WAITS: usize = 32;
/// The pause between two looks at a frame, while a call waits for the end of the frame.
const LOOK: Duration = Duration::from_millis(100);

/// The stack and the settings, which all connections share.
pub struct Shared {
    folder: StackFolder,
    /// `None` as long as there is no stack. The first call that changes a stack creates it, so that a server
    /// leaves no folder where it is not used.
    opened: Mutex<Option<Stack>>,
    settings: Settings,
    /// When agents are advised to push or to pop.
    autonomy: AutonomySettings,
    /// The kind of subagent that the host has for frames that are handed over.
    worker: Option<String>,
    /// A proxy sees the answers of subagents.
    is_watched: bool,
    /// The tools that are offered.
    tools: Vec<Tool>,
    has_resources: bool,
    /// The conversation of the calls that name no conversation.
    starter: Option<Caller>,
    /// The name of this server. If its client starts a server for each conversation, it is the name of the
    /// conversation. `None`: the server has many clients.
    name: Option<String>,
    /// That conversation, once it has called.
    own: OnceLock<Caller>,
    /// Where the work stood when the server began, for the conversation that has started it.
    standing: OnceLock<String>,
    waits: Semaphore,
    /// Cancelled when the client of the standard input has gone.
    pub gone: CancellationToken,
}

impl Shared {
    pub fn new(
        folder: StackFolder,
        (settings, autonomy): (Settings, AutonomySettings),
        tools: &[String],
        (starter, name): (Option<Caller>, Option<String>),
        has_resources: bool,
    ) -> Self {
        let tools = conversation::chosen(tools);
        let (opened, waits) = (Mutex::default(), Semaphore::new(MOST_WAITS));
        Self {
            folder,
            opened,
            settings,
            autonomy,
            worker: env::var(WORKER).ok().filter(|worker| !worker.is_empty()),
            is_watched: env::var_os(WATCHED).is_some_and(|value| !value.is_empty()),
            tools,
            has_resources,
            starter,
            name,
            own: OnceLock::new(),
            standing: OnceLock::new(),
            waits,
            gone: CancellationToken::new(),
        }
    }

    /// The stack, if it was used already.
    pub fn used(&self) -> Option<Stack> {
        self.lock().clone()
    }

    /// Looks where the work stands, for the instructions, unless a hook says it. If a stack cannot be opened,
    /// the first call reports this.
    pub fn look_around(&self) {
        if env::var_os(TOLD_BY_HOOKS).is_some_and(|value| !value.is_empty()) {
            return;
        }
        let Ok(Some(stack)) = self.open(false) else { return };
        let stack = caller::as_conversation(&stack, self.starter.as_ref());
        let conversation = Conversation::new(&stack, &self.settings);
        let is_of_worker = stack.actor().is_some_and(|actor| actor.hold.is_some());
        let told = match conversation.place() {
            Some(frame) if is_of_worker => Some(format!(
                "A worker has given you frame {} of the call stack: work in it, and pop it when it is done, has failed, or waits for an answer.",
                conversation.name(frame)
            )),
            Some(_) => None,
            None => conversation.standing(),
        };
        if let Some(told) = told {
            let _ = self.standing.set(told);
        }
    }

    fn instructions(&self) -> String {
        let Some(standing) = self.standing.get() else { return INSTRUCTIONS.to_owned() };
        let all = format!("{INSTRUCTIONS}\n{standing}");
        match all.char_indices().nth(LONGEST_INSTRUCTIONS) {
            // A list that is cut off says less than no list.
            Some(_) => INSTRUCTIONS.to_owned(),
            None => all,
        }
    }

    /// Where the work stands, for a client whose model sees no instructions.
    fn standing_for(&self, context: &RequestContext<RoleServer>) -> Option<&str> {
        let peer = || context.peer.peer_info().map(|peer| peer.client_info.clone());
        let agent = Caller::agent_of_client(&context.meta.client_info().or_else(peer)?.name)?;
        let standing = self.standing.get().filter(|standing| standing.chars().count() <= LONGEST_INSTRUCTIONS / 2);
        standing.filter(|_| WITHOUT_INSTRUCTIONS.contains(&agent)).map(String::as_str)
    }

    /// Does what is due between calls. Returns the time until more is due, at most `longest`.
    pub fn poll(&self, longest: Duration) -> Duration {
        let Some(stack) = self.used() else { return longest };
        stack.upkeep().poll();
        until_files_are_due(&stack, longest)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Stack>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stack with the newest changes of others. With `is_new` a stack is created if there is none. A
    /// stack whose files were replaced is opened again.
    fn open(&self, is_new: bool) -> Result<Option<Stack>, Failure> {
        let mut opened = self.lock();
        let is_usable = |stack: &Stack| match stack.refresh() {
            Ok(_) | Err(Error::Busy { .. }) => true,
            Err(_) => false,
        };
        if let Some(found) = opened.as_ref().filter(|stack| is_usable(stack)) {
            return Ok(Some(found.clone()));
        }
        *opened = None;
        *opened = self.folder.open_to_serve(is_new)?;
        Ok(opened.clone())
    }

    /// As [`Shared::open`], for an answer that says why there is none.
    fn opened(&self, is_new: bool) -> Result<Option<Stack>, Refusal> {
        self.open(is_new).map_err(|failure| failure.for_agents().into())
    }

    /// The one conversation that this server serves, if its client starts a server for each.
    fn own_conversation(&self, context: &RequestContext<RoleServer>) -> Option<Caller> {
        let peer = || context.peer.peer_info().map(|peer| peer.client_info.clone());
        let client = context.meta.client_info().or_else(peer)?;
        let own = Caller::of(Caller::agent_of_client(&client.name)?, self.name.as_deref()?)?;
        Some(self.own.get_or_init(|| own).clone())
    }

    /// The conversation of the agent that a worker has started.
    fn of_worker(&self, stack: &Stack) -> Option<Caller> {
        let own = Caller::of_worker(stack.actor()?.hold.as_ref()?)?;
        Some(self.own.get_or_init(|| own).clone())
    }

    /// Releases the frames of the conversation that ends with this server, and the stack.
    pub fn end(&self) {
        let Some(stack) = self.used() else { return };
        if let Some(own) = self.own.get() {
            // A frame that is not released here is released at the end of its lease.
            let _ = Conversation::new(&caller::as_conversation(&stack, Some(own)), &self.settings).ended();
        }
        stack.leave();
    }

    fn run<T>(&self, stack: &Stack, context: &Asked, run: impl FnOnce(&Stack, &Conversation<'_>) -> T) -> T {
        let Asked { named, context } = context;
        let caller = named.clone().or_else(|| Caller::of_meta(&context.meta)).or_else(|| self.starter.clone());
        let caller = caller.or_else(|| self.own_conversation(context)).or_else(|| self.of_worker(stack));
        let stack = caller::as_conversation(stack, caller.as_ref());
        let is_due = stack.read(|tree| stack.actor().is_some_and(|actor| !tree.due_renewals(actor, now()).is_empty()));
        if is_due == Ok(true) {
            // A refused renewal is tried again by the next call.
            let _ = stack.execute(Command::RenewAll);
        }
        // A hook of the same package has named the caller, and other hooks report its subagents.
        let reports = match self.worker.as_deref() {
            Some(worker) if named.is_some() => SubagentReports::All { worker: Some(worker) },
            _ if !self.is_watched => SubagentReports::None,
            // The agent does not say which conversation calls.
            _ if caller == self.starter => SubagentReports::EndsWithoutCallers,
            _ => SubagentReports::Ends,
        };
        run(&stack, &Conversation::new(&stack, &self.settings).reporting(reports).advised(&self.autonomy))
    }

    /// Calls a tool, waits for the end of a frame if the call asks for that, and logs that the tool was
    /// called: for which frame if the call names its handle, and which kind of refusal it was. The texts of
    /// calls and answers are texts of the work, and are not logged.
    fn call(&self, stack: &Stack, tool: &str, arguments: &JsonObject, asked: &Asked, turn: Option<Turn>) -> Called {
        self.run(stack, asked, |stack, conversation| {
            let start = Instant::now();
            let text = Value::from(arguments.clone()).to_string();
            let mut called = conversation.call(tool, &text);
            // No other call waits for what this call waits for.
            drop(turn);
            // Each wait has a thread of its own. If too many calls wait already, the answer comes at once.
            if let (Some(wait), Ok(_waiting)) = (called.wait, self.waits.try_acquire()) {
                self.wait(stack, wait, &asked.context.ct);
                called = conversation.call(tool, &text);
            }
            let named =
                ["frame", "of"].into_iter().find_map(|key| arguments.get(key)?.as_str()?.parse::<Handle>().ok());
            let frame = named.map(|frame| frame.to_string()).unwrap_or_default();
            let caller = stack.actor().map(|actor| &*actor.name).filter(|name| !name.is_empty()).unwrap_or("unknown");
            let refusal = called.refusal.unwrap_or_default();
            tracing::info!(caller, milliseconds = start.elapsed().as_millis() as u64, frame, refusal, "{tool}");
            called
        })
    }

    /// Waits until a frame has ended, or the request was cancelled, or its client has gone.
    fn wait(&self, stack: &Stack, wait: Wait, cancelled: &CancellationToken) {
        let until = Instant::now() + Duration::from_secs(wait.seconds);
        let is_waited_for = || !cancelled.is_cancelled() && !self.gone.is_cancelled() && Instant::now() < until;
        while !stack.read(|tree| wait.is_over(tree)).unwrap_or(true) && is_waited_for() {
            thread::sleep(LOOK);
            // The next operation reports an error of the store.
            let _ = stack.refresh();
        }
    }
}

/// The request of a call, and the conversation that a hook has named in its arguments.
struct Asked {
    named: Option<Caller>,
    context: RequestContext<RoleServer>,
}

/// The handler of a connection.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Calls a tool. If an empty stack refuses the call, no stack is created.
    async fn use_tool(
        &self,
        tool: &Tool,
        arguments: JsonObject,
        asked: Asked,
        turn: Option<Turn>,
    ) -> Result<Called, ErrorData> {
        let (name, reads) = (tool.name, tool.effect == ToolEffect::Reads);
        self.answered(move |shared| {
            let call = |stack: &Stack, turn| shared.call(stack, name, &arguments, &asked, turn);
            if let Some(opened) = shared.opened(false)? {
                return Ok(call(&opened, turn));
            }
            let trial = call(&Stack::in_memory(), None);
            if trial.answer.is_error || reads {
                return Ok(trial);
            }
            let opened = shared.opened(true)?.ok_or("there is no stack, and none can be made")?;
            Ok(call(&opened, turn))
        })
        .await
    }

    /// Puts the question of an answer to the person, if the host can show it.
    async fn ask(&self, called: Called, asked: Asked) -> Result<CallToolResponse, ErrorData> {
        let context = &asked.context;
        let question = called.question.clone();
        let (Some(question), Some(way), Some(stack)) = (question, Way::of(context), self.shared.used()) else {
            return Ok(result(called).into());
        };
        match way {
            Way::Repeat => Ok(person::repeat(&question, &stack).into()),
            Way::Request => match person::request(&question, stack, context).await {
                Outcome::Decided(given) => Ok(result(self.go_on(Ok((question, given)), asked).await?).into()),
                Outcome::Open => Ok(result(called.still_asked()).into()),
                Outcome::Failed => Ok(result(called).into()),
            },
        }
    }

    /// Continues in a frame with what the person has said.
    async fn go_on(
        &self,
        said: Result<(Question, Option<String>), Refusal>,
        asked: Asked,
    ) -> Result<Called, ErrorData> {
        self.answered(move |shared| {
            let (question, given) = said?;
            tracing::info!("the person has decided about a question");
            let opened = shared.opened(false)?.ok_or("there is no stack any more")?;
            Ok(shared.run(&opened, &asked, |_, caller| caller.answered(&question, given.as_deref())))
        })
        .await
    }

    /// Runs code that answers a call.
    async fn answered(
        &self,
        run: impl FnOnce(&Shared) -> Result<Called, Refusal> + Send + 'static,
    ) -> Result<Called, ErrorData> {
        self.on_thread(|shared| run(shared).unwrap_or_else(Refusal::into)).await
    }

    /// Runs code that only reads.
    async fn look<T: Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        run: impl FnOnce(&Stack, &Conversation<'_>) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let found = self.on_thread(move |shared| {
            let opened = shared.open(false).map_err(|failure| failure.for_agents())?;
            let opened = opened.unwrap_or_else(Stack::in_memory);
            Ok(shared.run(&opened, &Asked { named: None, context }, run))
        });
        found.await?.map_err(internal)
    }

    /// Runs code on a thread that may wait for other processes.
    async fn on_thread<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Shared) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let shared = self.shared.clone();
        let work = spawn_blocking(move || run(&shared));
        work.await.map_err(|error| internal(format!("the call has failed: {error}")))
    }
}

fn internal(message: String) -> ErrorData {
    ErrorData::internal_error(message, None)
}

/// A tool's answer as the host gets it: only text, because some hosts show nothing else if there is anything
/// else.
fn result(called: Called) -> CallToolResult {
    let content = vec![ContentBlock::text(called.answer.text.unwrap_or_default())];
    if called.answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

/// The definition of a tool for the host.
fn definition(tool: &Tool) -> model::Tool {
    let schema = tool.parameters.as_object().cloned().unwrap_or_default();
    let reads = tool.effect == ToolEffect::Reads;
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(reads)
        .destructive(tool.effect == ToolEffect::Removes)
        .idempotent(reads || tool.effect == ToolEffect::AddsOnce)
        .open_world(false);
    let defined = model::Tool::new(tool.name, tool.description.clone(), Arc::new(schema));
    let mut meta = MetaObject::default();
    // Without this, Claude Code hides tools behind a search, and a first request would not have them.
    meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    defined.with_title(tool.title).with_annotations(annotations).with_meta(meta)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().build();
        capabilities.resources = self.shared.has_resources.then(Default::default);
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("callstack", env!("CARGO_PKG_VERSION")).with_title("Call stack"))
            .with_instructions(self.shared.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools: Vec<model::Tool> = self.shared.tools.iter().map(definition).collect();
        let first = tools.iter_mut().find(|tool| tool.name == FIRST_TOOL);
        if let (Some(first), Some(standing)) = (first, self.shared.standing_for(&context)) {
            let description = first.description.take().unwrap_or_default();
            first.description = Some(format!("{description}\n{standing}").into());
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<model::Tool> {
        self.shared.tools.iter().find(|tool| tool.name == name).map(definition)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let turn = context.extensions.remove::<Turn>();
        let Some(tool) = self.shared.tools.iter().find(|tool| tool.name == request.name) else {
            let names: Vec<&str> = self.shared.tools.iter().map(|tool| tool.name).collect();
            let message = format!("there is no tool {}; there are {}", request.name, names.join(", "));
            tracing::warn!("a tool was called that is not offered");
            return Err(ErrorData::invalid_params(message, None));
        };
        let _progress = Progress::of(&context);
        let repeated = person::repeated(&request).filter(|_| tool.asks);
        let mut arguments = request.arguments.unwrap_or_default();
        let named = Caller::taken_from(&mut arguments);
        let asked = |context| Asked { named: named.clone(), context };
        if let Some(repeated) = repeated {
            return Ok(result(self.go_on(repeated, asked(context)).await?).into());
        }
        let answer = self.use_tool(tool, arguments, asked(context.clone()), turn).await?;
        self.ask(answer, asked(context)).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self
            .look(context, |stack, _| resources::list(stack))
            .await?
            .map_err(|error| internal(error.to_string()))?;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.look(context, move |stack, caller| resources::read(stack, caller, &request.uri)).await?.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        self.look(context, move |stack, caller| prompts::get(stack, caller, &request.name, &arguments))
            .await?
            .map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_not_cut_by_any_host() {
        assert!(INSTRUCTIONS.chars().count() <= LONGEST_INSTRUCTIONS);
    }
}
