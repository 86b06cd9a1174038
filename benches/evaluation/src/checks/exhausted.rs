//! Whether exactly what was there was granted, and is there again after all of it was given back.

use std::collections::BTreeMap;

/// In the order of the amounts.
const DIMENSIONS: [&str; 4] = ["cpu (m)", "memory (bytes)", "gpu", "storage (bytes)"];

/// By cluster: millicores, bytes, devices, bytes of storage.
type Amounts = BTreeMap<String, [u64; 4]>;

/// Where the sum of the grants is not what was there, to the last unit.
#[must_use]
pub fn used_up(there: &Amounts, grants: &[(String, [u64; 4])]) -> Vec<String> {
    let mut sums: BTreeMap<&str, [u128; 4]> = BTreeMap::new();
    for (cluster, amounts) in grants {
        let sum = sums.entry(cluster).or_default();
        for (sum, amount) in sum.iter_mut().zip(amounts) {
            *sum += u128::from(*amount);
        }
    }
    let strangers = sums.keys().filter(|cluster| !there.contains_key(**cluster));
    let mut broken: Vec<String> = strangers
        .map(|cluster| format!("{cluster} offered nothing, and something was granted on it"))
        .collect();
    for (cluster, offered) in there {
        let granted = sums.get(cluster.as_str()).copied().unwrap_or_default();
        for ((offered, granted), dimension) in offered.iter().zip(granted).zip(DIMENSIONS) {
            if u128::from(*offered) != granted {
                broken.push(format!(
                    "{cluster}: {offered} {dimension} were there, {granted} were granted"
                ));
            }
        }
    }
    broken
}

/// What is not as it was before.
#[must_use]
pub fn given_back(before: &Amounts, after: &Amounts) -> Vec<String> {
    let clusters =
        before.keys().chain(after.keys().filter(|cluster| !before.contains_key(*cluster)));
    let differs = clusters.filter(|cluster| before.get(*cluster) != after.get(*cluster));
    differs
        .map(|cluster| {
            let [before, after] = [before, after].map(|state| state.get(cluster));
            format!("{cluster}: available was {before:?} before and is {after:?} after all was given back")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there() -> Amounts {
        BTreeMap::from([
            ("rome".to_owned(), [3007, 5001, 1, 0]),
            ("oslo".to_owned(), [10, 20, 0, 0]),
        ])
    }

    fn grants() -> Vec<(String, [u64; 4])> {
        vec![
            ("rome".to_owned(), [3000, 5000, 1, 0]),
            ("rome".to_owned(), [7, 1, 0, 0]),
            ("oslo".to_owned(), [10, 20, 0, 0]),
        ]
    }

    #[test]
    fn what_is_used_up_to_the_last_unit_is_in_order() {
        assert_eq!(used_up(&there(), &grants()), Vec::<String>::new());
        assert_eq!(given_back(&there(), &there()), Vec::<String>::new());
    }

    #[test]
    fn a_millicore_too_much_and_a_byte_too_little_are_found() {
        let mut planted = grants();
        planted[0].1[0] += 1;
        planted[2].1[1] -= 1;
        let broken = used_up(&there(), &planted);
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[1].contains("3007") && broken[1].contains("3008"), "{broken:?}");
    }

    #[test]
    fn a_device_that_is_granted_twice_and_a_grant_on_nobody_are_found() {
        let mut planted = grants();
        planted[1].1[2] = 1;
        planted.push(("nowhere".to_owned(), [1, 1, 0, 0]));
        assert_eq!(used_up(&there(), &planted).len(), 2);
    }

    #[test]
    fn a_byte_that_does_not_come_back_and_a_cluster_that_is_gone_are_found() {
        let mut after = there();
        after.get_mut("rome").unwrap()[1] -= 1;
        after.remove("oslo");
        assert_eq!(given_back(&there(), &after).len(), 2);
    }
}
