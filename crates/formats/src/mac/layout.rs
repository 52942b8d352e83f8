//! Where the layouts keep things: file names beside a file, and names of extended attributes.

use super::depot::MARKER;
use super::samba;

/// The extended attribute that Netatalk 3, 4 and Samba share.
pub const NETATALK_METADATA: &[u8] = b"user.org.netatalk.Metadata";
/// Netatalk's resource fork where extended attributes may be large.
pub const NETATALK_RESOURCE: &[u8] = b"user.org.netatalk.ResourceFork";
/// Samba's DOS attributes.
pub const DOSATTRIB: &[u8] = b"user.DOSATTRIB";
/// The value of [`super::Metadata::to_kept`].
pub const KEPT: &[u8] = b"user.fourfold.kept";
/// The stream with Finder info and backup time.
pub const INFO_STREAM: &[u8] = b"AFP_AfpInfo";
/// The stream that is the resource fork.
pub const RESOURCE_STREAM: &[u8] = b"AFP_Resource";
/// The same two as a program on the host copies them from Windows' Services for Macintosh (ntfs-3g),
/// or as Samba keeps them with `streams_xattr:prefix = user.` and without types.
pub const PLAIN_INFO: &[u8] = b"user.AFP_AfpInfo";
/// As above, for the resource fork.
pub const PLAIN_RESOURCE: &[u8] = b"user.AFP_Resource";
/// Finder info as a Mac's own attribute, 32 bytes: `rsync -X` from a Mac copies it so.
pub const APPLE_FINDER_INFO: &[u8] = b"user.com.apple.FinderInfo";
/// The resource fork in the same way.
pub const APPLE_RESOURCE: &[u8] = b"user.com.apple.ResourceFork";
/// Client names of what is no attribute but part of the model.
pub const FINDER_INFO_XATTR: &[u8] = b"com.apple.FinderInfo";
/// As above, for the resource fork.
pub const RESOURCE_XATTR: &[u8] = b"com.apple.ResourceFork";

/// The names of sidecars begin so.
pub const SIDECAR_PREFIX: &[u8] = b"._";
const USER: &[u8] = b"user.";
const OURS: &[u8] = b"user.fourfold.";

/// The name of a file's sidecar, in the same folder.
pub fn sidecar_name(name: &[u8]) -> Vec<u8> {
    [SIDECAR_PREFIX, name].concat()
}

/// The file whose sidecar would have this name. Whether it is a sidecar, its bytes tell:
/// [`super::sidecar::is_sidecar`].
pub fn sidecar_owner(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(SIDECAR_PREFIX).filter(|owner| !matches!(*owner, b"" | b"." | b".."))
}

/// Whether a name has the form of a sidecar's.
pub fn is_sidecar_name(name: &[u8]) -> bool {
    sidecar_owner(name).is_some()
}

/// The folder of Netatalk 2's header files.
pub const NETATALK2_FOLDER: &[u8] = b".AppleDouble";
/// The folder in which DSM of Synology keeps what it knows of the files beside it.
pub const SYNOLOGY_FOLDER: &[u8] = b"@eaDir";
/// How the name of a header file ends in that folder: Finder info and resource fork, as in Netatalk 2's.
pub const SYNOLOGY_HEADER: &[u8] = b"@SynoResource";
/// How the name of a file ends there that has the attributes of Macs, in the form of a sidecar.
pub const SYNOLOGY_ATTRIBUTES: &[u8] = b"@SynoEAStream";
/// Netatalk 2's header file of a folder, inside that folder's [`NETATALK2_FOLDER`].
pub const NETATALK2_PARENT: &[u8] = b".Parent";

/// What an extended attribute of the host is to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XattrRole<'a> {
    /// An attribute (or small stream) of this client name.
    Client(&'a [u8]),
    /// The same, in the place of Samba and ksmbd: see [`samba::stream_data`].
    SambaStream(&'a [u8]),
    /// Part of the model, or bookkeeping: never shown, never set by name.
    Internal,
    /// Not in the user namespace.
    System,
}

/// Classifies an attribute of the host by its name. Two names of one attribute (`user.x` and Samba's) give one client
/// name; the caller shows it once, `user.x` first.
pub fn classify_xattr(stored: &[u8]) -> XattrRole<'_> {
    let Some(name) = stored.strip_prefix(USER) else { return XattrRole::System };
    if is_internal(stored) {
        return XattrRole::Internal;
    }
    match samba::stream_name(stored) {
        Some(INFO_STREAM | RESOURCE_STREAM | FINDER_INFO_XATTR | RESOURCE_XATTR) => XattrRole::Internal,
        Some(stream) => XattrRole::SambaStream(stream),
        None if stored.starts_with(samba::STREAM_PREFIX) || name.is_empty() => XattrRole::Internal,
        None => match name.strip_suffix(samba::STREAM_SUFFIX) {
            Some(INFO_STREAM | RESOURCE_STREAM | b"") => XattrRole::Internal,
            Some(stream) => XattrRole::SambaStream(stream),
            None => XattrRole::Client(name),
        },
    }
}

