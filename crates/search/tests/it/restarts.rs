//! An index after the end of its server, and after damage.

use std::fs;

use crate::scene::Scene;

#[test]
fn an_index_goes_on_after_a_restart_and_sees_what_changed_meanwhile() {
    let mut scene = Scene::new();
    scene.folder("a", 0o755);
    scene.folder("b", 0o755);
    scene.file("a/stays", b"");
    scene.file("b/goes", b"");
    scene.finds("stays OR goes", &["a/stays", "b/goes"]);
    scene.stop();
    scene.remove("b/goes");
    scene.file("b/comes", b"");
    scene.start();
    scene.finds("stays OR goes OR comes", &["a/stays", "b/comes"]);
}

#[test]
fn a_killed_server_leaves_an_index_that_goes_on() {
    let mut scene = Scene::new();
    (0..50).for_each(|number| drop(scene.file(&format!("file {number}"), b"")));
    scene.settle();
    scene.finds("\"file 49\"", &["file 49"]);
    let killed = scene.folder.path().join("killed");
    copy(&scene.index_folder(), &killed); // as a killed server leaves it, whatever it was doing
    scene.file("newer", b"");
    scene.stop();
    fs::remove_dir_all(scene.index_folder()).unwrap();
    fs::rename(&killed, scene.index_folder()).unwrap();
    scene.start();
    scene.finds("newer", &["newer"]);
    scene.finds("\"file 49\"", &["file 49"]);
}

/// Copies files that may go meanwhile.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let _ = fs::copy(entry.path(), to.join(entry.file_name()));
    }
}

#[test]
fn a_damaged_index_is_built_anew() {
    let mut scene = Scene::new();
    scene.folder("folder", 0o755);
    scene.file("folder/song", b"");
    scene.finds("song", &["folder/song"]);
    scene.stop();
    for damage in [flip as fn(&std::path::Path), cut, empty] {
        scene.segments().iter().for_each(|path| damage(path));
        fs::write(scene.index_folder().join("changes"), [7, 1]).unwrap();
        scene.start();
        scene.finds("song", &["folder/song"]);
        scene.stop();
    }
    fs::write(scene.index_folder().join("index.json"), b"{").unwrap();
    scene.start();
    scene.finds("song", &["folder/song"]);
}

fn flip(path: &std::path::Path) {
    let mut bytes = fs::read(path).unwrap();
    let end = bytes.len();
    bytes[end - 20] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn cut(path: &std::path::Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn empty(path: &std::path::Path) {
    fs::write(path, b"").unwrap();
}
