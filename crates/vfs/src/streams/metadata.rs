//! The model of a file's Mac metadata: read from where a server or client left it, written where
//! other servers look.

use std::sync::Arc;

use super::header::is_usable;
use super::sidecar::Sidecar;
use super::style::{Info, NamedPlace};
use super::{File, MOVING, Streams, depot, found};
use crate::backend::{Object, XattrMode};
use crate::mac::layout::{
    APPLE_FINDER_INFO, DOSATTRIB, INFO_STREAM, KEPT, NETATALK_METADATA, PLAIN_INFO, is_info_stream,
};
use crate::mac::{DosAttributes, Metadata, Problem, StoredParts, samba};
use crate::{Caller, Error, Result};

/// Reads one of a file's attributes.
type Read<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<u8>>;

/// The contents of the file's own extended attributes.
#[derive(Default, Clone)]
struct OwnAttributes {
    netatalk: Option<Vec<u8>>,
    dosattrib: Option<Vec<u8>>,
    kept: Option<Vec<u8>>,
    /// The streams `AFP_AfpInfo`, by the names of their attributes. The first counts.
    info_streams: Vec<(Vec<u8>, Vec<u8>)>,
    /// The stream `AFP_AfpInfo` in Samba's depot, and its bytes.
    depot_info: Option<(Arc<dyn Object>, Vec<u8>)>,
    /// A Mac's own attribute.
    finder_info: Option<Vec<u8>>,
    /// Whether Netatalk's header file has it.
    in_header: bool,
    /// Whether no byte follows a new stream `AFP_AfpInfo`, unlike Samba's.
    is_bare: bool,
}

impl OwnAttributes {
    /// Nothing of this says anything to Macs.
    fn is_silent(&self) -> bool {
        let is_in_attributes = self.netatalk.is_some() || self.finder_info.is_some();
        !is_in_attributes && !self.has_info_stream() && !self.in_header
    }

    fn has_info_stream(&self) -> bool {
        !self.info_streams.is_empty() || self.depot_info.is_some()
    }

    fn read(object: &dyn Object) -> Result<Self> {
        Self::among(&|name| object.xattr(name), &names(object)?)
    }

    /// One call for each of the server's own among these attributes of the file.
    fn among(read: Read<'_>, names: &[Vec<u8>]) -> Result<Self> {
        let mut own = Self::default();
        for name in names {
            let place = match &name[..] {
                NETATALK_METADATA => &mut own.netatalk,
                DOSATTRIB => &mut own.dosattrib,
                KEPT => &mut own.kept,
                APPLE_FINDER_INFO => &mut own.finder_info,
                _ if is_info_stream(name) => {
                    own.info_streams.extend(found(read(name))?.map(|value| (name.clone(), value)));
                    continue;
                }
                _ => continue,
            };
            *place = found(read(name))?;
        }
        Ok(own)
    }

    /// What belongs into `user.org.netatalk.Metadata`; `None` if there shall be no such attribute. A
    /// file whose Finder info is in `AFP_AfpInfo` has there only what that stream cannot hold, so
    /// that what Samba changes in the stream later counts.
    fn netatalk_for(&self, metadata: &Metadata) -> Option<Metadata> {
        let has_info = |netatalk: &Vec<u8>| !Metadata::from_netatalk(netatalk).0.finder_info.is_none();
        if self.in_header && self.netatalk.is_none() {
            return None;
        }
        // A Mac's own attribute has no place for the date of the last backup.
        let is_elsewhere =
            self.has_info_stream() || self.finder_info.is_some() && metadata.times.backup.is_none();
        let is_beside = is_elsewhere && !self.netatalk.as_ref().is_some_and(has_info);
        match is_beside {
            true => metadata.beyond_info_stream(),
            false => (self.netatalk.is_some() || metadata.concerns_macs()).then(|| metadata.clone()),
        }
    }

