//! What must be true of the bytes between agents and a broker.

use crate::wire::Passed;

/// Something passed, and agents kept the connections that they began with.
pub(crate) fn passed(start: Passed, later: Passed) -> Vec<String> {
    let mut broken = Vec::new();
    if start.up == 0 || start.down == 0 {
        broken.push("nothing passed".to_owned());
    }
    if later.connections != start.connections {
        broken.push(format!("{} connections became {}", start.connections, later.connections));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_and_lost_connections_are_found() {
        let fine = Passed { up: 1, down: 1, connections: 10 };
        assert_eq!(passed(fine, fine), Vec::<String>::new());
        let mute = Passed { down: 0, ..fine };
        assert_eq!(passed(mute, fine), ["nothing passed"]);
        let more = Passed { connections: 11, ..fine };
        assert_eq!(passed(fine, more), ["10 connections became 11"]);
    }
}
