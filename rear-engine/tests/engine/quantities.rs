//! Quantities are read and printed as Kubernetes does, except where it guesses or clamps.

use proptest::prelude::*;
use rear_engine::Dimension;
use rear_engine::quantity::{Quantity, QuantityError};

/// What Kubernetes itself answers, one row for each input.
const ANSWERS: &str = include_str!("data/quantities.tsv");

/// Accepted by Kubernetes as 0, refused by us.
const EMPTY_MANTISSAS: [&str; 8] = ["e3", "Ki", "m", ".", "+", "-", "+.", "-."];

/// Clamped by Kubernetes to `i64::MAX`, or beyond what an amount of anything can be: refused by us.
const TOO_LARGE: [&str; 4] = ["8Ei", "9Ei", "1000Ei", "1e100"];

/// Where Kubernetes returns its input instead of a canonical form, and we don't.
const ECHOED: [(&str, &str); 12] = [
    ("+1", "1"),
    ("5.", "5"),
    ("1E3", "1e3"),
    ("1e+3", "1e3"),
    ("1e0", "1"),
    ("00012", "12"),
    ("007Gi", "7Gi"),
    ("5E-3", "5e-3"),
    ("5.E3", "5e3"),
    ("1.e3", "1e3"),
    ("1E6", "1e6"),
    ("100e-3", "100e-3"),
];

struct Answer {
    input: &'static str,
    value: &'static str,
    printed: &'static str,
    units: i64,
    millis: i64,
}

fn answers() -> impl Iterator<Item = (&'static str, Option<Answer>)> {
    ANSWERS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut fields = line.split('\t');
        let input = fields.next().unwrap().trim_matches('"');
        let value = fields.next().unwrap();
        if value == "ERR" {
            return (input, None);
        }
        let printed = fields.next().unwrap();
        let mut number = || fields.next().unwrap().parse().unwrap();
        let (units, millis) = (number(), number());
        (input, Some(Answer { input, value, printed, units, millis }))
    })
}

fn accepted() -> impl Iterator<Item = (Answer, Quantity)> {
    answers().filter_map(|(input, answer)| {
        let answer = answer?;
        let refused = EMPTY_MANTISSAS.contains(&input) || TOO_LARGE.contains(&input);
        (!refused)
            .then(|| (answer, input.parse().unwrap_or_else(|error| panic!("{input}: {error}"))))
    })
}

/// A decimal text with at most nine decimals, in billionths.
fn nanos(decimal: &str) -> i128 {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    format!("{whole}{fraction:0<9}").parse().unwrap()
}

#[test]
fn every_value_is_what_kubernetes_says() {
    let mut rows = 0;
    for (answer, quantity) in accepted() {
        assert_eq!(quantity.nanos(), nanos(answer.value), "{}", answer.input);
        rows += 1;
    }
    assert!(rows > 80, "the table was read: {rows} rows");
}

#[test]
fn what_kubernetes_refuses_is_refused() {
    for (input, answer) in answers() {
        if answer.is_none() {
            assert!(input.parse::<Quantity>().is_err(), "{input:?} was accepted");
        }
    }
}

#[test]
fn the_printed_form_is_kubernetes_unless_it_only_echoed() {
    for (answer, quantity) in accepted() {
        let printed = quantity.to_string();
        let echo = ECHOED.iter().find(|(input, _)| *input == answer.input);
        let expected = echo.map_or(answer.printed, |(_, canonical)| canonical);
        assert_eq!(printed, expected, "{}", answer.input);
    }
}

#[test]
fn amounts_in_units_and_thousandths_are_what_kubernetes_says() {
    for (answer, quantity) in accepted() {
        let negative = quantity.nanos() < 0;
        match quantity.to_units() {
            Ok(units) => assert_eq!(i64::try_from(units), Ok(answer.units), "{}", answer.input),
            Err(QuantityError::Negative) => assert!(negative, "{}", answer.input),
            Err(error) => assert!(overflows(&answer, 1), "{}: {error}", answer.input),
        }
        match quantity.to_millis() {
            Ok(millis) => assert_eq!(i64::try_from(millis), Ok(answer.millis), "{}", answer.input),
            Err(QuantityError::Negative) => assert!(negative, "{}", answer.input),
            Err(error) => assert!(overflows(&answer, 1000), "{}: {error}", answer.input),
        }
    }
}

fn overflows(answer: &Answer, steps: i128) -> bool {
    nanos(answer.value) * steps > i128::from(i64::MAX) * 1_000_000_000
}

