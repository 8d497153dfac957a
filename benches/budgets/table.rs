//! The table: each piece of work, its floor, what we needed, and whether that is within the budget.

use std::fmt;

/// An amount with its unit.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// Wall time.
    Seconds(f64),
    /// Processor time.
    Milliseconds(f64),
    /// Memory, or bytes on the wire.
    Bytes(f64),
    /// Requests.
    Requests(f64),
    /// Bytes a second.
    Throughput(f64),
}

/// What a piece of work may cost.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    /// So many times the floor.
    Times { floor: Amount, factor: f64 },
    /// No more than this.
    AtMost(Amount),
    /// No less than this.
    AtLeast(Amount),
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub work: String,
    pub ours: Amount,
    pub budget: Budget,
}

/// How a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Within,
    Over,
    OverTwice,
}

// === impl Amount ===

impl Amount {
    fn value(self) -> f64 {
        match self {
            Self::Seconds(n)
            | Self::Milliseconds(n)
            | Self::Bytes(n)
            | Self::Requests(n)
            | Self::Throughput(n) => n,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |n: f64| n / f64::from(1 << 20);
        match self {
            Self::Seconds(n) if *n < 0.1 => write!(f, "{:.1} ms", n * 1000.0),
            Self::Seconds(n) => write!(f, "{n:.2} s"),
            Self::Milliseconds(n) => write!(f, "{n:.0} ms"),
            Self::Bytes(n) if *n < 1e5 => write!(f, "{n:.0} B"),
            Self::Bytes(n) => write!(f, "{:.1} MB", mib(*n)),
            Self::Requests(n) => write!(f, "{n}"),
            Self::Throughput(n) => write!(f, "{:.1} MB/s", mib(*n)),
        }
    }
}

// === impl Row ===

impl Row {
    /// Compares with a floor that was measured beside it.
    pub fn times(work: impl Into<String>, floor: Amount, ours: Amount, factor: f64) -> Self {
        Self { work: work.into(), ours, budget: Budget::Times { floor, factor } }
    }

    /// Compares with a ceiling.
    pub fn at_most(work: impl Into<String>, ours: Amount, ceiling: Amount) -> Self {
        Self { work: work.into(), ours, budget: Budget::AtMost(ceiling) }
    }

    /// Compares with a least value.
    pub fn at_least(work: impl Into<String>, ours: Amount, least: Amount) -> Self {
        Self { work: work.into(), ours, budget: Budget::AtLeast(least) }
    }

    /// Returns which part of the budget is used: 1 is all of it.
    fn used(&self) -> f64 {
        match self.budget {
            Budget::Times { floor, factor } => self.ours.value() / floor.value() / factor,
            Budget::AtMost(ceiling) if ceiling.value() == 0.0 && self.ours.value() == 0.0 => 0.0,
            Budget::AtMost(ceiling) => self.ours.value() / ceiling.value(),
            Budget::AtLeast(least) => least.value() / self.ours.value(),
        }
    }

    /// Judges the row.
    pub fn verdict(&self) -> Verdict {
        match self.used() {
            used if used <= 1.0 => Verdict::Within,
            used if used <= 2.0 => Verdict::Over,
            // A budget of nothing, exceeded, is infinitely over; what is no number is no proof.
            _ => Verdict::OverTwice,
        }
    }

    fn cells(&self) -> [String; 6] {
        let (floor, ratio, budget) = match self.budget {
            Budget::Times { floor, factor } => (
                floor.to_string(),
                format!("{:.2} x", self.ours.value() / floor.value()),
                format!("{factor:?} x"),
            ),
            Budget::AtMost(ceiling) => (String::new(), String::new(), format!("at most {ceiling}")),
            Budget::AtLeast(least) => (String::new(), String::new(), format!("at least {least}")),
        };
        let verdict = match self.verdict() {
            Verdict::Within => "within",
            Verdict::Over => "over",
            Verdict::OverTwice => "over twice the budget",
        };
        [self.work.clone(), floor, self.ours.to_string(), ratio, budget, verdict.to_owned()]
    }
}

/// Lays the rows out as a Markdown table whose columns also line up for people.
pub fn render(rows: &[Row]) -> String {
    let head = ["work", "floor", "uplinker", "ratio", "budget", "verdict"].map(str::to_owned);
    let lines: Vec<[String; 6]> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| lines.iter().map(|l| l[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for (n, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, w)| format!("{cell:w$}")).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if n == 0 {
            let rules: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
            text.push_str(&format!("| {} |\n", rules.join(" | ")));
        }
    }
    text
}
