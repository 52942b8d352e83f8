//! Sparse bundles, into which Macs back up: folders whose bands are files of one size, which a property list names.

/// What the name of a bundle ends with.
pub const SUFFIX: &[u8] = b".sparsebundle";
/// The property list in a bundle.
pub const INFO: &[u8] = b"Info.plist";
/// The folder of bands in a bundle.
pub const BANDS: &[u8] = b"bands";
/// The longest property list that is read, in bytes.
pub const MAX_INFO: usize = 64 * 1024;

/// The number behind the key `band-size` of a property list in XML.
pub fn band_size(list: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(list);
    let (_, after) = text.split_once("<key>band-size</key>")?;
    let number = after.trim_start().strip_prefix("<integer>")?;
    number.split('<').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
