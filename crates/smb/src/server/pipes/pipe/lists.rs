//! Lists that a client takes in parts.

use crate::wire::rpc::WinError;
use crate::wire::rpc::level::{Levels, ListRequest, ListResponse};

/// The part of `all` that `list` asks for, MS-SRVS 3.1.4.8 and the like: it begins where the last
/// part ended, and has as many entries as the preferred length allows.
pub(super) fn answer<T: Levels>(list: &ListRequest, all: Result<Vec<T>, WinError>) -> Vec<u8> {
    if !T::LISTED.contains(&list.level) {
        return refuse::<T>(list, WinError::INVALID_LEVEL);
    }
    match all {
        Ok(all) => part(list, &all),
        Err(status) => refuse::<T>(list, status),
    }
}

fn refuse<T: Levels>(list: &ListRequest, status: WinError) -> Vec<u8> {
    ListResponse::<T> { level: list.level, entries: &[], total: 0, resume: list.resume, status }.encode()
}

fn part<T: Levels>(list: &ListRequest, all: &[T]) -> Vec<u8> {
    let start = (list.resume.unwrap_or(0) as usize).min(all.len());
    let rest = &all[start..];
    let count = fitting(rest, list);
    let (resume, status) = match count {
        _ if count == rest.len() => (0, WinError::OK),
        0 => (start, WinError::BUF_TOO_SMALL),
        _ => (start + count, WinError::MORE_DATA),
    };
    let resume = list.resume.map(|_| resume as u32);
    ListResponse { level: list.level, entries: &rest[..count], total: rest.len(), resume, status }.encode()
}

fn fitting<T: Levels>(rest: &[T], list: &ListRequest) -> usize {
    if list.preferred_length == u32::MAX {
        return rest.len();
    }
    let sums = rest.iter().scan(0, |sum, entry| {
        *sum += entry.size(list.level);
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= list.preferred_length as usize).count()
}