    /// What belongs into `user.DOSATTRIB`. afpd sets the creation time in its header alone, and the time in this attribute counts: a copy
    /// of the header's time would hide what afpd sets later.
    fn dosattrib_for(&self, metadata: &Metadata) -> Option<Vec<u8>> {
        let is_dated =
            |bytes: &Vec<u8>| samba::DosAttrib::parse(bytes).is_ok_and(|has| has.created.is_some());
        let has_header = self.in_header || self.netatalk.is_some();
        let in_header_alone =
            has_header && metadata.is_dated_by_netatalk() && !self.dosattrib.as_ref().is_some_and(is_dated);
        let says_date = metadata.times.created.is_some() && !in_header_alone;
        if metadata.dos == DosAttributes::default() && !says_date && self.dosattrib.is_none() {
            return None;
        }
        Some(if in_header_alone { metadata.to_undated_dosattrib() } else { metadata.to_dosattrib() })
    }

    fn model(&self, sidecar: Option<&Sidecar>, header: Option<&Sidecar>) -> (Metadata, Vec<Problem>) {
        // Samba appends a byte to each attribute; the format has a fixed length and ignores it.
        let in_attribute = self.info_streams.first().map(|(_, value)| value);
        let info_stream = in_attribute.or(self.depot_info.as_ref().map(|(_, value)| value));
        Metadata::from_parts(&StoredParts {
            netatalk: self.netatalk.as_deref(),
            netatalk2: header.map(|header| (&header.head[..], header.attributes.size)),
            info_stream: info_stream.map(|value| &value[..]),
            finder_info: self.finder_info.as_deref(),
            sidecar: sidecar.map(|sidecar| (&sidecar.head[..], sidecar.attributes.size)),
            dosattrib: self.dosattrib.as_deref(),
            kept: self.kept.as_deref(),
        })
    }
}

impl Streams {
    /// What is known of a file besides its bytes, and what is wrong with it on the disk. Changes nothing.
    ///
    /// A file without anything costs one call, and one that looks for a sidecar.
    pub fn load(&self, file: &File<'_>) -> Result<(Metadata, Vec<Problem>)> {
        self.load_among(file, &names(file.object)?, self.may_have_sidecar(file))
    }

    /// The same, by the names of the file's attributes, and whether there may be a sidecar.
    pub(crate) fn load_among(
        &self,
        file: &File<'_>,
        names: &[Vec<u8>],
        may_have_sidecar: bool,
    ) -> Result<(Metadata, Vec<Problem>)> {
        let own = self.own(file.object, names)?;
        let header = self.server_files().header_file(file)?;
        if !may_have_sidecar && !is_moving(names) {
            return Ok(own.model(None, header.as_ref()));
        }
        let Some(sidecar) = self.sidecar(file)? else { return Ok(own.model(None, header.as_ref())) };
        let Some(absorbed) = sidecar.absorbed()? else {
            return Ok(own.model(sidecar.parsed().and(Some(&sidecar)), header.as_ref()));
        };
        let (mut metadata, mut problems) = own.model(None, header.as_ref());
        if absorbed.print != sidecar.fingerprint()
            && let Some(head) = sidecar.parsed()
        {
            match sidecar.has_new_info(&absorbed) {
                true => metadata.absorb_sidecar(&head),
                false => metadata.merge_sidecar(&head),
            }
            problems.extend(head.problems);
        }
        Ok((metadata, problems))
    }

    /// The same without what a sidecar says.
    pub(super) fn load_without_sidecar(&self, file: &File<'_>) -> Result<(Metadata, Vec<Problem>)> {
        Ok(self
            .own(file.object, &names(file.object)?)?
            .model(None, self.server_files().header_file(file)?.as_ref()))
    }

    /// The same from the file's attributes alone: for a share's own folder, which has no sidecar.
    pub fn load_alone(&self, object: &dyn Object) -> Result<(Metadata, Vec<Problem>)> {
        Ok(self.own(object, &names(object)?)?.model(None, None))
    }

