//! What the tests of images share.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use images::tree::{Entry, FileSystem, Fork, NodeId};
use images::{Checked, Error, Files, Observer, Problem, Progress, ReadAt, Resume, Source};

pub(crate) fn file(bytes: Vec<u8>) -> Source {
    Source::File(Arc::new(bytes))
}

/// An image of tests/data, without its gzip.
pub(crate) fn stored(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The files of the only volume of an image.
pub(crate) fn files(source: &Source) -> Arc<dyn FileSystem> {
    let volumes = images::open(source, None).unwrap();
    assert_eq!(volumes.len(), 1, "one volume");
    volumes.into_iter().next().unwrap().files.unwrap()
}

/// Keeps what a check reports, and may stop it.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) problems: Vec<Problem>,
    pub(crate) steps: Vec<Progress>,
    pub(crate) stop_after: Option<usize>,
}

impl Observer for Report {
    fn progress(&mut self, progress: &Progress) -> bool {
        self.steps.push(*progress);
        self.stop_after.is_none_or(|most| self.steps.len() <= most)
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }
}

pub(crate) fn check(source: &Source) -> (Checked, Vec<Problem>) {
    let mut report = Report::default();
    let checked = images::check(source, None, Resume::default(), &mut report).unwrap();
    (checked, report.problems)
}

/// The problems as lines.
pub(crate) fn lines(problems: &[Problem]) -> Vec<String> {
    let line = |problem: &Problem| {
        let file = problem.file.as_ref().map(|file| format!(" ({file})")).unwrap_or_default();
        format!("{}{file}: {}", problem.structure, problem.problem)
    };
    problems.iter().map(line).collect()
}

/// All entries of a folder, page by page.
pub(crate) fn list(files: &dyn FileSystem, folder: NodeId) -> Vec<Entry> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = files.entries(folder, after.as_deref(), 7).unwrap();
        all.extend(page.entries);
        match page.next {
            Some(next) => after = Some(next),
            None => return all,
        }
    }
}

pub(crate) fn names(files: &dyn FileSystem, folder: NodeId) -> Vec<String> {
    list(files, folder).into_iter().map(|entry| entry.name).collect()
}

/// The entry with this path.
pub(crate) fn find(files: &dyn FileSystem, path: &str) -> Result<NodeId, Error> {
    let mut at = files.root();
    for name in path.split('/').filter(|name| !name.is_empty()) {
        at = files.lookup(at, name)?.node;
    }
    Ok(at)
}

/// A whole fork, in pieces of odd sizes.
pub(crate) fn read(files: &dyn FileSystem, node: NodeId, fork: Fork) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), vec![0; 100_003]);
    loop {
        let count = files.read(node, fork, all.len() as u64, &mut piece).unwrap();
        all.extend_from_slice(&piece[..count]);
        if count < piece.len() {
            return all;
        }
    }
}

/// A bundle in memory.
#[derive(Default)]
pub(crate) struct Bundle(pub(crate) HashMap<String, Vec<u8>>);

impl Files for Bundle {
    fn open(&self, path: &str) -> images::Result<Arc<dyn ReadAt>> {
        let bytes = self.0.get(path).ok_or(Error::NotFound)?;
        Ok(Arc::new(bytes.clone()))
    }

    fn list(&self, folder: &str) -> images::Result<Vec<String>> {
        let inside = |path: &String| path.strip_prefix(&format!("{folder}/")).map(str::to_owned);
        Ok(self.0.keys().filter_map(inside).collect())
    }
}

/// Bytes that do not repeat soon, the same in every run.
pub(crate) fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}
