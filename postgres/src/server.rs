//! A database on a server, and its stacks.

use std::fmt;
use std::fs;
use std::io::BufRead;

use callstack_core::{Error, Mirroring, Result, Stack, StackOptions};
use tokio_postgres::types::Type;

use crate::connection::Value;
use crate::errors::Failure;
use crate::options::PostgresOptions;
use crate::pool::Pool;
use crate::schema;
use crate::store::PostgresStore;
use crate::transaction::StackRow;
use crate::url::{ServerUrl, StackUrl, check_names, shown_stack};

/// A PostgreSQL database, and the connections to it that the stacks of this process share.
///
/// A command holds a connection from its beginning to its commit, a query while it runs. So a process with
/// many stacks needs few connections. Clones share them.
///
/// ```no_run
/// use callstack_core::{Stack, StackOptions};
/// use callstack_postgres::{PostgresOptions, PostgresServer};
///
/// let server = PostgresServer::connect("postgres://agents@db.example/agents", PostgresOptions::default())?;
/// for name in ["shop", "blog"] {
///     let stack = Stack::with_store(server.store("team", name)?, StackOptions::default())?;
///     println!("{name}: {} frames", stack.read(|tree| tree.len())?);
/// }
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Clone)]
pub struct PostgresServer {
    pool: Pool,
}

impl fmt::Debug for PostgresServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresServer").field("url", &self.pool.shown()).finish_non_exhaustive()
    }
}

impl PostgresServer {
    /// Connects to the database of a URL, `postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTIONS` (see
    /// [`StackUrl`]; a stack behind the database is left out), and checks that it has the schema. Tries again
    /// while the server cannot be reached, until [`PostgresOptions::busy_timeout`].
    ///
    /// # Errors
    /// [`Error::Setting`] for the URL; [`Error::Disconnected`] if there is no server; [`Error::Version`] if a
    /// newer version of the library has migrated the schema; [`Error::Io`] if there is no schema, or the
    /// server refuses the user.
    pub fn connect(url: &str, options: PostgresOptions) -> Result<Self> {
        Self::of(url.parse()?, options)
    }

    fn of(url: ServerUrl, options: PostgresOptions) -> Result<Self> {
        Ok(Self { pool: schema::connect(url, options)? })
    }

