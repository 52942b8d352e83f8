//! How many facts of files were right, by layout and by who was asked for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Result, ensure};

use crate::interop::outcome::Outcomes;

/// Of a thousand facts so many are right.
const BAR: usize = 995;

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    Name,
    Data,
    FinderInfo,
    Fork,
    Tags,
    Comment,
    Bits,
    Dates,
    Other,
}

impl Fact {
    const ALL: [(Self, &str); 9] = [
        (Self::Name, "names"),
        (Self::Data, "data"),
        (Self::FinderInfo, "Finder info"),
        (Self::Fork, "forks"),
        (Self::Tags, "tags"),
        (Self::Comment, "comments"),
        (Self::Bits, "bits"),
        (Self::Dates, "dates"),
        (Self::Other, "other attributes"),
    ];

    /// That of a stream as SMB names it.
    pub fn of_stream(name: &str) -> Self {
        match name {
            "AFP_AfpInfo" => Self::FinderInfo,
            "AFP_Resource" => Self::Fork,
            name if name.ends_with("_kMDItemUserTags") => Self::Tags,
            name if name.ends_with("kMDItemFinderComment") => Self::Comment,
            _ => Self::Other,
        }
    }

    /// That of a part of an item, as `afp_items.py` names it.
    fn of_part(name: &str) -> Self {
        match name {
            "name" => Self::Name,
            "data" => Self::Data,
            "info" => Self::FinderInfo,
            "fork" => Self::Fork,
            "comment" => Self::Comment,
            "bits" => Self::Bits,
            "created" | "changed" => Self::Dates,
            name => Self::of_stream(name),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct FactCount {
    right: usize,
    all: usize,
}

impl FactCount {
    fn add(&mut self, other: Self) {
        self.right += other.right;
        self.all += other.all;
    }

    fn is_enough(self) -> bool {
        self.right * 1000 >= self.all * BAR
    }
}

/// By layout, by who was asked, and by what the fact is about.
type Counts = BTreeMap<(String, &'static str, Fact), FactCount>;

/// All facts of a run. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct LayoutFacts(Rc<RefCell<Counts>>);

impl LayoutFacts {
    /// What `reader` said of a fact of a file in this layout.
    pub fn add(&self, layout: &str, reader: &'static str, fact: Fact, is_right: bool) {
        let mut counts = self.0.borrow_mut();
        let count = counts.entry((layout.to_owned(), reader, fact)).or_default();
        count.add(FactCount { right: usize::from(is_right), all: 1 });
    }

    /// The lines `right PART` and `wrong PART` of `afp_items.py`.
    pub fn add_lines(&self, layout: &str, reader: &'static str, text: &str) {
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("right", part)) => self.add(layout, reader, Fact::of_part(part), true),
                Some(("wrong", part)) => self.add(layout, reader, Fact::of_part(part), false),
                _ => {}
            }
        }
    }

    fn sum(&self, of: impl Fn(&(String, &'static str, Fact)) -> bool) -> FactCount {
        let counts = self.0.borrow();
        let mut sum = FactCount::default();
        counts.iter().filter(|(key, _)| of(key)).for_each(|(_, count)| sum.add(*count));
        sum
    }

    /// Prints the matrix, and judges each of its cells, and all of it.
    pub fn conclude(&self, outcomes: &mut Outcomes) {
        let keys: Vec<(String, &'static str, Fact)> = self.0.borrow().keys().cloned().collect();
        let (mut layouts, mut readers): (Vec<_>, Vec<_>) =
            keys.iter().map(|key| (key.0.clone(), key.1)).unzip();
        readers.sort_unstable();
        readers.dedup();
        layouts.dedup();
        println!("facts right of facts compared:");
        println!("{:24}{}", "", readers.iter().map(|reader| format!("{reader:>14}")).collect::<String>());
        for layout in &layouts {
            let cell = |reader: &str| self.sum(|key| key.0 == *layout && key.1 == reader);
            let shown = |count: FactCount| match count.all {
                0 => String::new(),
                all => format!("{}/{all}", count.right),
            };
            let cells = readers.iter().map(|reader| format!("{:>14}", shown(cell(reader))));
            println!("{layout:24}{}", cells.collect::<String>());
            for reader in readers.iter().filter(|reader| cell(reader).all > 0) {
                outcomes.run(&format!("facts: {layout}: {reader}"), &[], || judge(cell(reader)));
            }
        }
        for (fact, name) in Fact::ALL {
            let count = self.sum(|key| key.2 == fact);
            println!("{name:24}{:>14}", format!("{}/{}", count.right, count.all));
        }
        let all = self.sum(|_| true);
        println!("all: {} of {} facts are right", all.right, all.all);
        outcomes.run("facts: all", &[], || judge(all));
    }
}

fn judge(count: FactCount) -> Result<()> {
    let per_cent = BAR as f64 / 10.0;
    ensure!(count.is_enough(), "{} of {} facts are right, fewer than {per_cent} %", count.right, count.all);
    Ok(())
}
