//! What has changed between two volatile parts of a context, for a conversation that keeps what it was told.
//! With a whole block, the conversation would have the older block too, and the two contradict each other.

use std::collections::HashMap;

use super::skeleton::{VOLATILE_CLOSE, VOLATILE_OPEN};

/// The beginning of a block that has only what has changed.
const CHANGES_OPEN: &str = "<stack-now shows=\"only what has changed\">\n";

/// Returns a block with the elements of `now` that `before` does not have, and the names of the elements that
/// no longer exist. `before` is the volatile part that a conversation was told before. `None` if nothing has
/// changed. Returns `now` itself if the block is not shorter, or if one of the two is not a volatile part.
///
/// Elements of one name, such as several warnings, are told together: a reader of the newest block of a name
/// has all of them.
///
/// ```
/// use callstack_core::context::changes;
///
/// let frame = "<current-frame id=\"f2\">\n<title>A cart, a till, and a door for the shop</title>\n</current-frame>\n";
/// let before = format!("<stack-now>\n<warning>The frame is 90 % full</warning>\n{frame}</stack-now>\n");
/// let now = format!("<stack-now>\n<next-action>Begin f3</next-action>\n{frame}</stack-now>\n");
/// assert_eq!(
///     changes(&before, &now).as_deref(),
///     Some("<stack-now shows=\"only what has changed\">\n<next-action>Begin f3</next-action>\n<no-more>warning</no-more>\n</stack-now>\n")
/// );
/// assert_eq!(changes(&now, &now), None);
/// ```
pub fn changes(before: &str, now: &str) -> Option<String> {
    if before == now {
        return None;
    }
    let (Some(old), Some(new)) = (elements(before), elements(now)) else { return Some(now.to_owned()) };
    let (of_old, of_new) = (by_name(&old), by_name(&new));
    let mut text = CHANGES_OPEN.to_owned();
    for (name, element) in &new {
        if of_old.get(name) != of_new.get(name) {
            text.push_str(element);
        }
    }
    let mut gone: Vec<&str> = old.iter().map(|(name, _)| *name).filter(|name| !of_new.contains_key(name)).collect();
    gone.dedup();
    if gone.is_empty() && text.len() == CHANGES_OPEN.len() {
        return None;
    }
    if !gone.is_empty() {
        text.push_str(&format!("<no-more>{}</no-more>\n", gone.join(", ")));
    }
    text.push_str(VOLATILE_CLOSE);
    Some(if text.len() < now.len() { text } else { now.to_owned() })
}

/// The elements of each name, one behind the other.
fn by_name<'a>(elements: &[(&'a str, &'a str)]) -> HashMap<&'a str, String> {
    let mut all: HashMap<&str, String> = HashMap::new();
    for (name, element) in elements {
        all.entry(name).or_default().push_str(element);
    }
    all
}

/// The elements within a volatile part, each with its name and the line end behind it. `None`: the block is
/// not a volatile part. Texts in it have no `<`.
fn elements(block: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = block.strip_prefix(VOLATILE_OPEN)?.strip_suffix(VOLATILE_CLOSE)?;
    let mut all = Vec::new();
    while !rest.is_empty() {
        let end = element_end(rest)?;
        let (element, behind) = rest.split_at(end);
        let name = element.trim_start().strip_prefix('<')?.split([' ', '>', '/', '\n']).next()?;
        all.push((name, element));
        rest = behind;
    }
    Some(all)
}

/// The place behind the first element of a text, and behind the line end that follows.
fn element_end(text: &str) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        let open = at + text[at..].find('<')?;
        let close = open + text[open..].find('>')?;
        let tag = &text[open..=close];
        at = close + 1;
        match (tag.starts_with("</"), tag.ends_with("/>")) {
            (true, _) => depth = depth.checked_sub(1)?,
            (false, false) => depth += 1,
            (false, true) => {}
        }
        if depth == 0 {
            let line_end = text[at..].bytes().take_while(|byte| *byte == b'\n').count();
            return Some(at + line_end);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn block(inner: &str) -> String {
        format!("{VOLATILE_OPEN}{inner}{VOLATILE_CLOSE}")
    }

    #[test]
    fn nested_elements_and_those_of_one_name_stay_together() {
        let before = block(
            "<planned-children count=\"2\">\n<frame id=\"f2\" title=\"A\"/>\n<frame id=\"f3\" title=\"B\"/>\n</planned-children>\n<warning>One</warning>\n<warning>Two</warning>\n<current-frame id=\"f1\">\n<title>Shop with a long title</title>\n</current-frame>\n",
        );
        let now = block(
            "<planned-children count=\"1\">\n<frame id=\"f3\" title=\"B\"/>\n</planned-children>\n<warning>One</warning>\n<warning>Three</warning>\n<current-frame id=\"f1\">\n<title>Shop with a long title</title>\n</current-frame>\n",
        );
        let told = changes(&before, &now).unwrap();
        assert_eq!(
            told,
            "<stack-now shows=\"only what has changed\">\n<planned-children count=\"1\">\n<frame id=\"f3\" title=\"B\"/>\n</planned-children>\n<warning>One</warning>\n<warning>Three</warning>\n</stack-now>\n"
        );
    }

    proptest! {
        /// The newest elements of each name together are the newest block.
        #[test]
        fn all_changes_together_are_the_newest_block(blocks in vec(vec((0..4_usize, 0..3_u8), 0..6), 1..6)) {
            let names = ["position", "warning", "answered", "above"];
            let written = |block: &Vec<(usize, u8)>| {
                let mut block = block.clone();
                block.sort_unstable();
                let element = |(name, text): &(usize, u8)| format!("<{0}>{text} {1}</{0}>\n", names[*name], "long ".repeat(20));
                super::tests::block(&block.iter().map(element).collect::<String>())
            };
            let mut told = written(&blocks[0]);
            let mut known = by_name_of(&told);
            for next in blocks[1..].iter().map(written) {
                if let Some(change) = changes(&told, &next) {
                    if change == next {
                        known.clear();
                    }
                    known.extend(by_name_of(&change.replace(CHANGES_OPEN, VOLATILE_OPEN)));
                    if let Some(gone) = known.remove("no-more") {
                        let gone = gone.trim().trim_start_matches("<no-more>").trim_end_matches("</no-more>").to_owned();
                        gone.split(", ").for_each(|name| drop(known.remove(name)));
                    }
                }
                prop_assert_eq!(&known, &by_name_of(&next));
                told = next;
            }
        }
    }

    fn by_name_of(block: &str) -> std::collections::BTreeMap<String, String> {
        by_name(&elements(block).unwrap()).into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
    }

    #[test]
    fn what_is_no_volatile_part_is_told_as_a_whole() {
        let now = block("<position>Task 1 of 2</position>\n");
        for before in ["", "<stack-now>", "<stack-now>\n<a>\n</stack-now>\n", "<stack-now>\nwords\n</stack-now>\n"] {
            assert_eq!(changes(before, &now).as_deref(), Some(&*now), "{before}");
        }
        // Nothing is left to say.
        assert_eq!(changes(&now, "").as_deref(), Some(""));
    }
}
