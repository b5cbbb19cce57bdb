//! Requests: the proxy folds those that have a conversation, and passes all others on unchanged.

use std::fs;
use std::io::Write;

use callstack_core::fold::{FoldSettings, Wire, fold};
use flate2::Compression;

use crate::world::{Proxy, Upstream};

const EMPTY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}";

/// A conversation with finished frames, and its folded form.
pub fn conversation(wire: Wire) -> (String, String) {
    let path = format!("{}/../tests/golden/fold/{wire}.before.json", env!("CARGO_MANIFEST_DIR"));
    let before = fs::read_to_string(path).unwrap();
    let after = fold(wire, &before, &FoldSettings::default()).text.into_owned();
    assert!(after.len() < before.len());
    (before, after)
}

#[test]
fn what_is_not_folded_keeps_every_byte() {
    let upstream = Upstream::new(|_, stream| {
        let answer = b"HTTP/1.1 299 Fine So Far\r\nX-Own: a\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nDate: today\r\n\
                      Content-Length: 5\r\nX-Own: b\r\n\r\n\xff\0abc";
        stream.write_all(answer).unwrap();
    });
    let proxy = Proxy::before(&upstream.url(), &[]);
    let body = b"{ \"messages\" :[ {\"role\":\"user\", \"content\": \"\\u00e9 1.0e3\"} ] , \"z\":1,\"a\": 10000000000000000000000.0 }";
    let headers = "Anthropic-Beta: one\r\nX-Stainless-Lang: js\r\nanthropic-beta: two\r\nAuthorization: Bearer k\r\n\
                   Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nContent-Type: application/json\r\n";
    let answer = proxy.post("/v1/messages?beta=true&x=%2F", headers, body);
    assert_eq!(answer.first_line(), "HTTP/1.1 299 Fine So Far");
    for line in ["X-Own: a\r\n", "X-Own: b\r\n", "Set-Cookie: a=1\r\n", "set-cookie: b=2\r\n", "Date: today\r\n"] {
        assert!(answer.head.contains(line), "{}", answer.head);
    }
    assert_eq!(answer.head.lines().count(), 8, "{}", answer.head);
    assert_eq!(answer.body, b"\xff\0abc");
    let [request] = &upstream.seen()[..] else { panic!() };
    assert_eq!(request.first_line(), "POST /v1/messages?beta=true&x=%2F HTTP/1.1");
    assert_eq!(request.body, body);
    let mut lines: Vec<&str> = request.head.trim().lines().skip(1).collect();
    lines.sort_unstable();
    let length = format!("content-length: {}", body.len());
    let host = format!("host: {}", upstream.address);
    let expected = [
        "Anthropic-Beta: one",
        "Authorization: Bearer k",
        "Content-Type: application/json",
        "X-Stainless-Lang: js",
        "anthropic-beta: two",
        &length,
        &host,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn conversations_of_all_wires_are_folded() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&upstream.url(), &[]);
    let paths = [
        (Wire::Anthropic, "/v1/messages?beta=true"),
        (Wire::Anthropic, "/v1/messages/count_tokens"),
        (Wire::Responses, "/v1/responses"),
        (Wire::Chat, "/v1/chat/completions"),
        (Wire::Gemini, "/v1beta/models/m:streamGenerateContent?alt=sse"),
        (Wire::Gemini, "/v1beta/models/m:countTokens"),
    ];
    for (wire, path) in paths {
        let (before, after) = conversation(wire);
        assert_eq!(proxy.post(path, "", before.as_bytes()).body, b"{}");
        let request = upstream.seen().pop().unwrap();
        assert_eq!(request.text(), after, "{path}");
        assert_eq!(request.header("content-length").unwrap(), after.len().to_string());
    }
    let usage = proxy.end().output;
    assert!(usage.starts_with("4 requests, "), "{usage}");
}

#[test]
fn a_proxy_that_watches_folds_nothing() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&upstream.url(), &["--no-fold"]);
    let (before, _) = conversation(Wire::Anthropic);
    proxy.post("/v1/messages", "", before.as_bytes());
    assert_eq!(upstream.seen()[0].text(), before);
}

#[test]
fn a_path_that_does_not_tell_its_wire_has_the_given_one() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&format!("{}/base/", upstream.url()), &["--wire", "chat"]);
    let (before, after) = conversation(Wire::Chat);
    proxy.post("/ask", "", before.as_bytes());
    assert_eq!(upstream.seen()[0].text(), after);
    assert_eq!(upstream.seen()[0].first_line(), "POST /base/ask HTTP/1.1");
}

