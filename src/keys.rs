//! Hash maps with a fast hash function for integer keys: handles and hashed terms.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A hash map with integer keys.
pub(crate) type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// Sets the value of a key, or removes the key. Returns the old value.
pub(crate) fn set<K: Eq + Hash, V>(map: &mut KeyMap<K, V>, key: K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}

#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, key: u32) {
        self.write_u64(u64::from(key));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = mix_half(self.0 ^ key);
    }
}

/// Multiplies by 2^64 divided by the golden ratio (Fibonacci hashing), and rotates the well-mixed upper half
/// down.
fn mix_half(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

/// Hashes a large number.
pub(crate) fn mix(key: u128) -> u64 {
    mix_half(key as u64 ^ (key >> 64) as u64)
}