    /// What a file's own attributes say, and the depot.
    fn own(&self, object: &dyn Object, names: &[Vec<u8>]) -> Result<OwnAttributes> {
        let own = OwnAttributes::among(&|name| object.xattr(name), names)?;
        Ok(OwnAttributes { depot_info: self.depots().info(object)?, ..own })
    }

    /// Writes the model into one layout: Finder info into this attribute, or else into `user.org.netatalk.Metadata`.
    pub(super) fn put_model_in(&self, file: &File<'_>, info: Option<Vec<u8>>) -> Result<()> {
        let (root, metadata) = (Caller::root(), self.load(file)?.0);
        let mut own = self.own(file.object, &names(file.object)?)?;
        for (name, _) in own.info_streams.iter().filter(|(name, _)| info.as_ref() != Some(name)) {
            found(file.object.remove_xattr(&root, name))?;
        }
        if own.finder_info.take().is_some() {
            found(file.object.remove_xattr(&root, APPLE_FINDER_INFO))?;
        }
        if own.depot_info.take().is_some() {
            self.depots().drop_stream(file.object, INFO_STREAM)?;
        }
        own.info_streams.retain(|(name, _)| info.as_ref() == Some(name));
        let info_says = !metadata.finder_info_with_date().is_none() || metadata.times.backup.is_some();
        if let Some(info) = info {
            if own.info_streams.is_empty() && info_says {
                own.info_streams.push((info, vec![]));
            }
            if own.netatalk.take().is_some() {
                found(file.object.remove_xattr(&root, NETATALK_METADATA))?;
            }
        }
        if own.is_silent() && !info_says && metadata.beyond_info_stream().is_none() {
            // Nothing that Macs know of.
            let says_dos = metadata.dos != DosAttributes::default() || metadata.times.created.is_some();
            let dosattrib = says_dos.then(|| metadata.to_dosattrib());
            return put(&root, file.object, DOSATTRIB, own.dosattrib, dosattrib);
        }
        put_model(&root, file.object, own, &metadata)
    }

    /// `false` if there is certainly no sidecar beside a file. One call, without a switch of
    /// identity.
    pub(crate) fn may_have_sidecar(&self, file: &File<'_>) -> bool {
        file.folder.may_have(&file.sidecar_name())
    }

    /// Writes the model to the disk, and into the head of an existing sidecar.
    pub fn store(&self, caller: &Caller, file: &File<'_>, metadata: &Metadata) -> Result<()> {
        let names = names(file.object)?;
        let in_sidecar = self.store_without_sidecar(caller, file, metadata)?;
        if !in_sidecar && !self.may_have_sidecar(file) && !is_moving(&names) {
            return Ok(());
        }
        match self.sidecar(file)? {
            Some(sidecar) => write_finder_info(sidecar, metadata),
            None if in_sidecar => {
                let made = self.sidecar_or_new(file, &metadata.to_sidecar(&[], 0).0)?;
                made.note_absorbed()
            }
            None => Ok(()),
        }
    }

    /// The same without the sidecar. Whether the file gets Finder info that macOS looks for in one.
    fn store_without_sidecar(&self, caller: &Caller, file: &File<'_>, metadata: &Metadata) -> Result<bool> {
        let (names, mut in_sidecar) = (names(file.object)?, false);
        let mut own = self.own(file.object, &names)?;
        own.in_header = self.server_files().header_file(file)?.is_some_and(|header| is_usable(&header));
        if own.is_silent() && metadata.concerns_macs() {
            let style = self.style(file, &names)?;
            match (style.info, style.named) {
                (Info::Stream, NamedPlace::Depot) => {
                    own.depot_info =
                        self.depots().new_stream(file.object, INFO_STREAM)?.map(|there| (there, vec![]));
                }
                (Info::Stream | Info::Ksmbd, _) => {
                    own.info_streams.push((samba::stream_attribute(INFO_STREAM), vec![]));
                }
                (Info::PlainStream | Info::ServicesForMacintosh, _) => {
                    own.info_streams.push((PLAIN_INFO.to_vec(), vec![]));
                }
                (Info::MacCopy, _) => own.finder_info = Some(vec![]),
                (Info::AppleDouble | Info::Synology, _) => own.in_header = true,
                (Info::Netatalk | Info::Sidecar, _) => {}
            }
            own.is_bare = matches!(style.info, Info::Ksmbd | Info::ServicesForMacintosh);
            in_sidecar = style.info == Info::Sidecar;
        }
        let in_header = own.in_header;
        self.with_room(file, || put_model(caller, file.object, own.clone(), metadata))?;
        if in_header {
            return self.server_files().put_header(file, metadata).map(|()| false);
        }
        if self.server_files().header_file(file)?.is_some() {
            self.take_over(file)?;
            self.store_alone(caller, file.object, metadata)?; // what the header file said, unless it was taken away
        }
        Ok(in_sidecar && !metadata.finder_info_with_date().is_none())
    }

