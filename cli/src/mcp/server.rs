//! The server as the protocol sees it: what it offers, and the way of a request to a tool, a resource or a prompt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use callstack_core::{Command, Error, Handle, Settings, Stack};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::call::{Answer, Call, Refusal, Reply};
use super::caller::{self, Caller};
use super::person::{self, Outcome, Question, Way};
use super::progress::Progress;
use super::tools::{self, Entry};
use super::{prompts, resources};
use crate::clock::now;
use crate::failure::Failure;
use crate::folder::StackFolder;

/// The description of the server that hosts give to their agents. Claude Code cuts it at 2,048 characters.
pub const INSTRUCTIONS: &str = "\
A call stack for your work instead of a chat log. Work is a tree of frames: each has a task, criteria and results, and outlives \
your conversation.
- Begin a task, and each part of it that has its own result, with push. Work in that frame, then pop it with results: what exists \
now, where, and how it is used. Later frames see only that.
- Plan several steps with plan, and begin each with activate.
- record decisions and files at once. They are kept when your conversation is compacted.
- After a compaction, or in a new conversation: status shows the frames and where you are, context shows all that your frame needs.
- For a subagent: push or activate with handOver gives you its prompt. It pops the frame with its results; status with of and \
wait looks for them.
- Frames are named by handles such as f3. Each answer ends with the frame in which you are, or says to pass its handle as frame in \
your next calls.";

/// How many calls may wait at the same time. Each has a thread.
const MOST_WAITS: usize = 32;

/// The stack and the settings, which all connections share.
pub struct Shared {
    folder: StackFolder,
    /// `None` as long as there is no stack. The first call that changes one creates it, so that a server leaves no folder where
    /// nobody uses it.
    opened: Mutex<Option<Stack>>,
    settings: Settings,
    /// The names of the tools that are offered; empty: the standard ones.
    tools: Vec<String>,
    /// The conversation of the calls that name none.
    starter: Option<Caller>,
    waits: Semaphore,
    /// Cancelled when the client of the standard input has gone.
    pub gone: CancellationToken,
}

impl Shared {
    pub fn new(folder: StackFolder, settings: Settings, tools: Vec<String>, starter: Option<Caller>) -> Self {
        let (opened, waits) = (Mutex::default(), Semaphore::new(MOST_WAITS));
        Self { folder, opened, settings, tools, starter, waits, gone: CancellationToken::new() }
    }

    /// The stack, if it was used already.
    pub fn used(&self) -> Option<Stack> {
        self.lock().clone()
    }

