//! The server as the protocol sees it: what it offers, and the way of a request to a tool, a resource or a prompt.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use callstack_core::{Settings, Stack};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::call::{Answer, Call};
use super::caller::Caller;
use super::callers::Callers;
use super::tools::{self, Entry};
use super::{prompts, resources};
use crate::failure::Failure;
use crate::folder::StackFolder;

/// What every host tells its agent about the server. Claude Code cuts it at 2,048 characters.
pub const INSTRUCTIONS: &str = "\
A call stack for your work instead of a chat log. Work is a tree of frames: each has a task, criteria and results, and outlives \
your conversation.
- Begin a task, and each part of it that has its own result, with push. Work in that frame, then pop it with results: what exists \
now, where, and how it is used. Later frames see only that.
- Plan several steps with plan, and begin each with activate.
- record decisions and files at once. They are kept when your conversation is compacted.
- After a compaction, or in a new conversation: status shows the frames and where you are, context shows all that your frame needs.
- For a subagent: push or activate with handOver gives you its prompt. Pop answers what it found; status with of and wait looks \
for it.
- Frames are named by handles such as f3. Each answer ends with the frame in which you are, or says to pass its handle as frame in \
your next calls.";

/// The stack and the settings, which all connections share.
pub struct Shared {
    folder: StackFolder,
    /// Empty as long as there is no stack. The first call that changes one creates it, so that a server leaves no folder where
    /// nobody uses it.
    opened: OnceLock<Opened>,
    /// Held while the stack is opened.
    opening: Mutex<()>,
    settings: Settings,
    /// The names of the tools that are offered; empty: the standard ones.
    tools: Vec<String>,
}

struct Opened {
    stack: Stack,
    callers: Callers,
}

impl Shared {
    pub fn new(folder: StackFolder, settings: Settings, tools: Vec<String>) -> Self {
        Self { folder, opened: OnceLock::new(), opening: Mutex::new(()), settings, tools }
    }

    /// The stack, if it was used already.
    pub fn used(&self) -> Option<&Stack> {
        self.opened.get().map(|opened| &opened.stack)
    }

    /// The stack, and with `is_new` one that is created if there is none.
    fn open(&self, is_new: bool) -> Result<Option<&Opened>, Failure> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = self.opened.get() {
            return Ok(Some(opened));
        }
        let Some((stack, path)) = self.folder.open_to_serve(is_new)? else { return Ok(None) };
        let callers = Callers::new(&path);
        callers.forget_old();
        Ok(Some(self.opened.get_or_init(|| Opened { stack, callers })))
    }
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

    /// Runs code that uses the stack where it may wait for other processes.
    ///
    /// # Errors
    /// A text for the agent, if the stack cannot be opened.
    async fn with_call<T: Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        changes: bool,
        run: impl FnOnce(&Call<'_>) -> T + Send + 'static,
    ) -> Result<Result<T, String>, ErrorData> {
        let shared = self.shared.clone();
        let work = move || {
            let none = Opened { stack: Stack::in_memory(), callers: Callers::new(Path::new("")) };
            let opened = shared.open(changes).map_err(|failure| failure.for_agents())?.unwrap_or(&none);
            // Names are looked up in the newest tree. The first command reports an error of the store.
            let _ = opened.stack.refresh();
            let caller = Caller::of_call(&context.meta, &opened.callers);
            Ok(run(&Call {
                stack: &opened.stack,
                callers: &opened.callers,
                caller: caller.as_ref(),
                settings: &shared.settings,
                cancelled: context.ct.clone(),
            }))
        };
        spawn_blocking(work).await.map_err(|error| internal(format!("the call has failed: {error}")))
    }

    /// As [`Server::with_call`], for requests that only read.
    async fn look<T: Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        run: impl FnOnce(&Call<'_>) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        self.with_call(context, false, run).await?.map_err(internal)
    }
}

fn internal(message: String) -> ErrorData {
    ErrorData::internal_error(message, None)
}

/// A tool's answer as the host gets it: text alone, because some hosts show nothing else where there is anything else.
fn result(answer: Answer) -> CallToolResult {
    match answer {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
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
            return Err(ErrorData::invalid_params(message, None));
        };
        let json = Value::Object(request.arguments.unwrap_or_default()).to_string();
        let answer = self.with_call(context, entry.changes(), move |call| (entry.run)(call, &json)).await?;
        Ok(result(answer.unwrap_or_else(|problem| Err(problem.into()))).into())
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
