//! The text of the symbolic link that a link is on the disk: `msdfs:SERVER\SHARE\FOLDER`, with further targets after commas,
//! as Samba has it. Targets of other protocols than SMB stand there as URLs, behind those of SMB: Samba passes them on as
//! targets that do not exist.

use crate::target::{MOST_TARGETS, Protocol, Target};

/// What the text begins with.
const MARK: &str = "msdfs:";
/// The longest text: of the 4,095 bytes that Linux allows, some are left.
pub const LONGEST: usize = 4000;

/// The targets in the text of a link; empty if it is no link of a namespace.
#[must_use]
pub fn read(link: &[u8]) -> Vec<Target> {
    let Some(list) = std::str::from_utf8(link).ok().and_then(|text| text.strip_prefix(MARK)) else {
        return Vec::new();
    };
    let one = |text: &str| match text.contains("://") {
        true => Target::of_url(text).ok(),
        false => Target::of_unc(text),
    };
    list.split(',').filter_map(|text| one(text.trim())).take(MOST_TARGETS).collect()
}

/// The text of a link with these targets.
#[must_use]
pub fn write(targets: &[Target]) -> String {
    let is_plain = |target: &&Target| target.protocol.has_unc() && fits_words(target);
    let plain = targets.iter().filter(is_plain).map(|target| target.unc()[1..].to_owned());
    let others = targets.iter().filter(|target| !is_plain(target)).map(ToString::to_string);
    MARK.to_owned() + &plain.chain(others).collect::<Vec<_>>().join(",")
}

/// Whether the text of a symbolic link makes it one that leads clients of a protocol on.
#[must_use]
pub fn leads(link: &[u8], protocol: Protocol) -> bool {
    is_marked(link) && read(link).iter().any(|target| target.protocol == protocol)
}

/// Whether the text of a link could be one of a namespace.
#[must_use]
pub fn is_marked(link: &[u8]) -> bool {
    link.starts_with(MARK.as_bytes())
}

/// Whether Samba's form of a target says all of it.
fn fits_words(target: &Target) -> bool {
    let is_bare = |text: &str| !text.contains([',', '\\', '/']);
    let text = target.unc();
    let is_whole = text[1..].trim() == &text[1..];
    target.port.is_none()
        && is_whole
        && is_bare(&target.host)
        && target.parts.iter().all(|part| is_bare(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(link: &[u8]) -> Vec<String> {
        read(link).iter().map(ToString::to_string).collect()
    }

    // smb.conf(5), "msdfs root"; and the guide of Samba: `ln -s 'msdfs:serverB\share,serverC\share' linkb`.
    #[test]
    fn links_of_samba_are_read() {
        assert_eq!(
            urls(br"msdfs:serverB\share,serverC\share\folder, \\serverD/a b"),
            ["smb://serverB/share", "smb://serverC/share/folder", "smb://serverD/a%20b"]
        );
        for none in [&b"docs"[..], b"msdfs:", b"msdfs:,,", b"msdfs:server", b"msdfs:a\\b\xff", b""] {
            assert_eq!(read(none), [], "{none:?}");
        }
        let many = format!("msdfs:{}", "a\\b,".repeat(100));
        assert_eq!(read(many.as_bytes()).len(), MOST_TARGETS);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let targets: Vec<Target> =
            ["nfs://filer2/export/a", "smb://filer2/archive/old", "afp://filer2:10548/A,B", "smb://f/a%5Cb"]
                .iter()
                .map(|url| Target::of_url(url).unwrap())
                .collect();
        let text = write(&targets);
        assert_eq!(
            text,
            r"msdfs:filer2\archive\old,nfs://filer2/export/a,afp://filer2:10548/A%2CB,smb://f/a%5Cb"
        );
        let mut read = read(text.as_bytes());
        let mut written = targets;
        read.sort();
        written.sort();
        assert_eq!(read, written);
    }
}
