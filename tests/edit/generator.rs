//! Writes YAML files from arbitrary bytes, so that a failing one shrinks to the simplest.

use std::fmt::Write;

use proptest::prelude::*;

/// Turns bytes into choices; when they run out, the simplest one is made.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |b| usize::from(*b)) % n
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == one_in - 1
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

/// Writes a file with every kind of node; each scalar value holds a token that stands nowhere else.
struct Writer<'a, 'b> {
    choices: &'a mut Choices<'b>,
    out: String,
    count: usize,
    anchors: Vec<String>,
}

impl Writer<'_, '_> {
    fn token(&mut self) -> String {
        self.count += 1;
        format!("edge-26.8.{}", 100 + self.count)
    }

    fn stream(&mut self) {
        let documents = 1 + self.choices.below(3);
        for n in 0..documents {
            self.anchors.clear();
            if self.choices.chance(6) && (n == 0 || self.out.ends_with("...\n")) {
                self.out.push_str("%YAML 1.1\n---\n");
            } else if n > 0 || self.choices.chance(3) {
                self.out.push_str(self.choices.pick(&["---\n", "--- # document\n", "---\n# c\n\n"]));
            }
            match self.choices.chance(4) {
                true => self.block_sequence(0),
                false => self.block_mapping(0, 4),
            }
            if self.choices.chance(4) {
                self.out.push_str("...\n");
            }
        }
    }

    fn line_end(&mut self) {
        let comment = ["", "", "", " # c", "  # edge-26.8.2 is 'old'", "   # x: y", "   "];
        let comment = self.choices.pick(&comment);
        self.out.push_str(comment);
        self.out.push('\n');
        if self.choices.chance(6) {
            self.out.push_str(self.choices.pick(&["\n", "# at the margin\n", "          # deep\n", "  \n"]));
        }
    }

    fn key(&mut self) -> String {
        self.count += 1;
        let n = self.count;
        match self.choices.below(6) {
            0 => format!("'key {n}'"),
            1 => format!("\"k\\u00e9y/{n}\""),
            2 => format!("config.linkerd.io/key-{n}"),
            3 => format!("日本🚀{n}"),
            _ => format!("key{n}"),
        }
    }

    fn block_mapping(&mut self, indent: usize, entries: usize) {
        for n in 0..1 + self.choices.below(entries) {
            // A mapping inside a sequence begins behind its dash.
            if n > 0 || !self.out.ends_with("- ") {
                let _ = write!(self.out, "{:indent$}", "");
            }
            let key = self.key();
            let _ = write!(self.out, "{key}{}:", self.choices.pick(&["", "", " "]));
            self.block_value(indent, false);
        }
    }

    fn block_sequence(&mut self, indent: usize) {
        for n in 0..1 + self.choices.below(3) {
            if n > 0 || !self.out.ends_with("- ") {
                let _ = write!(self.out, "{:indent$}", "");
            }
            self.out.push('-');
            if indent < 12 && self.choices.chance(3) {
                self.out.push(' ');
                match self.choices.chance(3) {
                    true => self.block_sequence(indent + 2),
                    false => self.block_mapping(indent + 2, 3),
                }
            } else {
                self.block_value(indent, true);
            }
        }
    }

    /// Writes what stands behind `:` or `-` of a collection with that indentation.
    fn block_value(&mut self, indent: usize, in_sequence: bool) {
        if !self.anchors.is_empty() && self.choices.chance(8) {
            let anchor = self.anchors[self.choices.below(self.anchors.len())].clone();
            let _ = write!(self.out, " *{anchor}");
            return self.line_end();
        }
        let anchor = self.choices.chance(6).then(|| {
            self.count += 1;
            format!("a{}", self.count)
        });
        if let Some(anchor) = &anchor {
            let _ = write!(self.out, " &{anchor}");
        }
        let kind = self.choices.below(if indent < 12 { 12 } else { 10 });
        if kind < 7 && self.choices.chance(8) {
            self.out.push_str(" !!str");
        }
        match kind {
            0..=3 => self.flow_scalar_line(indent),
            4..=6 => self.block_scalar(indent),
            7 | 8 => {
                self.out.push(' ');
                self.flow(2, indent + 2);
                self.line_end();
            }
            9 if anchor.is_none() => {
                self.out.push_str(self.choices.pick(&["", " ~", " null", " 12", " yes", " 1.5"]));
                self.line_end();
            }
            10 => {
                self.line_end();
                let deeper = 1 + self.choices.below(4);
                self.block_mapping(indent + deeper, 3);
            }
            11 => {
                self.line_end();
                let deeper = if in_sequence { 1 } else { 0 } + self.choices.below(3);
                self.block_sequence(indent + deeper);
            }
            _ => self.flow_scalar_line(indent),
        }
        self.anchors.extend(anchor);
    }

