//! Searches in snapshots: what was there once, and in which snapshot last.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use vfs::backend::forest::{Forest, Offer, Tree};
use vfs::backend::memory::Memory;
use vfs::{Caller, Search, Time};

use crate::scene::{ADA, BOB, Scene, query, user};
use crate::waiting::until;

/// A tree in memory with snapshots and an index.
struct PastScene {
    scene: Scene,
    forest: Arc<Forest>,
}

/// What is at a path: a folder if it ends with a slash.
type Paths<'a> = &'a [&'a str];

/// A store whose files change from this second on.
fn memory(from: i64) -> Memory {
    let ticks = AtomicI64::new(0);
    Memory::new(move || Time { secs: from, nanos: ticks.fetch_add(1, Ordering::Relaxed) as u32 })
}

fn fill(scene: &Scene, paths: Paths<'_>) {
    for path in paths {
        match path.strip_suffix('/') {
            Some(folder) => drop(scene.folder(folder, 0o755)),
            None => drop(scene.file(path, b"")),
        }
    }
}

impl PastScene {
    fn new(now: Paths<'_>) -> Self {
        let main = memory(1_700_000_000);
        fill(&Scene::of(Arc::new(main.clone())), now);
        let offer = Offer { hidden: vec![b".snapshot".to_vec()], listed: None };
        let forest = Arc::new(Forest::new(Arc::new(main), offer).unwrap());
        Self { scene: Scene::of(forest.clone()), forest }
    }

    /// A snapshot of this second.
    fn snapshot(&self, taken: i64, paths: Paths<'_>) -> Scene {
        let then = memory(taken);
        let scene = Scene::of(Arc::new(then.clone()));
        fill(&scene, paths);
        self.offer(taken, then);
        scene
    }

    fn offer(&self, taken: i64, then: Memory) {
        let taken_at = Time { secs: taken, nanos: 0 };
        let tree = Tree::new(NonZeroU64::new(taken as u64).unwrap(), Arc::new(then)).taken(taken_at);
        self.forest.offer(format!("s{taken}").as_bytes(), Arc::new(tree), taken_at).unwrap();
        if let Some(index) = &self.scene.index {
            index.look_at_snapshots();
        }
    }

    fn remove_snapshot(&self, taken: i64) {
        self.forest.detach(NonZeroU64::new(taken as u64).unwrap(), Time { secs: taken, nanos: 0 }).unwrap();
        self.scene.index.as_ref().unwrap().look_at_snapshots();
    }

    /// Paths with the snapshots that had them last, in order.
    fn found_by(&self, caller: &Caller, text: &str) -> Vec<String> {
        let (query, mut all, mut after) = (query(text), Vec::new(), None);
        loop {
            let search = Search { query: &query, within: None };
            let page = self.scene.volume.searches().find_past(caller, search, after.as_ref(), 2).unwrap();
            let row = |entry: &vfs::PastEntry| {
                let [path, name] = [entry.path.join(&b'/'), entry.snapshot.path[1].clone()];
                format!("{} in {}", String::from_utf8(path).unwrap(), String::from_utf8(name).unwrap())
            };
            all.extend(page.entries.iter().map(row));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        all.sort();
        all
    }

    fn finds(&self, text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        until(&format!("{text:?} found {expected:?} in snapshots"), || {
            found = self.found_by(&Caller::root(), text);
            found == expected
        });
    }
}

#[test]
fn what_is_gone_is_found_in_the_last_snapshot_with_it() {
    let mut past = PastScene::new(&["kept"]);
    past.snapshot(100, &["kept", "early.txt", "both.txt"]);
    past.snapshot(200, &["kept", "both.txt", "late.txt"]);
    past.scene.start();
    past.finds("ext:txt", &["both.txt in s200", "early.txt in s100", "late.txt in s200"]);
    past.finds("kept", &[]);
    past.snapshot(300, &["kept", "late.txt", "new.txt"]);
    past.finds("ext:txt", &["both.txt in s200", "early.txt in s100", "late.txt in s300", "new.txt in s300"]);
}

#[test]
fn what_goes_now_is_found_in_a_snapshot() {
    let mut past = PastScene::new(&["a/", "a/plan"]);
    past.snapshot(100, &["a/", "a/plan"]);
    past.scene.start();
    past.scene.finds("plan", &["a/plan"]);
    past.finds("plan", &[]);
    past.scene.remove("a/plan");
    past.finds("plan", &["a/plan in s100"]);
}

#[test]
fn folders_that_went_and_came_again_are_found() {
    let mut past = PastScene::new(&[]);
    past.snapshot(100, &["a/", "a/b/", "a/b/one"]);
    past.snapshot(200, &["other"]);
    past.scene.start();
    past.finds("one", &["a/b/one in s100"]);
    past.finds("kind:folder", &["a in s100", "a/b in s100"]);
    past.snapshot(300, &["a/", "a/b/", "a/b/two"]);
    past.finds("one OR two", &["a/b/one in s100", "a/b/two in s300"]);
    past.snapshot(400, &["a"]);
    past.finds("two OR name:=a", &["a in s400", "a/b/two in s300"]);
}

#[test]
fn an_unchanged_folder_is_not_listed_again() {
    let mut past = PastScene::new(&[]);
    let same = memory(100);
    fill(&Scene::of(Arc::new(same.clone())), &["a/", "a/b/", "a/b/one"]);
    past.offer(100, same.clone());
    past.offer(200, same);
    past.scene.start();
    past.finds("one", &["a/b/one in s200"]);
    past.remove_snapshot(200);
    past.finds("one", &["a/b/one in s100"]);
}

#[test]
fn a_snapshot_that_arrives_late_is_read() {
    let mut past = PastScene::new(&[]);
    past.snapshot(200, &["new", "always"]);
    past.scene.start();
    past.finds("new OR always", &["always in s200", "new in s200"]);
    past.snapshot(100, &["old", "always"]);
    past.finds("old OR always", &["always in s200", "old in s100"]);
    past.snapshot(300, &["old"]);
    past.finds("old OR always", &["always in s200", "old in s300"]);
}

#[test]
fn what_no_snapshot_has_any_more_is_taken_out() {
    let mut past = PastScene::new(&[]);
    past.snapshot(100, &["a/", "a/gone"]);
    past.snapshot(200, &["b/", "b/there"]);
    past.scene.start();
    past.finds("gone", &["a/gone in s100"]);
    past.remove_snapshot(100);
    past.finds("gone", &[]);
    past.snapshot(250, &["b/", "b/there"]);
    past.finds("there", &["b/there in s250"]);
    past.scene.stop();
    past.scene.start();
    past.finds("there OR gone", &["b/there in s250"]);
    past.snapshot(300, &["a/", "a/gone"]);
    past.finds("there OR gone", &["a/gone in s300", "b/there in s250"]);
}

#[test]
fn rights_in_the_snapshot_decide() {
    let mut past = PastScene::new(&[]);
    past.scene.mode("", 0o755);
    let then = past.snapshot(100, &["open/", "open/plan", "closed/", "closed/plan"]);
    then.mode("", 0o755);
    then.mode("closed", 0o700);
    let owner = vfs::SetAttributes { uid: Some(ADA), ..Default::default() };
    then.at("closed").object.set_attributes(&Caller::root(), &owner).unwrap();
    past.scene.start();
    past.finds("plan", &["closed/plan in s100", "open/plan in s100"]);
    assert_eq!(past.found_by(&user(ADA), "plan"), ["closed/plan in s100", "open/plan in s100"]);
    assert_eq!(past.found_by(&user(BOB), "plan"), ["open/plan in s100"]);
}

#[test]
fn a_damaged_part_of_snapshots_is_read_anew() {
    let mut past = PastScene::new(&[]);
    past.snapshot(100, &["one"]);
    past.scene.start();
    past.finds("one", &["one in s100"]);
    past.scene.stop();
    for entry in std::fs::read_dir(past.scene.index_folder().join("past")).unwrap() {
        std::fs::write(entry.unwrap().path(), b"{").unwrap();
    }
    past.scene.start();
    past.finds("one", &["one in s100"]);
}
