//! Why a request has no answer: converts the errors of genai to messages that say what to do.

use std::time::Duration;

use callstack_core::text::from_json;
use serde_json::Value;

use super::limits::context_limit;
use super::model::ModelError;

/// Maximum length of what a provider has said, in characters.
const LONGEST: usize = 300;

/// The names for messages: the model, its address, and the variable with the API key.
pub struct Names {
    pub model: String,
    pub address: String,
    pub key_variable: String,
    pub has_key: bool,
}

impl Names {
    /// Converts an error of genai: whether it is temporary, and a message with advice.
    pub fn problem(&self, error: &genai::Error) -> ModelError {
        let model = &self.model;
        if let Some(http) = http_error(error) {
            return self.refusal(&http);
        }
        match cause(error) {
            Some(cause) if cause.contains("error sending request") => ModelError::Unreachable {
                problem: format!("{} cannot be reached: {cause}; check --base-url", self.address),
            },
            Some(cause) => {
                ModelError::Later { problem: format!("the answer of {model} broke off: {cause}"), after: None }
            }
            // An error within the answer.
            None => {
                let said = match error {
                    genai::Error::ChatResponse { body, .. } => message_of(&body.to_string()),
                    other => other.to_string(),
                };
                match context_limit(&said) {
                    Some(limit) => ModelError::TooLong { problem: self.too_long(&said), limit },
                    None => ModelError::Later {
                        problem: format!("{model} answered with an error: {}", beginning(&said)),
                        after: None,
                    },
                }
            }
        }
    }

    /// The problem of an address that answers, but not as a model does. `error`: the error of a request
    /// without streaming.
    pub fn no_model(&self, error: &genai::Error) -> ModelError {
        let what = match error {
            genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
                match webc_error {
                    genai::webc::Error::ResponseFailedNotJson { content_type, body } => match page(body) {
                        Some(page) => page,
                        None => format!("a text of the type {content_type}"),
                    },
                    _ => "something else".into(),
                }
            }
            _ => "something else".into(),
        };
        ModelError::Unreachable {
            problem: format!(
                "{} is not the address of a model API: it answers with {what}; check --base-url, which usually ends in \
                 /v1/",
                self.address
            ),
        }
    }

    /// The problem of an answer that does not end.
    pub fn endless(&self, bytes: usize) -> ModelError {
        ModelError::Never {
            problem: format!("the answer of {} has more than {bytes} bytes; limit it with --max-tokens", self.model),
        }
    }

    /// The problem of an address that answers a request without streaming, but not a request with streaming.
    pub fn no_stream(&self) -> ModelError {
        ModelError::Unreachable {
            problem: format!("{} does not stream the answers of {}, which is needed", self.address, self.model),
        }
    }

    /// The problem of a response with an error status.
    fn refusal(&self, http: &HttpError) -> ModelError {
        let Self { model, address, key_variable, has_key } = self;
        let HttpError { status, said, after } = http;
        let status = *status;
        let page = page(said);
        let short = page.clone().unwrap_or_else(|| beginning(said));
        let small = said.to_lowercase();
        let is_of_key = small.contains("api key") || small.contains("api-key") || small.contains("api_key");
        let limit = context_limit(said).filter(|_| status < 500);
        if limit.is_some() || status == 413 {
            return ModelError::TooLong { problem: self.too_long(&short), limit: limit.unwrap_or_default() };
        }
        match status {
            408 | 409 | 429 | 500 | 502..=504 | 506.. => {
                let problem = format!("{model} answers {status}: {short}");
                ModelError::Later { problem, after: *after }
            }
            _ if page.is_some() => ModelError::Never {
                problem: format!(
                    "{address} is not the address of a model API: it answers {status} with {short}; check --base-url, \
                     which usually ends in /v1/"
                ),
            },
            401 | 403 | 400 if !has_key && (status != 400 || is_of_key) => ModelError::Never {
                problem: format!("{address} wants an API key: set {key_variable} ({status}: {short})"),
            },
            401 | 403 | 400 if status != 400 || is_of_key => ModelError::Never {
                problem: format!("{address} refuses the API key in {key_variable} ({status}: {short})"),
            },
            400 | 404 | 422 if is_of_model(&small, model) => ModelError::Never {
                problem: format!("{address} has no model {model}; check --model ({status}: {short})"),
            },
            404 | 405 | 501 => ModelError::Never {
                problem: format!(
                    "{address} is not the address of a model API; check --base-url, which usually ends in /v1/ \
                     ({status}: {short})"
                ),
            },
            _ => ModelError::Never { problem: format!("{model} refuses the request ({status}: {short})") },
        }
    }

    fn too_long(&self, said: &str) -> String {
        format!("{} refuses the prompt as too long: {}", self.model, beginning(said))
    }
}

/// True if a refusal says that there is no such model. `said`: the refusal in lower case.
fn is_of_model(said: &str, model: &str) -> bool {
    const TEXTS: [&str; 8] = [
        "not exist",
        "not found",
        "not_found",
        "no such",
        "unknown model",
        "invalid model",
        "not a valid model",
        "not supported",
    ];
    let names_it = said.contains("model") || said.contains(&model.to_lowercase());
    names_it && (TEXTS.iter().any(|text| said.contains(text)) || said.trim_start().starts_with("model:"))
}

/// An error response of an HTTP server.
struct HttpError {
    status: u16,
    said: String,
    after: Option<Duration>,
}

/// The HTTP error behind an error. The error of a stream contains it as an inner error.
fn http_error(error: &genai::Error) -> Option<HttpError> {
    let error = match error {
        genai::Error::WebStream { error, .. } => error.downcast_ref::<genai::Error>()?,
        other => other,
    };
    let status = error.status()?.as_u16();
    let said = match error {
        genai::Error::HttpError { body, .. } => message_of(body),
        other => other.to_string(),
    };
    let header = error.headers().and_then(|headers| headers.get("retry-after")?.to_str().ok()?.parse().ok());
    Some(HttpError { status, said, after: header.map(Duration::from_secs) })
}

/// The message in a provider's error response, or the whole response if it has none.
fn message_of(body: &str) -> String {
    let json: Value = from_json(body).unwrap_or_default();
    let places = [&json["error"]["message"], &json["error"], &json["message"], &json["detail"]];
    places.into_iter().find_map(Value::as_str).unwrap_or(body).trim().to_owned()
}

/// The message about a response that is a web page: its title.
fn page(body: &str) -> Option<String> {
    let small = body.trim_start().to_lowercase();
    if !["<!doctype", "<html", "<head", "<body"].iter().any(|begin| small.starts_with(begin)) {
        return None;
    }
    // In lower case some characters have other lengths, so the title is taken from the text in lower case.
    let title = small.split_once("<title").and_then(|(_, rest)| rest.split_once('>')?.1.split_once("</title"));
    Some(match title.map(|(title, _)| beginning(title.trim())) {
        Some(title) if !title.is_empty() => format!("a web page, “{title}”"),
        _ => "a web page".into(),
    })
}

/// The message of a stream's error, with all its causes.
fn cause(error: &genai::Error) -> Option<String> {
    let genai::Error::WebStream { error, .. } = error else { return None };
    let mut text = error.to_string();
    let mut deeper = error.source();
    while let Some(source) = deeper {
        text.push_str(&format!(": {source}"));
        deeper = source.source();
    }
    Some(text)
}

fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "no message".into(),
        None => line,
    }
}
