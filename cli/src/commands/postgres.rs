//! `callstack postgres`: prepares a PostgreSQL database for stacks, says who may use them, and lists them.

use std::io;

use callstack_core::text::one_line;
use callstack_postgres::{
    Access, DEFAULT_TENANT, Grant, PostgresOptions, PostgresServer, StackUrl, grant, grants, migrate, revoke,
};
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
    /// The role of the URL needs the right to make schemas in the database, and owns the schema afterwards.
    /// Nothing else migrates a database. Several programs may run it at the same time.
    Migrate {
        /// The database: postgres://HOST/DATABASE. A stack after it is left out.
        url: String,
    },
    /// Lets a role of the server use the stacks of a tenant. The owner of the schema runs it.
    Grant {
        #[command(flatten)]
        tenant: Tenant,
        /// The role.
        role: String,
        /// The role can look at the stacks, and cannot change them.
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
    /// Lists the tenants, and the roles that may use them.
    Grants {
        /// The database: postgres://HOST/DATABASE. A stack after it is left out.
        url: String,
    },
    /// Removes a stack from its server, with its history and its logs. Nothing can restore it.
    Remove {
        /// The stack: postgres://HOST/DATABASE/STACK.
        url: String,
        /// Remove it. Without this option the command is refused, and says what would be removed.
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
    /// The database: postgres://HOST/DATABASE, or postgres://HOST/DATABASE/TENANT/STACK. The tenant of the
    /// URL is used.
    url: String,
    /// The tenant, which is the second part of URLs with three: postgres://HOST/DATABASE/TENANT/STACK.
    /// Default: that of the URL, or `default`.
    #[arg(long)]
    tenant: Option<String>,
}

impl Tenant {
    /// The URL, and the name of the tenant.
    ///
    /// # Errors
    /// If the URL names another tenant than the option.
    fn named(self) -> Result<(String, String), Failure> {
        let Self { url, tenant } = self;
        let of_url = url.parse::<StackUrl>().ok().map(|url| url.tenant().to_owned());
        match (tenant, of_url) {
            (Some(tenant), Some(of_url)) if tenant != of_url => {
                let message = format!("the URL has the tenant {of_url}, and --tenant names {tenant}");
                Err(Failure::new(Exit::Usage, "two_tenants", message).next("leave one of them out"))
            }
            (tenant, of_url) => Ok((url, tenant.or(of_url).unwrap_or_else(|| DEFAULT_TENANT.to_owned()))),
        }
    }

    /// As [`Tenant::named`], to change who may use the tenant.
    ///
    /// # Errors
    /// As [`Tenant::named`]; if the URL has one name after the database: that is a stack, and may be meant as
    /// a tenant.
    fn named_for_grants(self) -> Result<(String, String), Failure> {
        let stack = self.url.parse::<StackUrl>().ok().filter(|url| url.tenant() == DEFAULT_TENANT);
        if let (Some(stack), None) = (stack, &self.tenant) {
            let stack = stack.stack();
            let message =
                format!("{stack} in the URL is a stack of the tenant {DEFAULT_TENANT}, and a grant is for a tenant");
            return Err(Failure::new(Exit::Usage, "no_tenant", message)
                .next(format!("leave {stack} out, and name another tenant with --tenant")));
        }
        self.named()
    }
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
        page.text(0, &one_line(&format!("{role} {may} the stacks of the tenant {tenant}")))
    }
}

/// The tenants of a database, and the roles that may use them.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grants {
    grants: Vec<ListedGrant>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedGrant {
    tenant: String,
    /// Absent if no role except the owner of the schema may use the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// `read` or `write`; absent without a role.
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<String>,
}

impl Report for Grants {
    const KIND: &'static str = "grants";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.grants.is_empty() {
            return page.text(0, "there is no tenant that this role can see");
        }
        self.grants.iter().try_for_each(|ListedGrant { tenant, role, access }| {
            let role = role.as_deref().unwrap_or("only the owner of the schema");
            page.text(0, &one_line(&format!("{tenant}: {role} {}", access.as_deref().unwrap_or_default())))
        })
    }
}

