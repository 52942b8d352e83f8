//! The images of the tests are sound by the judgement of another project's checker, so that tests can trust them.

use std::process::Command;

use super::content::Names;
use super::disk::Disk;
use super::{everything, long_names, sealed};

/// Lets apfsck judge, where it is installed (Debian's apfsprogs). It reads no encrypted volumes.
fn assert_sound(disk: &Disk) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("container");
    disk.save(&path);
    match Command::new("apfsck").arg("-cw").arg(&path).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: apfsck is not installed")
        }
        output => {
            let output = output.unwrap();
            let text = [output.stdout, output.stderr].concat();
            assert!(output.status.success(), "apfsck says: {}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn apfsck_accepts_the_images_of_the_tests() {
    for names in [Names::Folded, Names::Normalized, Names::Exact] {
        assert_sound(&everything(names, None));
    }
    assert_sound(&long_names());
    assert_sound(&sealed());
}
