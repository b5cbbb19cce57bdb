//! `callstack postgres`: prepares a PostgreSQL database for stacks, says who may use them, and lists them.

use std::io;

use callstack_postgres::{Access, DEFAULT_TENANT, PostgresOptions, PostgresServer, StackUrl, grant, migrate, revoke};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, count};

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Makes the schema `callstack` in a database, or brings it to the version of this program.
    ///
    /// The role of the URL needs the right to make schemas in the database, and owns the schema afterwards. Nothing else
    /// migrates a database. Several programs may run it at the same time.
    Migrate {
        /// The database: postgres://HOST/DATABASE. A stack behind it is left out.
        url: String,
    },
    /// Lets a role of the server use the stacks of a tenant. The owner of the schema runs it.
    Grant {
        #[command(flatten)]
        tenant: Tenant,
        /// The role.
        role: String,
        /// The role can look at the stacks, and change none.
        #[arg(long)]
        read_only: bool,
    },
    /// Takes the stacks of a tenant away from a role.
    Revoke {
        #[command(flatten)]
        tenant: Tenant,
        /// The role.
        role: String,
    },
    /// Removes a stack from its server, with its history and its logs. Nothing brings it back.
    Remove {
        /// The stack: postgres://HOST/DATABASE/STACK.
        url: String,
        /// Remove it, and do not only say what would be removed.
        #[arg(long)]
        yes: bool,
    },
    /// Lists the stacks of a tenant.
    Stacks {
        #[command(flatten)]
        tenant: Tenant,
    },
}

#[derive(Args)]
struct Tenant {
    /// The database: postgres://HOST/DATABASE. A stack behind it is left out.
    url: String,
    /// The tenant, which is the second part of URLs with three: postgres://HOST/DATABASE/TENANT/STACK.
    #[arg(long, default_value = DEFAULT_TENANT)]
    tenant: String,
}

/// The schema of a database.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigratedSchema {
    /// Its version before; absent if it was made now.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u32>,
    /// Its version now.
    to: u32,
}

impl Report for MigratedSchema {
    const KIND: &'static str = "migratedSchema";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Self { from, to } = self;
        page.text(
            0,
            &match from {
                None => format!("made the schema callstack, version {to}"),
                Some(from) if from == to => format!("the schema callstack has version {to} already"),
                Some(from) => format!("brought the schema callstack from version {from} to {to}"),
            },
        )
    }
}

/// The access of a role to the stacks of a tenant.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedAccess {
    /// The role.
    role: String,
    /// The tenant.
    tenant: String,
    /// `read`, `write` or `none`.
    access: String,
}

impl Report for ChangedAccess {
    const KIND: &'static str = "changedAccess";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Self { role, tenant, access } = self;
        let may = if access == "none" { "may no longer use" } else { &format!("may {access}") };
        page.text(0, &format!("{role} {may} the stacks of the tenant {tenant}"))
    }
}

/// A stack that was removed from its server, or would be.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedStack {
    /// Its URL.
    stack: String,
    /// Number of its events.
    revision: u64,
    /// False without `--yes`.
    is_removed: bool,
}

impl Report for RemovedStack {
    const KIND: &'static str = "removedStack";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Self { stack, revision, is_removed } = self;
        let events = count(*revision as usize, "event");
        page.text(
            0,
            &match is_removed {
                true => format!("removed {stack} with {events}"),
                false => format!("{stack} has {events}; --yes removes it, and nothing brings it back"),
            },
        )
    }
}

/// The stacks of a tenant.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stacks {
    /// The tenant.
    tenant: String,
    /// Its stacks, by their names.
    stacks: Vec<ListedStack>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedStack {
    name: String,
    /// Number of events.
    revision: u64,
}

impl Report for Stacks {
    const KIND: &'static str = "stacks";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.stacks.is_empty() {
            return page.text(0, &format!("the tenant {} has no stack that this role can see", self.tenant));
        }
        let mut stacks = self.stacks.iter();
        stacks
            .try_for_each(|stack| page.text(0, &format!("{}: {}", stack.name, count(stack.revision as usize, "event"))))
    }
}

pub fn run(arguments: Arguments, output: Output) -> Result<(), Failure> {
    match arguments.action {
        Action::Migrate { url } => {
            let migrated = migrate(&url)?;
            output.report(&MigratedSchema { from: migrated.from, to: migrated.to })
        }
        Action::Grant { tenant: Tenant { url, tenant }, role, read_only } => {
            let access = if read_only { Access::Read } else { Access::Write };
            grant(&url, &role, &tenant, access)?;
            output.report(&ChangedAccess { role, tenant, access: access.to_string() })
        }
        Action::Revoke { tenant: Tenant { url, tenant }, role } => {
            revoke(&url, &role, &tenant)?;
            output.report(&ChangedAccess { role, tenant, access: "none".to_owned() })
        }
        Action::Remove { url, yes } => {
            let place: StackUrl = url.parse()?;
            let server = PostgresServer::connect(&url, PostgresOptions::default())?;
            let stacks = server.stacks(place.tenant())?;
            let Some((_, revision)) = stacks.into_iter().find(|(name, _)| name == place.stack()) else {
                return Err(Failure::new(Exit::Failed, "no_stack", format!("there is no stack {place}")));
            };
            if yes {
                server.remove(place.tenant(), place.stack())?;
            }
            output.report(&RemovedStack { stack: place.to_string(), revision, is_removed: yes })
        }
        Action::Stacks { tenant: Tenant { url, tenant } } => {
            let server = PostgresServer::connect(&url, PostgresOptions::default())?;
            let stacks = server.stacks(&tenant)?.into_iter();
            let stacks = stacks.map(|(name, revision)| ListedStack { name, revision }).collect();
            output.report(&Stacks { tenant, stacks })
        }
    }
}
