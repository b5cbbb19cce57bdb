//! The URL of a stack: `postgres://USER:PASSWORD@HOST:PORT/DATABASE/TENANT/STACK?OPTIONS`.

use std::env;
use std::path::PathBuf;
use std::str::FromStr;

use callstack_core::{Error, Result};
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::tls::Verification;

/// The tenant of URLs that name none.
pub const DEFAULT_TENANT: &str = "default";

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const EXPECTED: &str = "postgres://HOST/DATABASE/STACK, or postgres://HOST/DATABASE/TENANT/STACK; in a password `/`, `?` and `%` \
                        are percent-encoded";
const EXPECTED_DATABASE: &str = "postgres://HOST/DATABASE; in a password `/`, `?` and `%` are percent-encoded";

/// A server, a database there, and the place of a stack in it.
///
/// The form is that of PostgreSQL's own URLs, with the stack behind the database:
/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE/TENANT/STACK`. Without a tenant it is `default`. Names may be
/// percent-encoded. A host that is a folder, also percent-encoded (`%2Fvar%2Frun%2Fpostgresql`), is the
/// folder of a Unix socket. Several hosts are separated by commas. A user or a password that the URL lacks is
/// taken from the environment variables `PGUSER` and `PGPASSWORD`; without both, the user is the user of the
/// system. The options behind `?`:
///
/// | option | meaning |
/// |---|---|
/// | `sslmode` | `disable`, `prefer` (default) and `require` as in PostgreSQL: `require` encrypts without a look at the certificate. `verify-full`, and `verify-ca`, which means the same here: the certificate must be valid for the host |
/// | `sslrootcert` | a file with the certificates (PEM) that are trusted in place of the system's. One of a server that has signed it itself must not be marked as an authority (`CA:FALSE`) |
/// | `mirror` | a folder for `state.json` and `frames/`. Default: there are no such files |
/// | `notify` | `true`: each commit notifies [listeners](crate::Listener). It makes commits of all stacks wait for each other. Default `false` |
/// | others | those of PostgreSQL that the crate `tokio-postgres` knows: `connect_timeout`, `target_session_attrs`, `application_name`, … |
///
/// ```
/// use callstack_postgres::StackUrl;
///
/// let url: StackUrl = "postgres://me:secret@db.example/agents/team%201/shop?sslmode=verify-full".parse()?;
/// assert_eq!((url.tenant(), url.stack()), ("team 1", "shop"));
/// assert_eq!(url.to_string(), "postgres://db.example/agents/team%201/shop");
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StackUrl {
    pub(crate) server: ServerUrl,
    tenant: String,
    stack: String,
    mirror: Option<PathBuf>,
    notifies: bool,
}

/// A server and a database there: a [`StackUrl`] without the stack.
#[derive(Debug, Clone)]
pub(crate) struct ServerUrl {
    pub(crate) config: Config,
    pub(crate) verification: Verification,
    /// The URL for messages: without user, password and options.
    pub(crate) shown: String,
}

impl StackUrl {
    /// The tenant that the stack belongs to.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The name of the stack.
    pub fn stack(&self) -> &str {
        &self.stack
    }

    /// The password of the URL, or of `PGPASSWORD`.
    pub fn password(&self) -> Option<String> {
        self.server.config.get_password().map(|password| String::from_utf8_lossy(password).into_owned())
    }

    /// Returns the text of a URL without its password, for messages and for files that others read. Unlike
    /// the URL that [`Display`] writes, it has the user and all other options.
    ///
    /// ```
    /// use callstack_postgres::StackUrl;
    ///
    /// let shown = StackUrl::without_password("postgres://me:secret@db.example/agents/shop?sslmode=require")?;
    /// assert_eq!(shown, "postgres://me@db.example/agents/shop?sslmode=require");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Setting`] if the text is not such a URL.
    ///
    /// [`Display`]: std::fmt::Display
    pub fn without_password(text: &str) -> Result<String> {
        text.parse::<Self>()?;
        let Parts { scheme, authority, path, options } = Parts::of(text)?;
        let authority = match authority.rsplit_once('@') {
            Some((user, hosts)) => format!("{}@{hosts}", user.split(':').next().unwrap_or_default()),
            None => authority.to_owned(),
        };
        let is_shown = |option: &&str| !option.is_empty() && !is_password(option);
        let others = options.split('&').filter(is_shown).collect::<Vec<_>>().join("&");
        let mark = if others.is_empty() { "" } else { "?" };
        Ok(format!("{scheme}{authority}/{path}{mark}{others}"))
    }

