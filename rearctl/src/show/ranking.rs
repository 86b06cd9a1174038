//! A dry run: who would get it, who else fits, and what the others lack.

use rear_agent_sdk::communicator::DryRun;
use rear_api::dry_run::{Candidate, Fitting};
use rear_api::problem::Obstacle;

use crate::output::{Cell, Colours, Style, Table, printable};

/// Everyone who was looked at, with scores and their parts.
pub(crate) fn explanation(dry_run: &DryRun, colours: Colours) -> String {
    let rows: Vec<Vec<Cell>> = dry_run
        .candidates
        .iter()
        .map(|candidate| match candidate {
            Candidate::Fitting(it) => {
                fitting(it, dry_run.target.is_some() && it.cluster_id == dry_run.target)
            }
            Candidate::Lacking(it) => lacking(&it.obstacle),
        })
        .collect();
    let heading =
        &["CLUSTER", "VERDICT", "SCORE", "CPU", "MEMORY", "GPU", "STORAGE", "COST", "WHY"];
    Table::new(heading, true, colours).rows(&rows)
}

fn fitting(it: &Fitting, chosen: bool) -> Vec<Cell> {
    let part = |part: &Option<String>| Cell::new(part.as_deref().unwrap_or_default());
    let (verdict, why) = if chosen { ("chosen", "best of those that fit") } else { ("fits", "") };
    vec![
        unnamed(it.cluster_id.as_deref()),
        Cell::styled(verdict, Style::Good),
        Cell::new(&it.score),
        part(&it.parts.cpu),
        part(&it.parts.memory),
        part(&it.parts.gpu),
        part(&it.parts.storage),
        part(&it.parts.cost),
        why.into(),
    ]
}

fn lacking(obstacle: &Obstacle) -> Vec<Cell> {
    let mut row =
        vec![unnamed(obstacle.cluster_id.as_deref()), Cell::styled("does not fit", Style::Bad)];
    row.extend((0..6).map(|_| Cell::new("")));
    row.push(Cell::new(obstacle.detail.as_deref().unwrap_or(&obstacle.reason)));
    row
}

fn unnamed(name: Option<&str>) -> Cell {
    Cell::new(name.unwrap_or("(not told)"))
}

/// Who would get it, in one line.
pub(crate) fn fit_in_one_line(dry_run: &DryRun) -> Option<String> {
    let target = dry_run.target.as_deref()?;
    let fitting = dry_run.candidates.iter().filter_map(|candidate| match candidate {
        Candidate::Fitting(it) => Some(it),
        Candidate::Lacking(_) => None,
    });
    let (mut score, mut others) = (None, 0_usize);
    for it in fitting {
        if it.cluster_id.as_deref() == Some(target) {
            score = Some(&it.score);
        } else {
            others += 1;
        }
    }
    let score =
        score.map_or_else(String::new, |score| format!(" with a score of {}", printable(score)));
    let also = if others == 0 { String::new() } else { format!("; {others} more shown would fit") };
    Some(format!("{} would get it{score}{also}", printable(target)))
}
