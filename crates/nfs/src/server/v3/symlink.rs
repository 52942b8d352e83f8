//! SYMLINK, RFC 1813 3.3.10.

use vfs::backend::NewKind;
use wire::Writer;

use super::create::{answer, make};
use super::target::new_name;
use crate::server::answer::Answer;
use crate::server::call::Call;
use crate::wire::v3::symlink::Request;
use crate::wire::v3::types::{Sattr3, Status};

/// The longest target of a link (PATH_MAX of Linux less its NUL).
const LONGEST_TARGET: usize = 4095;

/// SYMLINK, RFC 1813 3.3.10. Links have no mode of their own on this host: the mode in the call is
/// ignored.
pub(super) fn symlink(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    answer(call, &request.place.dir, w, |folder| {
        let target: &[u8] = &request.data;
        if target.is_empty() || target.contains(&0) {
            return Err(Status::INVAL);
        }
        if target.len() > LONGEST_TARGET {
            return Err(Status::NAMETOOLONG);
        }
        let wanted = Sattr3 { mode: None, size: None, ..request.attributes };
        make(folder, new_name(&request.place.name)?, NewKind::Link(target), &wanted, 0o777)
    })
}