    /// The folder of the mirror, if the URL has the option `mirror`.
    pub fn mirror(&self) -> Option<&PathBuf> {
        self.mirror.as_ref()
    }

    /// True if the URL has the option `notify=true`.
    pub fn notifies(&self) -> bool {
        self.notifies
    }
}

impl std::fmt::Display for StackUrl {
    /// Writes the URL without user, password and options.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&shown_stack(&self.server.shown, &self.tenant, &self.stack))
    }
}

/// The URL of a stack for messages.
pub(crate) fn shown_stack(server: &str, tenant: &str, stack: &str) -> String {
    let [tenant, stack] = [tenant, stack].map(encoded);
    match tenant == DEFAULT_TENANT {
        true => format!("{server}/{stack}"),
        false => format!("{server}/{tenant}/{stack}"),
    }
}

fn encoded(name: &str) -> String {
    const KEPT: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    percent_encoding::utf8_percent_encode(name, KEPT).to_string()
}

impl FromStr for StackUrl {
    type Err = Error;

    /// # Errors
    /// [`Error::Setting`] if the text has another form. The error does not contain the text, which can have a
    /// password.
    fn from_str(text: &str) -> Result<Self> {
        let Parts { authority, path, options, .. } = Parts::of(text)?;
        let names: Vec<String> = path.split('/').map(decoded).collect::<Result<_>>()?;
        let (database, tenant, stack) = match names.as_slice() {
            [database, stack] => (database, DEFAULT_TENANT, stack),
            [database, tenant, stack] => (database, tenant.as_str(), stack),
            _ => return Err(refused("the URL of the stack", EXPECTED)),
        };
        if [database, tenant, stack].iter().any(|name| name.is_empty() || name.contains('\0')) {
            return Err(refused("the URL of the stack", EXPECTED));
        }
        check_names(tenant, stack)?;
        let mut own = OwnOptions::default();
        let server = ServerUrl::parse(authority, database, options, &mut own)?;
        let OwnOptions { mirror, notifies } = own;
        Ok(Self { server, tenant: tenant.to_owned(), stack: stack.clone(), mirror, notifies })
    }
}

/// The options of a URL that concern the stack.
#[derive(Default)]
struct OwnOptions {
    mirror: Option<PathBuf>,
    notifies: bool,
}

impl FromStr for ServerUrl {
    type Err = Error;

    /// Reads the URL of a server and a database. A stack behind the database is left out.
    fn from_str(text: &str) -> Result<Self> {
        let of_database = |_| refused("the URL of the database", EXPECTED_DATABASE);
        let Parts { authority, path, options, .. } = Parts::of(text).map_err(of_database)?;
        let database = decoded(path.split('/').next().unwrap_or_default())?;
        if database.is_empty() {
            return Err(refused("the URL of the database", EXPECTED_DATABASE));
        }
        Self::parse(authority, &database, options, &mut OwnOptions::default())
    }
}

