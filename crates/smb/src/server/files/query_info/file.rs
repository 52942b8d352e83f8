//! Information about a file, MS-FSA 2.1.5.12.

use vfs::backend::Found;
use vfs::mac::info_stream;
use vfs::names::windows_view;
use vfs::{Attributes, Beside, Kind};
use wire::Writer;

use super::Answer;
use crate::server::clients::open::{File, Open};
use crate::server::config::{Dialect, ShareKind};
use crate::server::context::{Context, Failure};
use crate::server::files::create::{INFO, RESOURCE, as_asked, shown_stream};
use crate::server::files::facts::{self, Facts};
use crate::server::files::posix;
use crate::wire::Status;
use crate::wire::fscc::FileClass;
use crate::wire::fscc::file_info::{self as info, CaseSensitiveFlags};
use crate::wire::fscc::file_name::{All, Name};
use crate::wire::fscc::stream::{self, StreamEntry};
use crate::wire::security::AccessMask;

/// The room that Windows requires for an answer that ends with a name: its structure with the
/// padding.
const NAME_LEN: usize = 8;
const STREAM_LEN: usize = 32;
const ALL_LEN: usize = 104;

/// The answer of one class.
pub(super) async fn answer(context: &Context, open: &Open, class: FileClass) -> Result<Answer, Failure> {
    let file = open.file()?;
    if needs_attributes(class) {
        open.require(AccessMask::READ_ATTRIBUTES)?;
    }
    let mut w = Writer::new();
    match class {
        FileClass::STREAM => {
            stream::encode(&streams(context, file).await?, &mut w);
            return Ok(Answer::open_ended(w.into_bytes(), STREAM_LEN));
        }
        FileClass::NORMALIZED_NAME => {
            Name { name: normalized(context, file)? }.encode(&mut w);
            return Ok(Answer::open_ended(w.into_bytes(), NAME_LEN));
        }
        FileClass::ACCESS => info::FileAccess { access: as_asked(open.granted) }.encode(&mut w),
        FileClass::POSITION => info::FilePosition { current_byte_offset: file.position() }.encode(&mut w),
        FileClass::MODE => mode(file).encode(&mut w),
        FileClass::ALIGNMENT => info::Alignment { requirement: 0 }.encode(&mut w),
        _ => return of_facts(context, open, file, class).await,
    }
    Ok(Answer::whole(w.into_bytes()))
}

async fn of_facts(context: &Context, open: &Open, file: &File, class: FileClass) -> Result<Answer, Failure> {
    let facts = context.facts(open).await?;
    let mut w = Writer::new();
    match class {
        FileClass::BASIC => basic(&facts).encode(&mut w),
        FileClass::STANDARD => standard(file, &facts).encode(&mut w),
        FileClass::INTERNAL => info::Internal { index_number: facts.number(context) }.encode(&mut w),
        FileClass::EA => info::Ea { ea_size: facts::ea_size(file, &facts)? }.encode(&mut w),
        FileClass::NETWORK_OPEN => network_open(&facts).encode(&mut w),
        FileClass::ATTRIBUTE_TAG => {
            let (attributes, reparse_tag) = (facts.file_attributes(), facts.reparse_tag());
            info::AttributeTag { attributes, reparse_tag }.encode(&mut w);
        }
        FileClass::COMPRESSION => {
            info::Compression { compressed_size: facts.size, ..Default::default() }.encode(&mut w);
        }
        FileClass::ID => id(context, &facts)?.encode(&mut w),
        FileClass::ALL => {
            let all = All {
                basic: basic(&facts),
                standard: standard(file, &facts),
                internal: info::Internal { index_number: facts.number(context) },
                ea: info::Ea { ea_size: facts::ea_size(file, &facts)? },
                access: info::FileAccess { access: as_asked(open.granted) },
                position: info::FilePosition { current_byte_offset: file.position() },
                mode: mode(file),
                alignment: info::Alignment { requirement: 0 },
                name: Name { name: file.opened_as() },
            };
            all.encode(&mut w);
            return Ok(Answer::open_ended(w.into_bytes(), ALL_LEN));
        }
        FileClass::STANDARD_LINK => standard_link(&standard(file, &facts)).encode(&mut w),
        FileClass::STAT => stat(open, &facts).encode(&mut w),
        FileClass::CASE_SENSITIVE => {
            let sensitive = file.folding.case_sensitive;
            let flags = if sensitive { CaseSensitiveFlags::CASE_SENSITIVE_DIR } else { Default::default() };
            info::CaseSensitive { flags }.encode(&mut w);
        }
        FileClass::ALTERNATE_NAME => {
            Name { name: short_name(context, file)? }.encode(&mut w);
            return Ok(Answer::open_ended(w.into_bytes(), NAME_LEN));
        }
        FileClass::POSIX if file.is_posix => {
            open.require(AccessMask::READ_ATTRIBUTES)?;
            posix::info(file, &facts).encode(&mut w);
        }
        FileClass::POSIX => return Err(Status::NOT_SUPPORTED.into()),
        _ => return Err(Status::INVALID_INFO_CLASS.into()),
    }
    Ok(Answer::whole(w.into_bytes()))
}

/// Classes for which the file must have been opened to read attributes, MS-FSA 2.1.5.12.
fn needs_attributes(class: FileClass) -> bool {
    matches!(
        class,
        FileClass::BASIC
            | FileClass::ALL
            | FileClass::NETWORK_OPEN
            | FileClass::ATTRIBUTE_TAG
            | FileClass::STAT
            | FileClass::CASE_SENSITIVE
    )
}

