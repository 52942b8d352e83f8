//! The grid as text, as Markdown, and as one HTML file without references to others.

use std::fmt::{self, Write};

use super::{Cell, Grid, Row};
use crate::report::{STYLE, escaped};

impl Cell {
    /// A few words.
    fn word(&self) -> String {
        match self {
            Self::Kept { to: None } => "kept".into(),
            Self::Kept { to: Some(to) } => format!("kept, to {to}"),
            Self::Changed { .. } => "changed".into(),
            Self::Lost => "lost".into(),
            Self::Impossible => "-".into(),
            Self::Failed { .. } => "fails".into(),
        }
    }

    /// What the word does not say.
    fn details(&self) -> Option<String> {
        match self {
            Self::Changed { wrote, read } => Some(format!("{wrote} was written, {read} is read")),
            Self::Failed { why } => Some(why.clone()),
            _ => None,
        }
    }
}

impl Row {
    fn words(&self, columns: usize) -> Vec<String> {
        match &self.refused {
            Some(_) => vec!["refused".into(); columns],
            None => self.cells.iter().map(Cell::word).collect(),
        }
    }
}

impl Grid {
    /// Values that were written, and that a protocol that can tell does not read as they were.
    #[must_use]
    pub fn wrong(&self) -> usize {
        let is_wrong = |cell: &&Cell| !matches!(cell, Cell::Kept { .. } | Cell::Impossible);
        self.rows.iter().flat_map(|row| row.cells.iter().filter(is_wrong)).count()
    }

    /// The details below the grid.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for row in &self.rows {
            let of = format!("{}, written over {}", row.what, row.by);
            notes.extend(row.refused.iter().map(|why| format!("{of}: refused: {why}")));
            for (cell, reader) in row.cells.iter().zip(&self.protocols) {
                notes.extend(cell.details().map(|details| format!("{of}, read over {reader}: {details}")));
            }
        }
        notes
    }

    fn table(&self) -> Vec<Vec<String>> {
        let mut table = vec![vec!["".into(), "written over".into()]];
        table[0].extend(self.protocols.iter().map(|protocol| format!("read over {protocol}")));
        let mut last = "";
        for row in &self.rows {
            let what = if row.what == last { "" } else { row.what };
            last = row.what;
            let mut line = vec![what.to_owned(), row.by.clone()];
            line.extend(row.words(self.protocols.len()));
            table.push(line);
        }
        table
    }

    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let table = self.table();
        let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..table[0].len()).map(width).collect();
        let mut text = String::new();
        for row in &table {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text.push('\n');
        self.notes().iter().for_each(|note| text.push_str(&format!("{note}\n")));
        text.push_str(&self.legend());
        text.push('\n');
        text
    }

    fn legend(&self) -> String {
        let (written, wrong) = (self.rows.iter().filter(|row| row.refused.is_none()).count(), self.wrong());
        format!(
            "{written} values were written, {wrong} times one is not read as it was; \"-\": the protocol has no such thing"
        )
    }

    /// For documents.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("Made by `{}`:\n\n", self.command);
        for (target, agreed) in self.targets.iter().zip(&self.agreed) {
            text.push_str(&format!("* {target}: {agreed}\n"));
        }
        text.push('\n');
        for (number, row) in self.table().iter().enumerate() {
            text.push_str(&format!("| {} |\n", row.join(" | ")));
            if number == 0 {
                text.push_str(&format!("|{}\n", "---|".repeat(row.len())));
            }
        }
        text.push_str(&format!("\n{}.\n\n", self.legend()));
        self.notes().iter().for_each(|note| text.push_str(&format!("* {}\n", note.replace('|', "\\|"))));
        text
    }

    /// One file, which needs no other.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::new();
        let _ = self.write_html(&mut out); // writing to a string does not fail
        out
    }

    fn write_html(&self, out: &mut String) -> fmt::Result {
        out.push_str("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        write!(out, "<title>fourfold verify-metadata</title><style>{STYLE}{CELLS}</style><main>")?;
        out.push_str("<h1>fourfold verify-metadata</h1><ul>");
        for (target, agreed) in self.targets.iter().zip(&self.agreed) {
            write!(out, "<li><b>{}</b> {}", escaped(target), escaped(agreed))?;
        }
        write!(out, "</ul><p>Again: <code>{}</code></p>", escaped(&self.command))?;
        write!(out, "<p>{}.</p><table class=\"kept\"><thead><tr>", escaped(&self.legend()))?;
        let table = self.table();
        for heading in &table[0] {
            write!(out, "<th>{}", escaped(heading))?;
        }
        out.push_str("<tbody>");
        for (row, line) in self.rows.iter().zip(&table[1..]) {
            write!(out, "<tr><th>{}<td>{}", escaped(&line[0]), escaped(&line[1]))?;
            for (number, word) in line[2..].iter().enumerate() {
                let cell = row.cells.get(number);
                let class = match cell {
                    Some(Cell::Kept { .. }) => "same",
                    Some(Cell::Impossible) => "none",
                    None => "refused",
                    Some(_) => "wrong",
                };
                let details =
                    cell.and_then(Cell::details).or_else(|| row.refused.clone()).unwrap_or_default();
                write!(out, "<td class=\"{class}\" title=\"{}\">{}", escaped(&details), escaped(word))?;
            }
        }
        out.push_str("</table><ul>");
        self.notes().iter().try_for_each(|note| write!(out, "<li>{}", escaped(note)))?;
        out.push_str("</ul></main></html>\n");
        Ok(())
    }
}

/// Colours of cells, in addition to the style of the reports.
const CELLS: &str = ".kept th{text-align:left}.kept .same{background:#2a84}.kept .wrong{background:#c334}\
                     .kept .refused{background:#c904}.kept .none{opacity:.5}";

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let row = |what, by: &str, refused: Option<&str>, cells| Row {
            what,
            by: by.into(),
            refused: refused.map(Into::into),
            cells,
        };
        let changed = Cell::Changed { wrote: "1".into(), read: "<2>".into() };
        Grid {
            command: "fourfold verify-metadata smb://h/s nfs://h/s".into(),
            targets: vec!["smb://h:445/s".into(), "nfs://h:2049/s".into()],
            protocols: vec!["smb".into(), "nfs".into()],
            agreed: vec!["a".into(), "b".into()],
            left: None,
            rows: vec![
                row("created", "smb", None, vec![Cell::Kept { to: Some("1 s") }, Cell::Impossible]),
                row("mode", "nfs", None, vec![Cell::Lost, changed]),
                row("mode", "smb", Some("no"), vec![]),
            ],
        }
    }

    #[test]
    fn each_form_has_every_cell_and_both_values() {
        let grid = grid();
        assert_eq!(grid.wrong(), 2);
        let text = grid.text();
        assert!(text.contains("kept, to 1 s   -") && text.contains("refused        refused"), "{text}");
        assert!(text.contains("mode, written over nfs, read over nfs: 1 was written, <2> is read"), "{text}");
        assert!(grid.markdown().contains("| mode | nfs | lost | changed |"));
        let html = grid.html();
        assert!(html.contains("1 was written, &lt;2&gt; is read") && !html.contains("<2>"));
        assert!(!html.contains("http"), "it needs no other file");
    }
}
