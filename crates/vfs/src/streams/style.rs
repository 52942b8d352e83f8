//! Which server's layout a file gets what it does not have yet in: that of what it has, else that of
//! the files beside it, else the volume's. So a server that served the folder before, or serves it
//! beside this one, finds what clients of this one write.

use super::places::Place;
use super::{File, Streams, found, metadata, sidecar};
use crate::backend::Object;
use crate::mac::depot::MARKER;
use crate::mac::layout::{
    APPLE_FINDER_INFO, APPLE_RESOURCE, NETATALK_METADATA, PLAIN_INFO, PLAIN_RESOURCE, XattrRole,
    classify_xattr, is_info_stream, is_resource_stream, is_sidecar_name,
};
use crate::mac::{info_stream, resource, samba};
use crate::names::Map;
use crate::{Caller, Kind, Result};

/// Files of a folder that are looked at.
const LOOKED_AT: usize = 16;
/// Sidecars of a folder that are looked at.
const SIDECARS_LOOKED_AT: usize = 4;
/// Entries of a folder that are listed to find them.
const LISTED: usize = 64;

/// Where Finder info goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Info {
    /// `user.org.netatalk.Metadata`.
    #[default]
    Netatalk,
    /// `user.DosStream.AFP_AfpInfo:$DATA`.
    Stream,
    /// `user.AFP_AfpInfo`, as Samba has it with `streams_xattr:prefix = user.` and without types.
    PlainStream,
    /// `.AppleDouble/name`, as Netatalk has it with `ea = ad`.
    AppleDouble,
    /// `user.DosStream.AFP_AfpInfo:$DATA` without Samba's byte, as ksmbd has it.
    Ksmbd,
    /// `user.AFP_AfpInfo` without a byte more, as it is in copies from Services for Macintosh.
    ServicesForMacintosh,
    /// `user.com.apple.FinderInfo`, as `rsync -X` copies it from a Mac.
    MacCopy,
    /// `@eaDir/name@SynoResource`, as DSM of Synology has it.
    Synology,
    /// `._name`, as macOS writes it where there are no attributes; and `user.org.netatalk.Metadata`.
    Sidecar,
}

/// Where a resource fork goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForkPlace {
    /// `._name`.
    #[default]
    Sidecar,
    /// `user.DosStream.AFP_Resource:$DATA`, as far as an attribute can hold it.
    Stream,
    /// `user.AFP_Resource`, likewise.
    PlainStream,
    /// `.AppleDouble/name`, behind the Finder info.
    AppleDouble,
    /// As [`ForkPlace::Stream`], without Samba's byte: ksmbd's.
    Ksmbd,
    /// As [`ForkPlace::PlainStream`], without a byte more.
    ServicesForMacintosh,
    /// `user.com.apple.ResourceFork`.
    MacCopy,
    /// `@eaDir/name@SynoResource`, behind the Finder info.
    Synology,
}

impl ForkPlace {
    /// Whether it is not in a header file of another server.
    pub(super) fn is_beside(self) -> bool {
        !matches!(self, Self::AppleDouble | Self::Synology)
    }
}

/// Where a named stream goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NamedPlace {
    /// `user.<name>`.
    #[default]
    User,
    /// `user.DosStream.<name>:$DATA`, with private code points for characters that Windows forbids.
    Samba,
    /// The same, without private code points.
    SambaNative,
    /// Samba's depot, if the volume has one.
    Depot,
    /// `user.<name>` with private code points and a zero byte, as Samba has it with `streams_xattr:prefix = user.`
    SambaPlain,
    /// `user.<name>` with a zero byte, as Netatalk has it with `ea = samba`.
    UserTerminated,
    /// `.AppleDouble/name::EA::ATTRIBUTE`, as Netatalk has it with `ea = ad`.
    AppleDouble,
    /// As [`NamedPlace::Samba`], without Samba's byte.
    Ksmbd,
    /// `@eaDir/name@SynoEAStream`, one file for all.
    Synology,
}

/// The layout of what is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Of Finder info.
    pub info: Info,
    /// Of resource forks.
    pub fork: ForkPlace,
    /// Of named streams.
    pub named: NamedPlace,
}

