//! Extended attributes, MS-FSA 2.1.5.12.10.

use std::sync::atomic::Ordering;

use vfs::Xattr;
use wire::Writer;

use super::reply;
use crate::server::clients::open::{File, Open};
use crate::server::context::Outcome;
use crate::server::files::extended_attributes;
use crate::wire::Status;
use crate::wire::fscc::ea::{self, EaFlags, FullEa};
use crate::wire::query_info::{Flags, Request, ea_names};
use crate::wire::security::AccessMask;

/// The named attributes; or those from an index on, from the beginning, or from the end of the last
/// answer.
pub(super) fn answer(open: &Open, file: &File, request: &Request<'_>) -> Outcome {
    open.require(AccessMask::READ_EA)?;
    let all = extended_attributes::of(file.open.volume(), &file.open.found()?)?;
    let room = request.output_buffer_length as usize;
    let single = request.flags.contains(Flags::RETURN_SINGLE_ENTRY);
    if !request.input.is_empty() {
        let wanted = named(&all, request.input)?;
        let (data, count) = fill(wanted.iter().cloned(), room, single);
        return match count {
            0 => Err(Status::BUFFER_TOO_SMALL.into()),
            _ if count < wanted.len() && !single => Ok(reply(open, Status::BUFFER_OVERFLOW, data)),
            _ => Ok(reply(open, Status::SUCCESS, data)),
        };
    }
    let first = first(file, &all, request)?;
    let rest = &all[first..];
    let (data, count) = fill(rest.iter().map(full), room, single);
    if count == 0 {
        return Err(Status::BUFFER_TOO_SMALL.into());
    }
    file.ea_cursor.store(first + count, Ordering::Relaxed);
    let cut = count < rest.len() && !single;
    Ok(reply(open, if cut { Status::BUFFER_OVERFLOW } else { Status::SUCCESS }, data))
}

/// Where the answer begins in the list.
fn first(file: &File, all: &[Xattr], request: &Request<'_>) -> Result<usize, Status> {
    if all.is_empty() {
        return Err(Status::NO_EAS_ON_FILE);
    }
    if request.flags.contains(Flags::INDEX_SPECIFIED) {
        // Counted from 1.
        let index = request.additional_information as usize;
        return match index.checked_sub(1) {
            Some(first) if first < all.len() => Ok(first),
            Some(first) if first == all.len() => Err(Status::NO_MORE_EAS),
            _ => Err(Status::NONEXISTENT_EA_ENTRY),
        };
    }
    let first = match request.flags.contains(Flags::RESTART_SCAN) {
        true => 0,
        false => file.ea_cursor.load(Ordering::Relaxed),
    };
    if first < all.len() { Ok(first) } else { Err(Status::NO_MORE_EAS) }
}

/// The attributes of these names, in their order; one that is not there has an empty value.
fn named(all: &[Xattr], input: &[u8]) -> Result<Vec<FullEa>, Status> {
    let names = ea_names(input).map_err(|_| Status::EA_LIST_INCONSISTENT)?;
    let find = |name: &[u8]| match all.iter().find(|ea| ea.name.eq_ignore_ascii_case(name)) {
        Some(ea) => full(ea),
        None => FullEa { name: name.to_vec(), ..FullEa::default() },
    };
    Ok(names.into_iter().map(find).collect())
}

fn full(ea: &Xattr) -> FullEa {
    FullEa { flags: EaFlags::NONE, name: ea.name.clone(), value: ea.value.clone() }
}

/// Writes as many attributes as fit. Returns their bytes and their number.
fn fill(eas: impl Iterator<Item = FullEa>, room: usize, single: bool) -> (Vec<u8>, usize) {
    let (mut fits, mut length) = (Vec::new(), 0usize);
    for ea in eas {
        let begin = length.next_multiple_of(4);
        if begin + ea.len() > room {
            break;
        }
        length = begin + ea.len();
        fits.push(ea);
        if single {
            break;
        }
    }
    let mut w = Writer::new();
    ea::encode(&fits, &mut w);
    (w.into_bytes(), fits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ea(name: &str, value: &str) -> FullEa {
        FullEa { flags: EaFlags::NONE, name: name.into(), value: value.into() }
    }

    /// MS-FSCC 2.4.16: 8 bytes, the name with its NUL, the value; each at a multiple of 4.
    #[test]
    fn as_many_are_said_as_there_is_room_for() {
        let two = || [ea("ONE", "1"), ea("TWO", "22")].into_iter();
        let (data, count) = fill(two(), 30, false);
        assert_eq!((data.len(), count), (16 + 14, 2));
        assert_eq!(fill(two(), 29, false).1, 1);
        assert_eq!(fill(two(), 12, false).1, 0);
        assert_eq!(fill(two(), 100, true).1, 1);
    }

    #[test]
    fn a_name_that_is_not_there_has_an_empty_value() {
        let all = [Xattr { name: b"One".to_vec(), value: b"1".to_vec() }];
        let input = b"\x0c\0\0\0\x03ONE\0\0\0\0\0\0\0\0\x03two\0";
        assert_eq!(named(&all, input), Ok(vec![ea("One", "1"), ea("two", "")]));
        assert_eq!(named(&all, b"\x01\0\0\0\x03one\0"), Err(Status::EA_LIST_INCONSISTENT));
    }
}
