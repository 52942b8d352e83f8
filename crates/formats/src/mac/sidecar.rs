//! The `._name` file: what macOS writes beside a file on a volume that keeps no forks, and where Netatalk and Samba keep
//! the resource fork. Two entries: Finder info with attributes behind it, then the resource fork, last.

use std::ops::Range;

use wire::{Malformed, Writer};

use super::apple_double::{
    self, AppleDouble, Container, ENTRY_LEN, EntryId, FILLER_MACOS, FILLER_NETATALK, HEADER_LEN, VERSION_2,
};
use super::attr::{self, Attr, NewAttr};
use super::fields::Fields;
use super::finder_info::FinderInfo;
use super::problem::Problem;
use super::resource;

/// Where macOS puts the Finder info.
const FINDER_INFO_AT: usize = HEADER_LEN + 2 * ENTRY_LEN;
/// The shortest sidecar: header, two rows, Finder info. Without attributes the resource fork begins here.
pub const MIN_LEN: usize = FINDER_INFO_AT + FinderInfo::LEN;

/// What a sidecar says, but for the bytes of its resource fork.
#[derive(Debug, Clone)]
pub struct SidecarHead<'a> {
    /// All zero when there is none.
    pub finder_info: FinderInfo,
    /// The extended attributes.
    pub xattrs: Vec<Attr<'a>>,
    /// The bytes of the resource fork in the file: empty when there is none, or only macOS's placeholder.
    pub resource_range: Range<u64>,
    /// Whether the resource fork is macOS's placeholder for "none".
    pub blank_resource: bool,
    /// What other entries say: macOS writes none, other tools write dates, comments and names.
    pub fields: Fields,
    /// What is not as it should be.
    pub problems: Vec<Problem>,
}

/// Whether the first bytes are those of a sidecar. A file that is merely called `._something` is left alone.
pub fn is_sidecar(head: &[u8]) -> bool {
    apple_double::recognize(head) == Some(Container::Double)
}

/// Reads a sidecar. `head` is the beginning of the file: [`apple_double::HEAD_LIMIT`] bytes, or all there are; `total`
/// is its length. An error means that it is not a sidecar at all.
pub fn parse(head: &[u8], total: u64) -> Result<SidecarHead<'_>, Malformed> {
    let mut file = AppleDouble::parse(head, total)?;
    if file.container == Container::Single {
        return Err(Malformed("AppleSingle is not a sidecar"));
    }
    let mut problems = std::mem::take(&mut file.problems);
    if file.filler == FILLER_NETATALK && file.resource_to_end().is_some() {
        problems.retain(|problem| !matches!(problem, Problem::TrailingBytes(_)));
    }
    let fields = Fields::read(&file, &mut problems);
    let info = file.bytes(EntryId::FINDER_INFO).unwrap_or_default();
    let area = file.range(EntryId::FINDER_INFO).unwrap_or(0..0);
    let xattrs = attr::read(head, area, &mut problems);
    let (resource_range, blank_resource) = resource_fork(&file);
    let finder_info = FinderInfo::from_prefix(info);
    Ok(SidecarHead { finder_info, xattrs, resource_range, blank_resource, fields, problems })
}

fn resource_fork(file: &AppleDouble<'_>) -> (Range<u64>, bool) {
    let range = if file.filler == FILLER_NETATALK { file.resource_to_end() } else { None };
    let range = range.or_else(|| file.range(EntryId::RESOURCE_FORK)).unwrap_or(file.total()..file.total());
    let fork = file.head().get(range.start as usize..range.end as usize);
    let blank = fork.is_some_and(resource::is_blank);
    if blank { (range.start..range.start, true) } else { (range, false) }
}

