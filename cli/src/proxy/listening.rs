//! The address at which this proxy listens, and who may use it: no program without the secret in the path,
//! and no page in a browser.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::body::{self, Body};
use super::forwarding::Forwarding;
use super::idle::Idle;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::token::Token;

/// The header in which a client can send the secret, if others may see its URL. It ends here.
pub const SECRET_HEADER: &str = "x-callstack-secret";
/// Maximum number of clients that are connected at the same time.
const MOST_CONNECTIONS: usize = 4096;
/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);
/// How much longer a client may be silent than the upstream, so that it is told that the upstream is silent.
const GRACE: Duration = Duration::from_secs(5);

/// A proxy that has its address.
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    pub secret: Arc<Token>,
}

impl Listening {
    /// # Errors
    /// If others can reach the address, or it cannot be used.
    pub async fn new(address: SocketAddr) -> Result<Self, Failure> {
        if !address.ip().is_loopback() {
            let message =
                format!("{address} can be reached from other machines; use 127.0.0.1 or [::1], and a tunnel or proxy");
            return Err(Failure::new(Exit::Usage, "address", message));
        }
        let failed = |error| Failure::new(Exit::Failed, "io", format!("cannot serve at {address}: {error}"));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let no_secret = |error| Failure::new(Exit::Failed, "io", format!("no secret can be made: {error}"));
        Ok(Self { listener, address, secret: Arc::new(Token::random().map_err(no_secret)?) })
    }

    /// The URL in place of that of the upstream. It has the secret.
    pub fn url(&self) -> String {
        format!("{}/{}", self.origin(), self.secret)
    }

    /// The same without the secret.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until the future is dropped. `idle`: the time of silence after which a connection is cut.
    pub async fn serve(self, forwarding: Arc<Forwarding>, idle: Duration) {
        let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            // The other clients wait in the queue of the system.
            let Ok(connection) = connections.clone().acquire_owned().await else { return };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                // The client has gone already, or too many files are open: a later client may succeed.
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            };
            // Each event of a stream goes out at once.
            let _ = stream.set_nodelay(true);
            let (forwarding, secret) = (forwarding.clone(), self.secret.clone());
            tokio::spawn(async move {
                let answer = service_fn(move |request| answer(forwarding.clone(), secret.clone(), request));
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(None);
                server.preserve_header_case(true).auto_date_header(false);
                let stream = Idle::new(TokioIo::new(stream), idle + GRACE);
                // A connection that breaks off concerns only its client.
                let _ = server.serve_connection(stream, answer).with_upgrades().await;
                drop(connection);
            });
        }
    }
}

async fn answer(
    forwarding: Arc<Forwarding>,
    secret: Arc<Token>,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, hyper::Error> {
    if !is_meant(request.headers()) {
        tracing::warn!("a request for another host, or of a page in a browser, was refused");
        return Ok(bare(StatusCode::FORBIDDEN));
    }
    let whole = request.uri().path_and_query().map_or("", |path| path.as_str()).to_owned();
    let path = match request.headers_mut().remove(SECRET_HEADER) {
        Some(given) => secret.is(given.as_bytes()).then_some(&*whole),
        None => below_secret(&whole, &secret),
    };
    match path {
        Some(path) => forwarding.forward(path, request).await,
        None => {
            tracing::warn!("a request without the secret was refused");
            Ok(bare(StatusCode::NOT_FOUND))
        }
    }
}

/// True for a request that names this machine and comes from a program: pages in browsers send `Origin`, or
/// the name of a host of their own.
fn is_meant(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let named = hosts.next().and_then(|host| host.to_str().ok()).and_then(|host| host.parse::<Authority>().ok());
    let is_ours = named.is_some_and(|named| {
        let host = named.host().trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    });
    is_ours && hosts.next().is_none() && !headers.contains_key(ORIGIN)
}

/// What comes after the secret in a path with its query.
fn below_secret<'a>(whole: &'a str, secret: &Token) -> Option<&'a str> {
    let begun = whole.strip_prefix('/')?;
    let end = begun.find(['/', '?']).unwrap_or(begun.len());
    let (given, path) = begun.split_at(end);
    secret.is(given.as_bytes()).then_some(path)
}

fn bare(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_behind_the_secret_is_passed_on() {
        let secret = Token::from("key".to_owned());
        assert_eq!(below_secret("/key/v1/messages?beta=true", &secret), Some("/v1/messages?beta=true"));
        assert_eq!(below_secret("/key", &secret), Some(""));
        assert_eq!(below_secret("/key?a=b", &secret), Some("?a=b"));
        for wrong in ["/", "/ke/v1", "/keys/v1", "//key/v1", "/v1/key", "key/v1", "*"] {
            assert_eq!(below_secret(wrong, &secret), None, "{wrong}");
        }
    }

    #[test]
    fn pages_in_browsers_are_refused() {
        let headers = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            headers
        };
        for host in ["127.0.0.1:8400", "localhost", "LOCALHOST:1", "[::1]:8400"] {
            assert!(is_meant(&headers(&[("host", host)])), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", ""] {
            assert!(!is_meant(&headers(&[("host", host)])), "{host}");
        }
        assert!(!is_meant(&headers(&[])));
        assert!(!is_meant(&headers(&[("host", "localhost"), ("host", "evil.example")])));
        assert!(!is_meant(&headers(&[("host", "localhost"), ("origin", "https://evil.example")])));
    }
}
