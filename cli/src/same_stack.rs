//! How the commands that a message advises reach the same stack.

/// The option with which advised commands name the stack. They repeat `--stack` if the person gave it,
/// because without it they would concern another stack.
#[derive(Debug, Clone, Default)]
pub struct SameStack(Option<String>);

impl SameStack {
    /// The commands name the stack in the same way as the person. A name that no shell can write cannot be
    /// repeated.
    pub fn named(name: &str) -> Self {
        Self(shlex::try_quote(name).ok().map(|name| format!("--stack {name}")))
    }

    /// True if the commands name the stack.
    pub fn is_named(&self) -> bool {
        self.0.is_some()
    }

    /// An advice whose commands name the stack. It is a command, or a sentence with commands in backticks or
    /// after a colon.
    pub fn named_in(&self, advice: &str) -> String {
        let Some(option) = &self.0 else { return advice.to_owned() };
        let named = format!("callstack {option} ");
        let advice = ["`", ": "].iter().fold(advice.to_owned(), |advice, before| {
            advice.replace(&format!("{before}callstack "), &format!("{before}{named}"))
        });
        let advice = match advice.strip_prefix("callstack ") {
            Some(rest) => named.clone() + rest,
            None => advice,
        };
        // These commands have a URL of their own.
        advice.replace(&format!("{named}postgres "), "callstack postgres ")
    }
}
