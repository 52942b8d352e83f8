//! An index follows the tree by its events.

use std::time::Duration;

use crate::scene::{Scene, query};

#[test]
fn what_comes_is_found_and_what_goes_is_not() {
    let scene = Scene::new();
    scene.settle();
    scene.folder("projects", 0o755);
    scene.file("projects/first draft", b"");
    scene.finds("draft", &["projects/first draft"]);
    scene.rename("projects/first draft", "projects/second version");
    scene.finds("version", &["projects/second version"]);
    assert_eq!(scene.found("draft"), [""; 0]);
    scene.remove("projects/second version");
    scene.finds("version", &[]);
}

#[test]
fn what_is_in_a_folder_that_is_renamed_is_found_at_its_new_place() {
    let scene = Scene::new();
    scene.folder("old", 0o755);
    scene.folder("old/below", 0o755);
    scene.file("old/below/song", b"");
    scene.finds("song", &["old/below/song"]);
    scene.rename("old", "new");
    scene.finds("song", &["new/below/song"]);
    scene.finds("kind:folder", &["new", "new/below"]);
}

#[test]
fn a_changed_size_is_found() {
    let scene = Scene::new();
    scene.file("small", b"1");
    scene.finds("size:1", &["small"]);
    scene.write("small", &[0; 5000]);
    scene.finds("size:5000", &["small"]);
    assert_eq!(scene.found("size:1"), [""; 0]);
}

#[test]
fn a_folder_that_is_not_to_be_indexed_is_left_out_with_all_below() {
    let scene = Scene::new();
    scene.folder("cache", 0o755);
    scene.folder("cache/below", 0o755);
    scene.file("cache/below/junk", b"");
    scene.finds("junk", &["cache/below/junk"]);
    scene.file("cache/.metadata_never_index", b"");
    scene.finds("junk", &[]);
    scene.finds("cache", &["cache"]);
}

#[test]
fn the_bands_of_a_disk_image_are_left_out() {
    let scene = Scene::new();
    scene.folder("Mac.sparsebundle", 0o755);
    scene.folder("Mac.sparsebundle/bands", 0o755);
    scene.file("Mac.sparsebundle/bands/1f", b"");
    scene.file("last", b"");
    scene.finds("last OR 1f OR mac", &["Mac.sparsebundle", "last"]);
}

#[test]
fn a_file_that_changes_during_a_search_is_not_missed() {
    let mut scene = Scene::new();
    scene.file("first", b"");
    scene.file("second", b"1");
    scene.settle();
    scene.stop();
    scene.quiet = Duration::from_secs(3600); // what changes stays in memory
    scene.start();
    scene.finds("first OR second", &["first", "second"]);
    let finder = scene.index.as_ref().unwrap().finder();
    let mut seen = Vec::new();
    let begun = finder.propose(&query("-kind:folder"), None, &mut |candidate| {
        if seen.is_empty() {
            scene.write("second", &[0; 5000]);
            scene.finds("size:5000", &["second"]);
        }
        seen.push(String::from_utf8(candidate.name.to_vec()).unwrap());
        true
    });
    begun.unwrap();
    assert_eq!(seen, ["first", "second"]);
}
