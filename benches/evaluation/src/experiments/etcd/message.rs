//! The few messages of etcd's protocol that a compare-and-put needs, as bytes: pure, and shorter than a generator.
//!
//! Field numbers are those of `etcdserverpb` (`rpc.proto`): they never change.

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u8, number: u64) -> Self {
        self.0.push(field << 3);
        put_varint(&mut self.0, number);
        self
    }

    fn bytes(mut self, field: u8, bytes: &[u8]) -> Self {
        self.0.push(field << 3 | 2);
        put_varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u8, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// As gRPC frames it: not compressed, and its length.
    pub(super) fn framed(&self) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        [&[0], &length.to_be_bytes()[..], &self.0].concat()
    }
}

/// A transaction: if the key was last changed at this revision (0: never), put the value; else read the key.
pub(super) fn compare_and_put(key: &str, revision: u64, value: &[u8]) -> Message {
    const EQUAL: u64 = 0;
    const MOD: u64 = 2;
    let key = key.as_bytes();
    let compare =
        Message::default().number(1, EQUAL).number(2, MOD).bytes(3, key).number(6, revision);
    let put = Message::default().bytes(1, key).bytes(2, value);
    let then = Message::default().message(2, &put);
    let otherwise = Message::default().message(1, &range(key));
    Message::default().message(1, &compare).message(2, &then).message(3, &otherwise)
}

/// A question for one key.
pub(super) fn read(key: &str) -> Message {
    range(key.as_bytes())
}

fn range(key: &[u8]) -> Message {
    Message::default().bytes(1, key)
}

/// The fields of a message that was read: numbers, or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The message in an answer of gRPC.
pub(super) fn unframed(answer: &[u8]) -> Option<&[u8]> {
    let (head, rest) = answer.split_at_checked(5)?;
    let length = u32::from_be_bytes(head[1..].try_into().ok()?);
    rest.get(..usize::try_from(length).ok()?)
}

/// The last field of this number, which is the one that counts.
pub(super) fn field(mut message: &[u8], wanted: u64) -> Option<Field<'_>> {
    let mut found = None;
    while !message.is_empty() {
        let key = take_varint(&mut message)?;
        let value = match key & 7 {
            0 => Field::Number(take_varint(&mut message)?),
            2 => {
                let length = usize::try_from(take_varint(&mut message)?).ok()?;
                let (bytes, rest) = message.split_at_checked(length)?;
                message = rest;
                Field::Bytes(bytes)
            }
            _ => return None,
        };
        if key >> 3 == wanted {
            found = Some(value);
        }
    }
    found
}

/// A message within a message, by a path of field numbers.
pub(super) fn inner<'a>(message: &'a [u8], path: &[u64]) -> Option<&'a [u8]> {
    path.iter().try_fold(message, |message, number| match field(message, *number)? {
        Field::Bytes(bytes) => Some(bytes),
        Field::Number(_) => None,
    })
}

/// A number, which is left out where it is 0.
pub(super) fn number(message: &[u8], wanted: u64) -> u64 {
    match field(message, wanted) {
        Some(Field::Number(number)) => number,
        _ => 0,
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or(0));
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let message = compare_and_put("key", 300, b"value").framed();
        let message = unframed(&message).unwrap();
        let compare = inner(message, &[1]).unwrap();
        assert_eq!((number(compare, 1), number(compare, 2), number(compare, 6)), (0, 2, 300));
        assert_eq!(inner(message, &[2, 2, 2]).unwrap(), b"value");
        assert_eq!(inner(message, &[3, 1, 1]).unwrap(), b"key");
    }

    #[test]
    fn what_is_cut_off_is_no_message() {
        let message = compare_and_put("key", 1, b"value").framed();
        for end in 0..message.len() {
            assert!(unframed(&message[..end]).is_none(), "{end}");
        }
        assert_eq!(field(&[0x0a, 5, 1], 1), None);
        assert_eq!(take_varint(&mut &[0xff_u8; 12][..]), None);
    }
}