    fn flow_scalar_line(&mut self, indent: usize) {
        match self.choices.chance(6) {
            true => {
                self.out.push('\n');
                let _ = write!(self.out, "{:1$}", "", indent + 1);
            }
            false => self.out.push_str(self.choices.pick(&[" ", " ", "  ", "    "])),
        }
        self.flow_scalar(false, indent + 1);
        self.line_end();
    }

    fn flow_scalar(&mut self, in_flow: bool, indent: usize) {
        let token = self.token();
        // A flow scalar may go on over lines that are indented deeply enough.
        let fold = match self.choices.below(8) {
            6 => format!("\n{:indent$}", ""),
            7 => format!("  \n\n{:1$}", "", indent + 1),
            _ => " ".to_owned(),
        };
        let text = match self.choices.below(8) {
            0 => format!("'{token}'"),
            1 => format!("\"{token}\""),
            2 => format!("'it''s{fold}{token}: # \"x\" \\n'"),
            3 => format!("\"a\\t\\\"b\\\" \\u00e9é{fold}{token} \\\\ 'q' # \\x41\""),
            4 if !in_flow => format!("cr.l5d.io/x:{token}{fold}--flag=[1] it's #not"),
            5 => format!("x{fold}{token} é🚀"),
            _ => token,
        };
        self.out.push_str(&text);
    }

    fn flow(&mut self, depth: usize, indent: usize) {
        let mapping = self.choices.chance(2);
        self.out.push(if mapping { '{' } else { '[' });
        for n in 0..self.choices.below(4) {
            if n > 0 {
                self.out.push(',');
            }
            match self.choices.below(6) {
                0 if n > 0 => {}
                1 => {
                    let _ = write!(self.out, " # in flow\n{:indent$}", "");
                }
                2 => {
                    let _ = write!(self.out, "\n{:indent$}", "");
                }
                _ => self.out.push(' '),
            }
            if mapping {
                let key = self.key();
                let _ = write!(self.out, "{key}: ");
            }
            match depth > 0 && self.choices.chance(4) {
                true => self.flow(depth - 1, indent),
                false => self.flow_scalar(true, indent),
            }
        }
        self.out.push_str(self.choices.pick(&["", " "]));
        self.out.push(if mapping { '}' } else { ']' });
    }

    fn block_scalar(&mut self, indent: usize) {
        let (a, b) = (self.token(), self.token());
        let style = self.choices.pick(&["|", "|", ">"]);
        let chomp = self.choices.pick(&["", "-", "+"]);
        let deeper = 1 + self.choices.below(4);
        // At the margin, the parsers count an indicator from different places.
        let explicit = indent > 0 && self.choices.chance(3);
        let digit = if explicit { deeper.to_string() } else { String::new() };
        let comment = self.choices.pick(&["", "", " # header |"]);
        let _ = writeln!(self.out, " {style}{digit}{chomp}{comment}");
        let lead = if explicit { self.choices.pick(&["", "  ", " "]) } else { "" };
        let pad = format!("{:1$}", "", indent + deeper);
        let lines = [
            format!("{pad}{lead}# text {a}"),
            self.choices.pick(&["", "", "\n"]).to_owned(),
            format!("{pad}  more: \"indented\""),
            format!("{pad}tag: {b} 'é' \\n"),
            format!("{pad}end # no comment"),
        ];
        let from = usize::from(lead.is_empty() && self.choices.chance(3)) * 3;
        let kept = 1 + self.choices.below(lines.len() - from);
        for line in &lines[from..from + kept] {
            match line.as_str() {
                "" => continue,
                "\n" => self.out.push('\n'),
                line => {
                    let _ = writeln!(self.out, "{line}");
                }
            }
        }
        self.out.push_str(self.choices.pick(&["", "", "\n", "\n\n"]));
    }
}

/// Writes the file that the bytes choose.
pub fn generate(bytes: &[u8]) -> String {
    let mut choices = Choices(bytes.iter());
    let (crlf, mark, bare) = (choices.chance(4), choices.chance(6), choices.chance(5));
    let mut writer = Writer { choices: &mut choices, out: String::new(), count: 0, anchors: Vec::new() };
    writer.stream();
    let mut text = writer.out;
    if bare {
        text.truncate(text.trim_end_matches('\n').len());
    }
    if crlf {
        text = text.replace('\n', "\r\n");
    }
    if mark { format!("\u{feff}{text}") } else { text }
}

#[test]
fn the_generator_writes_every_kind_of_node() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = proptest::collection::vec(any::<u8>(), 200..300);
    let mut all = String::new();
    for _ in 0..200 {
        use proptest::strategy::ValueTree;
        all.push_str(&generate(&strategy.new_tree(&mut runner).unwrap().current()));
    }
    for part in [
        "\r\n",
        "\u{feff}",
        " &a",
        " *a",
        "|2+",
        ">-",
        "!!str",
        "{",
        "[",
        "- - ",
        "...\n",
        "%YAML",
        " # in flow",
        "''s",
        "\\x41",
    ] {
        assert!(all.contains(part), "no {part:?} in 200 files");
    }
}
