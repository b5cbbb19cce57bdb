//! A PostgreSQL server for the tests: a real one, in a folder of its own.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running server. It ends when this is dropped.
pub struct Server {
    folder: TempDir,
    port: u16,
    process: Mutex<Option<Child>>,
    databases: AtomicUsize,
}

/// How a server keeps the changes that it has acknowledged.
#[derive(Clone, Copy, PartialEq)]
pub enum Disk {
    /// The server does not wait for the disk. This is faster, and enough if no machine fails.
    Lazy,
    /// As in production.
    Durable,
}

impl Server {
    /// The server that the tests of this process share.
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Self::start(Disk::Lazy, ""));
            *shared = Arc::downgrade(&server);
            server
        })
    }

    /// A separate server, with these lines in its settings.
    pub fn start(disk: Disk, settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        give_away(folder.path());
        let made = as_server(&program("initdb"))
            .args(["--auth=trust", "--username=owner", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let fsync = if disk == Disk::Lazy { "fsync = off\n" } else { "" };
        // Hosts in the network of a test may connect.
        let mut access = File::options().append(true).open(data.join("pg_hba.conf")).unwrap();
        access.write_all(b"host all all 10.213.0.0/16 trust\n").unwrap();
        let sockets = folder.path().display();
        let more = format!(
            "unix_socket_directories = '{sockets}'\nlisten_addresses = '127.0.0.1'\nmax_connections = 300\n{fsync}{settings}\n"
        );
        let path = data.join("postgresql.auto.conf");
        fs::write(&path, more).unwrap();
        give_away(&path);
        Self::run(folder)
    }

    /// Starts the server in a folder that is ready.
    fn run(folder: TempDir) -> Self {
        let server = Self { folder, port: free_port(), process: Mutex::new(None), databases: AtomicUsize::new(0) };
        server.start_again();
        server
    }

    /// A standby that follows this server, under this name.
    pub fn standby(&self, name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        give_away(folder.path());
        let data = folder.path().join("data");
        let copied = as_server(&program("pg_basebackup"))
            .args(["--no-sync", "--write-recovery-conf", "--checkpoint=fast", "-h", "127.0.0.1", "-U", "owner"])
            .args(["-p", &self.port.to_string(), "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(copied.status.success(), "pg_basebackup: {}", String::from_utf8_lossy(&copied.stderr));
        let settings = format!(
            "unix_socket_directories = '{}'\nprimary_conninfo = 'host=127.0.0.1 port={} user=owner application_name={name}'\n",
            folder.path().display(),
            self.port
        );
        let mut file = File::options().append(true).open(data.join("postgresql.auto.conf")).unwrap();
        file.write_all(settings.as_bytes()).unwrap();
        Self::run(folder)
    }

    /// Makes a standby the primary server.
    pub fn promote(&self) {
        self.sql("postgres", "SELECT pg_promote()");
    }

    /// The folder of the data.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts the server again after it was killed, and waits until it answers.
    pub fn start_again(&self) {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let _ = fs::remove_file(self.data().join("postmaster.pid"));
        let process = as_server(&program("postgres"))
            .arg("-D")
            .arg(self.data())
            .args(["-p", &self.port.to_string()])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.process.lock().unwrap() = Some(process);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.answers() {
            assert!(Instant::now() < deadline, "the server does not start: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn answers(&self) -> bool {
        let asked = Command::new(program("pg_isready"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .stdout(Stdio::null())
            .status();
        asked.is_ok_and(|status| status.success())
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Ends the server and all its processes at once, as a crash does.
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut process) = process.take() else { return };
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", process.id())).unwrap_or_default();
        process.kill().unwrap();
        process.wait().unwrap();
        let ended = Command::new("kill").arg("-9").args(children.split_whitespace()).stderr(Stdio::null()).status();
        ended.unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while children.split_whitespace().any(|child| Path::new("/proc").join(child).exists()) {
            assert!(Instant::now() < deadline, "a process of the server does not end");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// A new database with the schema: its URL, without a stack.
    pub fn database(&self) -> String {
        let name = format!("test_{}_{}", std::process::id(), self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        let url = self.url(&name);
        callstack_postgres::migrate(&url).unwrap();
        url
    }

    /// The URL of a database, over the Unix socket.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://owner@{folder}:{}/{database}", self.port)
    }

    /// Runs SQL in a database as the owner, and returns what it prints.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = Command::new(program("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "owner", "-d", database])
            .args(["-p", &self.port.to_string(), "-c", sql])
            .output()
            .unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The name of the database in a URL.
pub fn database_of(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

/// A port that no process uses now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The path of a program of PostgreSQL. Debian keeps the programs of the server outside of the search path.
pub fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin").join(name)).collect();
    found.retain(|path| path.exists());
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}

/// A command that runs as a user that the server accepts, because the server refuses root.
pub fn as_server(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(program).current_dir("/");
    command
}

/// Makes the user of the server the owner of a file or folder.
pub fn give_away(path: &Path) {
    if is_root() {
        let given = Command::new("chown").arg("-R").arg("postgres:postgres").arg(path).status().unwrap();
        assert!(given.success(), "chown {}", path.display());
    }
}

/// True if this process may do everything on this machine.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| {
        use std::os::unix::fs::MetadataExt;
        data.uid() == 0
    })
}
