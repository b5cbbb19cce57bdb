//! The prompts: texts that a person chooses in the host, such as a slash command.

use callstack_core::Stack;
use callstack_core::context::Guidance;
use callstack_core::tools::conversation::Conversation;
use rmcp::model::{ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

const PLAN: &str = "plan";
const HANDOFF: &str = "handoff";
const RESUME: &str = "resume";

pub fn list() -> Vec<Prompt> {
    let task = PromptArgument::new("task").with_description("What is to be done").with_required(true);
    let frame = || PromptArgument::new("frame").with_description("Handle or title; default: your frame");
    vec![
        Prompt::new(PLAN, Some("Plan a task as frames"), Some(vec![task])),
        Prompt::new(HANDOFF, Some("Leave a frame so that another conversation can resume it"), Some(vec![frame()])),
        Prompt::new(RESUME, Some("Resume a frame of an earlier conversation"), Some(vec![frame()])),
    ]
}

pub fn get(
    stack: &Stack,
    caller: &Conversation<'_>,
    name: &str,
    arguments: &JsonObject,
) -> Result<GetPromptResult, ErrorData> {
    let argument =
        |name: &str| arguments.get(name).and_then(|value| value.as_str()).filter(|text| !text.trim().is_empty());
    let refused = |why: String| ErrorData::invalid_params(why, None);
    let own = || caller.shown(argument("frame")).map_err(|refusal| refused(refusal.to_string()));
    let text = match name {
        PLAN => {
            let task = argument("task").ok_or_else(|| refused("the argument task is missing".to_owned()))?;
            format!(
                "Plan this task with the tools of callstack: push a frame for it, look at what it needs, then plan its steps in \
                 order, each with criteria that can be checked, and with dependsOn where a step needs the results of another. \
                 Show me the plan before you begin.\n\nTask: {task}"
            )
        }
        HANDOFF => {
            let frame = own()?;
            format!(
                "Leave {} so that another conversation can work without this one: record the decisions and files that are not \
                 recorded yet, and as resultsSoFar what exists, what was tried, what is left and what comes next.",
                caller.name(frame)
            )
        }
        RESUME => {
            let frame = own()?;
            if !stack.read(|tree| tree.node(frame).status().is_open()).map_err(|error| refused(error.to_string()))? {
                return Err(refused(format!("{} is closed: nothing is left to do in it", caller.name(frame))));
            }
            let context = caller.context(frame, Guidance::Brief).map_err(|refusal| refused(refusal.to_string()))?;
            format!(
                "Resume {}: call activate {{\"frame\": \"{frame}\", \"takeOver\": true}}, check what is there already, and do what is left.\n\n\
                 {context}",
                caller.name(frame)
            )
        }
        _ => return Err(refused(format!("there is no prompt {name}; there are {PLAN}, {HANDOFF}, {RESUME}"))),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
