//! Access rights on a file, MS-SMB2 3.3.5.20.3 and MS-FSA 2.1.5.13.

use wire::Writer;

use super::{reply, too_small};
use crate::server::clients::open::Open;
use crate::server::context::{Context, Outcome};
use crate::server::files::mac::aces;
use crate::server::files::security;
use crate::server::files::sids;
use crate::wire::Status;
use crate::wire::query_info::Request;
use crate::wire::security::{AccessMask, SecurityInformation};

/// The requested parts. A client without enough room is told how much is needed.
pub(super) fn answer(context: &Context, open: &Open, request: &Request<'_>) -> Outcome {
    let file = open.file()?;
    let parts = SecurityInformation(request.additional_information);
    if parts != SecurityInformation::NONE {
        open.require(AccessMask::READ_CONTROL)?; // a request for no part needs no right
    }
    if parts.contains(SecurityInformation::SACL) {
        return Err(Status::ACCESS_DENIED.into()); // no open has ACCESS_SYSTEM_SECURITY
    }
    let mut w = Writer::new();
    let mut descriptor = security::descriptor(&security::shown_of(file)?, parts);
    sids::show(&mut descriptor, &context.service().config().unix);
    if context.is_mac() {
        aces::add(&mut descriptor, &file.open.attributes()?);
    }
    descriptor.encode(&mut w);
    let data = w.into_bytes();
    match data.len() > request.output_buffer_length as usize {
        true => Err(too_small(context, data.len())),
        false => Ok(reply(open, Status::SUCCESS, data)),
    }
}
