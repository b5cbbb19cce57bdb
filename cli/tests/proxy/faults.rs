//! Faults on the way between the agent and the upstream.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::{Proxy, Upstream, command, cut};

/// An address at which no process listens.
fn unused_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn an_upstream_that_is_down_is_told_in_the_form_of_the_wire() {
    let address = unused_address();
    let proxy = Proxy::before(&format!("http://name:password@{address}/base"), &[]);
    let messages: Vec<(&str, &str, Option<&str>)> = vec![
        ("/v1/messages", "/error/type", Some("api_error")),
        ("/v1/responses", "/error/type", Some("upstream_error")),
        ("/v1/chat/completions", "/error/type", Some("upstream_error")),
        ("/v1beta/models/m:generateContent", "/error/status", Some("UNAVAILABLE")),
        ("/other", "/error/type", Some("upstream_error")),
    ];
    for (path, pointer, kind) in messages {
        let answer = proxy.post(path, "", b"{}");
        assert_eq!((answer.status(), answer.header("content-type")), (502, Some("application/json")));
        let error: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(error.pointer(pointer).and_then(Value::as_str), kind, "{error}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("http://{address}/base cannot be reached: Connection refused")), "{message}");
        assert!(!message.contains("password") && !message.contains(&proxy.secret), "{message}");
    }
    assert!(!proxy.end().errors.contains("password"));
}

#[test]
fn an_upstream_that_ends_without_an_answer_is_told() {
    let upstream = Upstream::new(|_, stream| cut(stream));
    let proxy = Proxy::before(&upstream.url(), &[]);
    assert_eq!(proxy.post("/v1/messages", "", b"{}").status(), 502);
}

#[test]
fn a_silent_upstream_is_given_up() {
    let upstream = Upstream::new(|_, _| thread::sleep(Duration::from_secs(60)));
    let proxy = Proxy::before(&upstream.url(), &["--idle", "1"]);
    let begun = Instant::now();
    let answer = proxy.post("/v1/messages", "", b"{}");
    assert_eq!(answer.status(), 504);
    assert!(answer.text().contains("has not answered: nothing has moved for 1 seconds"), "{}", answer.text());
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_silent_stream_is_cut() {
    let upstream = Upstream::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n").unwrap();
        thread::sleep(Duration::from_secs(60));
    });
    let proxy = Proxy::before(&upstream.url(), &["--idle", "1"]);
    let answer = proxy.post("/v1/messages", "", b"{}");
    assert!(answer.status() == 200 && !answer.is_whole && answer.body == b"a");
}

#[test]
fn half_a_body_never_reaches_the_upstream() {
    let upstream = Upstream::saying("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let proxy = Proxy::before(&upstream.url(), &[]);
    let mut stream = proxy.connect();
    write!(stream, "{}content-length: 100\r\n\r\n{{\"messages\": ", proxy.head("POST", "/v1/messages")).unwrap();
    cut(&stream);
    // Later requests are served.
    assert_eq!(proxy.post("/v1/messages", "", b"{}").status(), 200);
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn what_cannot_be_served_is_refused_at_the_start() {
    for (arguments, why) in [
        (&["--upstream", "http://localhost", "--listen", "0.0.0.0:0"][..], "can be reached from other machines"),
        (&["--upstream", "ftp://localhost"], "does not begin with http:// or https://"),
        (&["--upstream", "localhost"], "has no scheme or no host"),
        (&["--upstream", "http://localhost?a=b"], "has a query"),
        (&["--upstream", "http://localhost", "--wire", "pi"], "invalid value 'pi'"),
        (&[], "--upstream"),
    ] {
        let output = command().arg("proxy").args(arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(why), "{errors}");
    }
}
