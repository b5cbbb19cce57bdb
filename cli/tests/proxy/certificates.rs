//! Encrypted connections to the upstream. On systems other than Linux, only the authorities of the system are
//! trusted.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use tempfile::TempDir;

use crate::world::{Message, Proxy};

/// Runs OpenSSL in a folder.
fn openssl(folder: &Path, arguments: &str) {
    let made = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{arguments}: {}", String::from_utf8_lossy(&made.stderr));
}

/// A server of OpenSSL, with a certificate of an authority of its own.
struct EncryptedServer {
    folder: TempDir,
    process: Child,
    port: String,
}

impl EncryptedServer {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let key = "-newkey rsa:2048 -nodes";
        openssl(here, &format!("req -x509 {key} -days 2 -subj /CN=authority -keyout ca.key -out ca.pem"));
        openssl(here, &format!("req {key} -subj /CN=localhost -keyout server.key -out server.csr"));
        let names = "subjectAltName=DNS:localhost,DNS:model.example\nbasicConstraints=CA:FALSE\n";
        std::fs::write(here.join("names"), names).unwrap();
        let signed = "-CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem";
        openssl(here, &format!("x509 -req -in server.csr {signed}"));
        let mut process = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-cert", "server.pem", "-key", "server.key", "-www"])
            .current_dir(here)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let accepting = lines.find_map(|line| Some(line.ok()?.strip_prefix("ACCEPT ")?.to_owned())).unwrap();
        Self { folder, process, port: accepting.rsplit(':').next().unwrap().to_owned() }
    }

    fn authority(&self) -> String {
        self.folder.path().join("ca.pem").display().to_string()
    }
}

impl Drop for EncryptedServer {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn certificates_of_an_own_authority_are_trusted_if_it_is_named_and_no_others() {
    let server = EncryptedServer::new();
    let url = format!("https://localhost:{}", server.port);
    let with_certificates = |file: &str| Proxy::with_variables(&url, &[], &[("SSL_CERT_FILE", file)]).get("/");
    assert_eq!(with_certificates(&server.authority()).status(), 200);
    let refused = with_certificates("/dev/null");
    assert!(refused.status() == 502 && refused.text().contains("invalid peer certificate"), "{}", refused.text());
}

#[test]
fn encrypted_connections_go_through_a_proxy_of_the_network() {
    let server = EncryptedServer::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let network = format!("http://{}", listener.local_addr().unwrap());
    let port = server.port.clone();
    let tunnel = thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        let asked = Message::read(&mut BufReader::new(client.try_clone().unwrap()), true).unwrap();
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
        let mut other = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        let (mut from_client, mut to_other) = (client.try_clone().unwrap(), other.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from_client, &mut to_other));
        // The server ends the connection in its own way.
        let _ = std::io::copy(&mut other, &mut client);
        asked.first_line().to_owned()
    });
    let variables = [("HTTPS_PROXY", &*network), ("SSL_CERT_FILE", &server.authority())];
    let proxy = Proxy::with_variables("https://model.example", &[], &variables);
    assert_eq!(proxy.get("/").status(), 200);
    assert_eq!(tunnel.join().unwrap(), "CONNECT model.example:443 HTTP/1.1");
}
