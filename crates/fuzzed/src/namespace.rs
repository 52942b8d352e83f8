//! The texts of links, which users can write on the disk, and where other servers' file systems are.

use ::namespace::{Target, text};
use nfs::wire::v4::locations::{FsLocations, write};
use nfs::wire::xdr::Decode;
use wire::{Reader, Writer};

/// The text of a symbolic link, a URL, and fs_locations4.
pub fn links(data: &[u8]) {
    let targets = text::read(data);
    assert!(targets.len() <= ::namespace::MOST_TARGETS && (text::is_marked(data) || targets.is_empty()));
    // What is understood is written, and understood as the same.
    let again = text::read(text::write(&targets).as_bytes());
    let mut sorted = [targets, again];
    sorted.iter_mut().for_each(|targets| targets.sort());
    let [targets, again] = sorted;
    assert_eq!(targets, again);
    if let Ok(Ok(target)) = std::str::from_utf8(data).map(Target::of_url) {
        assert_eq!(Target::of_url(&target.to_string()), Ok(target));
    }
    let r = &mut Reader::new(data);
    if let Ok(locations) = FsLocations::decode(r) {
        let (root, locations) = locations.read().expect("it was decoded");
        let mut w = Writer::new();
        write(&root, &locations, &mut w);
        assert!(FsLocations::decode(&mut Reader::new(w.as_bytes())).is_ok());
    }
}
