//! How full a share for backups is, where the site has limited it. A Mac backs up into sparse bundles: folders whose
//! `bands` are files of one size, which `Info.plist` names. A bundle takes what its bands may come to take, so that
//! counting them is enough.

use crate::backend::{Found, Wait};
use crate::{Access, Caller, Kind, Node, Result, Volume};

/// What the name of a bundle ends with.
const BUNDLE: &[u8] = b".sparsebundle";
/// The longest property list that is looked at.
const MOST_READ: usize = 64 * 1024;

impl Volume {
    /// Bytes that all bundles in the share's folder take.
    pub fn used_by_bundles(&self) -> Result<u64> {
        let root = self.root()?;
        let mut bundles = Vec::new();
        each_name(self, &root, &mut |name| {
            if name.ends_with(BUNDLE) {
                bundles.push(name.to_vec());
            }
        })?;
        Ok(bundles.iter().filter_map(|name| used_by(self, &root.object, name)).sum())
    }
}

/// Nothing is known of what is no bundle, or not yet.
fn used_by(volume: &Volume, root: &Node, name: &[u8]) -> Option<u64> {
    let ourselves = Caller::root();
    let bundle = root.lookup(&ourselves, name).ok().filter(|found| found.attributes.kind == Kind::Folder)?;
    let list = bundle.object.lookup(&ourselves, b"Info.plist").ok()?;
    let size = band_size(&read(&list).ok()?)?;
    let bands = bundle.object.lookup(&ourselves, b"bands").ok()?;
    let mut count = 0_u64;
    each_name(volume, &bands, &mut |_| count += 1).ok()?;
    count.checked_mul(size)
}

fn each_name(volume: &Volume, folder: &Found, see: &mut impl FnMut(&[u8])) -> Result<()> {
    let mut cookie = 0;
    loop {
        let page = volume.list(&Caller::root(), folder, cookie)?;
        page.named().for_each(|entry| see(entry.name()));
        match page.entries().last() {
            Some(last) if !page.complete => cookie = last.cookie,
            _ => return Ok(()),
        }
    }
}

fn read(list: &Found) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    list.object.prepare(&Caller::root(), &list.attributes, Access::READ, true)?;
    list.object.read_at(0, MOST_READ, &mut bytes, Wait::Allowed)?;
    Ok(bytes)
}

/// The number behind the key `band-size` of a property list in XML.
fn band_size(list: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(list);
    let (_, after) = text.split_once("<key>band-size</key>")?;
    let number = after.trim_start().strip_prefix("<integer>")?;
    number.split('<').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::memory::Memory;
    use crate::backend::{NewKind, Stability};
    use crate::state::{ClientId, Party};
    use crate::{Actor, VolumeOptions};

    #[test]
    fn the_size_of_a_band_is_in_the_property_list() {
        let list =
            b"<dict>\n\t<key>x</key><integer>1</integer><key>band-size</key>\n\t<integer>8388608</integer>\n";
        assert_eq!(band_size(list), Some(8_388_608));
        for other in [&b"<key>band-size</key><string>1</string>"[..], b"<key>band-size</key><integer>x", b""]
        {
            assert_eq!(band_size(other), None);
        }
    }

    #[test]
    fn a_bundle_takes_its_bands_whether_they_are_full_or_not() {
        let volume = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
        let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
        let make = |folder: &Found, name: &str, kind| {
            volume.create(&actor, folder, name.as_bytes(), kind, 0o755).unwrap().found
        };
        let root = volume.root().unwrap();
        let bundle = make(&root, "b.sparsebundle", NewKind::Folder);
        make(&root, "empty.sparsebundle", NewKind::Folder);
        let list = make(&bundle, "Info.plist", NewKind::File).object;
        let text = b"<key>band-size</key><integer>8192</integer>";
        list.write_at(&actor.caller, 0, text, Stability::Unstable).unwrap();
        let bands = make(&bundle, "bands", NewKind::Folder);
        for band in ["0", "a1"] {
            make(&bands, band, NewKind::File);
        }
        assert_eq!(volume.used_by_bundles(), Ok(16_384));
    }
}
