//! A hash that is the same on every machine and in every version, so that its numbers can be kept.

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a with 64 bits, of bytes or of the numbers of characters.
pub(crate) fn fnv(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(BASIS, |hash, value| (hash ^ value).wrapping_mul(PRIME))
}

/// As [`fnv`], of the bytes of a text.
pub(crate) fn fnv_of(text: &str) -> u64 {
    fnv(text.bytes().map(u64::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_algorithm() {
        // Landon Curt Noll's test vectors.
        assert_eq!(fnv_of(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_of("foobar"), 0x8594_4171_f739_67e8);
    }
}
