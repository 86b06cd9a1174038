//! What a broker said, against what it had to say.

use std::collections::BTreeMap;

use rear_api::amounts::QuantityText;
use rear_api::dry_run::{Candidate, DryRun};
use rear_api::problem::Obstacle;

use super::quantity::amount;
use super::{Lack, Verdict};

/// Where a dry run differs: the target, who fits, every score, every reason and amount.
#[must_use]
pub fn compare(verdict: &Verdict, said: &DryRun) -> Vec<String> {
    let mut differ = Vec::new();
    if said.target != verdict.target {
        differ.push(format!("chose {:?} instead of {:?}", said.target, verdict.target));
    }
    let (mut scores, mut obstacles) = (BTreeMap::new(), Vec::new());
    for candidate in &said.candidates {
        match candidate {
            Candidate::Fitting(fits) => {
                scores.insert(fits.cluster_id.clone().unwrap_or_default(), fits.score.clone());
            }
            Candidate::Lacking(lacks) => obstacles.push(lacks.obstacle.clone()),
        }
    }
    if scores != verdict.fitting {
        differ.push(format!("scored {scores:?} instead of {:?}", verdict.fitting));
    }
    differ.extend(compare_refusal(verdict, &obstacles));
    differ
}

/// Where the reasons differ of the clusters that do not fit.
#[must_use]
pub fn compare_refusal(verdict: &Verdict, said: &[Obstacle]) -> Vec<String> {
    let mut differ = Vec::new();
    let mut named = Vec::new();
    for obstacle in said {
        let id = obstacle.cluster_id.clone().unwrap_or_default();
        match verdict.lacking.get(&id) {
            Some(lack) if agrees(lack, obstacle) => {}
            expected => differ.push(format!("{id}: said {obstacle:?} instead of {expected:?}")),
        }
        named.push(id);
    }
    if named != verdict.closest {
        differ.push(format!("named {named:?} instead of {:?}", verdict.closest));
    }
    differ
}

/// The same reason; if it lacks room, the same dimension with the same amounts.
fn agrees(lack: &Lack, said: &Obstacle) -> bool {
    let unit = if said.dimension.as_deref() == Some("cpu") { 1000 } else { 1 };
    let read = |text: &QuantityText| amount(&text.0, unit);
    let short_of = match (&said.dimension, &said.requested, &said.available) {
        (Some(dimension), Some(wanted), Some(free)) => {
            Some((dimension.as_str(), read(wanted), read(free)))
        }
        _ => None,
    };
    lack.reason == said.reason && lack.short_of == short_of
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict() -> Verdict {
        Verdict {
            target: Some("a".to_owned()),
            fitting: BTreeMap::from([
                ("a".to_owned(), "75.00".to_owned()),
                ("b".to_owned(), "50.00".to_owned()),
            ]),
            lacking: BTreeMap::from([(
                "c".to_owned(),
                Lack { reason: "insufficient", short_of: Some(("cpu", 2000, 500)) },
            )]),
            closest: vec!["c".to_owned()],
        }
    }

    fn said(target: &str, score: &str, free: &str) -> DryRun {
        let body = format!(
            r#"{{"target": "{target}", "revision": "1.1", "candidates": [
                {{"clusterID": "a", "fits": true, "score": "{score}", "parts": {{}}}},
                {{"clusterID": "b", "fits": true, "score": "50.00", "parts": {{}}}},
                {{"clusterID": "c", "fits": false, "reason": "insufficient", "dimension": "cpu",
                  "requested": "2", "available": "{free}"}}]}}"#
        );
        rear_api::body::read_answer(body.as_bytes()).unwrap()
    }

    #[test]
    fn a_broker_that_is_right_differs_in_nothing() {
        assert_eq!(compare(&verdict(), &said("a", "75.00", "500m")), Vec::<String>::new());
    }

    #[test]
    fn another_choice_score_or_amount_is_found() {
        for (target, score, free) in
            [("b", "75.00", "500m"), ("a", "75.01", "500m"), ("a", "75.00", "501m")]
        {
            assert_eq!(
                compare(&verdict(), &said(target, score, free)).len(),
                1,
                "{target} {score} {free}"
            );
        }
    }

    #[test]
    fn a_cluster_that_is_left_out_or_named_twice_is_found() {
        let right = said("a", "75.00", "500m");
        let mut planted = right.clone();
        planted.candidates.pop();
        assert_eq!(compare(&verdict(), &planted), [r#"named [] instead of ["c"]"#]);
        planted = right.clone();
        planted.candidates.push(right.candidates[2].clone());
        assert_eq!(compare(&verdict(), &planted), [r#"named ["c", "c"] instead of ["c"]"#]);
        planted.candidates.remove(0);
        assert_eq!(compare(&verdict(), &planted).len(), 2);
    }
}
