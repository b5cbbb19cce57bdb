//! The server over HTTP, at an address of this machine. A caller needs the token that the program writes when
//! it starts; the library checks the headers `Host` and `Origin`, so that no page in a browser can reach the
//! server.

use std::convert::Infallible;
use std::env;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::messages;
use super::server::{Server, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report};
use crate::token::Token;

/// The path at which the server answers.
const PATH: &str = "/mcp";
/// The variable with the token. If it is not set, a new token is made at each start.
const VARIABLE: &str = "CALLSTACK_MCP_TOKEN";
/// The beginning of the header, before the token.
const SCHEME: &str = "Bearer ";
/// Maximum number of clients that are connected at the same time.
const MOST_CONNECTIONS: usize = 256;
/// How long a client may take for the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// A server that is ready.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpAddress {
    url: String,
    /// Callers send it in the header `Authorization: Bearer TOKEN`. Absent if it is that of
    /// `CALLSTACK_MCP_TOKEN`.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl Report for McpAddress {
    const KIND: &'static str = "mcpAddress";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.raw(&format!("serving {}\n", self.url))?;
        match &self.token {
            Some(token) => page.raw(&format!("Authorization: Bearer {token}\n")),
            None => page.raw(&format!("with the token of {VARIABLE}\n")),
        }
    }
}

type Service = StreamableHttpService<Server, NeverSessionManager>;
type Body = BoxBody<Bytes, Infallible>;

/// Serves until the program ends.
pub async fn serve(address: SocketAddr, shared: Arc<Shared>, output: Output) -> Result<Exit, Failure> {
    if !address.ip().is_loopback() {
        let message =
            format!("{address} can be reached from other machines; use 127.0.0.1 or [::1], and a tunnel or proxy");
        return Err(Failure::new(Exit::Usage, "address", message));
    }
    let given = env::var(VARIABLE).ok().map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    let token = given.clone().map_or_else(new_token, |given| Ok(given.into()))?;
    let failed = |error| Failure::new(Exit::Failed, "io", format!("cannot serve at {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let token_shown = given.is_none().then(|| token.to_string());
    output.stream(&McpAddress { url: format!("http://{address}{PATH}"), token: token_shown })?;
    let own = address.ip().to_string();
    // Each request is independent of the others, so that servers can end and start again at any time.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts(["localhost", "127.0.0.1", "::1", &own])
        .enforce_origin_validation();
    let make = move || Ok(Server::new(shared.clone()));
    let service = StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), config);
    let expected = Arc::new(token);
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        // The other clients wait in the queue of the system.
        let Ok(connection) = connections.clone().acquire_owned().await else { return Ok(Exit::Done) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // The client has gone already, or too many files are open: a later client may succeed.
            Err(_) => {
                sleep(PAUSE).await;
                continue;
            }
        };
        let (service, expected) = (service.clone(), expected.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request| answer(service.clone(), expected.clone(), request));
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
            // A connection that breaks off concerns only its client.
            let _ = server.serve_connection(TokioIo::new(stream), answer).await;
            drop(connection);
        });
    }
}

async fn answer(
    service: Service,
    expected: Arc<Token>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let given = request.headers().get(AUTHORIZATION).map(|value| value.as_bytes());
    let given = given.and_then(|given| given.split_at_checked(SCHEME.len()));
    let is_right =
        |(scheme, token): (&[u8], &[u8])| scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) && expected.is(token);
    if !given.is_some_and(is_right) {
        let mut refused =
            plain(StatusCode::UNAUTHORIZED, "the header Authorization: Bearer TOKEN is missing or wrong\n");
        refused.headers_mut().insert(WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
        return Ok(refused);
    }
    if request.uri().path() != PATH {
        return Ok(plain(StatusCode::NOT_FOUND, "the server answers at /mcp\n"));
    }
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, service.config.max_request_body_bytes).collect().await else {
        return Ok(plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long, or ends too early\n"));
    };
    // There is an answer even if the body is not a message. The library knows only that the body cannot be
    // read.
    let body = body.to_bytes();
    let text = match messages::read(&body) {
        Ok((_, text)) => text.into_owned(),
        Err(unreadable) if head.method == Method::POST => match unreadable.answer() {
            Some(answer) => return Ok(json(StatusCode::BAD_REQUEST, &answer)),
            None => return Ok(plain(StatusCode::BAD_REQUEST, "the body is not a message\n")),
        },
        Err(_) => String::new(),
    };
    Ok(service.handle(Request::from_parts(head, Full::new(Bytes::from(text)))).await)
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

fn json(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

fn new_token() -> Result<Token, Failure> {
    Token::random().map_err(|error| Failure::new(Exit::Failed, "io", format!("no token can be made: {error}")))
}