impl ServerUrl {
    fn parse(authority: &str, database: &str, options: &str, own: &mut OwnOptions) -> Result<Self> {
        let (mut verification, mut roots, mut others) = (None, None, Vec::new());
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "mirror" if value.is_empty() => {
                    return Err(refused("the option `mirror` of the URL", "the path of a folder"));
                }
                "mirror" => own.mirror = Some(decoded(value)?.into()),
                "notify" => own.notifies = flag(value)?,
                "sslrootcert" => roots = Some(PathBuf::from(decoded(value)?)),
                "sslmode" if matches!(value, "verify-full" | "verify-ca") => {
                    verification = Some(());
                    others.push("sslmode=require");
                }
                _ => others.push(option),
            }
        }
        // A password may have this character, if its author has not encoded it.
        let authority = match authority.rsplit_once('@') {
            Some((user, hosts)) => format!("{}@{hosts}", user.replace('@', "%40")),
            None => authority.to_owned(),
        };
        let url = format!("postgres://{authority}/?{}", others.join("&"));
        let mut config = Config::from_str(&url).map_err(|error| {
            // The cause names the option, but not the value of an option.
            let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            let expected =
                "one that PostgreSQL knows, with a value that it takes; users and passwords are percent-encoded";
            Error::Setting { name: "a part of the URL of the stack".into(), value: cause, expected }
        })?;
        config.dbname(database);
        if config.get_user().is_none()
            && let Ok(user) = env::var("PGUSER")
        {
            config.user(user);
        }
        if config.get_password().is_none()
            && let Ok(password) = env::var("PGPASSWORD")
        {
            config.password(password);
        }
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        let verification = match (verification, roots) {
            (None, None) => Verification::None,
            (_, roots) => Verification::Full { roots },
        };
        if matches!(verification, Verification::Full { .. }) {
            if config.get_ssl_mode() == SslMode::Disable {
                return Err(refused("sslmode", "another one than `disable`, together with sslrootcert"));
            }
            // A URL that names the certificates does not allow a connection without one.
            config.ssl_mode(SslMode::Require);
        }
        let shown = format!("postgres://{}/{}", shown_hosts(&config), encoded(database));
        Ok(Self { config, verification, shown })
    }
}

fn shown_hosts(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(place, host)| {
        let host = match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => encoded(&folder.to_string_lossy()),
        };
        match ports.get(place).or(ports.first()) {
            Some(port) if *port != 5432 => format!("{host}:{port}"),
            _ => host,
        }
    });
    hosts.collect::<Vec<_>>().join(",")
}

/// The parts of a URL, as they are written.
struct Parts<'a> {
    scheme: &'a str,
    authority: &'a str,
    path: &'a str,
    options: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self> {
        let scheme = SCHEMES.into_iter().find(|scheme| text.starts_with(scheme));
        let parts = scheme.and_then(|scheme| {
            let (scheme, rest) = text.split_at(scheme.len());
            let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
            let (authority, path) = rest.split_once('/')?;
            let path = path.strip_suffix('/').unwrap_or(path);
            // A password that has a `/` of its own is not taken for a host.
            let is_encoded = !path.split('/').next().is_some_and(|database| database.contains('@'));
            is_encoded.then_some(Self { scheme, authority, path, options })
        });
        parts.ok_or_else(|| refused("the URL of the stack", EXPECTED))
    }
}

/// True if an option is the password, also if characters of its name are percent-encoded.
fn is_password(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    percent_decode_str(name).eq(b"password".iter().copied())
}

fn decoded(text: &str) -> Result<String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| refused("the URL of the stack", "text in UTF-8, percent-encoded"))
}

/// Checks the name of a tenant.
pub(crate) fn check_tenant(tenant: &str) -> Result<()> {
    match tenant.is_empty() {
        true => Err(refused("the name of the tenant", "a text that is not empty")),
        false => check_names(tenant, ""),
    }
}

/// Checks names: they stand in lines that people and programs read.
pub(crate) fn check_names(tenant: &str, stack: &str) -> Result<()> {
    let is_wrong = |name: &&str| name.len() > LONGEST_NAME || name.contains(char::is_control);
    match [tenant, stack].iter().any(is_wrong) {
        true => {
            let expected = "at most 200 bytes long, without line breaks and other control characters";
            Err(refused("the name of the tenant or of the stack", expected))
        }
        false => Ok(()),
    }
}

/// Maximum length of the name of a tenant or of a stack, in bytes.
const LONGEST_NAME: usize = 200;

fn flag(value: &str) -> Result<bool> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Error::Setting { name: "notify".into(), value: value.into(), expected: "`true` or `false`" }),
    }
}

