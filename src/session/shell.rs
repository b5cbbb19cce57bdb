//! Reads from a command line of a shell which files it changes: redirections, `tee`, `mv`, `cp`, `rm`,
//! `touch` and `sed -i`. The command line is read and never run, so everything that only the shell knows
//! (variables, patterns, other programs) is left out.

use super::FileChange;

/// Words before a command.
const KEYWORDS: [&str; 11] = ["if", "then", "elif", "else", "while", "until", "do", "{", "!", "time", "exec"];
/// The longest path of a folder, in bytes.
const LONGEST_FOLDER: usize = 4_096;
/// Paths of the system. Files there do not count as work.
const OF_SYSTEM: [&str; 4] = ["/dev/", "/tmp/", "/proc/", "/var/tmp/"];

/// The changes of files that a command line names, in their order. Paths are those of the command line, below
/// the folders into which it has changed.
///
/// ```
/// use callstack_core::session::{FileChange, changes_of_command};
///
/// let changes = changes_of_command("cd web && git mv a.ts b.ts && npm run build > build.log 2>&1");
/// let artifacts: Vec<String> = changes.iter().map(FileChange::artifact).collect();
/// assert_eq!(artifacts, ["web/b.ts (renamed from web/a.ts)", "web/build.log"]);
/// ```
pub fn changes_of_command(command: &str) -> Vec<FileChange> {
    read(command).changes
}

/// The folder in which a command line leaves its shell, relative to the folder in which it began; empty if
/// both are the same. `None`: the folder is not known.
pub fn folder_after(command: &str) -> Option<String> {
    read(command).folder
}

fn read(command: &str) -> Reading {
    let mut reading = Reading { folder: Some(String::new()), above: Vec::new(), changes: Vec::new() };
    let mut words = Vec::new();
    let mut tokens = Tokens::of(command).peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(word) => words.push(word),
            Token::Into => {
                if let Some(Token::Word(word)) = tokens.next_if(|next| matches!(next, Token::Word(_))) {
                    reading.written(&word);
                }
            }
            Token::From => drop(tokens.next_if(|next| matches!(next, Token::Word(_)))),
            Token::End => reading.run(&std::mem::take(&mut words)),
            Token::Open => {
                reading.run(&std::mem::take(&mut words));
                reading.above.push(reading.folder.clone());
            }
            Token::Close => {
                reading.run(&std::mem::take(&mut words));
                reading.folder = reading.above.pop().flatten();
            }
        }
    }
    reading.run(&words);
    reading
}

/// A part of a command line.
enum Token {
    Word(Word),
    /// The end of a command: `;`, `&&`, `|`, a new line and the like.
    End,
    /// The output goes into the file that follows.
    Into,
    /// The input comes from the word that follows.
    From,
    /// A shell within this one begins or ends.
    Open,
    Close,
}

/// A word as the command gets it.
#[derive(Default)]
struct Word {
    text: String,
    /// True if the shell replaces a part of the word.
    is_made: bool,
}

impl Word {
    /// The path that the word names, if the shell replaces no part of it.
    fn path(&self) -> Option<&str> {
        let is_name = !self.text.is_empty() && !self.text.contains('\n');
        let is_path = !self.is_made && is_name && !OF_SYSTEM.iter().any(|of| self.text.starts_with(of));
        is_path.then_some(&*self.text)
    }

    fn is_option(&self) -> bool {
        self.text.starts_with('-') && self.text.len() > 1
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.is_made
    }
}

/// Splits a command line into its parts.
struct Tokens<'a> {
    rest: &'a str,
    /// The lines that end the documents that begin after this line.
    documents: Vec<String>,
    /// The file after `>&`.
    target: Option<Word>,
}

impl<'a> Tokens<'a> {
    fn of(rest: &'a str) -> Self {
        Self { rest, documents: Vec::new(), target: None }
    }