/// Writes what stands before the resource fork, as macOS lays it out, so that these bytes and the fork, one after the
/// other, are the file. The entry for the fork is there even when the fork is empty. Attributes that the format has no
/// place for are left out and named in the problems. For clients' eyes; what is put on the disk is [`stored_header`].
pub fn synthesize(info: &FinderInfo, xattrs: &[NewAttr<'_>], resource_len: u64) -> (Vec<u8>, Vec<Problem>) {
    let mut problems = Vec::new();
    let fitting = attr::writable(xattrs, FINDER_INFO_AT, &mut problems);
    (header(FILLER_MACOS, info, &fitting, resource_len), problems)
}

/// Writes the [`MIN_LEN`] bytes that stand before the resource fork in a `._name` on the disk. Netatalk's filler marks it
/// as a server's: Netatalk lists a `._name` with another filler as a file of its own, and throws away attributes in it.
pub fn stored_header(info: &FinderInfo, resource_len: u64) -> Vec<u8> {
    header(FILLER_NETATALK, info, &[], resource_len)
}

fn header(filler: [u8; 16], info: &FinderInfo, xattrs: &[NewAttr<'_>], resource_len: u64) -> Vec<u8> {
    let mut w = Writer::new();
    w.u32_be(0x0005_1607);
    w.u32_be(VERSION_2);
    w.put(&filler);
    w.u16_be(2);
    w.zeros(2 * ENTRY_LEN); // the rows, when all lengths are known
    w.put(info.as_bytes());
    if !xattrs.is_empty() {
        attr::write(&mut w, xattrs);
    }
    let len = u32::try_from(w.len()).expect("attr::MAX_VALUES is less");
    let info_at = FINDER_INFO_AT as u32;
    // A fork of 4 GiB or more cannot be said; Netatalk writes the largest number too.
    let resource_len = u32::try_from(resource_len).unwrap_or(u32::MAX);
    let rows = [EntryId::FINDER_INFO.0, info_at, len - info_at, EntryId::RESOURCE_FORK.0, len, resource_len];
    for (number, value) in rows.into_iter().enumerate() {
        w.patch_u32_be(HEADER_LEN + 4 * number, value);
    }
    w.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_sidecar_has_82_bytes() {
        let mut info = FinderInfo::NONE;
        info.set_type(*b"TEXT", *b"ttxt");
        let (bytes, problems) = synthesize(&info, &[], 0);
        let mut expected = b"\0\x05\x16\x07\0\x02\0\0Mac OS X        \0\x02".to_vec();
        expected.extend_from_slice(b"\0\0\0\x09\0\0\0\x32\0\0\0\x20\0\0\0\x02\0\0\0\x52\0\0\0\0TEXTttxt");
        expected.extend_from_slice(&[0; 24]);
        assert_eq!((bytes, problems), (expected, vec![]));
    }

    #[test]
    fn header_and_fork_read_back_at_any_length() {
        let mut info = FinderInfo::NONE;
        info.set_label(6);
        let xattrs: [NewAttr<'_>; 3] =
            [(b"com.apple.quarantine", b"0083;"), (b"empty", b""), (b"x", &[0xFF; 300])];
        let (head, problems) = synthesize(&info, &xattrs, 10);
        assert_eq!(problems, []);
        let total = head.len() as u64 + 10;
        let sidecar = parse(&head, total).unwrap();
        assert_eq!((sidecar.finder_info, sidecar.problems), (info, vec![]));
        assert_eq!(sidecar.resource_range, head.len() as u64..total);
        let read: Vec<NewAttr<'_>> =
            sidecar.xattrs.iter().map(|attr| (attr.name, attr.value.unwrap())).collect();
        assert_eq!(read, xattrs);
    }

    #[test]
    fn in_a_servers_sidecar_the_fork_ends_with_the_file() {
        let mut bytes = stored_header(&FinderInfo::NONE, 3);
        assert_eq!((bytes.len(), &bytes[8..24]), (MIN_LEN, &b"Netatalk        "[..]));
        bytes.extend_from_slice(b"grown");
        let sidecar = parse(&bytes, 87).unwrap();
        assert_eq!((sidecar.resource_range, sidecar.problems), (82..87, vec![]));

        let huge = 82 + (5_u64 << 30);
        let head = stored_header(&FinderInfo::NONE, huge - 82);
        let sidecar = parse(&head, huge).unwrap();
        assert_eq!((sidecar.resource_range, sidecar.problems), (82..huge, vec![]));
    }

    #[test]
    fn the_placeholder_fork_is_no_fork() {
        let (mut bytes, _) = synthesize(&FinderInfo::NONE, &[], 286);
        bytes.extend_from_slice(&resource::blank());
        let sidecar = parse(&bytes, 368).unwrap();
        assert_eq!((sidecar.resource_range, sidecar.blank_resource), (82..82, true));
    }

    #[test]
    fn a_plain_file_with_such_a_name_is_not_a_sidecar() {
        assert!(!is_sidecar(b"._ is only a name"));
        assert!(!is_sidecar(&[]));
        assert!(parse(&apple_double::pack(Container::Single, [0; 16], &[]), 26).is_err());
    }

    #[test]
    fn finder_info_of_no_bytes_is_none() {
        let slots = [apple_double::Slot::new(EntryId::FINDER_INFO, 38, &[])];
        let bytes = apple_double::build(Container::Double, [0; 16], &slots, 38);
        let sidecar = parse(&bytes, 38).unwrap();
        assert!(sidecar.finder_info.is_none() && sidecar.xattrs.is_empty());
    }
}
