//! Puts the question of a blocked frame to the person, if the host can show one (elicitation).
//!
//! Hosts of protocol 2026-07-28 repeat the call with the person's answer. Older hosts get a request; if the
//! answer comes after the call has ended, it is noted with the frame.

use std::collections::BTreeMap;
use std::time::Duration;

use callstack_core::Stack;
use callstack_core::tools::conversation::{Question, Refusal};
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer, ServiceError};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::{select, time};

/// How long a call waits for the person: less than the shortest patience of a host without progress, one
/// minute.
const PATIENCE: Duration = Duration::from_secs(50);
/// The name of the only field of the form, and of the only request.
const FIELD: &str = "answer";

/// The request to the host.
fn shown(question: &Question, stack: &Stack) -> ElicitRequestParams {
    let schema =
        ElicitationSchema::builder().required_string_with(FIELD, |field| field.title("Answer")).build_unchecked();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.message(stack),
        requested_schema: schema,
    }
}

/// Reads a repeated call: the question that it names, and the person's answer if the person gave one. `None`:
/// it is a first call.
///
/// # Errors
/// If it names no question.
pub fn repeated(request: &CallToolRequestParams) -> Option<Result<(Question, Option<String>), Refusal>> {
    let state = request.request_state.as_deref()?;
    let Some(question) = Question::read(state) else {
        return Some(Err("requestState is not one that this server has given: call without it".into()));
    };
    let given = request.input_responses.as_ref().and_then(|responses| responses.get(FIELD));
    let given = given.and_then(|given| serde_json::from_value::<ElicitResult>(given.clone()).ok());
    Some(Ok((question, given.and_then(answer_in))))
}

/// How a host is asked.
pub enum Way {
    /// It gets the question as the answer to the call, and repeats the call.
    Repeat,
    /// It gets a request while the call waits.
    Request,
}

impl Way {
    /// `None` if the host cannot show a question.
    pub fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let shown = context.client_capabilities()?.elicitation?;
        // A host that does not name a kind shows forms.
        if shown.form.is_none() && shown.url.is_some() {
            return None;
        }
        match context.protocol_version()? >= ProtocolVersion::V_2026_07_28 {
            true => Some(Self::Repeat),
            false => Some(Self::Request),
        }
    }
}

/// The answer with which a host repeats the call.
pub fn repeat(question: &Question, stack: &Stack) -> InputRequiredResult {
    let asked = InputRequest::Elicitation(ElicitRequest::new(shown(question, stack)));
    InputRequiredResult::new(Some(BTreeMap::from([(FIELD.to_owned(), asked)])), Some(question.to_string()))
}

/// The result of a request to the host to ask the person.
pub enum Outcome {
    /// The person has decided. The answer, if the person gave one.
    Decided(Option<String>),
    /// The person is still being asked.
    Open,
    /// The host could not ask.
    Failed,
}

/// Asks the person, and waits a while. An answer that comes later is noted with the frame.
pub async fn request(question: &Question, stack: Stack, context: &RequestContext<RoleServer>) -> Outcome {
    let (decide, decided) = oneshot::channel();
    let (peer, params) = (context.peer.clone(), shown(question, &stack));
    let question = question.clone();
    tokio::spawn(async move {
        let result = peer.create_elicitation(params).await.map(answer_in);
        // The call has ended before the answer came.
        let Err(Ok(Some(answer))) = decide.send(result) else { return };
        let named = question.to_string();
        if let Ok(Err(error)) = spawn_blocking(move || question.note(&stack, answer)).await {
            tracing::warn!("the answer to {named} is not kept: {}", error.code());
        }
    });
    select! {
        decided = decided => match decided {
            Ok(Ok(answer)) => Outcome::Decided(answer),
            Ok(Err(error)) => {
                tracing::warn!("the host cannot ask the person: {}", kind(&error));
                Outcome::Failed
            }
            Err(_) => Outcome::Failed,
        },
        () = time::sleep(PATIENCE) => Outcome::Open,
        () = context.ct.cancelled() => Outcome::Open,
    }
}

/// The kind of the error, for the log. The host's own message may repeat the question.
fn kind(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => format!("error {}", error.code.0),
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => "the host has gone".to_owned(),
        ServiceError::UnexpectedResponse => "its answer is of another kind".to_owned(),
        ServiceError::Cancelled { .. } => "it has cancelled the request".to_owned(),
        ServiceError::Timeout { .. } => "it has not answered in time".to_owned(),
        _ => "the request has failed".to_owned(),
    }
}

/// The text that the person has sent.
fn answer_in(result: ElicitResult) -> Option<String> {
    let answer = result.content.filter(|_| result.action == ElicitationAction::Accept)?;
    let answer = answer.get(FIELD)?.as_str()?.trim();
    (!answer.is_empty()).then(|| answer.to_owned())
}