fn encodings(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(text.as_bytes()).unwrap();
    let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
    bare.write_all(text.as_bytes()).unwrap();
    let mut brotli = Vec::new();
    brotli::BrotliCompress(&mut text.as_bytes(), &mut brotli, &Default::default()).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    vec![
        ("gzip", gzip.finish().unwrap()),
        ("deflate", zlib.finish().unwrap()),
        ("deflate", bare.finish().unwrap()),
        ("br", brotli),
        ("zstd", zstd),
    ]
}

#[test]
fn compressed_conversations_are_folded_and_sent_without_an_encoding() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&upstream.url(), &[]);
    let (before, after) = conversation(Wire::Responses);
    for (name, body) in encodings(&before) {
        proxy.post("/v1/responses", &format!("Content-Encoding: {name}\r\n"), &body);
        let request = upstream.seen().pop().unwrap();
        assert_eq!((request.header("content-encoding"), request.text()), (None, &*after), "{name}");
    }
    let plain = r#"{"input": "no frames"}"#;
    for (name, body) in encodings(plain) {
        proxy.post("/v1/responses", &format!("Content-Encoding: {name}\r\n"), &body);
        let request = upstream.seen().pop().unwrap();
        assert_eq!((request.header("content-encoding"), &request.body), (Some(name), &body), "{name}");
    }
}

#[test]
fn what_cannot_be_understood_goes_on_as_it_came_with_a_line_in_the_log() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&upstream.url(), &[]);
    let (before, _) = conversation(Wire::Anthropic);
    let requests: [(&str, &[u8]); 6] = [
        ("content-encoding: gzip\r\n", b"no gzip"),
        ("content-encoding: zstd\r\n", b"no zstd"),
        ("content-encoding: compress\r\n", before.as_bytes()),
        ("content-md5: x\r\n", before.as_bytes()),
        ("", b"{\"messages\": [ {\"role\": \"us"),
        ("", b"\xff\xfe\0"),
    ];
    for (headers, body) in requests {
        assert_eq!(proxy.post("/v1/messages", headers, body).status(), 200);
        assert_eq!(upstream.seen().pop().unwrap().body, body, "{headers}");
    }
    let log = proxy.end().errors;
    assert_eq!(log.matches("is sent as it came").count(), requests.len(), "{log}");
}

#[test]
fn other_methods_and_paths_pass() {
    let upstream = Upstream::new(|request, stream| {
        let body = if request.head.starts_with("HEAD") { "" } else { "list" };
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n{body}").unwrap();
    });
    let proxy = Proxy::before(&upstream.url(), &[]);
    let head = proxy.raw(format!("{}\r\n", proxy.head("HEAD", "")).as_bytes());
    assert_eq!((head.status(), head.header("content-length")), (200, Some("4")));
    assert_eq!(proxy.get("/v1/models?limit=3").body, b"list");
    assert_eq!(proxy.raw(format!("{}\r\n", proxy.head("BREW", "/pot/%ff//x")).as_bytes()).body, b"list");
    let chunked =
        format!("{}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", proxy.head("PUT", "/file"));
    assert_eq!(proxy.raw(chunked.as_bytes()).body, b"list");
    let seen = upstream.seen();
    let lines: Vec<&str> = seen.iter().map(|request| request.first_line()).collect();
    let expected =
        ["HEAD / HTTP/1.1", "GET /v1/models?limit=3 HTTP/1.1", "BREW /pot/%ff//x HTTP/1.1", "PUT /file HTTP/1.1"];
    assert_eq!(lines, expected);
    assert_eq!(seen[3].body, b"abcde");
}

#[test]
fn a_body_of_a_hundred_megabytes_passes() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&upstream.url(), &[]);
    let body = format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"{}\"}}]}}", "a".repeat(100 << 20));
    for path in ["/v1/messages", "/v1/files"] {
        assert_eq!(proxy.post(path, "", body.as_bytes()).status(), 200);
        assert!(upstream.seen().pop().unwrap().body == body.as_bytes(), "{path}");
    }
}

#[test]
fn a_body_that_is_too_long_to_be_folded_passes() {
    let upstream = Upstream::new(|request, stream| {
        write!(stream, "HTTP/1.1 200 OK\r\nx-length: {}\r\ncontent-length: 0\r\n\r\n", request.body.len()).unwrap();
    });
    let proxy = Proxy::before(&upstream.url(), &[]);
    let length = (256 << 20) + 1;
    let answer = proxy.post("/v1/messages", "", &vec![b'a'; length]);
    assert_eq!(answer.header("x-length"), Some(&*length.to_string()));
    assert!(proxy.end().errors.contains("is sent as it came: it has more than"));
}
