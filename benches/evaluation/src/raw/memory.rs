//! How fast memory is read: the sum of more numbers than any cache has.

use std::hint::black_box;
use std::time::Duration;

use tokio::time::Instant;

/// 64 MiB.
const NUMBERS: u64 = 8 << 20;

/// Bytes in a second.
pub(super) fn sum(span: Duration) -> f64 {
    let numbers: Vec<u64> = (0..NUMBERS).collect();
    let (mut rounds, began) = (0_u32, Instant::now());
    while began.elapsed() < span || rounds == 0 {
        let sum = black_box(&numbers).iter().copied().fold(0_u64, u64::wrapping_add);
        black_box(sum);
        rounds += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let bytes = size_of_val(&numbers[..]) as f64;
    bytes * f64::from(rounds) / began.elapsed().as_secs_f64()
}
