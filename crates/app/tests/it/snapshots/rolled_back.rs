//! Backups of a Mac that are put back to a snapshot.

use super::Scene;
use crate::waiting::until;

/// A disk changes a byte of a band: the newest snapshot that is whole takes the place of the bundle, which is kept.
#[test]
fn damaged_backups_of_a_mac_go_back_to_the_last_point_that_verifies() {
    let Some(scene) = Scene::new() else { return };
    scene.settings("time-machine = true\n");
    let bundle = scene.at("mac.sparsebundle");
    std::fs::create_dir_all(bundle.join("bands")).unwrap();
    let list = "<plist><key>band-size</key><integer>8388608</integer></plist>";
    for (name, text) in [("Info.plist", list), ("Info.bckup", list), ("token", ""), ("bands/0", "good")] {
        std::fs::write(bundle.join(name), text).unwrap();
    }
    let _server = scene.serve();
    scene.run(&["snapshot", "create", "studio@good"]);
    let whole = || {
        let shown: serde_json::Value =
            serde_json::from_str(&scene.run(&["backups", "verify", "mac", "--json"])).unwrap();
        shown["whole"] == 1
    };
    until("the band has no checksum", whole);
    let band = bundle.join("bands/0");
    let modified = band.metadata().unwrap().modified().unwrap();
    std::fs::write(&band, "rot!").unwrap();
    std::fs::File::options().write(true).open(&band).unwrap().set_modified(modified).unwrap();
    scene.run(&["snapshot", "create", "studio@rotten"]);
    scene.fail(&["backups", "verify", "mac"]);
    let to = scene.run(&["backups", "rollback", "mac", "--dry-run"]);
    assert_eq!(to, "mac.sparsebundle would be put back to good\n");
    scene.run(&["backups", "rollback", "mac", "--yes"]);
    assert_eq!(std::fs::read(&band).unwrap(), b"good");
    assert_eq!(band.metadata().unwrap().modified().unwrap(), modified, "its checksum counts on");
    let kept = || {
        let names = std::fs::read_dir(scene.at("")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("mac (damaged ")).count()
    };
    assert_eq!(kept(), 1);
    scene.run(&["backups", "verify", "mac"]);
    scene.run(&["backups", "discard", "mac", "--yes"]);
    assert_eq!(kept(), 0);
}
