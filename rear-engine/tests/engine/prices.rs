//! Prices are decimal, exact to a billionth, and bounded.

use rear_engine::price::{Currency, Price, PriceError, Rate};
use rear_engine::testing::{all_resources, cost, resources};
use rear_engine::{Resources, Strategy};

#[test]
fn a_price_is_a_plain_decimal() {
    for (text, shown) in [
        ("0", "0"),
        ("0.05", "0.05"),
        (".5", "0.5"),
        ("1.", "1"),
        ("007.10", "7.1"),
        ("0.0000000001", "0.000000001"),
        ("1000000000", "1000000000"),
    ] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), shown, "{text}");
        assert_eq!(text.parse::<Price>().unwrap().to_string(), shown, "{text}");
    }
    for text in ["", "-1", "+1", "1e3", "1k", "1,5", "0x1", " 1", "1 ", "."] {
        assert_eq!(text.parse::<Rate>(), Err(PriceError::NotADecimal), "{text:?}");
    }
    assert_eq!("1000000000.000000001".parse::<Rate>(), Err(PriceError::TooLarge));
    assert_eq!("9".repeat(40).parse::<Rate>(), Err(PriceError::TooLarge));
    assert_eq!("0".repeat(128).parse::<Rate>(), Ok(Rate::default()));
    assert_eq!("0".repeat(129).parse::<Rate>(), Err(PriceError::NotADecimal));
}

#[test]
fn a_currency_is_a_short_name() {
    for good in ["EUR", "USD", "credits", "a", "0123456789abcdef"] {
        let currency: Currency = good.parse().unwrap();
        assert_eq!(currency.to_string(), good);
        assert_eq!(format!("{currency:?}"), format!("Currency({good})"), "not a number");
    }
    for bad in ["", "E R", "\u{20ac}", "0123456789abcdefg", "EUR\n"] {
        assert_eq!(bad.parse::<Currency>(), Err(PriceError::Currency), "{bad:?}");
    }
}

#[test]
fn a_request_costs_its_cores_gib_and_devices() {
    let rates = cost("0.04", "0.005", "1.5", "EUR");
    let price = |resources: Resources| rates.of(resources).to_string();
    assert_eq!(price(resources("2", "4Gi")), "0.1");
    assert_eq!(price(resources("500m", "512Mi")), "0.0225");
    assert_eq!(price(all_resources("1", "1Gi", "2", "100Gi")), "3.045");
    // A part of a billionth is charged as a whole one.
    assert_eq!(price(resources("0", "1")), "0.000000001");
    assert_eq!(price(Resources::NONE), "0");
}

#[test]
fn the_largest_price_does_not_overflow() {
    let rates = cost("1000000000", "1000000000", "1000000000", "EUR");
    let most = Resources::from_amounts([i64::MAX.cast_unsigned(); 4]).unwrap();
    let billion = 1_000_000_000_u128;
    let amount = u128::from(i64::MAX.cast_unsigned());
    let rate = billion * billion;
    let expected =
        (amount * rate).div_ceil(1000) + (amount * rate).div_ceil(1 << 30) + amount * rate;
    assert_eq!(rates.of(most).billionths(), expected);
}

#[test]
fn strategies_have_names() {
    for strategy in Strategy::ALL {
        assert_eq!(strategy.name().parse(), Ok(strategy));
    }
    let unknown = "best".parse::<Strategy>().unwrap_err().to_string();
    assert_eq!(unknown, "unknown strategy: use headroom, balanced, cheapest or binpack");
}
