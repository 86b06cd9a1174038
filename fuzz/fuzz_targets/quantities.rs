//! No text makes the parser panic; what it accepts is printed in a form that means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rear_engine::{Dimension, Quantity};

fuzz_target!(|text: &str| {
    let Ok(quantity) = text.parse::<Quantity>() else { return };
    let printed = quantity.to_string();
    let again: Quantity = printed.parse().expect("what is printed can be read");
    assert_eq!(again.nanos(), quantity.nanos(), "{text} was printed as {printed}");
    for dimension in Dimension::ALL {
        if let Ok(amount) = dimension.parse(text) {
            let printed = dimension.quantity(amount).to_string();
            assert_eq!(dimension.parse(&printed), Ok(amount), "{text} as {dimension}");
        }
    }
});
