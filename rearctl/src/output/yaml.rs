//! YAML as a way to lay out JSON: the same members in the same order, in blocks instead of braces.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

use super::json::compact;

/// One document, without the line that separates documents.
pub(crate) fn document(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, Blocks::default());
    // Bodies of the wire are JSON, and a vector takes everything.
    value.serialize(&mut serializer).unwrap_or_else(|error| unreachable!("it is JSON: {error}"));
    text.push(b'\n');
    String::from_utf8(text).unwrap_or_else(|error| unreachable!("texts stay texts: {error}"))
}

/// One member of a list.
pub(crate) fn member(value: &impl Serialize) -> String {
    document(&[value])
}

/// What stands on the line already.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Behind {
    #[default]
    Nothing,
    /// A value needs a space; a block needs a new line.
    Colon,
    /// A value needs a space, and so does the first key of an object.
    Dash,
}

/// Where the writing is.
#[derive(Default)]
struct Blocks {
    depth: usize,
    /// Nothing stands in the present block yet.
    empty: bool,
    behind: Behind,
    begun: bool,
    /// A text that is not finished: whether it needs quotes is known at its end.
    text: Option<String>,
}

impl Blocks {
    fn value<W: ?Sized + Write>(&mut self, writer: &mut W, value: &str) -> io::Result<()> {
        if std::mem::take(&mut self.behind) != Behind::Nothing {
            writer.write_all(b" ")?;
        }
        self.begun = true;
        writer.write_all(value.as_bytes())
    }

    fn begin_line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.empty = false;
        if std::mem::take(&mut self.begun) {
            writer.write_all(b"\n")?;
        }
        self.begun = true;
        write!(writer, "{:width$}", "", width = (self.depth - 1) * 2)
    }

    fn open(&mut self) {
        self.depth += 1;
        self.empty = true;
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, nothing: &str) -> io::Result<()> {
        self.depth -= 1;
        if std::mem::take(&mut self.empty) { self.value(writer, nothing) } else { Ok(()) }
    }
}

impl Formatter for Blocks {
    fn write_null<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.value(writer, "null")
    }

    fn write_bool<W: ?Sized + Write>(&mut self, writer: &mut W, value: bool) -> io::Result<()> {
        self.value(writer, if value { "true" } else { "false" })
    }

    fn write_i32<W: ?Sized + Write>(&mut self, writer: &mut W, value: i32) -> io::Result<()> {
        self.value(writer, &value.to_string())
    }

    fn write_i64<W: ?Sized + Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        self.value(writer, &value.to_string())
    }

    fn write_u64<W: ?Sized + Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        self.value(writer, &value.to_string())
    }

    fn begin_string<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.text = Some(String::new());
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        _: &mut W,
        part: &str,
    ) -> io::Result<()> {
        self.text.get_or_insert_default().push_str(part);
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        _: &mut W,
        it: CharEscape,
    ) -> io::Result<()> {
        self.text.get_or_insert_default().push(meant(&it));
        Ok(())
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let text = self.text.take().unwrap_or_default();
        if is_plain(&text) {
            self.value(writer, &text)
        } else {
            self.value(writer, &compact(&text))
        }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.open();
        Ok(())
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, "[]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, _: bool) -> io::Result<()> {
        self.begin_line(writer)?;
        self.behind = Behind::Dash;
        writer.write_all(b"-")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.open();
        Ok(())
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, "{}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, _: bool) -> io::Result<()> {
        if self.behind == Behind::Dash {
            self.empty = false;
            return Ok(());
        }
        self.behind = Behind::Nothing;
        self.begin_line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.behind = Behind::Colon;
        writer.write_all(b":")
    }
}

fn meant(escape: &CharEscape) -> char {
    match escape {
        CharEscape::Quote => '"',
        CharEscape::ReverseSolidus => '\\',
        CharEscape::Solidus => '/',
        CharEscape::Backspace => '\u{8}',
        CharEscape::FormFeed => '\u{c}',
        CharEscape::LineFeed => '\n',
        CharEscape::CarriageReturn => '\r',
        CharEscape::Tab => '\t',
        CharEscape::AsciiControl(byte) => char::from(*byte),
    }
}

/// Whether no reader of YAML, however old, takes it for anything but this text.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}