impl Style {
    /// That of Netatalk 3 and 4, and of this server.
    pub const NETATALK: Self =
        Self { info: Info::Netatalk, fork: ForkPlace::Sidecar, named: NamedPlace::User };
    /// That of Samba's fruit as it is set by default.
    pub const SAMBA: Self = Self { info: Info::Netatalk, fork: ForkPlace::Sidecar, named: NamedPlace::Samba };
    /// That of Samba with everything in streams.
    pub const SAMBA_STREAMS: Self =
        Self { info: Info::Stream, fork: ForkPlace::Stream, named: NamedPlace::Samba };
    /// That of Netatalk 2, and of later versions with `ea = ad`: all in `.AppleDouble`.
    const APPLE_DOUBLE: Self =
        Self { info: Info::AppleDouble, fork: ForkPlace::AppleDouble, named: NamedPlace::AppleDouble };
    /// That of DSM: all in `@eaDir`.
    const SYNOLOGY: Self =
        Self { info: Info::Synology, fork: ForkPlace::Synology, named: NamedPlace::Synology };
}

/// What files tell of their layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LayoutEvidence {
    info: Option<Info>,
    fork: Option<ForkPlace>,
    /// Whether named streams are Samba's.
    samba: Option<bool>,
    /// Whether Samba's names of streams have private code points. Most names tell nothing.
    private: Option<bool>,
    /// Whether Samba's byte is missing behind its streams, as ksmbd has them.
    bare: Option<bool>,
    /// Whether a zero byte follows Macs' attributes. Those of a known form tell it.
    terminated: Option<bool>,
    /// Whether Samba has made a folder in its depot for a file.
    depot: bool,
    /// Whether Samba has the prefix `user.`: it is told by private code points, and by its byte behind `AFP_AfpInfo`.
    plain: bool,
}

impl LayoutEvidence {
    /// What a file's attributes tell; `read` gives their values.
    fn by(xattrs: &[Vec<u8>], read: &dyn Fn(&[u8]) -> Result<Vec<u8>>) -> Self {
        let mut told = Self::default();
        for xattr in xattrs {
            if xattr == NETATALK_METADATA {
                told.info = Some(Info::Netatalk);
            } else if xattr == MARKER {
                told.depot = true;
            } else if xattr == PLAIN_INFO {
                let has_byte = read(xattr).is_ok_and(|value| value.len() == info_stream::LEN + 1);
                let place = if has_byte { Info::PlainStream } else { Info::ServicesForMacintosh };
                told.info = told.info.or(Some(place));
                told.plain |= has_byte;
            } else if is_info_stream(xattr) && xattr.starts_with(samba::STREAM_PREFIX) {
                let is_bare = read(xattr).is_ok_and(|value| value.len() == info_stream::LEN);
                told.info = told.info.or(Some(if is_bare { Info::Ksmbd } else { Info::Stream }));
            } else if is_resource_stream(xattr) && xattr.starts_with(samba::STREAM_PREFIX) {
                let is_bare = is_bare(xattr, read);
                told.fork = Some(if is_bare { ForkPlace::Ksmbd } else { ForkPlace::Stream });
            } else if xattr == APPLE_FINDER_INFO {
                told.info = told.info.or(Some(Info::MacCopy));
            } else if xattr == APPLE_RESOURCE {
                told.fork = told.fork.or(Some(ForkPlace::MacCopy));
            } else {
                let (samba, private) = named(xattr);
                told.plain |= samba == Some(false) && private == Some(true);
                if samba == Some(false) && told.terminated.is_none() {
                    let name = Place::of(xattr).map(|place| place.name.into_owned()).unwrap_or_default();
                    told.terminated = read(xattr).ok().and_then(|value| samba::is_terminated(&name, &value));
                }
                if samba == Some(true) && told.bare.is_none() {
                    told.bare = Some(is_bare(xattr, read));
                }
                (told.samba, told.private) = (told.samba.or(samba), told.private.or(private));
            }
        }
        if xattrs.iter().any(|xattr| xattr == PLAIN_RESOURCE) {
            // The fork itself tells whether Samba's byte follows it.
            told.plain |= read(PLAIN_RESOURCE).is_ok_and(|value| resource::is_terminated(&value));
            let place = if told.plain { ForkPlace::PlainStream } else { ForkPlace::ServicesForMacintosh };
            told.fork = told.fork.or(Some(place));
        }
        told
    }

    fn or(self, other: Self) -> Self {
        let plain = self.plain || self.samba.is_none() && other.plain;
        let fork = match self.fork.or(other.fork) {
            // A neighbour without the byte does not count beside a file that has it.
            Some(ForkPlace::ServicesForMacintosh) if plain => Some(ForkPlace::PlainStream),
            fork => fork,
        };
        Self {
            info: self.info.or(other.info),
            fork,
            samba: self.samba.or(other.samba),
            private: self.private.or(other.private),
            bare: self.bare.or(other.bare),
            terminated: self.terminated.or(other.terminated),
            depot: self.depot || self.samba.is_none() && other.depot,
            plain,
        }
    }

