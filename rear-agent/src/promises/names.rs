//! Names of the instructions of a provider: after the name that a user gave the reservation, and apart from those of others
//! who gave the same name to theirs.

use rear_agent_sdk::communicator::Reservation;

use super::translate::Instruction;
use crate::resources::ProviderInstruction;

/// Names of objects have at most 253 characters; something is added to this one.
const LONGEST: usize = 220;

/// So many digits of an id tell two reservations of one name apart.
const DIGITS: usize = 8;

/// The name that a user gave a reservation, if an object can be named after it.
pub(super) fn of_user(promise: &Reservation) -> Option<&str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_name = |name: &&str| {
        let ends = [name.bytes().next(), name.bytes().last()];
        name.len() <= LONGEST
            && name.bytes().all(|byte| plain(byte) || byte == b'-' || byte == b'.')
            && ends.into_iter().all(|end| end.is_some_and(plain))
    };
    promise.name.as_deref().filter(is_name)
}

/// The instruction of a provider.
pub(super) fn of_provider(reservation: &str) -> String {
    format!("{reservation}-provider")
}

/// The same where another reservation has that name.
pub(super) fn of_provider_apart(reservation: &str, id: &str) -> String {
    let digits = id.trim_start_matches("rsv-");
    let digits = digits.get(..DIGITS).unwrap_or(digits);
    of_provider(&format!("{reservation}-{digits}"))
}

/// What the instruction of a promise is named, beside those that are there: `known` are the agent's own, `taken` the names
/// of all.
pub(super) fn choose(
    promise: &Reservation,
    known: &[ProviderInstruction],
    taken: &[String],
) -> Option<String> {
    let name = of_user(promise)?;
    let same = known.iter().find(|known| known.reservation() == promise.id);
    if let Some(same) = same {
        return same.metadata.name.clone();
    }
    let plain = of_provider(name);
    let is_taken = taken.contains(&plain);
    Some(if is_taken { of_provider_apart(name, &promise.id) } else { plain })
}

#[cfg(test)]
mod tests {
    use super::super::translate::provider_instruction;
    use super::*;

    fn promise(id: &str, name: &str) -> Reservation {
        let text = format!(
            r#"{{"id":"{id}","requesterID":"rome","targetClusterID":"paris",
            "requestedResources":{{"cpu":"2","memory":"4Gi"}},"status":{{"phase":"Reserved"}}}}"#
        );
        let told: Reservation = serde_json::from_str(&text).unwrap();
        Reservation { name: Some(name.to_owned()), ..told }
    }

    #[test]
    fn of_two_with_one_name_the_second_gets_digits_of_its_id_for_ever() {
        let first = promise("rsv-0123456789abcdef0123456789abcdef", "db");
        let second = promise("rsv-fedcba9876543210fedcba9876543210", "db");
        let name = choose(&first, &[], &[]);
        assert_eq!(name.as_deref(), Some("db-provider"));
        let kept = provider_instruction(&first, name);
        let taken = ["db-provider".to_owned()];
        assert_eq!(
            choose(&first, std::slice::from_ref(&kept), &taken).as_deref(),
            Some("db-provider")
        );
        let apart = choose(&second, &[kept], &taken);
        assert_eq!(apart.as_deref(), Some("db-fedcba98-provider"));
        let apart = provider_instruction(&second, apart);
        assert!(apart.names().contains(apart.metadata.name.as_ref().unwrap()));
        // Also when the first one has gone.
        let name = choose(&second, &[apart], &[]);
        assert_eq!(name.as_deref(), Some("db-fedcba98-provider"));
    }

    #[test]
    fn what_is_no_name_of_an_object_is_not_used() {
        for odd in ["Upper", "a/b", "-a", "a.", "", &"a".repeat(253)] {
            assert_eq!(choose(&promise("rsv-1", odd), &[], &[]), None, "{odd}");
        }
    }
}
