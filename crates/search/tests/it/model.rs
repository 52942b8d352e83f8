//! Random trees and queries: an index finds what a walk finds.

use std::sync::Arc;

use query::Query;
use vfs::{Caller, Search};

use crate::scene::{Scene, query};
use crate::waiting::until;

/// Numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

const WORDS: &[&str] = &["red", "Blue", "été", "Report", "2024", "東京", "a", "x-ray", "Straße"];
const ENDS: &[&str] = &[".txt", ".pdf", ".JPG", "", ".tar.gz", ".mov"];
const QUERIES: &[&str] = &[
    "red",
    "blue report",
    "e",
    "ete",
    "name:*.txt",
    "ext:jpg",
    "kind:document",
    "-kind:document",
    "size:>10",
    "size:..20 report",
    "kind:folder",
    "東京 OR 2024",
    "(red | blue) -report",
    "京",
    "*a*",
    "kind:image,video",
    "-ext:txt",
    "has:ext -red",
    "modified:1970",
    "owner:root",
    "x-ray 2024",
    "name:=a",
    "contenttype:public.image",
    "size:>=0",
];

/// All paths of the tree that match, by a walk.
fn walked(scene: &Scene, query: &Query) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![(String::new(), scene.volume.root().unwrap())];
    while let Some((above, folder)) = folders.pop() {
        scene
            .volume
            .searches()
            .survey(&folder, &mut |entry| {
                let name = String::from_utf8(entry.name.clone()).unwrap();
                let path = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
                let mut facts = entry.facts.clone();
                facts.add_text(query::Attribute::Owner, entry.attributes.uid.to_string());
                if query.matches(&facts) {
                    paths.push(path.clone());
                }
                if entry.folder.is_some() {
                    let found = folder.object.lookup(&Caller::root(), name.as_bytes()).unwrap();
                    folders.push((path, found));
                }
                true
            })
            .unwrap();
    }
    paths.sort();
    paths
}

#[test]
fn an_index_finds_what_a_walk_finds() {
    let mut scene = Scene::new();
    let mut dice = Dice(1);
    let mut folders = vec![String::new()];
    let mut files: Vec<String> = Vec::new();
    for step in 0..600 {
        let folder = folders[dice.roll(folders.len())].clone();
        let name = format!("{} {}{}", dice.pick(WORDS), step, dice.pick(ENDS));
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        match dice.roll(10) {
            0 => {
                scene.folder(&path, 0o755);
                folders.push(path);
            }
            1 | 2 if !files.is_empty() => scene.remove(&files.swap_remove(dice.roll(files.len()))),
            3 if !files.is_empty() => {
                let old = files.swap_remove(dice.roll(files.len()));
                scene.rename(&old, &path);
                files.push(path);
            }
            _ => {
                let length = dice.roll(40);
                scene.file(&path, &vec![0; length]);
                files.push(path);
            }
        }
        if step == 300 {
            scene.stop();
        }
        if step == 400 {
            scene.start();
        }
    }
    for text in QUERIES {
        let query = query(text);
        let expected = walked(&scene, &query);
        until(&format!("{text} finds {} files", expected.len()), || scene.found(text) == expected);
    }
    assert!(!scene.segments().is_empty());
}

#[test]
fn pages_go_on_where_they_ended_while_entries_come_and_go() {
    let scene = Scene::new();
    (0..200).for_each(|number| drop(scene.file(&format!("file {number:03}"), b"")));
    until("all are indexed", || scene.found("file").len() == 200);
    let query = Arc::new(query("file"));
    let search = Search { query: &query, within: None };
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = scene.volume.searches().find(&Caller::root(), search, after.as_ref(), 7).unwrap();
        seen.extend(page.entries.iter().map(|entry| String::from_utf8(entry.path.join(&b'/')).unwrap()));
        if let Some(last) = seen.last() {
            scene.remove(&last.clone()); // the page's last entry goes
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let all: Vec<String> = (0..200).map(|number| format!("file {number:03}")).collect();
    assert_eq!(seen, all, "each was seen once");
}