#[test]
fn an_empty_mantissa_is_refused() {
    for text in EMPTY_MANTISSAS {
        assert_eq!(text.parse::<Quantity>(), Err(QuantityError::NoDigits), "{text}");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_not_clamped() {
    for text in TOO_LARGE {
        assert_eq!(text.parse::<Quantity>(), Err(QuantityError::TooLarge), "{text}");
    }
    for (dimension, fits, beyond) in [
        (Dimension::Memory, "9223372036854775807", "9223372036854775808"),
        (Dimension::Memory, "9223372036854775806.1", "9223372036854775807.1"),
        (Dimension::Cpu, "9223372036854775.807", "9223372036854775.8071"),
        (Dimension::Storage, "7Ei", "8Ei"),
        (Dimension::Storage, "9007199254740991.9990234375Ki", "9007199254740991.9990234376Ki"),
        (Dimension::Gpu, "9223372036854775807", "9.3E"),
    ] {
        assert!(dimension.parse(fits).is_ok(), "{fits}");
        assert_eq!(dimension.parse(beyond), Err(QuantityError::TooLarge), "{beyond}");
    }
    assert_eq!("9223372036854775808Ei".parse::<Quantity>(), Err(QuantityError::TooLarge));
    assert_eq!("1e400".parse::<Quantity>(), Err(QuantityError::TooLarge));
    assert_eq!("1e2147483648".parse::<Quantity>(), Err(QuantityError::TooLarge));
}

#[test]
fn negative_amounts_are_refused_where_an_amount_is_meant() {
    for dimension in Dimension::ALL {
        assert_eq!(dimension.parse("-1"), Err(QuantityError::Negative), "{dimension}");
        assert_eq!(dimension.parse("-1n"), Err(QuantityError::Negative), "{dimension}");
        assert_eq!(dimension.parse("-0"), Ok(0), "{dimension}");
    }
}

#[test]
fn parts_of_a_unit_are_rounded_up() {
    assert_eq!(Dimension::Cpu.parse("100n"), Ok(1));
    assert_eq!(Dimension::Cpu.parse("1.0001"), Ok(1001));
    assert_eq!(Dimension::Memory.parse("0.3Ki"), Ok(308));
    assert_eq!(Dimension::Gpu.parse("500m"), Ok(1));
    assert_eq!(Dimension::Memory.parse("1e-400"), Ok(1));
    assert_eq!(Dimension::Memory.parse("0e2147483647"), Ok(0));
}

#[test]
fn long_texts_are_read_exactly_up_to_the_limit() {
    let almost_two = format!("1.{}", "9".repeat(120));
    assert_eq!(Dimension::Memory.parse(&almost_two), Ok(2));
    let one = format!("{}1", "0".repeat(127));
    assert_eq!(Dimension::Memory.parse(&one), Ok(1));
    let tiny = format!("0.{}1", "0".repeat(120));
    assert_eq!(tiny.parse::<Quantity>().unwrap().nanos(), 1);
    assert_eq!("1".repeat(129).parse::<Quantity>(), Err(QuantityError::TooLong));
    assert_eq!(format!("{}Ki", "1".repeat(126)).parse::<Quantity>(), Err(QuantityError::TooLarge));
}

#[test]
fn beyond_the_largest_suffix_the_number_grows() {
    for text in ["1000E", "1000000E"] {
        assert_eq!(text.parse::<Quantity>().unwrap().to_string(), text);
    }
}

#[test]
fn binary_amounts_below_1024_are_printed_as_decimals() {
    for (bytes, printed) in [(1000, "1k"), (1023, "1023"), (1024, "1Ki"), (2000, "2000")] {
        assert_eq!(Dimension::Memory.quantity(bytes).to_string(), printed);
    }
}

#[test]
fn an_exponent_that_is_no_number_is_an_unknown_suffix() {
    for text in ["1e", "1e+", "1E-", "1ex", "1e1.5", "1e+-3"] {
        assert_eq!(text.parse::<Quantity>(), Err(QuantityError::UnknownSuffix), "{text}");
    }
}

#[test]
fn amounts_are_printed_in_the_notation_of_their_dimension() {
    assert_eq!(Dimension::Cpu.quantity(1500).to_string(), "1500m");
    assert_eq!(Dimension::Cpu.quantity(2000).to_string(), "2");
    assert_eq!(Dimension::Memory.quantity(4 << 30).to_string(), "4Gi");
    assert_eq!(Dimension::Memory.quantity(1023).to_string(), "1023");
    assert_eq!(Dimension::Storage.quantity(1_000_000).to_string(), "1000000");
    assert_eq!(Dimension::Gpu.quantity(2).to_string(), "2");
    assert_eq!(Dimension::Gpu.quantity(0).to_string(), "0");
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(amount in 0..=i64::MAX.cast_unsigned()) {
        for dimension in Dimension::ALL {
            let printed = dimension.quantity(amount).to_string();
            prop_assert_eq!(dimension.parse(&printed), Ok(amount), "{}", printed);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+.0-9eEinumkKMGTPi ]{0,20}") {
        if let Ok(quantity) = text.parse::<Quantity>() {
            let again: Quantity = quantity.to_string().parse().unwrap();
            prop_assert_eq!(again.nanos(), quantity.nanos(), "{}", text);
        }
    }
}
