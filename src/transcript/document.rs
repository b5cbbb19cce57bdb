//! Sessions in one JSON document: reads its records, in the form that the lines of a file have.

use serde_json::{Value as Json, json};

use super::form::TranscriptForm;
use super::line::{list, text};
use super::opencode;
use super::session::AgentFile;
use crate::text::from_json;

/// The records of a document: those of the session, and those of each subagent in it.
pub(super) struct Records {
    pub own: Vec<Json>,
    pub agents: Vec<(AgentFile, Vec<Json>)>,
}

/// The form and the records of a document. What its program has printed before the document is skipped.
/// `None`: it is not a known kind of session.
pub(super) fn read(text: &str) -> Option<(TranscriptForm, Records)> {
    let start = text.find('{').unwrap_or_default();
    let document: Json = from_json(&text[start..]).ok()?;
    let form = TranscriptForm::of_document(&document)?;
    Some((form, records(form, document)))
}

/// The records of a document.
fn records(form: TranscriptForm, document: Json) -> Records {
    let mut agents = Vec::new();
    let own = match form {
        TranscriptForm::Atif => {
            embedded(&document, &mut agents);
            steps(&document)
        }
        TranscriptForm::OpenCode => {
            let calls = opencode::calls_of_agents(list(&document, "messages"));
            let child = |child: &Json| {
                let mut agent = opencode::agent(&child["info"]);
                agent.call = calls.get(&agent.id).cloned();
                (agent, list(child, "messages").flat_map(opencode::records).collect())
            };
            agents.extend(list(&document, "children").map(child));
            let head = json!({ "session": document["info"] });
            [head].into_iter().chain(list(&document, "messages").flat_map(opencode::records)).collect()
        }
        TranscriptForm::SweAgent => of_swe_agent(&document),
        _ => {
            let mut head = document.clone();
            head.as_object_mut().map(|head| head.remove("messages"));
            [head].into_iter().chain(list(&document, "messages").cloned()).collect()
        }
    };
    Records { own, agents }
}

fn steps(trajectory: &Json) -> Vec<Json> {
    let head = json!({ "session": {
        "session_id": trajectory["session_id"], "trajectory_id": trajectory["trajectory_id"], "agent": trajectory["agent"],
    } });
    [head].into_iter().chain(list(trajectory, "steps").cloned()).collect()
}

/// The trajectories of subagents in a trajectory, at any depth.
fn embedded(trajectory: &Json, agents: &mut Vec<(AgentFile, Vec<Json>)>) {
    let mut open: Vec<&Json> = list(trajectory, "subagent_trajectories").collect();
    while let Some(agent) = open.pop() {
        let id = ["trajectory_id", "session_id"].iter().map(|key| text(agent, key)).find(|id| !id.is_empty());
        let file = AgentFile { id: id.unwrap_or_default().to_owned(), ..AgentFile::default() };
        agents.push((file, steps(agent).split_off(1)));
        open.extend(list(agent, "subagent_trajectories"));
    }
}

fn of_swe_agent(document: &Json) -> Vec<Json> {
    // While a run that makes several attempts continues, it has only its attempts.
    let last = list(document, "attempts").last().filter(|_| document.get("trajectory").is_none());
    let document = last.unwrap_or(document);
    let mut records = vec![json!({ "session": { "info": document["info"] } })];
    let messages = if document.get("messages").is_some() { "messages" } else { "history" };
    if document.get("trajectory").is_some_and(Json::is_array) {
        let is_task =
            |message: &&Json| text(message, "role") == "user" && message.get("is_demo").is_none_or(|is| is != true);
        records.extend(
            list(document, messages).find(is_task).map(|message| json!({ "message": message, "isTask": true })),
        );
        let steps = list(document, "trajectory").enumerate();
        records.extend(steps.map(|(number, step)| json!({ "step": step, "number": number })));
    } else {
        let task = list(document, messages).position(|message| text(message, "role") == "user");
        let numbered = list(document, messages).enumerate();
        records.extend(numbered.map(|(number, message)| json!({ "message": message, "isTask": task == Some(number) })));
    }
    let mut end = document["info"].clone();
    if messages == "messages"
        && let Some(info) = end.as_object_mut()
    {
        // The messages tell what each answer has used.
        info.remove("model_stats");
    }
    records.push(json!({ "end": end }));
    records
}
