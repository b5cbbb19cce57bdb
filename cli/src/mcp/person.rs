//! Puts the question of a blocked frame to the person, if the host can show one (elicitation).
//!
//! The frame is blocked before anybody is asked, so nothing is lost if nobody answers: the question stays with the frame.
//! Hosts of protocol 2026-07-28 repeat the call with the person's answer. Older ones are sent a request; an answer that
//! comes after the call has ended is noted with the frame.

use std::collections::BTreeMap;
use std::time::Duration;

use callstack_core::frame::Holder;
use callstack_core::{FrameStatus, Handle, Stack};
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer, ServiceError};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::{select, time};

use super::call::{Answer, Call, Refusal, indented, name};
use super::caller::Caller;

/// How long a call waits for the person: less than the shortest patience of a host without progress, one minute.
const PATIENCE: Duration = Duration::from_secs(50);
/// The name of the only field of the form, and of the only request.
const FIELD: &str = "answer";

/// A question that a frame was blocked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    frame: Handle,
    /// Which of the frame's questions it is: it may have been answered, and another one asked, in the meantime.
    number: usize,
}

impl Question {
    /// The question of a blocked frame that has no answer yet.
    pub fn of(stack: &Stack, frame: Handle) -> Option<Self> {
        stack.read(|tree| {
            let record = tree.node(frame).record();
            let is_open = record.status == FrameStatus::Blocked && record.pending_answer().is_none();
            (is_open && !record.waits_for().trim().is_empty()).then_some(Self { frame, number: record.questions.len() })
        })
    }

    /// True if the frame still waits for the answer to it.
    fn is_open(&self, stack: &Stack) -> bool {
        Self::of(stack, self.frame).as_ref() == Some(self)
    }

    /// The text that the host shows to the person.
    fn message(&self, stack: &Stack) -> String {
        stack.read(|tree| {
            let node = tree.node(self.frame);
            format!("{} waits for an answer:\n{}", name(node.title(), self.frame), node.record().waits_for())
        })
    }

    /// The text by which a host names the question when it repeats the call, such as `f3/1`.
    fn state(&self) -> String {
        format!("{}/{}", self.frame, self.number)
    }

    fn of_state(state: &str) -> Option<Self> {
        let (frame, number) = state.split_once('/')?;
        Some(Self { frame: frame.parse().ok()?, number: number.parse().ok()? })
    }

    /// Notes an answer that comes after the call has ended, unless somebody else has given one.
    fn note(&self, stack: &Stack, answer: String) {
        let is_current = stack.refresh().is_ok() && self.is_open(stack);
        if is_current && let Err(error) = stack.answer(self.frame, answer) {
            tracing::warn!("the answer to {} is not kept: {}", self.frame, error.code());
        }
    }

    /// The request to the host.
    fn request(&self, stack: &Stack) -> ElicitRequestParams {
        let schema =
            ElicitationSchema::builder().required_string_with(FIELD, |field| field.title("Answer")).build_unchecked();
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.message(stack),
            requested_schema: schema,
        }
    }

    /// Goes on in the frame with the person's answer, or without one if they gave none.
    pub fn resume(&self, call: &Call<'_>, answer: Option<&str>) -> Answer {
        // The host may name anything.
        call.resolve(&self.frame.to_string())?;
        let frame = call.name(self.frame);
        let status = call.stack.read(|tree| tree.node(self.frame).status());
        let Some(answer) = answer else {
            return call.answer_from(
                call.bound(),
                format!(
                    "{frame} is {status}. The person was asked and has given no answer; activate {{\"frame\": \"{}\", \"answer\": \
                     \"…\"}} goes on once there is one.",
                    self.frame
                ),
            );
        };
        if !self.is_open(call.stack) {
            let text = format!(
                "{frame} is {status} in the meantime, so the person's answer was not used:{}",
                indented(answer)
            );
            return call.answer_from(call.bound(), text);
        }
        call.stack.answer(self.frame, answer)?;
        let is_last = |caller: &Caller| {
            let is_caller = |holder: &Holder| holder.name == caller.as_str();
            call.stack.read(|tree| tree.node(self.frame).record().holder.as_deref().is_some_and(is_caller))
        };
        let has_worked = call.caller.is_none_or(is_last);
        if !has_worked {
            // Another conversation asked: the frame waits for it, with the answer.
            let text = format!("{frame} has its answer from the person; whoever works there can activate it now.");
            return call.answer_from(call.bound(), text);
        }
        call.stack.set_status(self.frame, FrameStatus::InProgress, None)?;
        let text = format!("{frame} is in progress again: go on in it. The person has answered:{}", indented(answer));
        call.answer_from(Some(self.frame), text)
    }
}

/// Reads a repeated call: the question that it names, and the person's answer if they gave one. `None`: it is a first call.
///
/// # Errors
/// If it names no question.
pub fn repeated(request: &CallToolRequestParams) -> Option<Result<(Question, Option<String>), Refusal>> {
    let state = request.request_state.as_deref()?;
    let Some(question) = Question::of_state(state) else {
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
        // A host that names no kind shows forms.
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
    let asked = InputRequest::Elicitation(ElicitRequest::new(question.request(stack)));
    InputRequiredResult::new(Some(BTreeMap::from([(FIELD.to_owned(), asked)])), Some(question.state()))
}

/// The result of a request to the host to ask the person.
pub enum Outcome {
    /// The person has decided: the answer if they gave one.
    Decided(Option<String>),
    /// They are still being asked.
    Open,
    /// The host could not ask.
    Failed,
}

/// Asks the person, and waits a while. An answer that comes later is noted with the frame.
pub async fn request(question: &Question, stack: Stack, context: &RequestContext<RoleServer>) -> Outcome {
    let (decide, decided) = oneshot::channel();
    let (peer, params) = (context.peer.clone(), question.request(&stack));
    let question = question.clone();
    tokio::spawn(async move {
        let result = peer.create_elicitation(params).await.map(answer_in);
        // The call has ended before the answer came.
        if let Err(Ok(Some(answer))) = decide.send(result) {
            let _ = spawn_blocking(move || question.note(&stack, answer)).await;
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

/// What kind of error it is, for the log. The host's own message may repeat the question.
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
