//! No text makes the parser panic; what it accepts is printed in a form that means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rear_engine::Duration;

fuzz_target!(|text: &str| {
    if let Ok(duration) = text.parse::<Duration>() {
        assert_eq!(duration.to_string().parse(), Ok(duration), "{text}");
    }
});
