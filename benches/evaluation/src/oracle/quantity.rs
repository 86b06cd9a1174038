//! Kubernetes quantities by plain long multiplication: exact, for the texts that the evaluation writes.

/// A text in the smallest unit, `unit` of which make one; what does not come out even is rounded up.
pub(super) fn amount(text: &str, unit: i128) -> i128 {
    let digits = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mantissa: i128 = format!("{whole}{fraction}").parse().unwrap_or(0);
    let mut over = 10_i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let times = match suffix {
        "m" => {
            over *= 1000;
            1
        }
        "" => 1,
        "k" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        exponent => 10_i128.pow(exponent[1..].parse().unwrap_or(0)),
    };
    let product = mantissa * times * unit;
    (product + over - 1) / over
}

/// Millicores, bytes, devices, bytes.
pub(super) fn amounts(texts: &super::Texts) -> [i128; 4] {
    let known = |text: &Option<String>| text.as_ref().map_or(0, |text| amount(text, 1));
    [amount(&texts.cpu, 1000), amount(&texts.memory, 1), known(&texts.gpu), known(&texts.storage)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_amounts_that_kubernetes_reads() {
        for (text, millis) in [("1500m", 1500), ("2", 2000), ("0.5", 500), ("1e3", 1_000_000)] {
            assert_eq!(amount(text, 1000), millis, "{text}");
        }
        let bytes = [
            ("1Gi", 1 << 30),
            ("1.5Mi", 3 << 19),
            ("12e9", 12_000_000_000),
            ("7", 7),
            ("2G", 2_000_000_000),
        ];
        for (text, bytes) in bytes {
            assert_eq!(amount(text, 1), bytes, "{text}");
        }
        assert_eq!(amount("1500m", 1), 2);
    }
}