    /// The same for the attributes alone.
    pub fn store_alone(&self, caller: &Caller, object: &dyn Object, metadata: &Metadata) -> Result<()> {
        put_model(caller, object, self.own(object, &names(object)?)?, metadata)
    }

    /// Takes into the model what was written into a sidecar since it was last known: by a client
    /// that sees it as a file, or by another server. Its bytes stay. Called when a writer commits
    /// or closes, and before other clients look at streams.
    pub fn absorb(&self, file: &File<'_>) -> Result<()> {
        let Some(sidecar) = self.sidecar(file)? else { return Ok(()) };
        let before = sidecar.absorbed()?;
        let Some(head) = sidecar.parsed() else { return Ok(()) };
        if before.as_ref().is_some_and(|absorbed| absorbed.print == sidecar.fingerprint()) {
            return Ok(());
        }
        let known = (self.load_without_sidecar(file)?.0, self.annotations().twins(file)?);
        let (metadata, _) = self.load(file)?;
        self.store_without_sidecar(&Caller::root(), file, &metadata)?;
        for attr in &head.xattrs {
            let value = sidecar.value(attr)?;
            self.absorb_stream(file, attr.name, &value, before.is_some())?;
        }
        if let Some(absorbed) = before {
            let gone =
                absorbed.names.iter().filter(|name| !head.xattrs.iter().any(|attr| attr.name == &name[..]));
            gone.into_iter().try_for_each(|name| self.drop_stream(file, name))?;
        }
        sidecar.note_absorbed()?;
        self.annotations().heed_both(file, (&known.0, known.1))
    }
}

/// The metadata by a file's attributes alone.
pub(crate) fn load_alone(object: &dyn Object) -> Result<(Metadata, Vec<Problem>)> {
    Ok(OwnAttributes::read(object)?.model(None, None))
}

/// The same for a file that is not open: `read` gives the values of these attributes of it.
pub(crate) fn load_from(read: Read<'_>, names: &[Vec<u8>]) -> Result<(Metadata, Vec<Problem>)> {
    Ok(OwnAttributes::among(read, names)?.model(None, None))
}

/// Writes the model into the file's attributes alone.
pub(crate) fn store_alone(caller: &Caller, object: &dyn Object, metadata: &Metadata) -> Result<()> {
    put_model(caller, object, OwnAttributes::read(object)?, metadata)
}

/// The same for a file without any attributes.
pub(crate) fn store_first(caller: &Caller, object: &dyn Object, metadata: &Metadata) -> Result<()> {
    put_model(caller, object, OwnAttributes::default(), metadata)
}

/// Whether a file has a resource fork of its own, or its sidecar may be elsewhere.
pub(crate) fn has_fork_or_moves(names: &[Vec<u8>]) -> bool {
    is_moving(names) || names.iter().any(|name| super::elsewhere::is_fork(name))
}

/// Whether a crash may have left the file's sidecar elsewhere.
fn is_moving(names: &[Vec<u8>]) -> bool {
    names.iter().any(|name| name == MOVING)
}

/// The names of a file's attributes; none where there cannot be any.
pub(crate) fn names(object: &dyn Object) -> Result<Vec<Vec<u8>>> {
    Ok(found(object.list_xattrs())?.unwrap_or_default())
}

