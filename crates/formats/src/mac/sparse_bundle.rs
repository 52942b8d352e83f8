//! Sparse bundles, into which Macs back up: folders whose bands are files of one size, which a property list names.

/// What the name of a bundle ends with.
pub const SUFFIX: &[u8] = b".sparsebundle";
/// The property list in a bundle.
pub const INFO: &[u8] = b"Info.plist";
/// Its copy, which the Mac writes before it.
pub const INFO_COPY: &[u8] = b"Info.bckup";
/// Empty, or the header of an encrypted image.
pub const TOKEN: &[u8] = b"token";
/// The folder of bands in a bundle.
pub const BANDS: &[u8] = b"bands";
/// The longest property list that is read, in bytes.
pub const MAX_INFO: usize = 64 * 1024;
/// How the token of an encrypted image begins.
const ENCRYPTED: &[u8] = b"encrcdsa";
/// The most digits of a band's name: the largest image has 8 EiB.
const MOST_DIGITS: usize = 16;

/// What the property list of a bundle says about its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleInfo {
    /// Bytes of a whole band.
    pub band_size: u64,
    /// Bytes of the image; `None`: the list does not say it.
    pub image_size: Option<u64>,
}

impl BundleInfo {
    /// Reads a property list in XML; `None` without a size of bands.
    pub fn read(list: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(list);
        let band_size = integer(&text, "band-size").filter(|size| *size > 0)?;
        Some(Self { band_size, image_size: integer(&text, "size") })
    }

    /// How many bands the image can have.
    pub fn most_bands(&self) -> Option<u64> {
        Some(self.image_size?.div_ceil(self.band_size))
    }
}

/// The number behind the key `band-size` of a property list in XML.
pub fn band_size(list: &[u8]) -> Option<u64> {
    integer(&String::from_utf8_lossy(list), "band-size")
}

/// Whether a property list is there to its end. Of binary ones only the beginning is looked at.
pub fn is_whole(list: &[u8]) -> bool {
    if is_binary(list) {
        return true;
    }
    let text = list.trim_ascii();
    let begins = text.starts_with(b"<?xml") || text.starts_with(b"<plist");
    begins && text.ends_with(b"</plist>")
}

/// Whether a property list is a binary one. macOS writes those of bundles as XML.
pub fn is_binary(list: &[u8]) -> bool {
    list.starts_with(b"bplist00")
}

/// Whether the image is encrypted, by its token.
pub fn is_encrypted(token: &[u8]) -> bool {
    token.starts_with(ENCRYPTED)
}

/// The number of a band by its name: hexadecimal digits in small letters, without zeros in front. `None`: it is no band.
pub fn band_number(name: &[u8]) -> Option<u64> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_name = (1..=MOST_DIGITS).contains(&name.len())
        && name.iter().all(is_digit)
        && (name[0] != b'0' || name == b"0");
    let text = std::str::from_utf8(name).ok().filter(|_| is_name)?;
    u64::from_str_radix(text, 16).ok()
}

fn integer(text: &str, key: &str) -> Option<u64> {
    let (_, after) = text.split_once(&*format!("<key>{key}</key>"))?;
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

    #[test]
    fn the_list_says_how_many_bands_there_can_be() {
        // As macOS writes it for an image of 16 TB with bands of 256 MiB.
        let list = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n\
            <key>CFBundleInfoDictionaryVersion</key>\n<string>6.0</string>\n<key>band-size</key>\n<integer>268435456</integer>\n\
            <key>bundle-backingstore-version</key>\n<integer>1</integer>\n\
            <key>diskimage-bundle-type</key>\n<string>com.apple.diskimage.sparsebundle</string>\n\
            <key>size</key>\n<integer>16000000000000</integer>\n</dict>\n</plist>\n";
        let info = BundleInfo::read(list).unwrap();
        assert_eq!(info, BundleInfo { band_size: 1 << 28, image_size: Some(16_000_000_000_000) });
        assert_eq!(info.most_bands(), Some(59_605));
        assert!(is_whole(list) && !is_whole(&list[..list.len() - 3]) && !is_whole(b""));
        assert_eq!(BundleInfo::read(b"<key>band-size</key><integer>0</integer>"), None);
    }

    #[test]
    fn a_band_is_named_by_its_number_in_small_hexadecimal() {
        assert_eq!(
            [&b"0"[..], b"a1", b"ffffffffffffffff"].map(band_number),
            [Some(0), Some(0xa1), Some(u64::MAX)]
        );
        for other in [&b""[..], b"A1", b"01", b"0x1", b"1.tmp", b"._1", b"10000000000000000"] {
            assert_eq!(band_number(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_token_tells_an_encrypted_image() {
        assert!(is_encrypted(b"encrcdsa\0\0\0\x02") && !is_encrypted(b""));
    }
}
