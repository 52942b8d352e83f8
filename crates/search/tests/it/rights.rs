//! Who finds what: judged in the tree, at the time of asking.

use vfs::acl::{AclChange, Entries, Entry, Rights, Who};
use vfs::{Search, SearchPlace};

use crate::scene::{ADA, BOB, EVE, Scene, query, user};

/// A folder for all, one of ada alone, one that all pass through and only ada lists.
fn scene() -> Scene {
    let mut scene = Scene::without_index();
    scene.mode("", 0o755);
    scene.folder("common", 0o755);
    scene.file_of(BOB, 0o600, "common/plan of bob", b"");
    for (folder, mode) in [("private", 0o700), ("passage", 0o711)] {
        let made = scene.folder(folder, mode);
        let owner = vfs::SetAttributes { uid: Some(ADA), gid: Some(ADA), ..Default::default() };
        made.object.set_attributes(&vfs::Caller::root(), &owner).unwrap();
    }
    scene.file("private/plan of ada", b"");
    scene.folder("passage/open", 0o755);
    scene.file("passage/open/plan behind", b"");
    scene.start();
    scene.settle();
    scene
}

#[test]
fn a_user_finds_what_the_user_can_list() {
    let scene = scene();
    let common = "common/plan of bob";
    assert_eq!(
        scene.found_by(&user(ADA), "plan"),
        [common, "passage/open/plan behind", "private/plan of ada"]
    );
    assert_eq!(scene.found_by(&user(BOB), "plan"), [common]);
    assert_eq!(scene.found_by(&user(EVE), "plan"), [common], "a file that cannot be read is listed");
}

#[test]
fn a_right_that_is_given_or_taken_counts_at_once() {
    let scene = scene();
    scene.mode("private", 0o755);
    assert_eq!(scene.found_by(&user(EVE), "plan"), ["common/plan of bob", "private/plan of ada"]);
    scene.mode("common", 0o700);
    assert_eq!(scene.found_by(&user(EVE), "plan"), ["private/plan of ada"]);
    scene.mode("", 0o711);
    assert_eq!(scene.found_by(&user(EVE), "plan"), [""; 0], "the share's own folder cannot be listed");
}

#[test]
fn an_entry_that_denies_counts() {
    let scene = scene();
    let folder = scene.at("common");
    let list = [Entry::deny(Who::User(EVE), Rights::READ_DATA), Entry::allow(Who::Everyone, Rights::ALL)];
    let entries = Some(Entries { list: list.into(), ..Entries::default() });
    scene.volume.set_acl(&Scene::actor(0), &folder, &AclChange { entries, ..AclChange::default() }).unwrap();
    assert_eq!(scene.found_by(&user(EVE), "plan"), [""; 0]);
    assert_eq!(scene.found_by(&user(BOB), "plan"), ["common/plan of bob"]);
}

#[test]
fn a_moved_folder_counts_with_the_rights_of_its_new_place() {
    let scene = scene();
    scene.rename("common", "private/common");
    assert_eq!(scene.found_by(&user(BOB), "plan"), [""; 0]);
    assert_eq!(
        scene.found_by(&user(ADA), "plan"),
        ["passage/open/plan behind", "private/common/plan of bob", "private/plan of ada"]
    );
}

#[test]
fn a_page_tells_nothing_of_what_is_left_out() {
    let scene = scene();
    let query = query("plan");
    let search = Search { query: &query, within: None };
    let after: Option<&SearchPlace> = None;
    let page = scene.volume.searches().find(&user(BOB), search, after, 10).unwrap();
    assert_eq!((page.entries.len(), page.next), (1, None));
}

#[test]
fn a_search_in_a_folder_finds_what_is_below_it() {
    let scene = scene();
    let query = query("plan");
    let within = scene.at("passage");
    let search = Search { query: &query, within: Some(&within) };
    let page = scene.volume.searches().find(&user(ADA), search, None, 10).unwrap();
    let paths: Vec<Vec<u8>> = page.entries.iter().map(|entry| entry.path.join(&b'/')).collect();
    assert_eq!(paths, [b"passage/open/plan behind"]);
}
