//! A text of which only a few places are different each time.

use std::ops::Range;

/// A text with gaps. What stands between them is always the same.
#[derive(Debug)]
pub(crate) struct Gapped<G> {
    text: Box<[u8]>,
    /// In the order of their places.
    gaps: Vec<(G, Range<usize>)>,
}

impl<G: Copy> Gapped<G> {
    /// Makes gaps of some parts of a text, which are slices of it.
    pub(crate) fn new<'t>(
        text: &'t [u8],
        parts: impl IntoIterator<Item = (G, &'t str)>,
    ) -> Option<Self> {
        let gap = |(gap, part)| Some((gap, place(text, part)?));
        let mut gaps: Vec<_> = parts.into_iter().map(gap).collect::<Option<_>>()?;
        gaps.sort_by_key(|(_, place)| place.start);
        Some(Self { text: text.into(), gaps })
    }

    /// Reads what another text has in the gaps; `None` if it is different elsewhere, or `each` does not take it. A gap goes up
    /// to where what follows it comes first.
    pub(crate) fn read<'t>(
        &self,
        mut text: &'t [u8],
        mut each: impl FnMut(G, &'t str) -> Option<()>,
    ) -> Option<()> {
        let mut from = 0;
        for (gap, place) in &self.gaps {
            text = text.strip_prefix(&self.text[from..place.start])?;
            let next = self.text.get(place.end)?;
            let (part, rest) = text.split_at(text.iter().position(|byte| byte == next)?);
            each(*gap, std::str::from_utf8(part).ok()?)?;
            (text, from) = (rest, place.end);
        }
        (*text == self.text[from..]).then_some(())
    }

    /// The text with something else in its gaps.
    pub(crate) fn write(&self, each: impl Fn(G, &mut Vec<u8>)) -> Vec<u8> {
        // What is in the gaps is mostly as long as it was.
        let mut text = Vec::with_capacity(self.text.len() + 16);
        let mut from = 0;
        for (gap, place) in &self.gaps {
            text.extend_from_slice(&self.text[from..place.start]);
            each(*gap, &mut text);
            from = place.end;
        }
        text.extend_from_slice(&self.text[from..]);
        text
    }
}

/// Where in a text a part of it stands.
fn place(text: &[u8], part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (text.get(start..end)? == part.as_bytes()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"at":"noon","count":7}"#;

    fn gapped() -> Gapped<char> {
        let parts = [('#', &TEXT[21..22]), ('@', &TEXT[7..11])];
        Gapped::new(TEXT.as_bytes(), parts).expect("they are parts of it")
    }

    fn read(text: &str) -> Option<Vec<(char, &str)>> {
        let mut found = Vec::new();
        let mut keep = |gap, part| {
            found.push((gap, part));
            Some(())
        };
        gapped().read(text.as_bytes(), &mut keep)?;
        Some(found)
    }

    #[test]
    fn only_what_stands_in_the_gaps_may_differ() {
        assert_eq!(read(TEXT), Some(vec![('@', "noon"), ('#', "7")]));
        let later = r#"{"at":"midnight","count":1234}"#;
        assert_eq!(read(later), Some(vec![('@', "midnight"), ('#', "1234")]));
        for other in [
            "",
            r#"{"at":"noon","count":7"#,
            r#"{"at":"noon","count":7} "#,
            r#"{"at":"noon","count": 7}"#.trim_end_matches('}'),
            r#"{"At":"noon","count":7}"#,
            r#"{"at":"noon","more":1,"count":7}"#,
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn whether_something_may_stand_in_a_gap_is_for_its_reader_to_say() {
        let more = r#"{"at":"noon","count":7,"more":1}"#;
        assert_eq!(read(more), Some(vec![('@', "noon"), ('#', r#"7,"more":1"#)]));
        let no_number = |gap, _: &str| (gap != '#').then_some(());
        assert_eq!(gapped().read(TEXT.as_bytes(), no_number), None);
    }

    #[test]
    fn gaps_are_filled_with_something_else() {
        let filled = gapped().write(|gap, text| text.extend(gap.to_string().repeat(9).bytes()));
        let filled = String::from_utf8(filled).expect("text");
        assert_eq!(filled, r#"{"at":"@@@@@@@@@","count":#########}"#);
    }

    #[test]
    fn nothing_but_a_part_of_the_text_becomes_a_gap() {
        let elsewhere = String::from("noon");
        assert!(Gapped::new(TEXT.as_bytes(), [('@', elsewhere.as_str())]).is_none());
    }
}
