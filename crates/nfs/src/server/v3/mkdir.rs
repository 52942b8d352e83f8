use vfs::backend::NewKind;
use wire::Writer;

use super::create::{answer, make};
use super::target::new_name;
use crate::server::answer::Answer;
use crate::server::call::Call;
use crate::wire::v3::mkdir::Request;

/// MKDIR, RFC 1813 3.3.9.
pub(super) fn mkdir(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    answer(call, &request.place.dir, w, |folder| {
        make(folder, new_name(&request.place.name)?, NewKind::Folder, &request.attributes, 0o755)
    })
}