    fn skip(&mut self, start: &str) -> bool {
        let rest = self.rest.strip_prefix(start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips the texts that a command reads from the command line (`<<EOF`).
    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }

    /// Skips the text between a bracket, which is next, and its partner.
    fn skip_within(&mut self, open: char, close: char) {
        let mut depth = 0_usize;
        for (at, next) in self.rest.char_indices() {
            depth += usize::from(next == open);
            depth -= usize::from(next == close);
            if depth == 0 {
                self.rest = &self.rest[at + next.len_utf8()..];
                return;
            }
        }
        self.rest = "";
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        let mut quote = None;
        while let Some(next) = self.rest.chars().next() {
            let is_end = next.is_whitespace() || ";&|<>()".contains(next);
            if quote.is_none() && is_end {
                break;
            }
            self.rest = &self.rest[next.len_utf8()..];
            match (next, quote) {
                ('\'' | '"', None) => quote = Some(next),
                (_, Some(open)) if next == open => quote = None,
                ('\\', None | Some('"')) => {
                    let escaped = self.rest.chars().next();
                    self.rest = &self.rest[escaped.map_or(0, char::len_utf8)..];
                    word.text.extend(escaped.filter(|escaped| *escaped != '\n'));
                }
                ('$', None | Some('"')) if self.rest.starts_with('(') => {
                    word.is_made = true;
                    self.skip_within('(', ')');
                }
                ('`', None | Some('"')) => {
                    word.is_made = true;
                    self.rest = self.rest.split_once('`').map_or("", |(_, behind)| behind);
                }
                ('$', None | Some('"')) | ('*' | '?' | '[' | '{', None) => word.is_made = true,
                ('~', None) if word.text.is_empty() => word.is_made = true,
                _ => word.text.push(next),
            }
        }
        word
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        if let Some(target) = self.target.take() {
            return Some(Token::Word(target));
        }
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            let next = self.rest.chars().next()?;
            if self.skip("\\\n") {
                continue;
            }
            if next == '#' {
                self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
                continue;
            }
            if self.skip("\n") {
                self.skip_documents();
                return Some(Token::End);
            }
            // A calculation or a comparison: a word after `>` there is not a file.
            if self.rest.starts_with("((") {
                self.skip_within('(', ')');
                continue;
            }
            if self.skip("[[ ") {
                self.rest = self.rest.split_once("]]").map_or("", |(_, behind)| behind);
                continue;
            }
            if self.skip("<<<") {
                return Some(Token::From);
            }
            if self.skip("<<-") || self.skip("<<") {
                self.rest = self.rest.trim_start_matches([' ', '\t']);
                let end = self.word().text;
                self.documents.push(end);
                continue;
            }
            if self.skip("<(") || self.skip(">(") {
                return Some(Token::Open);
            }
            if self.skip("<&") || self.skip("<") {
                return Some(Token::From);
            }
            if self.skip("&>>") || self.skip("&>") {
                return Some(Token::Into);
            }
            if self.skip(">&") {
                // The output goes into another stream, as in `2>&1`, or into a file.
                let target = self.word();
                match target.text.chars().all(|digit| digit.is_ascii_digit() || digit == '-') {
                    true => continue,
                    false => {
                        self.target = Some(target);
                        return Some(Token::Into);
                    }
                }
            }
            if self.skip(">>") || self.skip(">|") || self.skip(">") {
                return Some(Token::Into);
            }
            if ";&|()".contains(next) {
                self.rest = &self.rest[1..];
                return Some(match next {
                    '(' => Token::Open,
                    ')' => Token::Close,
                    _ => Token::End,
                });
            }
            let word = self.word();
            // The number of the stream that is redirected.
            let is_stream = word.text.len() == 1 && word.text.as_bytes()[0].is_ascii_digit();
            if is_stream && self.rest.starts_with(['>', '<']) {
                continue;
            }
            return Some(Token::Word(word));
        }
    }
}

struct Reading {
    /// The folder into which the command line has changed. `None`: the folder is not known.
    folder: Option<String>,
    /// The folders of the shells around this one.
    above: Vec<Option<String>>,
    changes: Vec<FileChange>,
}

impl Reading {
    fn at(&self, path: &str) -> Option<String> {
        let path = path.strip_prefix("./").unwrap_or(path);
        match &self.folder {
            _ if path.starts_with('/') => Some(path.to_owned()),
            Some(folder) if folder.is_empty() => Some(path.to_owned()),
            Some(folder) => Some(format!("{folder}/{path}")),
            None => None,
        }
    }

    fn written(&mut self, word: &Word) {
        let path = word.path().and_then(|path| self.at(path));
        self.changes.extend(path.map(|path| FileChange::Written { path }));
    }