fn refused(name: &str, expected: &'static str) -> Error {
    Error::Setting { name: name.into(), value: "…".into(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        text.parse::<StackUrl>().unwrap_err().to_string()
    }

    #[test]
    fn urls_name_a_server_a_tenant_and_a_stack() {
        let url: StackUrl =
            "postgresql://u:p@ss@one,two:5433/data/web%2Fshop?connect_timeout=3&notify=true".parse().unwrap();
        assert_eq!((url.tenant(), url.stack(), url.notifies()), ("default", "web/shop", true));
        assert_eq!(url.to_string(), "postgres://one,two:5433/data/web%2Fshop");
        assert_eq!(url.server.config.get_dbname(), Some("data"));
        assert_eq!(url.server.config.get_password(), Some(&b"p@ss"[..]));
        let url: StackUrl = "postgres://%2Ftmp%2Fserver/data/team/shop/".parse().unwrap();
        assert_eq!(url.to_string(), "postgres://%2Ftmp%2Fserver/data/team/shop");
        assert_eq!(url.server.config.get_hosts(), [Host::Unix("/tmp/server".into())]);
    }

    #[test]
    fn wrong_urls_are_refused_without_the_password() {
        for text in [
            "postgres://u:secret@host",
            "postgres://u:secret@host/data",
            "postgres://u:secret@host/data//shop",
            "postgres://u:secret@host/data/a/b/c",
            "postgres://u:secret@host/data/%00",
            "postgres://u:secret@host/data/%ff",
            "postgres://u:secret@host/data/shop%0Ablog",
            "postgres://u:secret@host/data/te%1Bam/shop",
            "postgres://u:secret@host:port/data/shop",
            "postgres://u:secret@host/data/shop?sslmode=never",
            "postgres://u:secret@host/data/shop?color=blue",
            "postgres://u:secret@host/data/shop?notify=maybe",
            &format!("postgres://u:secret@host/data/{}", "long".repeat(51)),
            "mysql://u:secret@host/data/shop",
            "postgres://u:my@own/secret@host/data/shop",
            "postgres://u:secret@host/data/shop?mirror=",
        ] {
            let message = message(text);
            assert!(!message.contains("secret"), "{text}: {message}");
        }
        assert!(message("postgres://host/data").contains("postgres://HOST/DATABASE/STACK"));
    }

    #[test]
    fn a_url_without_its_password_has_everything_else() {
        for (url, shown) in [
            ("postgres://me:secret@host/d/s", "postgres://me@host/d/s"),
            ("postgres://me@host/d/s?password=secret&sslmode=require", "postgres://me@host/d/s?sslmode=require"),
            ("postgres://me@host/d/s?%70assword=secret&sslmode=require", "postgres://me@host/d/s?sslmode=require"),
            ("postgres://host/d/s?password=s@cret", "postgres://host/d/s"),
            (
                "postgres://me@host/d/s?notify=true&passw%6Frd=secret%21&pass%77ord=b",
                "postgres://me@host/d/s?notify=true",
            ),
            ("postgresql://me@host:5433/d/s", "postgresql://me@host:5433/d/s"),
            ("postgres://host:5433/d/s", "postgres://host:5433/d/s"),
            ("postgres://me:s@cret@host/d/team@home/s", "postgres://me@host/d/team@home/s"),
            ("postgres://host:5433/d/team@home/s", "postgres://host:5433/d/team@home/s"),
            ("postgres://me@work:secret@one,two:5433/d/s", "postgres://me@work@one,two:5433/d/s"),
        ] {
            assert_eq!(StackUrl::without_password(url).unwrap(), shown);
            assert!(shown.parse::<StackUrl>().is_ok(), "{shown}");
        }
        assert!(StackUrl::without_password("postgres://me:secret@host").is_err());
    }

    #[test]
    fn a_certificate_is_verified_only_if_that_is_asked_for() {
        let verification =
            |options: &str| format!("postgres://h/d/s?{options}").parse::<StackUrl>().unwrap().server.verification;
        assert!(matches!(verification("sslmode=require"), Verification::None));
        assert!(matches!(verification("sslmode=verify-full"), Verification::Full { roots: None }));
        assert!(matches!(verification("sslrootcert=%2Fca.pem"), Verification::Full { roots: Some(_) }));
        assert!("postgres://h/d/s?sslmode=disable&sslrootcert=a".parse::<StackUrl>().is_err());
    }
}
