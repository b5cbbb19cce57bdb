//! Agents with a plugin of this project. The plugin has the tools, folds the requests, and records what is
//! said and used. Such an agent needs no proxy: a run finds the plugin, and gives it to the agent.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::launch::{Launch, Scene};
use super::settings_files;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_files;

/// A plugin of this project for an agent.
pub struct Plugin {
    /// The name of the agent.
    pub agent: &'static str,
    /// The name of the npm package.
    pub package: &'static str,
    /// Its folder in a checkout of the source.
    pub source: &'static str,
}

/// The file of a plugin that the agent loads, and that a build makes.
const ENTRY: &str = "dist/index.js";
/// The folders in which npm installs packages: of a project, and of all projects.
const INSTALLED: [&str; 2] = ["node_modules", "lib/node_modules"];

impl Plugin {
    /// The folder of the plugin: in the checkout in which this program was built, or where npm has installed
    /// it: next to this program, next to the agent, or for the project.
    ///
    /// # Errors
    /// If it is nowhere. The error says how to get it.
    pub fn find(&self, scene: &Scene<'_>) -> Result<PathBuf, Failure> {
        let program = Path::new(&scene.program);
        let found = self.in_checkout(program).or_else(|| self.installed_above(program));
        let found = found.or_else(|| self.installed_above(scene.agent));
        let found = found.or_else(|| self.installed_above(&env::current_dir().ok()?.join(INSTALLED[0])));
        found.ok_or_else(|| {
            let Self { agent, package, source } = self;
            let message = format!(
                "{agent} gets the stack by its plugin {package}, which was not found: not beside callstack, not beside {agent}, and not \
                 in the project's node_modules"
            );
            let step = format!("npm install -g {package}; or in a checkout of the source, where it is in {source}: make plugin");
            Failure::new(Exit::Failed, "no_plugin", message).next(step)
        })
    }

    fn in_checkout(&self, program: &Path) -> Option<PathBuf> {
        program.ancestors().map(|folder| folder.join(self.source)).find(|folder| self.is_built(folder))
    }

    /// Above a file, with its links followed: npm links programs into a folder of their own.
    fn installed_above(&self, file: &Path) -> Option<PathBuf> {
        let real = fs::canonicalize(file).ok();
        let folders = [Some(file), real.as_deref()].into_iter().flatten().flat_map(Path::ancestors);
        let mut places =
            folders.flat_map(|folder| INSTALLED.map(|installed| folder.join(installed).join(self.package)));
        places.find(|folder| self.is_built(folder))
    }

    fn is_built(&self, folder: &Path) -> bool {
        self.is_package(folder) && Self::entry(folder).is_file()
    }

    fn is_package(&self, folder: &Path) -> bool {
        let manifest = settings_files::json(&folder.join("package.json"));
        manifest.is_some_and(|manifest| manifest.get("name").and_then(Value::as_str) == Some(self.package))
    }

    /// The file of the plugin in its folder that the agent loads.
    pub fn entry(folder: &Path) -> PathBuf {
        folder.join(ENTRY)
    }

    /// The file of settings that names this plugin already, among the files that exist.
    pub fn named_in(&self, files: &[PathBuf], entries: impl Fn(&Value) -> Vec<String>) -> Option<PathBuf> {
        let names = |file: &&PathBuf| {
            let settings = settings_files::json(file)?;
            let folder = file.parent()?;
            entries(&settings).iter().any(|entry| self.is_named_by(entry, folder)).then_some(())
        };
        files.iter().find(|file| names(file).is_some()).cloned()
    }

    /// True if an entry of the settings in a folder names this plugin: the package, or a path in it.
    fn is_named_by(&self, entry: &str, folder: &Path) -> bool {
        let entry = entry.strip_prefix("npm:").unwrap_or(entry);
        if let Some(rest) = entry.strip_prefix(self.package) {
            return rest.is_empty() || rest.starts_with('@');
        }
        let path = entry.strip_prefix("file://").unwrap_or(entry);
        let path = match path.strip_prefix("~/") {
            Some(rest) => host_files::home().unwrap_or_default().join(rest),
            None => folder.join(path),
        };
        path.ancestors().any(|folder| self.is_package(folder))
    }

    /// What an agent gets if its settings name the plugin: only the stack, because two plugins would fold and
    /// record twice.
    pub fn of_settings(&self, file: &Path, scene: &Scene<'_>) -> Launch {
        let Self { agent, package, .. } = self;
        let note = format!("{agent} has {package} already, by {}: that one is used", file.display());
        Self::launch(scene).note(note)
    }

    /// What every agent with a plugin gets: the stack. The plugin uses it in place of the stack of its
    /// settings.
    pub fn launch(scene: &Scene<'_>) -> Launch {
        scene.place.iter().fold(Launch::default(), |launch, (name, value)| launch.variable(name, value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    const PLUGIN: Plugin = Plugin { agent: "agent", package: "agent-callstack", source: "bindings/agent" };

    fn make(folder: &Path, name: &str, is_built: bool) {
        fs::create_dir_all(folder.join("dist")).unwrap();
        fs::write(folder.join("package.json"), format!(r#"{{"name": "{name}"}}"#)).unwrap();
        if is_built {
            fs::write(Plugin::entry(folder), "").unwrap();
        }
    }

    #[test]
    fn a_plugin_is_found_in_the_checkout_and_where_npm_installs_it() {
        let world = tempfile::tempdir().unwrap();
        let path = |name: &str| world.path().join(name);
        let given: Vec<OsString> = Vec::new();
        let find = |program: &str, agent: &str| {
            let agent = path(agent);
            let scene = Scene::in_test(world.path(), &path(program), &agent, &given);
            PLUGIN.find(&scene).map_err(|failure| failure.message().to_owned())
        };
        let missing = find("a/target/debug/callstack", "b/bin/agent").unwrap_err();
        assert!(missing.contains("agent-callstack, which was not found"), "{missing}");
        make(&path("a/bindings/agent"), "agent-callstack", false);
        find("a/target/debug/callstack", "b/bin/agent").unwrap_err();
        make(&path("a/bindings/agent"), "agent-callstack", true);
        assert_eq!(find("a/target/debug/callstack", "b/bin/agent"), Ok(path("a/bindings/agent")));
        make(&path("b/lib/node_modules/agent-callstack"), "agent-callstack", true);
        assert_eq!(find("bin/callstack", "b/bin/agent"), Ok(path("b/lib/node_modules/agent-callstack")));
        make(&path("c/node_modules/agent-callstack"), "of another owner", true);
        find("bin/callstack", "c/node_modules/.bin/agent").unwrap_err();
    }

    #[test]
    fn settings_name_a_plugin_by_its_package_or_by_its_path() {
        let world = tempfile::tempdir().unwrap();
        make(&world.path().join("checkout"), "agent-callstack", true);
        let file = world.path().join("settings.json");
        let is_named = |entry: &str| {
            fs::write(&file, Value::from(vec![entry]).to_string()).unwrap();
            let entries = |settings: &Value| vec![settings[0].as_str().unwrap().to_owned()];
            PLUGIN.named_in(&[world.path().join("none"), file.clone()], entries) == Some(file.clone())
        };
        let absolute = format!("file://{}/checkout/dist/index.js", world.path().display());
        for entry in ["agent-callstack", "npm:agent-callstack@0.1.0", "./checkout", &absolute] {
            assert!(is_named(entry), "{entry}");
        }
        for entry in ["agent-callstack-more", "npm:other", "./other", "file:///checkout"] {
            assert!(!is_named(entry), "{entry}");
        }
    }
}
