//! A proxy between a raw client and a raw upstream, so that tests see each byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// A message of HTTP: its head including the empty line, and its body without chunks.
#[derive(Debug, Clone, Default)]
pub struct Message {
    pub head: String,
    pub body: Vec<u8>,
    /// The sender has sent as much as its head says.
    pub is_whole: bool,
}

impl Message {
    pub fn first_line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub fn status(&self) -> u16 {
        self.first_line().split(' ').nth(1).unwrap_or_default().parse().unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&str| line.split(':').next().is_some_and(|found| found.eq_ignore_ascii_case(name));
        Some(self.head.lines().skip(1).find(named)?.split_once(':')?.1.trim())
    }

    pub fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    /// Reads the next message. `is_bare`: the message has no body, no matter what its head says. `None`: the
    /// sender has closed the connection.
    pub fn read(reader: &mut impl BufRead, is_bare: bool) -> Option<Self> {
        let mut message = Self::default();
        while !message.head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut message.head).ok()? == 0 {
                return None;
            }
        }
        message.is_whole = is_bare || message.read_body(reader).is_some();
        Some(message)
    }

    fn read_body(&mut self, reader: &mut impl BufRead) -> Option<()> {
        if self.header("transfer-encoding").is_some() {
            loop {
                let piece = read_chunk(reader)?;
                if piece.is_empty() {
                    return Some(());
                }
                self.body.extend(piece);
            }
        }
        let length: u64 = self.header("content-length").map_or(0, |length| length.parse().unwrap());
        reader.take(length).read_to_end(&mut self.body).ok()?;
        (self.body.len() as u64 == length).then_some(())
    }
}

/// The next chunk; the last one is empty.
pub fn read_chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut chunk = vec![0; usize::from_str_radix(line.trim(), 16).ok()?];
    reader.read_exact(&mut chunk).ok()?;
    reader.read_line(&mut line).ok()?;
    Some(chunk)
}

/// A server that answers as a test says, and keeps the requests that it got.
pub struct Upstream {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Message>>>,
}

impl Upstream {
    /// `answer` writes the answer to each request.
    pub fn new(answer: impl Fn(&Message, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<Message>>>::default());
        let (kept, answer) = (seen.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, kept, answer) = (stream.unwrap(), kept.clone(), answer.clone());
                stream.set_nodelay(true).unwrap();
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some(request) = Message::read(&mut reader, false) {
                        kept.lock().unwrap().push(request.clone());
                        answer(&request, &mut stream);
                    }
                });
            }
        });
        Self { address, seen }
    }

    /// An upstream that answers each request with the same bytes.
    pub fn saying(answer: &'static str) -> Self {
        Self::new(move |_, stream| drop(stream.write_all(answer.as_bytes())))
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that it got.
    pub fn seen(&self) -> Vec<Message> {
        self.seen.lock().unwrap().clone()
    }
}

/// A process that ends together with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The proxy under test.
pub struct Proxy {
    process: Process,
    pub address: SocketAddr,
    pub secret: String,
    output: JoinHandle<String>,
    errors: JoinHandle<String>,
}

/// The output of the proxy after its first line.
pub struct Written {
    pub output: String,
    pub errors: String,
}

impl Proxy {
    pub fn before(upstream: &str, more: &[&str]) -> Self {
        Self::with_variables(upstream, more, &[])
    }

    pub fn with_variables(upstream: &str, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = command();
        command.args(["proxy", "--upstream", upstream]).args(more);
        // The tests must not use a stack that exists above this folder.
        command.env("CALLSTACK_DIR", "/nowhere/callstack").envs(variables.iter().copied());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut first = String::new();
        output.read_line(&mut first).unwrap();
        let url = first.split([' ', '"']).rfind(|word| word.starts_with("http")).expect(&first).trim().to_owned();
        let (address, secret) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let (address, secret) = (address.parse().unwrap(), secret.to_owned());
        let mut errors = process.stderr.take().unwrap();
        let output = thread::spawn(move || {
            let mut text = String::new();
            output.read_to_string(&mut text).map(|_| text).unwrap()
        });
        let errors = thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).map(|_| text).unwrap()
        });
        Self { process: Process(process), address, secret, output, errors }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// The head of a request below the secret, without an empty line: further headers follow.
    pub fn head(&self, method: &str, path: &str) -> String {
        format!("{method} /{}{path} HTTP/1.1\r\nhost: {}\r\n", self.secret, self.address)
    }

    /// Sends bytes, and reads the answer.
    pub fn raw(&self, bytes: &[u8]) -> Message {
        let mut stream = self.connect();
        // A proxy that refuses a request does not need to read all of it.
        let _ = stream.write_all(bytes);
        Message::read(&mut BufReader::new(stream), bytes.starts_with(b"HEAD")).expect("an answer")
    }

    pub fn post(&self, path: &str, headers: &str, body: &[u8]) -> Message {
        let mut request = self.head("POST", path).into_bytes();
        write!(request, "{headers}content-length: {}\r\n\r\n", body.len()).unwrap();
        request.extend(body);
        self.raw(&request)
    }

    pub fn get(&self, path: &str) -> Message {
        self.raw(format!("{}\r\n", self.head("GET", path)).as_bytes())
    }

    /// Ends the proxy, and returns what it has written.
    pub fn end(mut self) -> Written {
        kill_process(Pid::from_child(&self.process.0), Signal::TERM).unwrap();
        assert_eq!(self.process.0.wait().unwrap().code(), Some(0));
        Written { output: self.output.join().unwrap(), errors: self.errors.join().unwrap() }
    }
}

/// The program, without the settings of this machine for network proxies.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command
}

/// Closes a connection in the same way as a program that has ended.
pub fn cut(stream: &TcpStream) {
    stream.shutdown(Shutdown::Both).unwrap();
}
