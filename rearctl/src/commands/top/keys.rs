//! Keys, one by one, from a terminal that does not wait for the end of a line.

use std::io::{self, Read};
use std::thread;

use tokio::sync::mpsc::{Receiver, channel};

use super::Order;

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Sort(Order),
    /// So many lines down, or up.
    Move(isize),
}

/// Nobody types faster than it is drawn.
const WAITING: usize = 16;

/// How far a page is.
const PAGE: isize = 10;

pub(super) struct Keys(Receiver<Key>);

impl Keys {
    /// A thread of its own waits for keys: reading from a terminal cannot be given up. It ends with the program.
    pub(super) fn listen() -> Self {
        let (told, keys) = channel(WAITING);
        thread::spawn(move || {
            let mut typed = [0; 16];
            while let Ok(length @ 1..) = io::stdin().read(&mut typed) {
                for key in meant(&typed[..length]) {
                    if told.blocking_send(key).is_err() {
                        return;
                    }
                }
            }
        });
        Self(keys)
    }

    /// The next one; nothing when there is no terminal any more.
    pub(super) async fn next(&mut self) -> Option<Key> {
        self.0.recv().await
    }
}

/// What was typed: an arrow is three bytes that come together.
fn meant(typed: &[u8]) -> Vec<Key> {
    match typed {
        [] => Vec::new(),
        [0x1b, b'[', b'A', rest @ ..] => [vec![Key::Move(-1)], meant(rest)].concat(),
        [0x1b, b'[', b'B', rest @ ..] => [vec![Key::Move(1)], meant(rest)].concat(),
        [byte, rest @ ..] => one(*byte).into_iter().chain(meant(rest)).collect(),
    }
}

fn one(byte: u8) -> Option<Key> {
    match byte {
        // Ctrl-C and Ctrl-D, where the terminal hands them on.
        b'q' | b'Q' | 0x03 | 0x04 => Some(Key::Quit),
        b'k' => Some(Key::Move(-1)),
        b'j' => Some(Key::Move(1)),
        b'b' => Some(Key::Move(-PAGE)),
        b' ' => Some(Key::Move(PAGE)),
        b'f' => Some(Key::Sort(Order::Full)),
        b'c' => Some(Key::Sort(Order::Cpu)),
        b'm' => Some(Key::Sort(Order::Memory)),
        b'g' => Some(Key::Sort(Order::Gpu)),
        b'n' => Some(Key::Sort(Order::Name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_come_together_are_told_apart() {
        let keys = [Key::Move(1), Key::Sort(Order::Memory), Key::Move(-1), Key::Quit];
        assert_eq!(meant(b"\x1b[Bm?kq"), keys);
    }
}
