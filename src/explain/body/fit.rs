//! Step 9, explain: how a body is made to fit.
//!
//! In: nothing but numbers and finished text. Out: [`Limits`], from all that there is to say to the least that a body
//! must say, and a last cut for text that is not ours to write shorter. Pure.

use serde::Serialize;

/// How many entries of each list are shown, least important list first, and how much of each foreign text.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Limits {
    items: usize,
    fields: usize,
    certificates: usize,
    notes: usize,
    infos: usize,
    stays: usize,
    objects: usize,
    releases: usize,
    images: usize,
    places: usize,
    restarts: usize,
    order: usize,
    charts: usize,
    notices: usize,
    breaking: usize,
    rows: usize,
    warnings: usize,
    blocks: usize,
    /// The most characters of one foreign text.
    pub(super) text: usize,
}

// === impl Limits ===

impl Limits {
    /// All that there is to say: no list is as long, and templates can reckon with it.
    pub(super) const ALL: Self = Self::of(i32::MAX as usize);

    /// What is shown where there is room.
    pub(super) const FULL: Self = Self {
        items: 40,
        fields: 60,
        certificates: 40,
        notes: 40,
        infos: 200,
        stays: 30,
        objects: 120,
        releases: 100,
        images: 60,
        places: 12,
        restarts: 100,
        order: 40,
        charts: 60,
        notices: 60,
        breaking: 100,
        rows: 200,
        warnings: 200,
        blocks: 200,
        text: 300,
    };

    const fn of(n: usize) -> Self {
        Self {
            items: n,
            fields: n,
            certificates: n,
            notes: n,
            infos: n,
            stays: n,
            objects: n,
            releases: n,
            images: n,
            places: n,
            restarts: n,
            order: n,
            charts: n,
            notices: n,
            breaking: n,
            rows: n,
            warnings: n,
            blocks: n,
            text: n,
        }
    }

    /// Returns ever tighter limits: first the lists down to a few entries, one list after the other, then long texts,
    /// then lists and texts to the least that still says what there is.
    pub(super) fn steps() -> Vec<Self> {
        let mut steps = vec![Self::FULL];
        let mut now = Self::FULL;
        let mut lists_to = |now: &mut Self, floor: usize| {
            while now.tighten(floor) {
                steps.push(*now);
            }
        };
        lists_to(&mut now, 4);
        now.text = 150;
        lists_to(&mut now, 2);
        now.text = 80;
        lists_to(&mut now, 1);
        for text in [40, 20] {
            now.text = text;
            steps.push(now);
        }
        steps
    }

    /// Shortens the least important list that is still over `floor`; `false` when none is. Of what blocks, more stays.
    fn tighten(&mut self, floor: usize) -> bool {
        let lists = [
            (&mut self.items, floor),
            (&mut self.fields, floor),
            (&mut self.certificates, floor),
            (&mut self.notes, floor),
            (&mut self.infos, floor),
            (&mut self.stays, floor),
            (&mut self.objects, floor),
            (&mut self.releases, floor),
            (&mut self.images, floor),
            (&mut self.places, floor),
            (&mut self.restarts, floor),
            (&mut self.order, floor),
            (&mut self.charts, floor),
            (&mut self.notices, floor),
            (&mut self.breaking, floor),
            (&mut self.rows, floor),
            (&mut self.warnings, floor),
            (&mut self.blocks, floor * 10),
        ];
        match lists.into_iter().find(|(n, floor)| **n > *floor) {
            Some((list, floor)) => *list = (*list / 2).max(floor),
            None => return false,
        }
        true
    }
}

/// Counts as the strictest of the forges' own counts does.
pub(super) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Cuts whole lines off the end until the rest needs at most so many bytes, and closes what they leave open.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut open = Open::default();
    let (mut used, total) = (0, text.lines().count());
    for (n, line) in text.lines().enumerate() {
        used += line.len() + 1;
        let after = open.after(line);
        if used + 60 + after.closing().len() > most {
            return format!("{kept}{}\n{} more lines are left out here.", open.closing(), total - n);
        }
        open = after;
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// What is open after some lines: a fence with its sign, and folds.
#[derive(Clone, Debug, Default)]
struct Open {
    fence: Option<String>,
    folds: usize,
}

// === impl Open ===

impl Open {
    fn after(&self, line: &str) -> Self {
        let mut after = self.clone();
        let line = line.trim();
        let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run: String = line.chars().take_while(|c| Some(*c) == sign).collect();
        match &self.fence {
            Some(fence) if run.len() >= fence.len() && run.starts_with(fence) && run == line => {
                after.fence = None;
            }
            Some(_) => {}
            None if run.len() >= 3 => after.fence = Some(run),
            None => {
                let folds = self.folds + line.matches("<details").count();
                after.folds = folds.saturating_sub(line.matches("</details>").count());
            }
        }
        after
    }

    fn closing(&self) -> String {
        let fence = self.fence.as_ref().map(|sign| format!("{sign}\n")).unwrap_or_default();
        fence + &"\n</details>\n".repeat(self.folds.min(100))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_says_no_more_than_the_one_before() {
        let numbers = |limits: &Limits| -> Vec<u64> {
            let value = serde_json::to_value(limits).unwrap();
            value.as_object().unwrap().values().map(|n| n.as_u64().unwrap()).collect()
        };
        let steps = Limits::steps();
        for pair in steps.windows(2) {
            let (before, after) = (numbers(&pair[0]), numbers(&pair[1]));
            assert!(before.iter().zip(&after).all(|(b, a)| a <= b && *a >= 1) && before != after);
        }
        let last = steps.last().unwrap();
        assert_eq!((last.blocks, last.warnings, last.text), (10, 1, 20));
        assert!(steps.len() < 200, "{}", steps.len());
    }

    #[test]
    fn a_cut_leaves_nothing_open() {
        let text = format!("<details><summary>a</summary>\n\n````sh\n{}", "```\nx\n".repeat(100));
        let cut = cut(&text, 300);
        assert!(cut.len() <= 300, "{cut}");
        assert!(super::cut(&"→ → → →\n".repeat(100), 300).len() <= 300, "a character may have three bytes");
        assert!(
            cut.contains("\n````\n\n</details>\n\n") && cut.ends_with("more lines are left out here."),
            "{cut}"
        );
        assert_eq!(super::cut("a\nb", 10), "a\nb");
    }
}