fn basic(facts: &Facts) -> info::Basic {
    let attributes = &facts.attributes;
    info::Basic {
        creation_time: facts.created(),
        last_access_time: attributes.accessed.into(),
        last_write_time: attributes.modified.into(),
        change_time: facts.changed,
        attributes: facts.file_attributes(),
    }
}

fn standard(file: &File, facts: &Facts) -> info::Standard {
    let delete_pending = file.named().is_being_removed();
    info::Standard {
        allocation_size: facts.allocated(),
        end_of_file: facts.end_of_file(),
        number_of_links: if facts.attributes.kind == Kind::Folder { 1 } else { facts.attributes.links }
            .saturating_sub(delete_pending.into()),
        delete_pending,
        directory: facts.is_directory(),
    }
}

fn network_open(facts: &Facts) -> info::NetworkOpen {
    let basic = basic(facts);
    info::NetworkOpen {
        creation_time: basic.creation_time,
        last_access_time: basic.last_access_time,
        last_write_time: basic.last_write_time,
        change_time: basic.change_time,
        allocation_size: facts.allocated(),
        end_of_file: facts.end_of_file(),
        attributes: basic.attributes,
    }
}

fn standard_link(standard: &info::Standard) -> info::StandardLink {
    let &info::Standard { number_of_links, delete_pending, directory, .. } = standard;
    let total_links = number_of_links + u32::from(delete_pending);
    info::StandardLink { accessible_links: number_of_links, total_links, delete_pending, directory }
}

fn stat(open: &Open, facts: &Facts) -> info::Stat {
    let basic = basic(facts);
    info::Stat {
        file_id: facts.file_id,
        creation_time: basic.creation_time,
        last_access_time: basic.last_access_time,
        last_write_time: basic.last_write_time,
        change_time: basic.change_time,
        allocation_size: facts.allocated(),
        end_of_file: facts.end_of_file(),
        attributes: basic.attributes,
        reparse_tag: facts.reparse_tag(),
        number_of_links: if facts.attributes.kind == Kind::Folder { 1 } else { facts.attributes.links },
        effective_access: as_asked(open.granted),
    }
}

fn mode(file: &File) -> info::Mode {
    info::Mode { mode: file.mode() }
}

fn id(context: &Context, facts: &Facts) -> Result<info::Id, Status> {
    let ShareKind::Disk { volume, serial, .. } = &context.tree().share.kind else {
        return Err(Status::INVALID_DEVICE_REQUEST);
    };
    let mut file_id = [0; 16];
    file_id[..8].copy_from_slice(&facts.id.inode.to_le_bytes());
    file_id[8..].copy_from_slice(&volume.file_system(facts.id).to_le_bytes());
    Ok(info::Id { volume_serial_number: *serial, file_id })
}

/// The streams of a file: its data first, then the others.
async fn streams(context: &Context, file: &File) -> Result<Vec<StreamEntry>, Failure> {
    let facts = Facts::of(file).await?;
    let found = Found { object: file.open.node().clone(), attributes: facts.attributes };
    let Attributes { kind, size, allocated, .. } = facts.attributes;
    let (mut all, share) = (Vec::new(), &context.tree().share);
    let mut add = |name: &[u8], size, allocation_size| {
        let mut named: Vec<u16> = vec![u16::from(b':')];
        named.extend(share.shown(name));
        if !context.is_mac() {
            shown_stream(&mut named);
        }
        named.extend(":$DATA".encode_utf16());
        all.push(StreamEntry { size, allocation_size, name: named });
    };
    if kind != Kind::Folder {
        add(b"", size, allocated);
    }
    let (volume, place) = (context.tree().volume()?, file.open.place());
    let place = place.as_ref().map(|(folder, name)| Beside { folder, name });
    if !volume.metadata(&found, place)?.finder_info.is_none() {
        add(INFO.as_bytes(), info_stream::LEN as u64, info_stream::LEN as u64);
    }
    if let Some(place) = place.filter(|_| kind == Kind::File) {
        match volume.fork_len(&found, place)? {
            0 => {}
            fork => add(RESOURCE.as_bytes(), fork, fork),
        }
    }
    for other in volume.streams(file.open.actor(), &found, place).await? {
        if other.len == 0 && context.is_mac() {
            continue; // not shown to a Mac, see `create/stream.rs`
        }
        add(&other.name, other.len, other.allocated);
    }
    Ok(all)
}

/// The path without the backslash in front, MS-FSCC 2.4.30, with the name of the stream that is open. Only 3.1.1 has it.
fn normalized(context: &Context, file: &File) -> Result<Vec<u16>, Status> {
    if context.connection.negotiated().is_none_or(|agreed| agreed.dialect < Dialect::V3_1_1) {
        return Err(Status::NOT_SUPPORTED);
    }
    let mut path = context.tree().path_of(&file.open)?.split_off(1);
    if let vfs::state::Stream::Named(stream) = file.open.guard().stream() {
        path.push(u16::from(b':'));
        path.extend(context.tree().share.shown(stream.as_bytes()));
    }
    Ok(path)
}

/// The name in the form of DOS, MS-FSCC 2.4.5.
fn short_name(context: &Context, file: &File) -> Result<Vec<u16>, Status> {
    let (_, name) = file.open.place().ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
    Ok(windows_view(&context.service().short_names.of(&name)).into_iter().collect())
}
