//! What arrived, counted, and the table of it in docs/migrating.md.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::source::Source;
use super::{CHANGED, changed};
use crate::interop::layouts::content::{Data, LayoutItem};
use crate::interop::layouts::place::SmbClientProgram;
use crate::process;

const PAGE: &str = "docs/migrating.md";
const BEGIN: &str = "<!-- cargo xtask interop migrate writes this with FOURFOLD_WRITE_DOCS=1 -->";
const END: &str = "<!-- until here -->";

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Data,
    Resource,
    FinderInfo,
    Other,
    Date,
}

const PARTS: [(Part, &str); 5] = [
    (Part::Data, "data"),
    (Part::Resource, "resource forks"),
    (Part::FinderInfo, "Finder info"),
    (Part::Other, "tags and other attributes"),
    (Part::Date, "dates of the last change"),
];

/// What arrived from one server: of each part how many, and of how many.
#[derive(Debug)]
pub struct Grid {
    source: Source,
    counts: [(usize, usize); PARTS.len()],
    /// The first of each that did not arrive.
    missing: Vec<String>,
}

impl Grid {
    /// Compares what a client of SMB reads with what the server of another project gave.
    pub fn of(
        source: Source,
        items: &[LayoutItem],
        client: &SmbClientProgram,
        folder: &Path,
    ) -> Result<Self> {
        let mut wanted = Vec::new();
        for item in items {
            if let Data::File(data) = &item.data {
                wanted.push((Part::Data, item.name.clone(), data));
            }
            for (name, value) in &item.streams {
                wanted.push((Part::of(name), format!("{}:{name}", item.name), value));
            }
        }
        let names: Vec<&str> = wanted.iter().map(|(_, name, _)| name.as_str()).collect();
        let (found, _) = client.read(source.share(), &names)?; // what is missing is counted
        let mut grid = Self { source, counts: [(0, 0); PARTS.len()], missing: Vec::new() };
        for ((part, name, value), found) in wanted.iter().zip(found) {
            let same = found.is_some_and(|found| part.content(&found) == part.content(value));
            grid.count(*part, same, name);
        }
        for item in items {
            grid.count(Part::Date, changed(&folder.join(&item.name))? == CHANGED.as_secs(), &item.name);
        }
        Ok(grid)
    }

    fn count(&mut self, part: Part, has_arrived: bool, name: &str) {
        let (arrived, all) = &mut self.counts[part as usize];
        *all += 1;
        *arrived += usize::from(has_arrived);
        if !has_arrived && *all - *arrived == 1 {
            self.missing.push(name.to_owned());
        }
    }

    /// Data and dates always arrive.
    pub fn is_whole(&self) -> Result<()> {
        for part in [Part::Data, Part::Date] {
            let (arrived, all) = self.counts[part as usize];
            ensure!(all > 0 && arrived == all, "{part:?}: {arrived} of {all}; {:?}", self.missing);
        }
        Ok(())
    }
}

impl Part {
    fn of(stream: &str) -> Self {
        match stream {
            "AFP_Resource" => Self::Resource,
            "AFP_AfpInfo" => Self::FinderInfo,
            _ => Self::Other,
        }
    }

    /// What is compared: of Finder info the 32 bytes of the Finder, without the dates before it.
    fn content(self, value: &[u8]) -> Option<&[u8]> {
        if self == Self::FinderInfo { value.get(16..48) } else { Some(value) }
    }
}

/// Whether the page has these numbers; with `FOURFOLD_WRITE_DOCS` it gets them.
pub fn compare(grids: &[Grid]) -> Result<()> {
    let path = process::root().join(PAGE);
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("{PAGE} has no {BEGIN}"))?;
    let (written, after) = rest.split_once(END).with_context(|| format!("{PAGE} has no {END}"))?;
    let table = table(grids);
    if std::env::var_os("FOURFOLD_WRITE_DOCS").is_some() {
        return Ok(std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}"))?);
    }
    let missing: Vec<&String> = grids.iter().flat_map(|grid| &grid.missing).collect();
    ensure!(
        written == table,
        "{PAGE} has {written}, but it is {table}; the first that are missing: {missing:?}"
    );
    Ok(())
}

fn table(grids: &[Grid]) -> String {
    let heads: String = grids.iter().map(|grid| format!(" {} |", grid.source.name())).collect();
    let lines: String = grids.iter().map(|_| "---|").collect();
    let mut text = format!("\n| |{heads}\n|---|{lines}\n");
    for (part, name) in PARTS {
        text.push_str(&format!("| {name} |"));
        for grid in grids {
            let (arrived, all) = grid.counts[part as usize];
            text.push_str(&if all == 0 { " none |".to_owned() } else { format!(" {arrived} of {all} |") });
        }
        text.push('\n');
    }
    text
}
