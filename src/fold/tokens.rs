//! The length of parts of a request in tokens. Counting all of a long request would take longer than folding
//! it, so only a sample of a long part is counted.

use crate::context::{Approx, TokenCounter};
use crate::text::floor_char_boundary;

/// Up to this length, in bytes, all of a part is counted.
const SHORT: usize = 384;
/// The length of the sample of a longer part, from its middle, in bytes.
const SAMPLE: usize = 192;

/// About what a picture or a page costs, in tokens.
const PICTURE: usize = 1_500;
/// What comes before a file in base64: in Anthropic's, Gemini's and pi's form, and in URLs.
const FILES: [&str; 2] = ["\"data\":\"", ";base64,"];
/// A shorter text is not a file, in bytes.
const SHORTEST_FILE: usize = 2_000;

/// Estimates the tokens of a part. Files in base64 have a price of their own: providers show them to the
/// model as pictures or pages.
pub(super) fn estimated(part: &str) -> usize {
    let mut tokens = 0;
    let mut rest = part;
    while rest.len() >= SHORTEST_FILE
        && let Some(start) = FILES.iter().filter_map(|before| Some(rest.find(before)? + before.len())).min()
    {
        let end = start + rest[start..].find('"').unwrap_or(rest.len() - start);
        let is_file = end - start >= SHORTEST_FILE;
        tokens += sampled(&rest[..if is_file { start } else { end }]) + if is_file { PICTURE } else { 0 };
        rest = &rest[end..];
    }
    tokens + sampled(rest)
}

fn sampled(part: &str) -> usize {
    if part.len() <= SHORT {
        return Approx.count(part);
    }
    let start = floor_char_boundary(part, (part.len() - SAMPLE) / 2);
    let end = floor_char_boundary(part, start + SAMPLE);
    let sample = &part[start..end.max(start + 1).min(part.len())];
    (Approx.count(sample) * part.len()).div_ceil(sample.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_parts_have_about_the_tokens_that_they_are_estimated_to_have() {
        let sources = [
            include_str!("mod.rs"),
            include_str!("stretches.rs"),
            include_str!("../context/approx.rs"),
            include_str!("../../README.md"),
        ];
        let parts: Vec<&str> = sources
            .iter()
            .flat_map(|source| {
                let middle = floor_char_boundary(source, source.len() / 3);
                let (one, other) = source.split_at(middle);
                [one, other].into_iter().flat_map(|part| part.split_inclusive("\n\n"))
            })
            .collect();
        let exact: usize = parts.iter().map(|part| Approx.count(part)).sum();
        let estimated: usize = parts.iter().map(|part| estimated(part)).sum();
        let ratio = estimated as f64 / exact as f64;
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_picture_has_a_price_of_its_own() {
        let data = "iVBORw0KGgo".repeat(20_000);
        for picture in [
            format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#),
            format!(r#"{{"type":"input_image","image_url":"data:image/png;base64,{data}"}}"#),
        ] {
            let tokens = estimated(&picture);
            assert!((1_000..3_000).contains(&tokens), "{tokens}");
        }
    }

    #[test]
    fn every_text_has_an_estimate() {
        for text in ["", "a", &"é".repeat(400), &"🛒".repeat(1_000), &"\u{e31}".repeat(129)] {
            assert_eq!(estimated(text) == 0, text.is_empty(), "{text}");
        }
    }
}
