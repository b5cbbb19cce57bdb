//! Which callers may use a proxy, and what the proxy says about them.

use callstack_core::fold::Wire;

use crate::requests::conversation;
use crate::world::{Proxy, Upstream};

const EMPTY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

#[test]
fn no_request_gets_through_without_the_secret() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&upstream.url(), &[]);
    let (address, secret) = (proxy.address, proxy.secret.clone());
    let half = &secret[..secret.len() - 1];
    for path in ["/", "/v1/messages", &format!("/{half}/v1"), &format!("/{secret}x/v1"), &format!("//{secret}/v1"), "*"]
    {
        let answer = proxy.raw(format!("OPTIONS {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes());
        assert_eq!((answer.status(), answer.body.len()), (404, 0), "{path}");
    }
    for headers in [
        "host: evil.example\r\n",
        "host: 127.0.0.1.evil.example\r\n",
        &format!("host: {address}\r\norigin: https://evil.example\r\n"),
        &format!("host: {address}\r\norigin: null\r\n"),
    ] {
        let answer = proxy.raw(format!("GET /{secret}/v1/models HTTP/1.1\r\n{headers}\r\n").as_bytes());
        assert_eq!((answer.status(), answer.body.len()), (403, 0), "{headers}");
    }
    assert!(upstream.seen().is_empty());
    let written = proxy.end();
    assert!(!written.errors.contains(half) && !written.output.contains(half), "{}", written.errors);
}

#[test]
fn the_log_has_no_key_no_prompt_and_no_secret() {
    let upstream = Upstream::saying(EMPTY);
    let proxy = Proxy::before(&upstream.url(), &[]);
    let secret = proxy.secret.clone();
    let (before, _) = conversation(Wire::Anthropic);
    let headers = "x-api-key: my-key\r\nx-claude-code-session-id: ses-1\r\n";
    proxy.post("/v1/messages", headers, before.as_bytes());
    proxy.post("/v1beta/models/m:generateContent?key=my-key", "", b"{\"contents\": [{\"my-prompt\"");
    let written = proxy.end();
    for hidden in [&*secret, "my-key", "my-prompt", "Build the shop", "Integers"] {
        assert!(!written.errors.contains(hidden) && !written.output.contains(hidden), "{hidden}: {}", written.errors);
    }
    assert!(written.errors.contains("POST /v1/messages status=200"), "{}", written.errors);
    assert!(written.errors.contains("session=\"ses-1\""), "{}", written.errors);
}

#[test]
fn secrets_are_new_each_time() {
    let [one, other] = [(); 2].map(|()| Proxy::before("http://localhost:1", &[]));
    assert!(one.secret.len() >= 32 && one.secret != other.secret);
}
