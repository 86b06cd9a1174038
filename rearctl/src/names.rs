//! Names as they are typed and pasted: `rome`, or `clusters/rome` as `-o name` prints it.

use rear_agent_sdk::communicator::ClusterId;

use crate::failure::Failure;

/// The part behind the kind, if the kind is the right one. Both `cluster/` and `clusters/` are.
pub(crate) fn bare<'a>(kind: &str, text: &'a str) -> Result<&'a str, Failure> {
    let Some((given, name)) = text.split_once('/') else { return Ok(text) };
    if given == kind || kind.strip_suffix('s') == Some(given) {
        return Ok(name);
    }
    Err(Failure::Usage(format!("`{text}` does not name one of the {kind}")))
}

/// The cluster that is meant.
pub(crate) fn cluster(text: &str) -> Result<ClusterId, Failure> {
    let name = bare("clusters", text)?;
    name.parse().map_err(|error| Failure::Usage(format!("`{name}` is no cluster: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_as_a_name_can_be_given_as_one() {
        assert_eq!(bare("clusters", "clusters/rome").unwrap(), "rome");
        assert_eq!(bare("clusters", "cluster/rome").unwrap(), "rome");
        assert_eq!(bare("clusters", "rome").unwrap(), "rome");
        assert!(bare("clusters", "reservations/rome").is_err());
    }
}
