//! The figures of a ranking: recall, reciprocal rank, and normalized discounted cumulative gain.

use std::collections::HashSet;
use std::fmt;

/// The means of the figures over some cases, or over some plans.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// The number of cases or plans.
    pub count: usize,
    sums: [f64; 4],
}

impl Figures {
    /// Adds a case: a ranking, best first, and what was wanted, which is not empty.
    pub fn add_case(&mut self, ranked: &[String], wanted: &HashSet<&str>) {
        let hits: Vec<usize> = (0..ranked.len()).filter(|place| wanted.contains(ranked[*place].as_str())).collect();
        let recall = |at: usize| hits.iter().filter(|place| **place < at).count() as f64 / wanted.len() as f64;
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let gained: f64 = hits.iter().filter(|place| **place < 5).map(|place| gain(*place)).sum();
        let ideal: f64 = (0..wanted.len().min(5)).map(gain).sum();
        let reciprocal_rank = hits.first().map_or(0.0, |place| 1.0 / (*place as f64 + 1.0));
        self.add([recall(3), recall(5), reciprocal_rank, gained / ideal]);
    }

    /// Adds the means of a plan, if it has cases.
    pub fn add_plan(&mut self, plan: &Figures) {
        if plan.count > 0 {
            self.add(plan.means());
        }
    }

    fn add(&mut self, figures: [f64; 4]) {
        self.count += 1;
        self.sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
    }

    fn means(&self) -> [f64; 4] {
        self.sums.map(|sum| sum / self.count.max(1) as f64)
    }

    #[cfg(test)]
    pub fn recall_at_5(&self) -> f64 {
        self.means()[1]
    }

    #[cfg(test)]
    pub fn ndcg_at_5(&self) -> f64 {
        self.means()[3]
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [recall_at_3, recall_at_5, reciprocal_rank, ndcg_at_5] = self.means();
        write!(
            formatter,
            "recall@3={recall_at_3:.3} recall@5={recall_at_5:.3} mrr={reciprocal_rank:.3} ndcg@5={ndcg_at_5:.3}"
        )
    }
}

/// How much of what was wanted is shown in contexts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown {
    /// The number of cases.
    pub cases: usize,
    /// The number of wanted frames, and how many of them are shown.
    pub wanted: usize,
    pub shown: usize,
    /// The number of wanted frames that are left out because the budget has no room for them.
    pub over_budget: usize,
}

impl Shown {
    pub fn add(&mut self, other: &Shown) {
        self.cases += other.cases;
        self.wanted += other.wanted;
        self.shown += other.shown;
        self.over_budget += other.over_budget;
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recall = self.shown as f64 / self.wanted.max(1) as f64;
        write!(formatter, "recall={recall:.3} ({} frames, {} over the budget)", self.wanted, self.over_budget)
    }
}