/// A stack that was removed from its server.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedStack {
    /// Its URL.
    stack: String,
    /// Number of its events.
    revision: u64,
}

impl Report for RemovedStack {
    const KIND: &'static str = "removedStack";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Self { stack, revision } = self;
        page.text(0, &format!("removed {stack} with {}", count(*revision as usize, "event")))
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
            let none = format!("the tenant {} has no stack that this role can see", self.tenant);
            return page.text(0, &one_line(&none));
        }
        // Another program can have given a stack a name with line breaks. Such a name must not look like
        // further stacks.
        self.stacks.iter().try_for_each(|stack| {
            page.text(0, &one_line(&format!("{}: {}", stack.name, count(stack.revision as usize, "event"))))
        })
    }
}

pub fn run(arguments: Arguments, output: Output) -> Result<(), Failure> {
    match arguments.action {
        Action::Migrate { url } => {
            let migrated = migrate(&url)?;
            output.report(&MigratedSchema { from: migrated.from, to: migrated.to })
        }
        Action::Grant { tenant, role, read_only } => {
            let (url, tenant) = tenant.named_for_grants()?;
            let access = if read_only { Access::Read } else { Access::Write };
            grant(&url, &role, &tenant, access)?;
            output.report(&ChangedAccess { role, tenant, access: access.to_string() })
        }
        Action::Revoke { tenant, role } => {
            let (url, tenant) = tenant.named_for_grants()?;
            if !revoke(&url, &role, &tenant)? {
                let message = format!("{role} has no grant for the tenant {tenant}");
                return Err(Failure::new(Exit::Refused, "no_grant", message)
                    .next("callstack postgres grants URL lists the tenants and who may use them"));
            }
            output.report(&ChangedAccess { role, tenant, access: "none".to_owned() })
        }
        Action::Grants { url } => {
            let grants = grants(&url)?.into_iter().map(|Grant { tenant, role, access, .. }| ListedGrant {
                tenant,
                access: role.as_ref().map(|_| access.to_string()),
                role,
            });
            output.report(&Grants { grants: grants.collect() })
        }
        Action::Remove { url, yes } => {
            let place: StackUrl = url.parse()?;
            let server = PostgresServer::connect(&url, PostgresOptions::default())?;
            let stacks = server.stacks(place.tenant())?;
            let Some((_, revision)) = stacks.into_iter().find(|(name, _)| name == place.stack()) else {
                return Err(Failure::new(Exit::Failed, "no_stack", format!("there is no stack {place}")));
            };
            if !yes {
                let message = format!("{place} has {}, and was not removed", count(revision as usize, "event"));
                return Err(Failure::new(Exit::Refused, "not_confirmed", message)
                    .next("the option --yes removes it, and nothing brings it back"));
            }
            server.remove(place.tenant(), place.stack())?;
            output.report(&RemovedStack { stack: place.to_string(), revision })
        }
        Action::Stacks { tenant } => {
            let (url, tenant) = tenant.named()?;
            let server = PostgresServer::connect(&url, PostgresOptions::default())?;
            let stacks = server.stacks(&tenant)?.into_iter();
            let stacks = stacks.map(|(name, revision)| ListedStack { name, revision }).collect();
            output.report(&Stacks { tenant, stacks })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Lines;

    #[test]
    fn a_name_with_a_line_break_forges_no_line() {
        let stacks = Stacks {
            tenant: "default".to_owned(),
            stacks: vec![ListedStack { name: "shop: 3 events\nblog".to_owned(), revision: 1 }],
        };
        let grants = Grants {
            grants: vec![ListedGrant { tenant: "team\nother".to_owned(), role: Some("me".to_owned()), access: None }],
        };
        let written = |write: &dyn Fn(&mut Page<'_>) -> io::Result<()>| {
            let mut lines = Lines::at_most(9);
            write(&mut Page::collecting(&mut lines, 80)).unwrap();
            lines.lines.len()
        };
        assert_eq!((written(&|page| stacks.write(page)), written(&|page| grants.write(page))), (1, 1));
    }
}
