//! The schema of the database, its versions, and who may use it.

use std::fmt;
use std::time::Instant;

use callstack_core::{Error, Result};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::connection::{Connection, Value};
use crate::errors::{Failure, NO_SCHEMA};
use crate::options::PostgresOptions;
use crate::pool::Pool;
use crate::url::{ServerUrl, check_tenant};

/// The version of the schema that this library makes and uses.
const VERSION: i32 = 1;

/// A step to the next version. `oldest` is the oldest version of the library's schema that can use the
/// result.
struct Migration {
    version: i32,
    oldest: i32,
    sql: &'static str,
}

const MIGRATIONS: [Migration; 1] = [Migration { version: 1, oldest: 1, sql: include_str!("schema_1.sql") }];

/// The number of the lock by which two migrations at the same time wait for each other.
const MIGRATION_LOCK: i64 = 0x0063_616c_6c73_7461;

/// What [`migrate`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// The version before; `None` if the database had no schema.
    pub from: Option<u32>,
    /// The version now.
    pub to: u32,
}

/// The access of a role to the stacks of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Open and read them.
    Read,
    /// Also change them, and make new ones.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// Makes the schema `callstack` in the database of a URL, or brings it to the version of this library, in one
/// transaction. The role must own the database or may create schemas in it; it owns the schema. Nothing else
/// migrates: a library of another version uses the schema if both sides allow it, and else refuses it.
///
/// # Errors
/// [`Error::Version`] if a newer library has migrated it; [`Error::Io`] if the server refuses it, or its
/// texts are not in UTF-8; [`Error::Disconnected`].
pub fn migrate(url: &str) -> Result<Migrated> {
    let pool = Pool::of(url.parse()?, PostgresOptions::default());
    pool.ask(pool.patience(), |connection, deadline| {
        let begun = "BEGIN ISOLATION LEVEL READ COMMITTED; SHOW server_encoding";
        let encoding = connection.run(begun, deadline)?;
        let migrated = check_encoding(pool.shown(), encoding.last().and_then(|row| row.get(0)))
            .map_err(Failure::from)
            .and_then(|()| bring_up_to_date(connection, pool.shown(), deadline));
        connection.run(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" }, deadline)?;
        migrated.map_err(|failure| match failure {
            Failure::Refused(Error::ReadOnly { path, .. }) => Error::io(
                "migrate",
                path,
                "this role may not change the schema; its owner, or that of the database, can",
            )
            .into(),
            other => other,
        })
    })
}

fn bring_up_to_date(connection: &mut Connection, place: &str, deadline: Instant) -> Result<Migrated, Failure> {
    connection.run(&format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"), deadline)?;
    let exists = connection.run("SELECT 1 WHERE to_regclass('callstack.schema_versions') IS NOT NULL", deadline)?;
    let found = match exists.is_empty() {
        true => None,
        false => Some(newest_version(connection, deadline)?),
    };
    refuse_newer(place, found)?;
    let (version, _) = found.unwrap_or((0, 0));
    for Migration { version, oldest, sql } in MIGRATIONS.iter().filter(|migration| migration.version > version) {
        connection.run(sql, deadline)?;
        let note = format!("INSERT INTO callstack.schema_versions (version, oldest) VALUES ({version}, {oldest})");
        connection.run(&note, deadline)?;
    }
    Ok(Migrated { from: found.map(|(version, _)| version.unsigned_abs()), to: VERSION.max(version).unsigned_abs() })
}

fn check_encoding(place: &str, encoding: Option<&str>) -> Result<()> {
    match encoding {
        Some("UTF8") => Ok(()),
        other => {
            let found = other.unwrap_or("unknown");
            Err(Error::io("use", place, format!("its encoding is {found}; make a database with the encoding UTF8")))
        }
    }
}

/// Connects to a database whose schema this library can use.
pub(crate) fn connect(url: ServerUrl, options: PostgresOptions) -> Result<Pool> {
    let pool = Pool::of(url, options);
    pool.ask(pool.patience(), |connection, deadline| check(connection, pool.shown(), deadline))?;
    Ok(pool)
}

/// Checks that this library can use the schema.
fn check(connection: &mut Connection, place: &str, deadline: Instant) -> Result<(), Failure> {
    let found = newest_version(connection, deadline)?;
    refuse_newer(place, Some(found))?;
    match found.0 < VERSION {
        true => {
            let message = format!(
                "its schema has version {}, this library needs {VERSION}; an owner of the database runs `callstack postgres \
                 migrate URL`",
                found.0
            );
            Err(Error::io("open", place, message).into())
        }
        false => Ok(()),
    }
}

/// The version of the schema, and the oldest version of the library's schema that can use it.
fn newest_version(connection: &mut Connection, deadline: Instant) -> Result<(i32, i32), Failure> {
    let sql = "SELECT version, oldest FROM callstack.schema_versions ORDER BY version DESC LIMIT 1";
    let rows = connection.rows(sql, &[], deadline)?;
    let newest = rows.first().map(|row| (row.get(0), row.get(1)));
    newest.ok_or_else(|| Error::io("open", "the schema", NO_SCHEMA).into())
}

fn refuse_newer(place: &str, found: Option<(i32, i32)>) -> Result<()> {
    match found {
        Some((version, oldest)) if oldest > VERSION => Err(Error::Version {
            what: format!("the schema of {place}"),
            found: u64::from(version.unsigned_abs()),
            supported: u64::from(VERSION.unsigned_abs()),
        }),
        _ => Ok(()),
    }
}

/// Lets a role of the server read or change the stacks of a tenant, which is made if it does not exist.
/// Row-level security keeps the role from the stacks of other tenants. The owner of the schema runs it.
///
/// # Errors
/// [`Error::Setting`] for the name of the tenant; [`Error::Io`] if there is no such role, or the user of the
/// URL does not own the schema; the errors of [`PostgresServer::connect`](crate::PostgresServer::connect).
pub fn grant(url: &str, role: &str, tenant: &str, access: Access) -> Result<()> {
    check_tenant(tenant)?;
    let sql = format!("SELECT callstack.allow($1, $2, {})", access == Access::Write);
    change_access(url, role, tenant, &sql).map(drop)
}

/// Takes the stacks of a tenant away from a role again. Returns false if it had no grant for them.
///
/// # Errors
/// As [`grant`].
pub fn revoke(url: &str, role: &str, tenant: &str) -> Result<bool> {
    let rows = change_access(url, role, tenant, "SELECT callstack.disallow($1, $2)")?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}

fn change_access(url: &str, role: &str, tenant: &str, sql: &str) -> Result<Vec<Row>> {
    let pool = connect(url.parse()?, PostgresOptions::default())?;
    let values: [Value<'_>; 2] = [(&role, Type::TEXT), (&tenant, Type::TEXT)];
    pool.change(|connection, deadline| connection.rows(sql, &values, deadline)).map_err(|error| match error {
        Error::ReadOnly { path, .. } => Error::io(
            "change the grants of",
            path,
            "only the owner of the schema `callstack`, or a superuser, may do that",
        ),
        other => other,
    })
}

/// A grant: what a role may do with the stacks of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// The tenant.
    pub tenant: String,
    /// The role. `None`: no role has a grant for the tenant.
    pub role: Option<String>,
    /// The access of the role. [`Access::Read`] if there is no role.
    pub access: Access,
}

/// All tenants with the roles that may use them, by their names. A role that does not own the schema sees its
/// own grants.
///
/// # Errors
/// The errors of [`PostgresServer::connect`](crate::PostgresServer::connect).
pub fn grants(url: &str) -> Result<Vec<Grant>> {
    let pool = connect(url.parse()?, PostgresOptions::default())?;
    let rows = pool.ask(pool.patience(), |connection, deadline| connection.rows(GRANTS, &[], deadline))?;
    let grants = rows.iter().map(|row| Grant {
        tenant: row.get(0),
        role: row.get(1),
        access: if row.get(2) { Access::Write } else { Access::Read },
    });
    Ok(grants.collect())
}

const GRANTS: &str = "SELECT tenants.name, pg_roles.rolname::text, coalesce(members.writes, false) FROM callstack.tenants \
    LEFT JOIN callstack.members ON members.tenant = tenants.id LEFT JOIN pg_roles ON pg_roles.oid = members.role \
    ORDER BY tenants.name, pg_roles.rolname";
