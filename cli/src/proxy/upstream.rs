//! The server behind this proxy: its URL, and the connections to it, directly or through a proxy of the
//! network.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, HOST, PROXY_AUTHORIZATION};
use http::uri::{Authority, Parts, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::RootCertStore;
use tokio::time::timeout;
use tower_service::Service;

use super::authorities;
use super::body::{Body, Error};
use super::idle::Idle;
use crate::exit::Exit;
use crate::failure::Failure;

/// How long a connection may take to be made, with its encryption.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection is kept that no request uses.
const KEPT: Duration = Duration::from_secs(60);

/// The server behind this proxy.
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    /// The beginning of all paths, without a slash at its end.
    path: String,
    host: HeaderValue,
    /// The name and password of the URL, for requests without credentials of their own.
    authorization: Option<HeaderValue>,
    /// For a proxy of the network that passes requests on itself.
    proxy_authorization: Option<HeaderValue>,
    client: Client<Connector, Body>,
}

impl Upstream {
    /// `url`: the beginning of the URLs of its requests. `idle`: the time of silence after which a connection
    /// is cut.
    ///
    /// # Errors
    /// If the URL is not an HTTP URL, or the certificates of the system cannot be read.
    pub fn new(url: &str, idle: Duration) -> Result<Self, Failure> {
        let refused = |why: &str| {
            Failure::new(Exit::Usage, "upstream", format!("the URL of the upstream {why}"))
                .next("name the beginning of its URLs, such as https://api.anthropic.com")
        };
        let Parts { scheme, authority, path_and_query, .. } =
            url.trim().parse::<Uri>().map_err(|error| refused(&format!("cannot be read: {error}")))?.into_parts();
        let (Some(scheme), Some(authority)) = (scheme, authority) else {
            return Err(refused("has no scheme or no host"));
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(refused("does not begin with http:// or https://"));
        }
        let path = path_and_query.as_ref().map_or("", PathAndQuery::path).trim_end_matches('/').to_owned();
        if path_and_query.is_some_and(|given| given.query().is_some()) {
            return Err(refused("has a query"));
        }
        let (credentials, host) = match authority.as_str().rsplit_once('@') {
            Some((credentials, host)) => (Some(credentials), host),
            None => (None, authority.as_str()),
        };
        let no_host = |_| refused("has a host that cannot be read");
        let authorization =
            credentials.map(basic).transpose().map_err(|_| refused("has a password that cannot be sent"))?;
        let authority: Authority = host.parse().map_err(no_host)?;
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| refused("has a host that cannot be sent"))?;
        let connector = Connector::new(&scheme, &authority, idle)?;
        let proxy_authorization = connector.proxy_authorization.clone();
        let mut client = Client::builder(TokioExecutor::new());
        client.http1_preserve_header_case(true).http1_allow_obsolete_multiline_headers_in_responses(true);
        client.pool_idle_timeout(KEPT).pool_timer(TokioTimer::new());
        let client = client.build(connector);
        Ok(Self { scheme, authority, path, host, authorization, proxy_authorization, client })
    }

    /// Sends a request to a path, with its query, below the URL.
    ///
    /// # Errors
    /// If the path is not a path, or no answer comes.
    pub async fn send(&self, path: &str, mut request: Request<Body>) -> Result<Response<Incoming>, Unanswered> {
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        let below = format!("{}{path}", self.path);
        let path = if below.starts_with('/') { below } else { format!("/{below}") };
        parts.path_and_query = Some(path.parse().map_err(|_| Unanswered::new("the path is none".into()))?);
        *request.uri_mut() = Uri::from_parts(parts).map_err(|error| Unanswered::new(error.into()))?;
        self.identify(request.headers_mut());
        self.client.request(request).await.map_err(|error| Unanswered::new(error.into()))
    }

    fn identify(&self, headers: &mut HeaderMap) {
        headers.insert(HOST, self.host.clone());
        if let Some(authorization) = &self.authorization
            && !headers.contains_key(AUTHORIZATION)
        {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        if let Some(authorization) = &self.proxy_authorization {
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
        }
    }
}

/// Its name for people: its URL without a password.
impl fmt::Display for Upstream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

/// The header for a name and a password, as they are written in a URL.
fn basic(credentials: &str) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(decoded(credentials))))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A text without the escapes of URLs.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let escaped = behind.get(..2).and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        match escaped.filter(|_| *first == b'%') {
            Some(byte) => (bytes.push(byte), rest = &behind[2..]).0,
            None => (bytes.push(*first), rest = behind).0,
        }
    }
    bytes
}

/// Why no answer has come.
pub struct Unanswered {
    /// Nothing moved for too long.
    pub is_silent: bool,
    reason: String,
}

impl Unanswered {
    fn new(error: Error) -> Self {
        let mut is_silent = false;
        let mut reason = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            is_silent |= next.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
            reason = next.to_string();
            cause = next.source();
        }
        Self { is_silent, reason }
    }
}