    fn is_all(&self) -> bool {
        let is_named = match self.samba {
            Some(false) => self.terminated.is_some(),
            of_samba => of_samba.and(self.private).is_some(),
        };
        let is_named = self.depot || self.plain || is_named;
        self.info.is_some() && self.fork.is_some() && is_named
    }
}

/// Whether a stream in Samba's place has no byte of Samba behind it.
fn is_bare(xattr: &[u8], read: &dyn Fn(&[u8]) -> Result<Vec<u8>>) -> bool {
    read(xattr).is_ok_and(|value| !value.is_empty() && !samba::stream_data(&value).1)
}

/// What an attribute tells of the place of named streams. Attributes of programs on the host have
/// names of their own, so only those of Macs tell that streams are plain attributes. The second value
/// is [`LayoutEvidence::private`].
fn named(xattr: &[u8]) -> (Option<bool>, Option<bool>) {
    match classify_xattr(xattr) {
        XattrRole::SambaStream(name) if xattr.starts_with(samba::STREAM_PREFIX) => {
            let is_private = *Map::Sfm.decode(name) != *name;
            (Some(true), (is_private || name.contains(&b':')).then_some(is_private))
        }
        XattrRole::Client(name) if name.starts_with(b"com.apple.") => {
            (Some(false), (*Map::Sfm.decode(name) != *name).then_some(true))
        }
        _ => (None, None),
    }
}

impl Streams {
    /// The layout of what `file` does not have yet. `xattrs` are the names of its attributes.
    pub(super) fn style(&self, file: &File<'_>, xattrs: &[Vec<u8>]) -> Result<Style> {
        if self.forced {
            return Ok(self.style);
        }
        if self.server_files().has_books(file)? {
            return Ok(Style::APPLE_DOUBLE);
        }
        if self.server_files().has_synologys(file)? {
            return Ok(Style::SYNOLOGY);
        }
        let mut told = LayoutEvidence::by(xattrs, &|name| file.object.xattr(name));
        if told == LayoutEvidence::default() && self.server_files().is_netatalks(file.folder)? {
            return Ok(Style::APPLE_DOUBLE);
        }
        if told == LayoutEvidence::default() && self.server_files().is_synologys(file.folder)? {
            return Ok(Style::SYNOLOGY);
        }
        if !told.is_all() {
            told = told.or(self.told_by(file.folder)?);
        }
        if told == LayoutEvidence::default()
            && self.style == Style::default()
            && (self.apple_double || self.server_files().is_below_netatalks(file.folder)?)
        {
            return Ok(Style::APPLE_DOUBLE);
        }
        let of_volume = self.style;
        Ok(Style {
            info: told.info.unwrap_or(of_volume.info),
            fork: told.fork.unwrap_or(of_volume.fork),
            named: match (told.samba, told.private) {
                _ if told.plain => NamedPlace::SambaPlain,
                (None, _) if told.depot && !self.others().with_depots().is_empty() => NamedPlace::Depot,
                (None, _) if told.info == Some(Info::Ksmbd) => NamedPlace::Ksmbd,
                (None, _) => of_volume.named,
                (Some(true), _) if told.bare == Some(true) => NamedPlace::Ksmbd,
                (Some(false), _) if told.terminated == Some(true) => NamedPlace::UserTerminated,
                (Some(false), _) => NamedPlace::User,
                (Some(true), Some(false)) => NamedPlace::SambaNative,
                (Some(true), _) => NamedPlace::Samba,
            },
        })
    }

    /// What the first files of a folder, and the folder itself, tell.
    fn told_by(&self, folder: &dyn Object) -> Result<LayoutEvidence> {
        let (mut names, mut listed, mut sidecars) = (Vec::new(), 0, Vec::new());
        folder.list(0, &mut |entry| {
            listed += 1;
            if is_sidecar_name(entry.name) {
                sidecars.push(entry.name.to_vec());
            } else if !matches!(entry.name, b"." | b"..") && names.len() < LOOKED_AT {
                names.push(entry.name.to_vec());
            }
            listed < LISTED
        })?;
        let mut told = LayoutEvidence {
            fork: (!sidecars.is_empty()).then_some(ForkPlace::Sidecar),
            ..LayoutEvidence::default()
        };
        for name in names {
            if told.is_all() {
                return Ok(told);
            }
            if let Some(entry) = found(folder.glance(&Caller::root(), &name)).unwrap_or_default() {
                let mut by_file = LayoutEvidence::by(&entry.xattrs, &|xattr| {
                    folder.glance_xattr(&Caller::root(), &name, xattr)
                });
                if by_file.depot && by_file.info.is_none() && told.info.is_none() {
                    by_file.info = self.info_by_depot(folder, &name)?;
                }
                told = told.or(by_file);
            }
        }
        told = told.or(LayoutEvidence::by(&metadata::names(folder)?, &|name| folder.xattr(name)));
        if told.info.is_none() && by_macos(folder, &sidecars)? {
            told.info = Some(Info::Sidecar);
        }
        Ok(told)
    }