    /// The store of a stack, which is made if it does not exist.
    ///
    /// # Errors
    /// [`Error::Setting`] for a name of more than 200 bytes; [`Error::ReadOnly`] if the stack does not exist
    /// and this role may not make it; the errors of [`PostgresServer::connect`].
    pub fn store(&self, tenant: &str, stack: &str) -> Result<PostgresStore> {
        check_names(tenant, stack)?;
        if let Some(store) = self.existing_store(tenant, stack)? {
            return Ok(store);
        }
        self.pool.ask(self.pool.patience(), |connection, deadline| {
            let tenant_of: [Value<'_>; 1] = [(&tenant, Type::TEXT)];
            let is_known = !connection.rows(FIND_TENANT, &tenant_of, deadline)?.is_empty();
            if !is_known {
                connection.rows(ADD_TENANT, &tenant_of, deadline).map_err(|failure| match failure {
                    Failure::Refused(Error::ReadOnly { .. }) => Failure::Refused(self.no_tenant(tenant)),
                    other => other,
                })?;
            }
            connection.rows(ADD_STACK, &[(&tenant, Type::TEXT), (&stack, Type::TEXT)], deadline).map(drop)
        })?;
        self.existing_store(tenant, stack)?.ok_or_else(|| self.no_tenant(tenant))
    }

    /// The store of a stack; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] if this role may not use the tenant; the errors of [`PostgresServer::connect`].
    pub fn existing_store(&self, tenant: &str, stack: &str) -> Result<Option<PostgresStore>> {
        let found = self.pool.ask(self.pool.patience(), |connection, deadline| {
            connection.rows(FIND_STACK, &[(&tenant, Type::TEXT), (&stack, Type::TEXT)], deadline)
        })?;
        let place = shown_stack(self.pool.shown(), tenant, stack);
        if let Some(row) = found.last() {
            let row = StackRow { id: row.get(0), tenant: row.get(1) };
            return Ok(Some(PostgresStore::new(self.pool.clone(), row, place)));
        }
        let may_see = self.pool.ask(self.pool.patience(), |connection, deadline| {
            connection.rows(MAY_SEE_TENANT, &[(&tenant, Type::TEXT)], deadline)
        })?;
        match may_see.is_empty() {
            true => Err(self.no_tenant(tenant)),
            false => Ok(None),
        }
    }

    /// The stacks of a tenant that this role can see, by their names, each with the number of its commits'
    /// events.
    ///
    /// # Errors
    /// The errors of [`PostgresServer::connect`].
    pub fn stacks(&self, tenant: &str) -> Result<Vec<(String, u64)>> {
        let found = self.pool.ask(self.pool.patience(), |connection, deadline| {
            connection.rows(LIST_STACKS, &[(&tenant, Type::TEXT)], deadline)
        })?;
        Ok(found.iter().map(|row| (row.get(0), row.get::<_, i64>(1).cast_unsigned())).collect())
    }

    /// Removes a stack with its history and its logs. Returns false if there is none. A process that still
    /// has it open gets [`Error::Replaced`].
    ///
    /// # Errors
    /// [`Error::ReadOnly`] if this role may not change the stack; [`Error::Busy`]; the errors of
    /// [`PostgresServer::connect`].
    pub fn remove(&self, tenant: &str, stack: &str) -> Result<bool> {
        let Some(store) = self.existing_store(tenant, stack)? else { return Ok(false) };
        let place = &shown_stack(self.pool.shown(), tenant, stack);
        let (_, id) = store.place_in_server();
        let tables = ["events", "heads", "frames", "base_frames", "logs", "words", "indexed"];
        let statements = tables.map(|table| format!("DELETE FROM callstack.{table} WHERE stack = {id};")).concat();
        self.pool.change(|connection, deadline| {
            // Waits for a command that runs, and lets no other command begin.
            let locked = format!(
                "BEGIN; SET LOCAL lock_timeout = '10s'; SELECT id FROM callstack.stacks WHERE id = {id} FOR NO KEY UPDATE; \
                 {statements} DELETE FROM callstack.stacks WHERE id = {id} RETURNING id; COMMIT"
            );
            let removed = connection.run(&locked, deadline);
            if removed.is_err() && connection.is_usable() {
                connection.run("ROLLBACK", deadline)?;
            }
            removed?;
            // A row that this role may read but not change is still there.
            let left = connection.run(&format!("SELECT id FROM callstack.stacks WHERE id = {id}"), deadline)?;
            if left.is_empty() { Ok(()) } else { Err(Error::read_only(place).into()) }
        })?;
        Ok(true)
    }

    /// Removes a stack that has no events.
    fn remove_unused(&self, id: i64) -> Result<()> {
        let sql = format!("DELETE FROM callstack.stacks WHERE id = {id} AND revision = 0");
        self.pool.ask(self.pool.patience(), |connection, deadline| connection.run(&sql, deadline).map(drop))
    }

    fn no_tenant(&self, tenant: &str) -> Error {
        let message = format!(
            "this role may not use the tenant `{tenant}`; an owner of the database runs `callstack postgres grant`"
        );
        Error::io("open", self.pool.shown(), message)
    }
}

/// A role that may make tenants sees all of them.
const MAY_SEE_TENANT: &str = "SELECT 1 WHERE EXISTS (SELECT FROM callstack.tenants WHERE name = $1) \
                              OR has_table_privilege('callstack.tenants', 'INSERT')";
const FIND_TENANT: &str = "SELECT id FROM callstack.tenants WHERE name = $1";
const ADD_TENANT: &str = "INSERT INTO callstack.tenants (name) VALUES ($1) ON CONFLICT DO NOTHING";
const FIND_STACK: &str = "SELECT stacks.id, stacks.tenant FROM callstack.stacks \
                          JOIN callstack.tenants ON tenants.id = stacks.tenant WHERE tenants.name = $1 AND stacks.name = $2";
const ADD_STACK: &str = "INSERT INTO callstack.stacks (tenant, name) SELECT id, $2 FROM callstack.tenants WHERE name = $1 \
                         ON CONFLICT DO NOTHING";
const LIST_STACKS: &str = "SELECT stacks.name, stacks.revision FROM callstack.stacks \
                           JOIN callstack.tenants ON tenants.id = stacks.tenant WHERE tenants.name = $1 ORDER BY stacks.name";

/// Where [`Stack::open_url`](OpenUrl::open_url) finds stacks.
pub trait OpenUrl: Sized {
    /// Opens the stack of a URL ([`StackUrl`]), which is made if it does not exist. Its events, snapshots and
    /// logs are in the database. There are files too only if the URL has the option `mirror`.
    ///
    /// ```no_run
    /// use callstack_core::{NewFrame, Stack, StackOptions};
    /// use callstack_postgres::OpenUrl;
    ///
    /// let stack = Stack::open_url("postgres://agents:secret@db.example/agents/shop", StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop"))?;
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`PostgresServer::connect`] and [`PostgresServer::store`]; [`Error::History`] if the events do not
    /// fit together; the errors of the folder of the mirror.
    fn open_url(url: &str, options: StackOptions) -> Result<Self>;

