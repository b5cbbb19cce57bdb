//! What `callstack proxy` adds to a request of a megabyte (about 200,000 tokens) and to each event of an
//! answer, and its memory. The same requests go to a server on the loopback directly and through the proxy,
//! in turn; their bodies hold the conversation of an agent with thirty finished frames, or with none.
//!
//! cargo bench -p callstack-cli --no-default-features --features proxy --bench proxy
//!
//! `CALLSTACK` names another build of the program.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const REQUESTS: usize = 300;
const EVENTS: usize = 2_000;
/// The pause between two events.
const PAUSE: Duration = Duration::from_micros(500);
/// Frames, and steps of each of them.
const FRAMES: usize = 30;
const STEPS: usize = 5;
const LENGTH: usize = 1_000_000;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 53\r\n\r\n\
                       {\"usage\": {\"input_tokens\": 10, \"output_tokens\": 100}}";
const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const EVENT: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n";

fn main() {
    let sent = Arc::<Mutex<Vec<Instant>>>::default();
    let upstream = serve(sent.clone());
    let proxy = Proxy::before(upstream);
    println!("{:<36}{:>12}{:>12}{:>12}", "", "median", "99 %", "longest");
    for (name, has_frames) in [("1 MB, 30 finished frames", true), ("1 MB, no frames", false)] {
        let body = request(has_frames);
        let (mut direct, mut through) = (Client::new(upstream, ""), Client::new(proxy.address, &proxy.secret));
        let (mut alone, mut added) = (Vec::new(), Vec::new());
        for number in 0..REQUESTS + 20 {
            let (own, other) = (direct.ask(&body), through.ask(&body));
            // The first ones make connections, and find their memory.
            if number >= 20 {
                alone.push(own);
                added.push(other);
            }
        }
        show(&format!("{name}, directly"), alone.clone());
        show(&format!("{name}, through the proxy"), added.clone());
        let (alone, added) = (sorted(alone), sorted(added));
        let difference = |part: usize| millis(added[part]) - millis(alone[part]);
        let (half, most) = (REQUESTS / 2, REQUESTS * 99 / 100);
        println!("{name}, added: median {:.2} ms, 99 % {:.2} ms", difference(half), difference(most));
    }
    for (name, address, secret) in [("directly", upstream, ""), ("through the proxy", proxy.address, &*proxy.secret)] {
        show(&format!("an event, {name}"), Client::new(address, secret).events(&sent));
    }
    println!("resident: {:.1} MB, at most {:.1} MB", proxy.memory("VmRSS"), proxy.memory("VmHWM"));
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort_unstable();
    times
}

fn show(name: &str, times: Vec<Duration>) {
    let times = sorted(times);
    let at = |part: usize| format!("{:.3} ms", millis(times[(times.len() * part / 100).min(times.len() - 1)]));
    println!("{name:<36}{:>12}{:>12}{:>12}", at(50), at(99), at(100));
}

/// The request of an agent that reads files, in frames or without them.
fn request(has_frames: bool) -> String {
    let mut messages = vec![json!({ "role": "user", "content": "Read all areas." })];
    let mut number = 0;
    let mut call = |name: &str, input: Value, answer: String| {
        number += 1;
        let id = format!("call_{number}");
        let call = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
        let outcome = json!({ "type": "tool_result", "tool_use_id": id, "content": answer });
        messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "I go on." }, call] }));
        messages.push(json!({ "role": "user", "content": [outcome] }));
    };
    let line = "    let value = \"module\"; // 7919 % 997\n";
    let output = line.repeat(LENGTH / FRAMES / STEPS / (line.len() + 3));
    for frame in 1..=FRAMES {
        let name = format!("f{frame} (Area {frame})");
        if has_frames {
            let begun = format!("{name} has begun: work in it now.\nYou are in {name}.");
            call("mcp__callstack__push", json!({ "title": name }), begun);
        }
        for step in 0..STEPS {
            call("Bash", json!({ "command": format!("cat {frame}-{step}") }), output.clone());
        }
        if has_frames {
            let results = json!({ "status": "completed", "results": "It is read." });
            call("mcp__callstack__pop", results, format!("{name} is completed.\nYou are in no frame."));
        }
    }
    json!({ "model": "m", "messages": messages }).to_string()
}