/// Whether a client may have a stream of this name. Streams with names of the model are changed by
/// other calls.
pub fn may_be_stream(client: &[u8]) -> bool {
    // A header of transparent compression is acted on by Macs that read it: none is taken from the network.
    let refused = [FINDER_INFO_XATTR, RESOURCE_XATTR, b"com.apple.decmpfs", INFO_STREAM, RESOURCE_STREAM];
    !client.is_empty() && !client.contains(&0) && !refused.contains(&client)
}

/// The attribute of the host in which a client's attribute is stored. `None` if the client may not
/// use the name: it is part of the model, or would be the bookkeeping of a server.
pub fn stored_xattr(client: &[u8]) -> Option<Vec<u8>> {
    if !may_be_stream(client) {
        return None;
    }
    let stored = [USER, client].concat();
    (classify_xattr(&stored) == XattrRole::Client(client)).then_some(stored)
}

fn is_internal(stored: &[u8]) -> bool {
    stored.starts_with(OURS)
        || [NETATALK_METADATA, NETATALK_RESOURCE, DOSATTRIB].contains(&stored)
        || [&b"user.SAMBA_PAI"[..], MARKER, b"user.DosAttrib", b"user.DosEAs", b"user.DosStreams"]
            .contains(&stored)
        || [APPLE_FINDER_INFO, APPLE_RESOURCE].contains(&stored)
        || [PLAIN_INFO, PLAIN_RESOURCE].contains(&stored)
}

/// Whether an attribute holds the stream with Finder info and backup time, in any server's place.
pub fn is_info_stream(stored: &[u8]) -> bool {
    is_stream_of_model(stored, INFO_STREAM)
}

/// Whether an attribute holds the stream that is the resource fork.
pub fn is_resource_stream(stored: &[u8]) -> bool {
    is_stream_of_model(stored, RESOURCE_STREAM)
}

fn is_stream_of_model(stored: &[u8], stream: &[u8]) -> bool {
    let plain =
        || stored.strip_prefix(USER).map(|name| name.strip_suffix(samba::STREAM_SUFFIX).unwrap_or(name));
    samba::stream_name(stored).or_else(plain) == Some(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecar_names_go_both_ways() {
        assert_eq!(sidecar_name(b"foo"), b"._foo");
        assert_eq!(sidecar_owner(b"._foo"), Some(&b"foo"[..]));
        assert_eq!(sidecar_owner(b"._._foo"), Some(&b"._foo"[..]));
        for name in [&b"foo"[..], b".foo", b"._", b"._.", b"._.."] {
            assert!(!is_sidecar_name(name));
        }
    }

    #[test]
    fn client_attributes_live_in_the_user_namespace_and_come_back() {
        for client in [&b"com.apple.metadata:_kMDItemUserTags"[..], b"com.apple.lastuseddate#PS", b"x"] {
            let stored = stored_xattr(client).unwrap();
            assert_eq!(stored, [b"user.", client].concat());
            assert_eq!(classify_xattr(&stored), XattrRole::Client(client));
        }
    }

    #[test]
    fn bookkeeping_is_neither_shown_nor_set() {
        for stored in [
            &b"user.org.netatalk.Metadata"[..],
            b"user.DOSATTRIB",
            b"user.fourfold.owner",
            b"user.SAMBA_PAI",
            b"user.DosStream.AFP_AfpInfo:$DATA",
            b"user.AFP_AfpInfo",
            b"user.AFP_Resource:$DATA",
            b"user.com.apple.ResourceFork",
            b"user.DosStream.",
            b"user.",
        ] {
            assert_eq!(classify_xattr(stored), XattrRole::Internal, "{}", stored.escape_ascii());
            assert_eq!(stored_xattr(&stored[5..]), None, "{}", stored.escape_ascii());
        }
        assert_eq!(stored_xattr(b"DosStream.x:$DATA"), None);
        assert_eq!(stored_xattr(FINDER_INFO_XATTR), None);
        assert_eq!(stored_xattr(b"com.apple.decmpfs"), None);
        assert_eq!(classify_xattr(b"security.NTACL"), XattrRole::System);
    }

    #[test]
    fn sambas_streams_are_found_by_their_own_names() {
        assert_eq!(
            classify_xattr(b"user.DosStream.com.apple.quarantine:$DATA"),
            XattrRole::SambaStream(b"com.apple.quarantine")
        );
        // streams_xattr:prefix = user.
        assert_eq!(
            classify_xattr(b"user.com.apple.quarantine:$DATA"),
            XattrRole::SambaStream(b"com.apple.quarantine")
        );
        assert!(is_info_stream(b"user.DosStream.AFP_AfpInfo:$DATA") && is_info_stream(b"user.AFP_AfpInfo"));
        assert!(is_resource_stream(b"user.AFP_Resource:$DATA") && !is_resource_stream(b"user.AFP_AfpInfo"));
    }
}
