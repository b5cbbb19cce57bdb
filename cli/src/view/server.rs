//! The server of `callstack view --serve`: the page, and its changes as server-sent events, for readers on
//! this machine that know the token. Each connection has a thread of its own and one request.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use httparse::{EMPTY_HEADER, Request, Status};

use super::live::{Live, News};
use super::page;
use super::snapshot::Snapshot;
use crate::failure::Failure;
use crate::token::Token;

/// The maximum number of connections at a time. Further ones are closed.
const MOST_CONNECTIONS: usize = 256;
/// The maximum number of bytes and lines of the head of a request, and the time for it.
const MOST_HEAD: usize = 8 << 10;
const MOST_LINES: usize = 64;
const HEAD_TIME: Duration = Duration::from_secs(5);
/// The time after which a reader that takes nothing is given up.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// The pause after which a reader without news gets an empty line: this shows if the reader has gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// The stack of a thread. The texts are on the heap.
const THREAD_STACK: usize = 128 << 10;
/// The time in which readers are told that the server ends.
const FAREWELL: Duration = Duration::from_millis(300);

/// A running server. When it is dropped, its readers are told that it ends; the port is freed when the
/// program ends.
pub struct Server {
    live: Arc<Live>,
    connections: Arc<AtomicUsize>,
}

/// The address of a server.
#[derive(Clone)]
pub struct Address {
    port: u16,
    token: Token,
}

/// The content that a request asks for.
#[derive(Debug, PartialEq)]
enum Asked {
    Page,
    /// Contains the revision that the reader knows.
    Events(Option<u64>),
}

/// Why a request is refused. The answer says nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Malformed,
    Forbidden,
    Unknown,
}

/// A request that is allowed.
#[derive(Debug, PartialEq)]
struct Allowed {
    asked: Asked,
    /// True if only the head of the answer is wanted.
    is_head: bool,
}