/// Only the first cause: the errors above it say nothing more.
impl fmt::Display for Unanswered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

/// A connection of any kind.
trait Stream: Read + Write + Connection + Unpin + Send {}
impl<T: Read + Write + Connection + Unpin + Send> Stream for T {}

/// A connection to the upstream.
pub struct Link {
    stream: Box<dyn Stream>,
    /// At its other end is a proxy that wants whole URLs.
    is_forwarded: bool,
}

/// Makes connections to the upstream.
#[derive(Clone)]
struct Connector {
    route: Route,
    proxy_authorization: Option<HeaderValue>,
    idle: Duration,
}

type Direct = HttpsConnector<HttpConnector>;

#[derive(Clone)]
enum Route {
    Direct(Direct),
    /// Through a proxy that passes on requests without encryption.
    Forwarded(Uri, Direct),
    /// Through a proxy that passes on bytes.
    Tunnelled(Box<HttpsConnector<Tunnel<Direct>>>),
}

impl Connector {
    fn new(scheme: &Scheme, authority: &Authority, idle: Duration) -> Result<Self, Failure> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let whole = Uri::builder().scheme(scheme.clone()).authority(authority.clone()).path_and_query("/").build();
        let proxy = whole.ok().filter(|_| !is_here(authority)).and_then(|url| Matcher::from_system().intercept(&url));
        let Some(proxy) = proxy else {
            return Ok(Self { route: Route::Direct(encrypted(tcp, scheme)?), proxy_authorization: None, idle });
        };
        let proxy_scheme = proxy.uri().scheme().cloned().unwrap_or(Scheme::HTTP);
        if proxy_scheme != Scheme::HTTP && proxy_scheme != Scheme::HTTPS {
            let message = format!("a proxy of the kind {proxy_scheme} cannot be used for the upstream");
            return Err(Failure::new(Exit::Usage, "network_proxy", message)
                .next("set HTTPS_PROXY to one of HTTP, or name the upstream in NO_PROXY"));
        }
        let first = encrypted(tcp, &proxy_scheme)?;
        let authorization = proxy.basic_auth().cloned();
        if *scheme == Scheme::HTTP {
            let route = Route::Forwarded(proxy.uri().clone(), first);
            return Ok(Self { route, proxy_authorization: authorization, idle });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), first);
        if let Some(authorization) = authorization {
            tunnel = tunnel.with_auth(authorization);
        }
        Ok(Self { route: Route::Tunnelled(Box::new(encrypted(tunnel, scheme)?)), proxy_authorization: None, idle })
    }
}

/// True for a server of this machine, which no proxy of the network can reach.
fn is_here(authority: &Authority) -> bool {
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A connector that encrypts if the scheme asks for it. The trusted authorities are read only then.
fn encrypted<T>(connector: T, scheme: &Scheme) -> Result<HttpsConnector<T>, Failure> {
    let builder = match *scheme == Scheme::HTTPS {
        true => authorities::trusting().map_err(|error| {
            Failure::new(
                Exit::Failed,
                "certificates",
                format!("the certificates of the system cannot be read: {error}"),
            )
        })?,
        false => HttpsConnectorBuilder::new().with_tls_config(authorities::trusting_those(RootCertStore::empty())),
    };
    Ok(builder.https_or_http().enable_http1().wrap_connector(connector))
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Link, Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match &mut self.route {
            Route::Direct(direct) | Route::Forwarded(_, direct) => direct.poll_ready(context),
            Route::Tunnelled(tunnel) => tunnel.poll_ready(context),
        }
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let (idle, is_forwarded) = (self.idle, matches!(self.route, Route::Forwarded(..)));
        let connecting = match &mut self.route {
            Route::Direct(direct) => linked(direct.call(url), idle),
            Route::Forwarded(proxy, direct) => linked(direct.call(proxy.clone()), idle),
            Route::Tunnelled(tunnel) => linked(tunnel.call(url), idle),
        };
        Box::pin(async move {
            let stream = timeout(CONNECT_TIMEOUT, connecting).await.map_err(|_| {
                let message = format!("no connection within {} seconds", CONNECT_TIMEOUT.as_secs());
                io::Error::new(io::ErrorKind::TimedOut, message)
            })??;
            Ok(Link { stream, is_forwarded })
        })
    }
}

/// A connection that is being made.
type Linking = Pin<Box<dyn Future<Output = Result<Box<dyn Stream>, Error>> + Send>>;

fn linked<T: Stream + 'static>(
    connecting: impl Future<Output = Result<T, Error>> + Send + 'static,
    idle: Duration,
) -> Linking {
    Box::pin(async move {
        let stream: Box<dyn Stream> = Box::new(Idle::new(connecting.await?, idle));
        Ok(stream)
    })
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_forwarded)
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Link {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }
}
