//! The SMB3 POSIX extensions: what an open that asks for them (create context POSIX) is told. How it names entries is in
//! `posix_names.rs`. To such an open the tree is what it is on the host, as over NFS: names differ in case, may have all
//! characters but the separators, and have no streams; devices, FIFOs and sockets are reparse points of the tag NFS; owners
//! are numbers. The specification is Samba's <https://gitlab.com/samba-team/smb3-posix-spec>.

use vfs::{Attributes, Kind};

use crate::server::clients::open::File;
use crate::server::context::Context;
use crate::server::files::facts::Facts;
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::response::Context as Answer;
use crate::wire::fscc::directory::Facts as WireFacts;
use crate::wire::fscc::posix::{PosixAttributes, PosixInfo, mode};
use crate::wire::fscc::reparse::Tag;
use crate::wire::security::well_known::{NOBODY, Unix};

/// Whether a CREATE asks for the extensions on a connection that has agreed on them.
pub(in crate::server) fn is_asked(context: &Context, contexts: &[CreateContext<'_>]) -> bool {
    let agreed = || context.connection.negotiated().is_some_and(|agreed| agreed.serves_posix);
    contexts.iter().any(|asked| matches!(asked, CreateContext::Posix(_))) && agreed()
}

/// The mode that a new file is to have. Linux sends all ones, of 16 or 32 bits, if it has none to say.
pub(in crate::server) fn mode_asked(wire: u32) -> Option<u32> {
    match wire {
        0xFFFF | u32::MAX => None,
        wire => Some(wire & mode::PERMISSIONS),
    }
}

/// The mode of a file as the extensions have it.
fn wire_mode(of: &Attributes) -> u32 {
    let kind = match of.kind {
        Kind::File | Kind::Folder => mode::FILE_OR_FOLDER,
        Kind::Link => mode::LINK,
        Kind::Fifo => mode::FIFO,
        Kind::Socket => mode::SOCKET,
        Kind::BlockDevice => mode::BLOCK_DEVICE,
        Kind::CharDevice => mode::CHAR_DEVICE,
    };
    kind | of.mode & mode::PERMISSIONS
}

/// Whether it is neither a file nor a folder nor a link.
pub(in crate::server) fn is_special(kind: Kind) -> bool {
    !matches!(kind, Kind::File | Kind::Folder | Kind::Link)
}

/// The tag of the reparse point that a kind is shown as; 0 if it is none.
pub(in crate::server) fn reparse_tag(kind: Kind, is_posix: bool) -> u32 {
    match kind {
        Kind::Link => Tag::SYMLINK.0,
        kind if is_posix && is_special(kind) => Tag::NFS.0,
        _ => 0,
    }
}

/// Links, mode and owners of a file on the file system `device`. Owners are S-1-22-1-uid and S-1-22-2-gid, which Linux
/// understands without help.
pub(in crate::server) fn attributes(of: &Attributes, device: u64) -> PosixAttributes {
    PosixAttributes {
        device: device as u32,
        links: of.links,
        mode: wire_mode(of),
        owner: Unix::User(of.uid).sid(),
        group: Unix::Group(of.gid).sid(),
    }
}

/// The parent of the share's folder, of which clients are told nothing.
pub(in crate::server) fn above_share(of: &Attributes) -> PosixAttributes {
    PosixAttributes { owner: NOBODY, group: NOBODY, ..attributes(of, 0) }
}

/// FilePosixInformation of an open file.
pub(in crate::server) fn info(file: &File, facts: &Facts) -> PosixInfo {
    let of = &facts.attributes;
    let shown = WireFacts {
        creation_time: facts.created(),
        last_access_time: of.accessed.into(),
        last_write_time: of.modified.into(),
        change_time: facts.changed,
        end_of_file: facts.end_of_file(),
        allocation_size: facts.allocated(),
        attributes: facts.file_attributes(),
        ea_size: 0,
        reparse_tag: facts.reparse_tag(),
        file_id: facts.file_id,
    };
    PosixInfo { facts: shown, posix: attributes(of, file.open.volume().file_system(facts.id)) }
}

/// The answer to the create context.
pub(in crate::server) fn answer(file: &File, facts: &Facts) -> Answer {
    let PosixInfo { facts, posix } = info(file, facts);
    let mut w = wire::Writer::new();
    posix.owner.encode(&mut w);
    posix.group.encode(&mut w);
    let PosixAttributes { links, mode, .. } = posix;
    Answer::Posix { links, reparse_tag: facts.reparse_tag, mode, sids: w.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ones_are_no_mode() {
        assert_eq!([mode_asked(0xFFFF), mode_asked(u32::MAX)], [None, None]);
        assert_eq!(mode_asked(0o100_644), Some(0o644)); // Linux sends the type with it
        assert_eq!(mode_asked(0o3777), Some(0o3777));
    }
}