    /// Does what is due between calls.
    pub fn poll(&self) {
        if let Some(stack) = self.used() {
            stack.poll();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Stack>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stack with the newest changes of others, and with `is_new` one that is created if there is none. A stack whose files
    /// were replaced is opened again.
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

    fn run<T>(&self, stack: &Stack, context: &Asked, run: impl FnOnce(&Call<'_>) -> T) -> T {
        let Asked { named, context } = context;
        let caller = named.clone().or_else(|| Caller::of_meta(&context.meta)).or_else(|| self.starter.clone());
        let stack = caller::as_conversation(stack, caller.as_ref());
        let is_due = stack.read(|tree| stack.actor().is_some_and(|actor| !tree.due_renewals(actor, now()).is_empty()));
        if is_due {
            // A refused renewal is tried again by the next call.
            let _ = stack.execute(Command::RenewAll);
        }
        run(&Call {
            stack: &stack,
            caller: caller.as_ref(),
            settings: &self.settings,
            cancelled: [context.ct.clone(), self.gone.clone()],
            waits: &self.waits,
        })
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

    fn entry(&self, name: &str) -> Option<&'static Entry> {
        tools::chosen(&self.shared.tools).into_iter().find(|entry| entry.name == name)
    }

    /// Calls a tool. What an empty stack refuses creates none.
    async fn use_tool(&self, entry: &'static Entry, arguments: JsonObject, asked: Asked) -> Result<Answer, ErrorData> {
        self.on_thread(move |shared| {
            let call = |stack: &Stack| shared.run(stack, &asked, |call| logged(entry, call, arguments.clone()));
            let open = |is_new| shared.open(is_new).map_err(|failure| Refusal::from(failure.for_agents()));
            if let Some(opened) = open(false)? {
                return call(&opened);
            }
            let trial = call(&Stack::in_memory());
            if trial.is_err() || !entry.changes() {
                return trial;
            }
            let opened = open(true)?.ok_or("there is no stack, and none can be made")?;
            call(&opened)
        })
        .await
    }

    /// Puts the question of an answer to the person, if the host can show it.
    async fn ask(&self, answer: Answer, asked: Asked) -> Result<CallToolResponse, ErrorData> {
        let context = &asked.context;
        let frame = answer.as_ref().ok().and_then(|reply| reply.asks);
        let (Some(frame), Some(way), Some(stack)) = (frame, Way::of(context), self.shared.used()) else {
            return Ok(result(answer).into());
        };
        let Some(question) = Question::of(&stack, frame) else { return Ok(result(answer).into()) };
        match way {
            Way::Repeat => Ok(person::repeat(&question, &stack).into()),
            Way::Request => match person::request(&question, stack, context).await {
                Outcome::Decided(given) => Ok(result(self.go_on(Ok((question, given)), asked).await?).into()),
                Outcome::Open => Ok(result(answer.map(Reply::still_asked)).into()),
                Outcome::Failed => Ok(result(answer).into()),
            },
        }
    }

    /// Goes on in a frame with what the person has said.
    async fn go_on(
        &self,
        said: Result<(Question, Option<String>), Refusal>,
        asked: Asked,
    ) -> Result<Answer, ErrorData> {
        self.on_thread(move |shared| {
            let (question, given) = said?;
            tracing::info!("the person has decided about a question");
            let opened = shared.open(false).map_err(|failure| Refusal::from(failure.for_agents()))?;
            let opened = opened.ok_or("there is no stack any more")?;
            shared.run(&opened, &asked, |call| question.resume(call, given.as_deref()))
        })
        .await
    }

    /// Runs code that only reads.
    async fn look<T: Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        run: impl FnOnce(&Call<'_>) -> T + Send + 'static,
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

/// Runs a tool, and writes down that it was called: for which frame if the call names its handle, and which kind of refusal it was.
/// The texts of calls and answers are those of the work, and stay out of the log.
fn logged(entry: &Entry, call: &Call<'_>, arguments: JsonObject) -> Answer {
    let start = Instant::now();
    let named = ["frame", "of"].into_iter().find_map(|key| arguments.get(key)?.as_str()?.parse::<Handle>().ok());
    let frame = named.map(|frame| frame.to_string()).unwrap_or_default();
    let answer = (entry.run)(call, arguments);
    let caller = call.caller.map_or("nobody", Caller::as_str);
    let refusal = answer.as_ref().err().map(Refusal::code).unwrap_or_default();
    tracing::info!(caller, milliseconds = start.elapsed().as_millis() as u64, frame, refusal, "{}", entry.name);
    answer
}

fn internal(message: String) -> ErrorData {
    ErrorData::internal_error(message, None)
}

/// A tool's answer as the host gets it: text alone, because some hosts show nothing else where there is anything else.
fn result(answer: Answer) -> CallToolResult {
    match answer {
        Ok(reply) => CallToolResult::success(vec![ContentBlock::text(reply.text)]),
        Err(refusal) => CallToolResult::error(vec![ContentBlock::text(refusal.to_string())]),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("callstack", env!("CARGO_PKG_VERSION")).with_title("Call stack"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::chosen(&self.shared.tools).into_iter().map(Entry::tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.entry(name).map(Entry::tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = self.entry(&request.name) else {
            let names: Vec<&str> = tools::chosen(&self.shared.tools).iter().map(|entry| entry.name).collect();
            let message = format!("there is no tool {}; there are {}", request.name, names.join(", "));
            tracing::warn!("a tool was called that is not offered");
            return Err(ErrorData::invalid_params(message, None));
        };
        let _progress = Progress::of(&context);
        let repeated = person::repeated(&request).filter(|_| entry.asks());
        let mut arguments = request.arguments.unwrap_or_default();
        let named = Caller::taken_from(&mut arguments);
        let asked = |context| Asked { named: named.clone(), context };
        if let Some(repeated) = repeated {
            return Ok(result(self.go_on(repeated, asked(context)).await?).into());
        }
        let answer = self.use_tool(entry, arguments, asked(context.clone())).await?;
        self.ask(answer, asked(context)).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.look(context, |call| resources::list(call.stack)).await?;
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
        self.look(context, move |call| resources::read(call, &request.uri)).await?.map(Into::into)
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
        self.look(context, move |call| prompts::get(call, &request.name, &arguments)).await?.map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_not_cut_by_any_host() {
        assert!(INSTRUCTIONS.chars().count() <= 2_048);
    }
}