/// Whether one of these attributes of a file may say more of it than the host does.
pub(crate) fn has_own(names: &[Vec<u8>]) -> bool {
    names.iter().any(|name| name.starts_with(b"user."))
}

fn put_model(caller: &Caller, object: &dyn Object, own: OwnAttributes, metadata: &Metadata) -> Result<()> {
    let something = !metadata.is_empty();
    let netatalk = own.netatalk_for(metadata).filter(|_| something);
    let dosattrib = own.dosattrib_for(metadata).filter(|_| something);
    // First what could not be read: the values below replace it.
    put(caller, object, KEPT, own.kept, metadata.to_kept())?;
    put(caller, object, DOSATTRIB, own.dosattrib, dosattrib)?;
    let netatalk = match &netatalk {
        Some(metadata) => Some(dated(metadata, object)?.to_netatalk()),
        None => None,
    };
    // What every server of this folder looks at has the same values.
    for (name, before) in own.info_streams {
        let after = match before.is_empty() {
            true if own.is_bare => metadata.to_info_stream().to_vec(),
            true => [&metadata.to_info_stream()[..], &[0]].concat(), // Samba's byte
            false => metadata.update_info_stream(&before),
        };
        put(caller, object, &name, Some(before), Some(after))?;
    }
    if let Some((there, before)) = own.depot_info {
        let after = metadata.update_info_stream(&before);
        if before != after {
            depot::rewrite(&*there, &after)?;
        }
    }
    if let Some(before) = own.finder_info {
        let after = metadata.finder_info_with_date().as_bytes().to_vec();
        put(caller, object, APPLE_FINDER_INFO, Some(before), Some(after))?;
    }
    let is_new = own.netatalk.is_none();
    match put(caller, object, NETATALK_METADATA, own.netatalk, netatalk) {
        // What the other attributes say already need not be said twice.
        Err(Error::NoRoomForAttribute) if is_new && says(object, metadata)? => Ok(()),
        other => other,
    }
}

/// Whether a file's attributes say this model, as far as a client's DOS attributes mean something to Macs.
fn says(object: &dyn Object, metadata: &Metadata) -> Result<bool> {
    let mut said = load_alone(object)?.0;
    said.set_dos(said.dos);
    Ok(said == *metadata)
}

/// Netatalk shows a file without a creation time as made in 1931.
pub(super) fn dated(metadata: &Metadata, object: &dyn Object) -> Result<Metadata> {
    let mut dated = metadata.clone();
    if dated.times.created.is_none() {
        let attributes = object.attributes()?;
        dated.times.created = Some(attributes.created.unwrap_or(attributes.modified));
    }
    Ok(dated)
}

/// Puts the model's Finder info into a sidecar's head, if that has a place for it.
pub(super) fn write_finder_info(sidecar: Sidecar, metadata: &Metadata) -> Result<()> {
    let info = metadata.finder_info_with_date();
    let Some(at) = sidecar.layout().and_then(|layout| layout.finder_info_at) else { return Ok(()) };
    if sidecar.parsed().is_none_or(|head| head.finder_info == info) {
        return Ok(());
    }
    let known = sidecar.absorbed()?.is_some_and(|absorbed| absorbed.print == sidecar.fingerprint());
    sidecar.write(at, info.as_bytes())?;
    if known { sidecar.again()?.note_absorbed() } else { Ok(()) }
}

/// Sets or removes one attribute, if it is not so already. An owner may, whatever the mode.
fn put(
    caller: &Caller,
    object: &dyn Object,
    name: &[u8],
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
) -> Result<()> {
    if before == after {
        return Ok(());
    }
    let change = |caller: &Caller| match &after {
        Some(value) => object.set_xattr(caller, name, value, XattrMode::Set),
        None => object.remove_xattr(caller, name),
    };
    match change(caller) {
        Err(Error::AccessDenied) if object.attributes()?.uid == caller.uid => change(&Caller::root()),
        other => other,
    }
}