    /// Whether Samba keeps the Finder info of a file in its depot.
    fn info_by_depot(&self, folder: &dyn Object, name: &[u8]) -> Result<Option<Info>> {
        let Some(file) = found(folder.lookup(&Caller::root(), name))? else { return Ok(None) };
        Ok(self.depots().info(&*file.object)?.map(|_| Info::Stream))
    }
}

/// Whether macOS has written one of the first sidecars of a folder: it notes its name in each.
fn by_macos(folder: &dyn Object, sidecars: &[Vec<u8>]) -> Result<bool> {
    const MACOS: &[u8] = b"Mac OS X        ";
    for name in sidecars.iter().take(SIDECARS_LOOKED_AT) {
        let Some(there) = found(folder.lookup(&Caller::root(), name))? else { continue };
        if there.attributes.kind != Kind::File {
            continue;
        }
        let sidecar = sidecar::read(there, false)?;
        if sidecar.head.get(8..24) == Some(MACOS) && sidecar.parsed().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "user.DosStream.AFP_AfpInfo:$DATA";
    const RESOURCE: &str = "user.DosStream.AFP_Resource:$DATA";
    const TAG: &str = "user.DosStream.com.apple.quarantine:$DATA";

    fn told(names: &[&str]) -> LayoutEvidence {
        let names: Vec<_> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        LayoutEvidence::by(&names, &|_| Ok(vec![0; 61]))
    }

    #[test]
    fn attributes_tell_the_server_that_wrote_them() {
        let samba = told(&[
            "user.DOSATTRIB",
            "user.DosStream.AFP_AfpInfo:$DATA",
            "user.DosStream.AFP_Resource:$DATA",
        ]);
        assert_eq!(
            (samba.info, samba.fork, samba.samba),
            (Some(Info::Stream), Some(ForkPlace::Stream), None)
        );
        let private = told(&["user.DosStream.com.apple.metadata\u{f022}_kMDItemUserTags:$DATA"]);
        assert_eq!((private.samba, private.private), (Some(true), Some(true)));
        let native = told(&["user.DosStream.com.apple.metadata:_kMDItemUserTags:$DATA"]);
        assert_eq!((native.samba, native.private), (Some(true), Some(false)));
        assert_eq!(told(&["user.DosStream.plain:$DATA"]).private, None);
        let netatalk = told(&["user.org.netatalk.Metadata", "user.com.apple.quarantine"]);
        assert_eq!((netatalk.info, netatalk.samba), (Some(Info::Netatalk), Some(false)));
        let plain = told(&[
            "user.com.apple.metadata\u{f022}_kMDItemUserTags",
            "user.AFP_Resource",
            "user.AFP_AfpInfo",
        ]);
        assert!(plain.plain && !netatalk.plain);
        assert_eq!((plain.info, plain.fork), (Some(Info::PlainStream), Some(ForkPlace::PlainStream)));
        let names = [b"user.AFP_AfpInfo".to_vec(), b"user.AFP_Resource".to_vec()];
        // A copy from Services for Macintosh has no byte more.
        let copied = LayoutEvidence::by(&names, &|_| Ok(vec![0; 60]));
        assert_eq!(
            (copied.info, copied.fork, copied.plain),
            (Some(Info::ServicesForMacintosh), Some(ForkPlace::ServicesForMacintosh), false)
        );
        let of_mac = told(&["user.com.apple.FinderInfo", "user.com.apple.ResourceFork"]);
        assert_eq!((of_mac.info, of_mac.fork), (Some(Info::MacCopy), Some(ForkPlace::MacCopy)));
        let names = [INFO, RESOURCE, TAG].map(|name| name.as_bytes().to_vec());
        let ksmbd = LayoutEvidence::by(&names, &|_| Ok(vec![7; 60]));
        assert_eq!(
            (ksmbd.info, ksmbd.fork, ksmbd.samba, ksmbd.bare),
            (Some(Info::Ksmbd), Some(ForkPlace::Ksmbd), Some(true), Some(true))
        );
        assert_eq!(
            told(&["user.DOSATTRIB", "user.xdg.origin.url", "security.selinux"]),
            LayoutEvidence::default()
        );
    }
}