    /// As [`OpenUrl::open_url`], but returns `None` if the stack does not exist.
    ///
    /// # Errors
    /// As [`OpenUrl::open_url`].
    fn open_existing_url(url: &str, options: StackOptions) -> Result<Option<Self>>;

    /// Makes the stack of a URL from a history, as
    /// [`Stack::rebuild_in_store`] does.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if it has events; as [`Stack::rebuild_in_store`] and [`OpenUrl::open_url`].
    fn rebuild_at_url(url: &str, history: impl BufRead, options: StackOptions) -> Result<Self>;
}

impl OpenUrl for Stack {
    fn open_url(url: &str, options: StackOptions) -> Result<Self> {
        let (server, url) = connected(url, &options)?;
        // A folder that cannot be made is refused before the stack is made.
        if let Some(folder) = url.mirror().filter(|_| options.mirror != Mirroring::Off) {
            fs::create_dir_all(folder)
                .map_err(|error| Error::io("make", folder.display().to_string(), error.to_string()))?;
        }
        opened(server.store(url.tenant(), url.stack())?, &url, options)
    }

    fn open_existing_url(url: &str, options: StackOptions) -> Result<Option<Self>> {
        let (server, url) = connected(url, &options)?;
        let store = server.existing_store(url.tenant(), url.stack())?;
        store.map(|store| opened(store, &url, options)).transpose()
    }

    fn rebuild_at_url(url: &str, history: impl BufRead, options: StackOptions) -> Result<Self> {
        let (server, url) = connected(url, &options)?;
        let existing = server.existing_store(url.tenant(), url.stack())?;
        let is_new = existing.is_none();
        let store = existing.map_or_else(|| server.store(url.tenant(), url.stack()), Ok)?.of_history();
        let (_, id) = store.place_in_server();
        let rebuilt = match url.mirror().filter(|_| options.mirror != Mirroring::Off) {
            Some(folder) => Stack::rebuild_with_store(folder, store, history, options),
            None => Stack::rebuild_in_store(store, history, options),
        };
        rebuilt.map_err(|error| {
            if is_new {
                // If that fails, an empty stack is left.
                let _ = server.remove_unused(id);
            }
            match error {
                Error::NotEmpty { .. } => Error::NotEmpty { path: url.to_string() },
                other => other,
            }
        })
    }
}

/// The server of a stack with these options.
fn connected(url: &str, options: &StackOptions) -> Result<(PostgresServer, StackUrl)> {
    let url: StackUrl = url.parse()?;
    let options = PostgresOptions::of(options).notifies(url.notifies());
    Ok((PostgresServer::of(url.server.clone(), options)?, url))
}

fn opened(store: PostgresStore, url: &StackUrl, options: StackOptions) -> Result<Stack> {
    match url.mirror().filter(|_| options.mirror != Mirroring::Off) {
        Some(folder) => Stack::open_with_store(folder, store, options),
        None => Stack::with_store(store, options),
    }
}
