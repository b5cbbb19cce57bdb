//! The file with the prices of models, which several commands take.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use callstack_core::frame::Prices;
use callstack_core::text::{decoded, from_json};
use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;

/// Maximum size of a file with prices, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The option `--prices`.
#[derive(Args)]
pub struct PricesFile {
    /// A file with the prices of models for a million tokens, in JSON or TOML: see docs/cli.md.
    #[arg(long, value_name = "FILE", env = "CALLSTACK_PRICES", hide_env_values = true)]
    prices: Option<PathBuf>,
}

impl PricesFile {
    /// The prices of the file. `None` if no file was given. An empty name counts as none.
    pub fn read(&self) -> Result<Option<Prices>, Failure> {
        self.prices.as_deref().filter(|path| !path.as_os_str().is_empty()).map(read).transpose()
    }
}

/// Reads a file of prices: TOML if its name ends in `.toml`, else JSON.
fn read(path: &Path) -> Result<Prices, Failure> {
    let name = path.display();
    let failed = |error: io::Error| Failure::of_file("read", name.to_string(), &error);
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    let wrong = |message: String| {
        let next = "give prices for a million tokens: {\"MODEL\": {\"uncachedInput\": 3, \"cacheRead\": 0.3, \"cacheWrite\": 3.75, \
                    \"output\": 15}}";
        Failure::new(Exit::Refused, "prices", format!("{name} cannot be read as prices: {message}")).next(next)
    };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(wrong("it is larger than 1 MiB".to_owned()));
    }
    let text = decoded(bytes).map_err(|error| wrong(error.to_string()))?;
    let is_toml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let read: Result<Prices, String> = match is_toml {
        true => toml::from_str(&text).map_err(|error| error.to_string()),
        false => from_json(&text).map_err(|error| error.to_string()),
    };
    let prices = read.map_err(wrong)?;
    match prices.invalid() {
        Some(model) => Err(wrong(format!("a price of `{model}` is not an amount of money"))),
        None => Ok(prices),
    }
}
