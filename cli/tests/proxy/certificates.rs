//! Encrypted connections to the upstream. Elsewhere than on Linux the trusted authorities are those of the system alone.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::world::Proxy;

/// Runs OpenSSL in a folder.
fn openssl(folder: &Path, arguments: &str) {
    let made = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{arguments}: {}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn certificates_of_an_own_authority_are_trusted_if_it_is_named_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let key = "-newkey rsa:2048 -nodes -days 2";
    openssl(folder.path(), &format!("req -x509 {key} -subj /CN=authority -keyout ca.key -out ca.pem"));
    openssl(folder.path(), "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr");
    std::fs::write(folder.path().join("names"), "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n").unwrap();
    openssl(
        folder.path(),
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
    );
    let mut server = Command::new("openssl")
        .args(["s_server", "-accept", "127.0.0.1:0", "-cert", "server.pem", "-key", "server.key", "-www"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let accepting = lines.find_map(|line| Some(line.ok()?.strip_prefix("ACCEPT ")?.to_owned())).unwrap();
    let url = format!("https://localhost:{}", accepting.rsplit(':').next().unwrap());
    let with_certificates = |file: &str| Proxy::with_variables(&url, &[], &[("SSL_CERT_FILE", file)]).get("/");
    let answer = with_certificates(&folder.path().join("ca.pem").display().to_string());
    assert_eq!(answer.status(), 200);
    let refused = with_certificates("/dev/null");
    assert!(refused.status() == 502 && refused.text().contains("invalid peer certificate"), "{}", refused.text());
    server.kill().unwrap();
    server.wait().unwrap();
}