    /// Reads a command.
    fn run(&mut self, words: &[Word]) {
        let is_before = |word: &&Word| {
            KEYWORDS.contains(&&*word.text) || word.text.split_once('=').is_some_and(|(name, _)| is_name(name))
        };
        let before = words.iter().take_while(is_before).count();
        let words = &words[before..];
        let skipped = match words.first().map(|word| &*word.text) {
            Some("git" | "sudo" | "command") => 1,
            Some(_) => 0,
            None => return,
        };
        let Some((program, arguments)) = words[skipped..].split_first().filter(|(program, _)| !program.is_made) else {
            return;
        };
        let options: Vec<&Word> = arguments.iter().filter(|word| word.is_option()).collect();
        let names: Vec<&Word> = arguments.iter().filter(|word| !word.is_option() && !word.is_empty()).collect();
        let has =
            |others: &[&str]| options.iter().any(|option| others.iter().any(|other| option.text.starts_with(other)));
        // Options whose value would otherwise count as a file, and options with which the files stay where
        // they are.
        let is_other = match &*program.text {
            "touch" => has(&["-d", "-r", "-t", "--date", "--reference"]),
            "mv" | "cp" => has(&["-t", "--target-directory"]),
            "rm" => has(&["--cached"]),
            _ => false,
        };
        match &*program.text {
            _ if is_other => {}
            "cd" if !options.is_empty() || arguments.iter().any(|word| word.text == "-") => self.folder = None,
            "cd" => self.enter(&names),
            "tee" | "touch" => names.iter().for_each(|name| self.written(name)),
            "rm" => {
                let paths = names.iter().filter_map(|name| self.at(name.path()?)).collect::<Vec<_>>();
                self.changes.extend(paths.into_iter().map(|path| FileChange::Deleted { path }));
            }
            "mv" => self.moved(&names, true),
            "cp" => self.moved(&names, false),
            "sed" if options.iter().any(|option| option.text.starts_with("-i") || option.text == "--in-place") => {
                // The script is the word after an option for a script, or else the first name.
                let is_for_script = |word: &Word| matches!(&*word.text, "-e" | "-f" | "--expression" | "--file");
                let has_script = options.iter().any(|option| is_for_script(option));
                let behind = std::iter::once(false).chain(arguments.iter().map(is_for_script));
                let files = arguments.iter().zip(behind);
                let files = files.filter(|(word, is_script)| !is_script && !word.is_option() && !word.is_empty());
                files.skip(usize::from(!has_script)).for_each(|(file, _)| self.written(file));
            }
            _ => {}
        }
    }

    fn enter(&mut self, names: &[&Word]) {
        let folder = match names {
            [name] => name.path().and_then(|path| self.at(path.trim_end_matches('/'))),
            _ => None,
        };
        self.folder = folder.filter(|folder| folder.len() <= LONGEST_FOLDER);
    }

