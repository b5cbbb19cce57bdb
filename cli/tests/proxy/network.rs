//! Other protocols, proxies of the network, and passwords in URLs.

use std::io::{BufReader, Read, Write};

use crate::world::{Message, Proxy, Upstream};

const EMPTY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

#[test]
fn an_upgrade_passes_bytes_in_both_directions() {
    let upstream = Upstream::new(|request, stream| {
        assert_eq!(request.header("upgrade"), Some("websocket"));
        assert_eq!(request.header("connection"), Some("upgrade"));
        assert_eq!(request.header("sec-websocket-key"), Some("abc"));
        let head = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\nhello";
        stream.write_all(head.as_bytes()).unwrap();
        let mut piece = [0; 4];
        while stream.read_exact(&mut piece).is_ok() {
            piece.reverse();
            stream.write_all(&piece).unwrap();
        }
    });
    let proxy = Proxy::before(&upstream.url(), &[]);
    let mut stream = proxy.connect();
    let headers = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\n\r\n";
    write!(stream, "{}{headers}", proxy.head("GET", "/v1/responses")).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let answer = Message::read(&mut reader, true).unwrap();
    assert_eq!((answer.status(), answer.header("upgrade")), (101, Some("websocket")));
    assert_eq!(answer.header("sec-websocket-accept"), Some("x"));
    let mut bytes = [0; 5];
    reader.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"hello");
    for piece in [b"1234", b"\0\xff\r\n"] {
        stream.write_all(piece).unwrap();
        let mut back = [0; 4];
        reader.read_exact(&mut back).unwrap();
        back.reverse();
        assert_eq!(&back, piece);
    }
}

#[test]
fn an_upgrade_that_is_refused_is_an_answer() {
    let upstream = Upstream::saying("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 2\r\n\r\n{}");
    let proxy = Proxy::before(&upstream.url(), &[]);
    let head = proxy.head("GET", "/v1/responses");
    let answer = proxy.raw(format!("{head}connection: upgrade\r\nupgrade: websocket\r\n\r\n").as_bytes());
    assert_eq!((answer.status(), answer.text()), (426, "{}"));
}

#[test]
fn a_proxy_of_the_network_is_used() {
    let network = Upstream::saying(EMPTY);
    let at = network.url().replace("http://", "http://me:pass@");
    let proxy = Proxy::with_variables("http://model.example/base", &[], &[("HTTP_PROXY", &at), ("http_proxy", &at)]);
    assert_eq!(proxy.get("/v1/models").text(), "{}");
    let request = network.seen().pop().unwrap();
    assert_eq!(request.first_line(), "GET http://model.example/base/v1/models HTTP/1.1");
    assert_eq!(request.header("host"), Some("model.example"));
    assert_eq!(request.header("proxy-authorization"), Some("Basic bWU6cGFzcw=="));
    // Bytes for an encrypted upstream go through a tunnel, which this server refuses.
    let refusing = Upstream::saying("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    let proxy = Proxy::with_variables("https://model.example", &[], &[("HTTPS_PROXY", &refusing.url())]);
    assert_eq!(proxy.get("/v1/models").status(), 502);
    assert_eq!(refusing.seen()[0].first_line(), "CONNECT model.example:443 HTTP/1.1");
    // Addresses of the loopback, and addresses that NO_PROXY names, are never reached through a proxy.
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::with_variables(&upstream.url(), &[], &[("HTTP_PROXY", "http://127.0.0.1:1")]);
    assert_eq!(proxy.get("/v1/models").status(), 200);
}

#[test]
fn a_password_of_the_url_is_sent_where_a_request_has_none() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&format!("http://me:p%40ss@{}", upstream.address), &[]);
    proxy.get("/a");
    proxy.raw(format!("{}authorization: Bearer own\r\n\r\n", proxy.head("GET", "/b")).as_bytes());
    let given: Vec<_> =
        upstream.seen().iter().map(|request| request.header("authorization").map(str::to_owned)).collect();
    assert_eq!(given, [Some("Basic bWU6cEBzcw==".into()), Some("Bearer own".into())]);
    assert_eq!(upstream.seen()[0].header("host"), Some(&*upstream.address.to_string()));
}
