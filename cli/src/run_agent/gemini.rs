//! Gemini CLI: it has neither an option nor a variable for servers. Therefore it gets a home for this run:
//! its settings with the server, and links to everything else in its own home. New files that it writes there
//! are moved back at the end.

use std::fs;
use std::io;

use serde_json::{Value, json};

use super::launch::{Launch, SERVER, Scene};
use super::lent_folder::{LentFolder, SETTINGS, link_if_there};
use super::settings_files;
use crate::failure::Failure;
use crate::host_files::{GEMINI_HOME, HostFiles};
use crate::proxy::Proxy;

pub const BASE_URL: &str = "GOOGLE_GEMINI_BASE_URL";
/// The agent's folder in a home.
const FOLDER: &str = ".gemini";
/// A file next to it that the agent reads.
const VARIABLES: &str = ".env";

pub fn launch(scene: &Scene<'_>, proxy: Option<&Proxy>) -> Result<Launch, Failure> {
    let home = HostFiles::Gemini.home().unwrap_or_default();
    let home = std::path::absolute(home).map_err(|error| Failure::of_file("find", "the home folder", &error))?;
    let for_run = scene.files.join("home");
    let failed = |error: io::Error| Failure::of_file("make", "a home for Gemini CLI", &error);
    let lent = LentFolder { own: home.join(FOLDER), lent: for_run.join(FOLDER) };
    lent.fill().map_err(failed)?;
    link_if_there(&home.join(VARIABLES), &for_run.join(VARIABLES)).map_err(failed)?;
    let mut settings = settings_files::json(&lent.own.join(SETTINGS)).unwrap_or_else(|| json!({}));
    if let Some(settings) = settings.as_object_mut() {
        let servers = settings.entry("mcpServers").or_insert_with(|| json!({}));
        if let Value::Object(servers) = servers {
            // The person has asked for these tools, and they change nothing but the stack. So there is no
            // question before each call.
            servers.insert(SERVER.to_owned(), scene.entry(json!({ "trust": true })));
        }
    }
    fs::write(lent.lent.join(SETTINGS), settings.to_string()).map_err(failed)?;
    let launch = Launch::default().variable(GEMINI_HOME, for_run).proxied_by(BASE_URL, proxy);
    Ok(Launch { lent: Some(lent), ..launch })
}