impl Server {
    /// Serves a snapshot at a port of the loopback address; 0 is a free one.
    ///
    /// # Errors
    /// If the port is taken, or if the system gives no random numbers or threads.
    pub fn start(port: u16, snapshot: Snapshot) -> Result<(Self, Address), Failure> {
        let failed = |error: io::Error| Failure::of_file("serve at", format!("127.0.0.1:{port}"), &error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let address = Address { port, token: Token::random().map_err(failed)? };
        let server = Self { live: Arc::new(Live::new(snapshot)), connections: Arc::default() };
        let (live, connections, own) = (server.live.clone(), server.connections.clone(), address.clone());
        let accept = move || listener.incoming().for_each(|stream| accept(stream, &own, &live, &connections));
        thread::Builder::new().stack_size(THREAD_STACK).spawn(accept).map_err(failed)?;
        Ok((server, address))
    }

    /// True if a reader is connected.
    pub fn has_readers(&self) -> bool {
        self.connections.load(Ordering::Acquire) > 0
    }

    /// Says that the stack has changed: readers have to wait for the next snapshot.
    pub fn outdate(&self) {
        self.live.outdate();
    }

    /// Shows a newer snapshot to all readers.
    pub fn change(&self, snapshot: Snapshot) {
        self.live.change(snapshot);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.live.end();
        let end = Instant::now() + FAREWELL;
        while self.connections.load(Ordering::Acquire) > 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Address {
    /// The address for a browser.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Decides about the head of a request.
    fn check(&self, request: &Request<'_, '_>) -> Result<Allowed, Refusal> {
        let header = |name: &str| {
            let mut found = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
            // If a header occurs twice, this is an attempt to be read differently by different programs.
            match (found.next(), found.next()) {
                (Some(header), None) => std::str::from_utf8(header.value).map(Some).map_err(|_| Refusal::Malformed),
                (None, _) => Ok(None),
                (Some(_), Some(_)) => Err(Refusal::Malformed),
            }
        };
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let host = header("host")?.filter(|host| hosts.iter().any(|own| own.eq_ignore_ascii_case(host)));
        let origins = hosts.map(|host| format!("http://{host}"));
        let is_own_origin = header("origin")?.is_none_or(|origin| origins.iter().any(|own| own == origin));
        let site = header("sec-fetch-site")?;
        let is_head = request.method == Some("HEAD");
        if host.is_none() || !is_own_origin || !matches!(site, None | Some("same-origin" | "none")) {
            return Err(Refusal::Forbidden);
        }
        if !is_head && request.method != Some("GET") {
            return Err(Refusal::Forbidden);
        }
        let path = request.path.unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let rest = path.strip_prefix('/').and_then(|path| path.split_once('/'));
        let rest = rest.filter(|(token, _)| self.token.is(token.as_bytes()));
        // A browser that connects again repeats the address, and adds what it has received last.
        let since = header("last-event-id")?.or(query.strip_prefix("since="));
        let asked = match rest {
            Some((_, "")) => Asked::Page,
            Some((_, "events")) => Asked::Events(since.and_then(|revision| revision.parse().ok())),
            _ => return Err(Refusal::Unknown),
        };
        Ok(Allowed { asked, is_head })
    }
}

fn accept(stream: io::Result<TcpStream>, address: &Address, live: &Arc<Live>, connections: &Arc<AtomicUsize>) {
    let Ok(stream) = stream else {
        // The reason can be too many open files. Without a pause the loop would use a whole core.
        return thread::sleep(Duration::from_millis(50));
    };
    let connection = Connection(connections.clone());
    if connections.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
        return;
    }
    let (address, live) = (address.clone(), live.clone());
    // Without a thread the stream is closed.
    let _ = thread::Builder::new().stack_size(THREAD_STACK).spawn(move || {
        let _connection = connection;
        // If this fails, the reader has gone.
        let _ = answer(stream, &address, &live);
    });
}

/// Counts a connection until it is dropped.
struct Connection(Arc<AtomicUsize>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn answer(mut stream: TcpStream, address: &Address, live: &Live) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(WRITE_TIME))?;
    let allowed = read_head(&mut stream, address)?;
    match allowed {
        Err(refusal) => refuse(&mut stream, refusal)?,
        Ok(Allowed { asked: Asked::Page, is_head }) => {
            let page = page::served(&live.snapshot());
            write!(stream, "{}Content-Length: {}\r\n\r\n", head("text/html; charset=utf-8"), page.len())?;
            if !is_head {
                stream.write_all(page.as_bytes())?;
            }
        }
        Ok(Allowed { asked: Asked::Events(known), is_head }) => {
            write!(stream, "{}\r\n", head("text/event-stream"))?;
            if !is_head {
                tell(&mut stream, live, known)?;
            }
        }
    }
    finish(&stream)
}

/// Ends the answer, and reads what the reader still sends: if the connection were closed earlier, the answer
/// could be lost.
fn finish(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut rest = [0; 1024];
    for _ in 0..MOST_HEAD / rest.len() {
        if stream.read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Reads the head of a request, and decides about it.
fn read_head(stream: &mut TcpStream, address: &Address) -> io::Result<Result<Allowed, Refusal>> {
    let end = Instant::now() + HEAD_TIME;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(part.get(..count).unwrap_or_default());
        let mut lines = [EMPTY_HEADER; MOST_LINES];
        let mut request = Request::new(&mut lines);
        match request.parse(&head) {
            Ok(Status::Complete(_)) => return Ok(address.check(&request)),
            Ok(Status::Partial) if head.len() <= MOST_HEAD => {}
            Ok(Status::Partial) | Err(_) => return Ok(Err(Refusal::Malformed)),
        }
    }
}

fn refuse(stream: &mut TcpStream, refusal: Refusal) -> io::Result<()> {
    let status = match refusal {
        Refusal::Malformed => "400 Bad Request",
        Refusal::Forbidden => "403 Forbidden",
        Refusal::Unknown => "404 Not Found",
    };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\nCache-Control: no-store\r\n\r\n")
}

/// The first lines of an answer.
fn head(kind: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {}\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n",
        page::served_policy()
    )
}

/// Tells a reader what changes, until the reader has gone or the server ends.
fn tell(stream: &mut TcpStream, live: &Live, mut known: Option<u64>) -> io::Result<()> {
    // The browser waits a second before it tries again.
    stream.write_all(b"retry: 1000\n\n")?;
    loop {
        match live.news(known, SIGN_OF_LIFE) {
            News::Changed(revision, json) => {
                stream.write_all(format!("id: {revision}\ndata: {json}\n\n").as_bytes())?;
                known = Some(revision);
            }
            News::Nothing => stream.write_all(b":\n\n")?,
            News::Over => return stream.write_all(b"event: over\ndata:\n\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "Host: 127.0.0.1:4000\r\n";

    fn check(head: &str) -> Result<Allowed, Refusal> {
        let address = Address { port: 4000, token: "abc".to_owned().into() };
        let mut lines = [EMPTY_HEADER; MOST_LINES];
        let mut request = Request::new(&mut lines);
        let head = format!("{head}\r\n");
        assert!(request.parse(head.as_bytes()).unwrap().is_complete(), "{head}");
        address.check(&request)
    }

    #[test]
    fn requests_with_the_token_get_the_page_and_the_events() {
        let get = |path: &str, more: &str| check(&format!("GET {path} HTTP/1.1\r\n{HOST}{more}"));
        let allowed = |asked| Ok(Allowed { asked, is_head: false });
        assert_eq!(get("/abc/", ""), allowed(Asked::Page));
        assert_eq!(get("/abc/", "Origin: http://localhost:4000\r\nSec-Fetch-Site: none\r\n"), allowed(Asked::Page));
        assert_eq!(get("/abc/events", ""), allowed(Asked::Events(None)));
        assert_eq!(get("/abc/events?since=7", ""), allowed(Asked::Events(Some(7))));
        assert_eq!(get("/abc/events?since=7", "Last-Event-ID: 9\r\n"), allowed(Asked::Events(Some(9))));
        assert_eq!(check(&format!("HEAD /abc/ HTTP/1.1\r\n{HOST}")), Ok(Allowed { asked: Asked::Page, is_head: true }));
    }

    #[test]
    fn all_others_get_nothing() {
        let get = |path: &str, more: &str| check(&format!("GET {path} HTTP/1.1\r\n{more}"));
        for path in ["/", "/abc", "/ab/", "/abcd/", "/abd/", "/abc/other", "/abc//", "//abc/", "abc/"] {
            assert_eq!(get(path, HOST), Err(Refusal::Unknown), "{path}");
        }
        let forbidden = [
            "Host: evil.example\r\n".to_owned(),
            "Host: 127.0.0.1:4001\r\n".to_owned(),
            String::new(),
            format!("{HOST}Origin: http://evil.example\r\n"),
            format!("{HOST}Origin: null\r\n"),
            format!("{HOST}Sec-Fetch-Site: cross-site\r\n"),
            format!("{HOST}Sec-Fetch-Site: same-site\r\n"),
        ];
        for more in forbidden {
            assert_eq!(get("/abc/", &more), Err(Refusal::Forbidden), "{more}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"] {
            assert_eq!(check(&format!("{method} /abc/ HTTP/1.1\r\n{HOST}")), Err(Refusal::Forbidden), "{method}");
        }
        assert_eq!(get("/abc/", &format!("{HOST}{HOST}")), Err(Refusal::Malformed), "two hosts");
    }
}
