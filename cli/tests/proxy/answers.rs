//! Answers: the proxy passes each piece on at once and unchanged, and reads it at the same time.

use std::io::{BufReader, Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::requests::conversation;
use crate::world::{Message, Proxy, Upstream, cut, read_chunk};
use callstack_core::fold::Wire;

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\",\"usage\":\
                     {\"input_tokens\":100,\"cache_read_input_tokens\":2000,\"cache_creation_input_tokens\":40,\"output_tokens\":1}}}\n\n";
const DELTA: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":17}}\n\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[test]
fn each_event_passes_at_once() {
    let (go_on, waits) = channel::<()>();
    let waits: Arc<Mutex<Receiver<()>>> = Arc::new(Mutex::new(waits));
    let upstream = Upstream::new(move |_, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        for event in [START, DELTA] {
            stream.write_all(chunk(event).as_bytes()).unwrap();
            waits.lock().unwrap().recv().unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let proxy = Proxy::before(&upstream.url(), &["--json"]);
    let mut stream = proxy.connect();
    let body = conversation(Wire::Anthropic).0;
    write!(stream, "{}content-length: {}\r\n\r\n{body}", proxy.head("POST", "/v1/messages"), body.len()).unwrap();
    let mut reader = BufReader::new(stream);
    assert_eq!(Message::read(&mut reader, true).unwrap().status(), 200);
    for event in [START, DELTA] {
        assert_eq!(read_chunk(&mut reader).unwrap(), event.as_bytes());
        go_on.send(()).unwrap();
    }
    assert_eq!(read_chunk(&mut reader).unwrap(), b"");
    let usage: Value = serde_json::from_str(&proxy.end().output).unwrap();
    assert_eq!(usage["kind"], "proxyUsage");
    let usage = &usage["data"];
    for (key, value) in [
        ("requests", 1),
        ("folded", 1),
        ("failed", 0),
        ("unknown", 0),
        ("uncachedTokens", 100),
        ("readTokens", 2000),
        ("writtenTokens", 40),
        ("outputTokens", 17),
    ] {
        assert_eq!(usage[key], value, "{key}");
    }
    assert_eq!(usage["costIndex"], 350.0);
    let removed = usage["removedTokens"].as_f64().unwrap();
    assert!(removed > 0.0 && usage["unfoldedCostIndex"].as_f64().unwrap() - (350.0 + 0.1 * removed) < 0.001);
}

#[test]
fn errors_pass_as_they_are() {
    let upstream = Upstream::new(|request, stream| {
        let (status, more) = match request.first_line().split(' ').nth(1).unwrap() {
            "/401/v1/messages" => ("401 Unauthorized", ""),
            "/429/v1/messages" => ("429 Too Many Requests", "retry-after: 7\r\n"),
            "/413/v1/messages" => ("413 Payload Too Large", ""),
            _ => ("529 Overloaded", "x-should-retry: true\r\n"),
        };
        let body =
            "{\"type\": \"error\",  \"error\": {\"type\": \"overloaded_error\", \"message\": \"prompt is too long\"}}";
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\n{more}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    });
    let proxy = Proxy::before(&upstream.url(), &["--json"]);
    for (status, header) in
        [(401, None), (429, Some(("retry-after", "7"))), (413, None), (529, Some(("x-should-retry", "true")))]
    {
        let answer = proxy.post(&format!("/{status}/v1/messages"), "", b"{\"messages\": []}");
        assert_eq!(answer.status(), status);
        assert!(answer.text().contains("prompt is too long") && answer.text().contains("\",  \""), "{}", answer.text());
        if let Some((name, value)) = header {
            assert_eq!(answer.header(name), Some(value));
        }
    }
    let written = proxy.end();
    assert!(written.output.contains("\"failed\":4,\"unknown\":4"), "{}", written.output);
    assert!(written.errors.contains("error=\"overloaded_error\""), "{}", written.errors);
    assert!(!written.errors.contains("prompt is too long"), "{}", written.errors);
}

#[test]
fn a_stream_that_is_cut_is_cut_for_the_client() {
    let upstream = Upstream::new(|_, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        stream.write_all(chunk(START).as_bytes()).unwrap();
        stream.write_all(b"40\r\nhalf").unwrap();
        cut(stream);
    });
    let proxy = Proxy::before(&upstream.url(), &["--json"]);
    let answer = proxy.post("/v1/messages", "", b"{\"messages\": []}");
    assert!(answer.status() == 200 && !answer.is_whole);
    assert!(answer.body.starts_with(START.as_bytes()));
    let written = proxy.end();
    assert!(
        written.output.contains("\"failed\":1") && written.output.contains("\"readTokens\":2000"),
        "{}",
        written.output
    );
    assert!(written.errors.contains("error=\"cut\""), "{}", written.errors);
}

#[test]
fn a_slow_reader_slows_the_upstream() {
    let sent = Arc::new(Mutex::new(0));
    let counted = sent.clone();
    let upstream = Upstream::new(move |_, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        let piece = chunk(&"a".repeat(1 << 16));
        while stream.write_all(piece.as_bytes()).is_ok() {
            *counted.lock().unwrap() += piece.len();
        }
    });
    let proxy = Proxy::before(&upstream.url(), &[]);
    let mut stream = proxy.connect();
    write!(stream, "{}content-length: 2\r\n\r\n{{}}", proxy.head("POST", "/v1/messages")).unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    let mut last = usize::MAX;
    let begun = Instant::now();
    // The proxy takes only as much as the buffers of both connections hold.
    while *sent.lock().unwrap() != last {
        last = *sent.lock().unwrap();
        assert!(last < 64 << 20 && begun.elapsed() < Duration::from_secs(20), "{last} bytes were taken");
        thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn two_hundred_streams_run_at_once() {
    let barrier = Arc::new(std::sync::Barrier::new(200));
    let upstream = Upstream::new(move |request, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        // No stream continues before all streams have begun.
        barrier.wait();
        stream.write_all(chunk(START).as_bytes()).unwrap();
        stream.write_all(chunk(request.text()).as_bytes()).unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let proxy = Proxy::before(&upstream.url(), &["--json"]);
    thread::scope(|scope| {
        for number in 0..200 {
            let proxy = &proxy;
            scope.spawn(move || {
                let body = format!("{{\"messages\": [], \"number\": {number}}}");
                let answer = proxy.post("/v1/messages", "", body.as_bytes());
                assert!(answer.is_whole && answer.text() == format!("{START}{body}"));
            });
        }
    });
    let written = proxy.end().output;
    assert!(written.contains("\"requests\":200,\"folded\":0,\"failed\":0,\"unknown\":0"), "{written}");
}

#[test]
fn a_client_that_goes_ends_the_request_of_the_upstream() {
    let (gone, ended) = channel();
    let upstream = Upstream::new(move |_, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        stream.write_all(chunk(START).as_bytes()).unwrap();
        gone.send(stream.read(&mut [0; 1])).unwrap();
    });
    let proxy = Proxy::before(&upstream.url(), &[]);
    let mut stream = proxy.connect();
    write!(stream, "{}content-length: 2\r\n\r\n{{}}", proxy.head("POST", "/v1/messages")).unwrap();
    stream.read_exact(&mut [0; 100]).unwrap();
    cut(&stream);
    let read = ended.recv_timeout(Duration::from_secs(20)).expect("the upstream is told");
    assert!(read.is_err() || read.is_ok_and(|count| count == 0));
}
