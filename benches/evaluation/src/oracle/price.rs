//! What a request costs, in billionths: every term is rounded up.

use super::Charge;

const BILLION: i128 = 1_000_000_000;

/// A decimal text in billionths, rounded up.
pub(super) fn billionths(text: &str) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number: i128 = format!("{whole}{fraction}").parse().unwrap_or(0);
    let over = 10_i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    rounded_up(number * BILLION, over)
}

/// For an hour; storage is free.
pub(super) fn price(charge: &Charge, [cpu, memory, gpu, _]: [i128; 4]) -> i128 {
    let device = charge.gpu.as_ref().map_or(0, |rate| billionths(rate));
    rounded_up(cpu * billionths(&charge.cpu), 1000)
        + rounded_up(memory * billionths(&charge.memory), 1 << 30)
        + gpu * device
}

fn rounded_up(number: i128, over: i128) -> i128 {
    (number + over - 1) / over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_and_a_half_and_two_gib_cost_what_they_should() {
        let charge = Charge {
            cpu: "0.05".to_owned(),
            memory: "0.01".to_owned(),
            gpu: None,
            currency: "EUR".to_owned(),
        };
        assert_eq!(price(&charge, [1500, 2 << 30, 1, 7]), 95_000_000);
        assert_eq!(price(&charge, [1, 1, 0, 0]), 50_000 + 1);
    }
}