/// A server that answers at once, or with a stream of events, whose times it keeps.
fn serve(sent: Arc<Mutex<Vec<Instant>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sent) = (stream.unwrap(), sent.clone());
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || {
                let mut reader = BufReader::with_capacity(1 << 20, stream.try_clone().unwrap());
                while let Some((path, length)) = head(&mut reader) {
                    std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink()).unwrap();
                    if !path.contains("stream") {
                        stream.write_all(ANSWER).unwrap();
                        continue;
                    }
                    stream.write_all(STREAM).unwrap();
                    let chunk = format!("{:x}\r\n{EVENT}\r\n", EVENT.len());
                    for _ in 0..EVENTS {
                        thread::sleep(PAUSE);
                        sent.lock().unwrap().push(Instant::now());
                        stream.write_all(chunk.as_bytes()).unwrap();
                    }
                    stream.write_all(b"0\r\n\r\n").unwrap();
                }
            });
        }
    });
    address
}

/// The first line and the length of the body.
fn head(reader: &mut impl BufRead) -> Option<(String, u64)> {
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok().filter(|count| *count > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.to_ascii_lowercase().trim().split_once(": ") {
            Some(("content-length", given)) => length = given.parse().ok()?,
            Some(_) => {}
            None => return Some((first, length)),
        }
    }
}

struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    prefix: String,
}

impl Client {
    fn new(address: SocketAddr, secret: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let prefix = if secret.is_empty() { String::new() } else { format!("/{secret}") };
        Self { reader: BufReader::new(stream.try_clone().unwrap()), stream, prefix }
    }

    fn send(&mut self, path: &str, body: &str) {
        let (prefix, length) = (&self.prefix, body.len());
        let mut request =
            format!("POST {prefix}{path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {length}\r\n\r\n");
        request.push_str(body);
        self.stream.write_all(request.as_bytes()).unwrap();
    }

    fn ask(&mut self, body: &str) -> Duration {
        let begun = Instant::now();
        self.send("/v1/messages", body);
        let (_, length) = head(&mut self.reader).unwrap();
        self.reader.read_exact(&mut vec![0; length as usize]).unwrap();
        begun.elapsed()
    }

    /// The time from each event's sending to its end at the client.
    fn events(mut self, sent: &Mutex<Vec<Instant>>) -> Vec<Duration> {
        sent.lock().unwrap().clear();
        self.send("/stream/messages", "{}");
        head(&mut self.reader).unwrap();
        let mut chunk = vec![0; EVENT.len() + 2];
        (0..EVENTS)
            .map(|number| {
                self.reader.read_line(&mut String::new()).unwrap();
                self.reader.read_exact(&mut chunk).unwrap();
                let now = Instant::now();
                now - sent.lock().unwrap()[number]
            })
            .collect()
    }
}

struct Proxy {
    process: Child,
    address: SocketAddr,
    secret: String,
}

impl Proxy {
    fn before(upstream: SocketAddr) -> Self {
        let program = env::var("CALLSTACK").unwrap_or_else(|_| env!("CARGO_BIN_EXE_callstack").to_owned());
        let mut command = Command::new(program);
        command.args(["proxy", "--upstream", &format!("http://{upstream}")]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let url = first.trim().rsplit("http://").next().unwrap();
        let (address, secret) = url.split_once('/').unwrap();
        Self { process, address: address.parse().unwrap(), secret: secret.to_owned() }
    }

    /// A figure of its memory in megabytes; 0 where the system does not tell.
    fn memory(&self, name: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let kilobytes =
            status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().nth(1)?.parse::<f64>().ok());
        kilobytes.unwrap_or_default() / 1_000.0
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
