//! Names of the objects that this transport makes.

use crate::communicator::Intent;

/// The longest key that is a name as it is: a suffix must fit too.
const LONGEST: usize = 180;

/// FNV-1a with 128 bits: keys are the caller's own, who gains nothing by a collision.
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// The object of an intent: the same one, however often it is asked.
pub(super) fn of_intent(intent: &Intent) -> String {
    let key = intent.key().as_str();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = key.len() <= LONGEST && key.bytes().all(plain) && !key.ends_with('-');
    if is_name {
        return format!("intent-{key}");
    }
    let step = |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    format!("intent-x{:032x}", key.bytes().fold(BASIS, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(key: &str) -> String {
        of_intent(&key.parse().unwrap())
    }

    #[test]
    fn an_intent_has_one_name_that_kubernetes_takes() {
        assert_eq!(name("a1-2"), "intent-a1-2");
        for odd in ["Upper case", "a/b", "ends-", &"a".repeat(255)] {
            let made = name(odd);
            assert!(made.len() == 40 && made.starts_with("intent-x"), "{made}");
            assert_eq!(made, name(odd));
        }
        assert_ne!(name("a/b"), name("a/c"));
    }
}
