//! What `liqoctl` is called with: a vector, never a shell's line.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use rear_agent_sdk::{Dimension, Resources};

use super::{PeeringError, Settings};

/// liqoctl's own limit is below ours, so that it can say itself what it waited for.
const TO_SAY_WHY: Duration = Duration::from_secs(5);

/// As Liqo checks it.
pub(super) fn check(cluster: &str) -> Result<(), PeeringError> {
    let letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = cluster.as_bytes();
    let ends = bytes.first().is_some_and(letter) && bytes.last().is_some_and(letter);
    if ends && bytes.len() <= 63 && bytes.iter().all(|byte| letter(byte) || *byte == b'-') {
        Ok(())
    } else {
        Err(PeeringError::Id(cluster.to_owned()))
    }
}

/// To peer, for so much.
pub(super) fn peer(settings: &Settings, remote: &Path, sizes: Resources) -> Vec<OsString> {
    let mut arguments = both("peer", settings, remote);
    let mut say = |flag: &str, value: String| {
        arguments.extend([OsString::from(flag), OsString::from(value)]);
    };
    let text = |dimension: Dimension| dimension.quantity(sizes.get(dimension)).to_string();
    say("--gw-server-service-type", settings.gateway_service.clone());
    say("--cpu", text(Dimension::Cpu));
    say("--memory", text(Dimension::Memory));
    if sizes.get(Dimension::Gpu) > 0 {
        say("--resource", format!("{}={}", settings.gpu, text(Dimension::Gpu)));
    }
    if sizes.get(Dimension::Storage) > 0 {
        say("--resource", format!("ephemeral-storage={}", text(Dimension::Storage)));
    }
    arguments
}

/// To end a peering.
pub(super) fn unpeer(settings: &Settings, remote: &Path) -> Vec<OsString> {
    both("unpeer", settings, remote)
}

fn both(what: &str, settings: &Settings, remote: &Path) -> Vec<OsString> {
    let limit = settings.limit.saturating_sub(TO_SAY_WHY).as_secs().max(1);
    let mut arguments = vec![OsString::from(what)];
    arguments.extend(["--kubeconfig".into(), settings.local.clone().into_os_string()]);
    arguments.extend(["--remote-kubeconfig".into(), remote.as_os_str().to_owned()]);
    arguments.extend(["--skip-confirm".into(), "--timeout".into(), format!("{limit}s").into()]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::super::Kubeconfigs;
    use super::*;

    #[test]
    fn ids_are_those_that_liqo_takes() {
        for good in ["rome", "a", "rome-1"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["", "-rome", "rome-", "Rome", "ro.me", "../rome", "rome\n", "--wait"] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_said_in_the_flags_of_liqoctl() {
        let settings = Settings {
            program: "liqoctl".into(),
            local: "/l".into(),
            kubeconfigs: Kubeconfigs::Folder("/d".into()),
            limit: Duration::from_mins(5),
            gateway_service: "NodePort".into(),
            gpu: "nvidia.com/gpu".into(),
        };
        let sizes = Resources::parse("1500m", "4Gi", Some("2"), Some("10Gi")).unwrap();
        let said = peer(&settings, Path::new("/r"), sizes);
        let said: Vec<_> = said.iter().map(|part| part.to_str().unwrap()).collect();
        assert_eq!(
            said.join(" "),
            "peer --kubeconfig /l --remote-kubeconfig /r --skip-confirm --timeout 295s \
             --gw-server-service-type NodePort --cpu 1500m --memory 4Gi \
             --resource nvidia.com/gpu=2 --resource ephemeral-storage=10Gi"
        );
        let said = unpeer(&settings, Path::new("/r"));
        assert_eq!(said.len(), 8);
    }
}
