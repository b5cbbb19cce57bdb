//! The headers of a connection, which end at this proxy (RFC 9110, 7.6.1). All others go through as they
//! came.

use http::header::{CONNECTION, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Headers of one connection, whether or not `Connection` names them. `Expect` is one of them, because the
/// server in front of this proxy has answered it when it reads the body.
const OF_CONNECTIONS: [HeaderName; 9] = [
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    http::header::EXPECT,
    http::header::PROXY_AUTHENTICATE,
    http::header::PROXY_AUTHORIZATION,
    HeaderName::from_static("keep-alive"),
];

/// Removes the headers of the connection on which a message came. Returns the protocol to which it wants to
/// change, if any.
pub fn end_connection(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let upgrade = headers.get(UPGRADE).filter(|_| named.contains(&UPGRADE)).cloned();
    for name in OF_CONNECTIONS.iter().chain(&named).filter(|name| **name != HOST) {
        headers.remove(name);
    }
    upgrade
}

/// Asks for another protocol, or agrees to it.
pub fn upgrade_to(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// A request whose sender has signed the bytes of its body: no other body would be accepted.
pub fn is_signed(headers: &HeaderMap) -> bool {
    const SIGNED: [&str; 5] = ["content-digest", "content-md5", "digest", "signature", "x-amz-content-sha256"];
    SIGNED.iter().any(|name| headers.contains_key(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_by_the_connection_ends_and_the_rest_stays() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "here"),
            ("connection", "keep-alive, X-Own"),
            ("x-own", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        assert_eq!(end_connection(&mut headers), None);
        let left: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(left, [("host", "here"), ("anthropic-beta", "a"), ("anthropic-beta", "b")]);
    }

    #[test]
    fn a_wish_for_another_protocol_is_returned() {
        let mut headers = HeaderMap::new();
        upgrade_to(&mut headers, HeaderValue::from_static("websocket"));
        assert_eq!(end_connection(&mut headers).unwrap(), "websocket");
        assert!(headers.is_empty());
    }
}