    /// The last name is the target. It is a folder if there are several other names, or if it ends like a
    /// folder.
    fn moved(&mut self, names: &[&Word], is_gone: bool) {
        let Some((place, sources)) = names.split_last() else { return };
        let Some(to) = place.path().and_then(|path| self.at(path)) else { return };
        for source in sources {
            let Some(from) = source.path().and_then(|path| self.at(path)) else { continue };
            let name = from.rsplit('/').next().unwrap_or(&from);
            let is_folder = sources.len() > 1 || to.ends_with('/') || matches!(&*to, "." | "..");
            let to = if is_folder { format!("{}/{name}", to.trim_end_matches('/')) } else { to.clone() };
            let to = to.strip_prefix("./").unwrap_or(&to).to_owned();
            self.changes.push(match is_gone {
                true => FileChange::Renamed { from, to },
                false => FileChange::Written { path: to },
            });
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_letter) && !text.as_bytes()[0].is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn assert_changes(command: &str, expected: &[&str]) {
        let artifacts: Vec<String> = changes_of_command(command).iter().map(FileChange::artifact).collect();
        assert_eq!(artifacts, expected, "{command}");
    }

    #[test]
    fn redirections_name_files() {
        assert_changes("cargo test > out.log 2>&1", &["out.log"]);
        assert_changes("cargo test 2> err.log >> out.log", &["err.log", "out.log"]);
        assert_changes("make &> all.log; echo done >| 'my file.txt'", &["all.log", "my file.txt"]);
        assert_changes("echo 1 >out && echo '2 > no' && [ 1 -gt 0 ]", &["out"]);
        assert_changes("ls > /dev/null 2>&1; ls > /tmp/x; ls > $HOME/x; ls > \"$F\"; ls > *.txt; ls > ~/x", &[]);
        assert_changes("sort < in.txt > out.txt", &["out.txt"]);
        assert_changes("diff <(sort a) <(sort b) > d", &["d"]);
        assert_changes("ls >", &[]);
    }

    #[test]
    fn what_a_command_reads_from_the_line_names_nothing() {
        assert_changes(
            "cat > src/a.rs <<'EOF'\nfn a() { x > y.txt }\nrm z\nEOF\ngit rm b.rs",
            &["src/a.rs", "b.rs (deleted)"],
        );
        assert_changes("cat <<-END | tee -a log.txt\n\tmv a b\n\tEND\n", &["log.txt"]);
        assert_changes("cat <<EOF > a", &["a"]);
        assert_changes("# echo > no\necho > yes", &["yes"]);
    }

    #[test]
    fn files_are_moved_copied_and_deleted() {
        assert_changes("git mv a.rs b.rs", &["b.rs (renamed from a.rs)"]);
        assert_changes(
            "mv src/a.rs src/b.rs lib/",
            &["lib/a.rs (renamed from src/a.rs)", "lib/b.rs (renamed from src/b.rs)"],
        );
        assert_changes("mv -f src/a.rs .", &["a.rs (renamed from src/a.rs)"]);
        assert_changes("cp a b && touch c d; rm -f e", &["b", "c", "d", "e (deleted)"]);
        assert_changes("FOO=1 sudo mv a b", &["b (renamed from a)"]);
        assert_changes("sed -i 's/a/b/' x.rs y.rs; sed -i -e s/a/b/ z.rs; sed -n p w.rs", &["x.rs", "y.rs", "z.rs"]);
        assert_changes("mv a; cp; mv $A b; git status; rm -rf $DIR", &[]);
    }

    #[test]
    fn usual_command_lines_name_nothing_else() {
        assert_changes("tee f <<< 'hello world'", &["f"]);
        assert_changes("tee out < in.txt; cp -i a b <<< y; mv c d < /dev/null", &["out", "b", "d (renamed from c)"]);
        assert_changes("sed -i '' 's/a/b/' f", &["f"]);
        assert_changes("rm a >&log", &["log", "a (deleted)"]);
        assert_changes("git rm --cached k; mv -t d a b; touch -d '2 days ago' f", &[]);
        assert_changes("[[ a > b ]] && (( a > b )) && touch c", &["c"]);
        assert_changes("git commit -m \"$(cat <<'EOF'\nthe arrow a -> b.rs here\nEOF\n)\" && touch d", &["d"]);
        assert_changes("for f in a b; do rm x; done; if true; then touch y; fi", &["x (deleted)", "y"]);
        assert_changes("node -e 'a => b > c' > out.txt", &["out.txt"]);
    }

    #[test]
    fn paths_are_behind_the_folder_of_the_command() {
        assert_changes("(cd web && touch a); rm old", &["web/a", "old (deleted)"]);
        assert_changes("cd web; cd -; touch b", &[]);
        assert_eq!(folder_after("cd web && (cd src; ls)").as_deref(), Some("web"));
        assert_eq!((folder_after("ls").as_deref(), folder_after("cd \"$D\"")), (Some(""), None));
        assert_eq!(folder_after(&"cd a && ".repeat(4_000)), None);
        assert_changes("cd web && touch a.ts && cd ./src/ && touch ./b.ts", &["web/a.ts", "web/src/b.ts"]);
        assert_changes("cd \"$D\" && touch a.ts /srv/b.ts", &["/srv/b.ts"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(command in "[ -~\\n\\t]{0,200}|(mv|cp|rm|>|<<E|'|\"|\\\\|\\n|;| |a|\\$){0,60}") {
            for change in changes_of_command(&command) {
                prop_assert!(!change.path().is_empty());
            }
        }
    }
}
