//! Texts of `api.json` in the comments of a language.

/// The longest line in generated files.
const WIDTH: usize = 110;

/// How a language writes names.
pub struct Names {
    /// A function of the interface, from its name there.
    pub function: fn(&str) -> String,
    /// An error, from its code.
    pub error: fn(&str) -> String,
}

impl Names {
    /// A text with the functions (`callstack_push`) and errors (`_JSON`) as the language names them.
    pub fn apply(&self, text: &str) -> String {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let mut applied = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
            let (word, more) = rest.split_at(end);
            applied.push_str(&self.word(word));
            let next = more.find(is_part).unwrap_or(more.len());
            applied.push_str(&more[..next]);
            rest = &more[next..];
        }
        without_marks(&applied)
    }

    fn word(&self, word: &str) -> String {
        if let Some(name) = word.strip_prefix("callstack_").filter(|name| !name.is_empty()) {
            return (self.function)(name);
        }
        match word.strip_prefix('_').filter(|code| code.len() > 1 && *code == code.to_uppercase()) {
            Some(code) => (self.error)(&code.to_lowercase()),
            None => word.to_owned(),
        }
    }
}

/// A text whose links have no code marks around them: a function in code marks stands without them where the
/// language has links.
fn without_marks(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("`{@link ") {
        let Some(length) = rest[start..].find("}`") else { break };
        plain.push_str(&rest[..start]);
        plain.push_str(&rest[start + 1..start + length + 1]);
        rest = &rest[start + length + 2..];
    }
    plain + rest
}

/// The lines of a text that begin with `lead` (which includes the indentation).
pub fn wrapped(text: &str, lead: &str) -> Vec<String> {
    let width = WIDTH - lead.chars().count();
    let options = textwrap::Options::new(width).break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    let mut lines = Vec::new();
    for (index, paragraph) in text.split("\n\n").enumerate() {
        if index > 0 {
            lines.push(lead.trim_end().to_owned());
        }
        lines.extend(textwrap::wrap(paragraph, &options).into_iter().map(|line| format!("{lead}{line}")));
    }
    lines
}

/// A text as a sentence: with a capital letter, and a full stop at its end.
pub fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let whole = first + characters.as_str();
    if whole.ends_with(['.', '…']) || whole.is_empty() { whole } else { whole + "." }
}
