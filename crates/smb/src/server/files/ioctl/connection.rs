//! VALIDATE_NEGOTIATE_INFO and LMR_REQUEST_RESILIENCY, MS-SMB2 3.3.5.15.12 and 3.3.5.15.9.

use std::sync::atomic::Ordering;

use vfs::Kind;

use super::{IoctlCall, IoctlOutput};
use crate::server::clients::open::Open;
use crate::server::config::Dialect;
use crate::server::context::{Context, Failure};
use crate::server::login::negotiate::{Negotiation, choose};
use crate::wire::Status;
use crate::wire::fsctl::negotiate::{Resiliency, ValidateRequest, ValidateResponse};
use crate::wire::values::Dialect as Revision;

/// The longest time that an open waits for its client, and the default.
const MAX_RESILIENCY_MS: u32 = 300_000;
const RESILIENCY_MS: u32 = 120_000;
/// How long the response is.
const RESPONSE_LEN: usize = 24;

/// Repeats the result of the negotiation, now signed. If the client sent other values in its
/// NEGOTIATE, an attacker in the middle has changed them: the connection ends without an answer.
pub(super) fn validate(asked: &IoctlCall<'_>) -> Result<IoctlOutput, Failure> {
    let context = asked.context;
    let negotiated = context.connection.negotiated().ok_or(Status::INVALID_PARAMETER)?;
    let said = ValidateRequest::decode(&mut asked.input());
    let agrees = said.is_ok_and(|said| agrees(context, negotiated, &said));
    if negotiated.dialect == Dialect::V3_1_1 || asked.room() < RESPONSE_LEN || !agrees {
        context.connection.close();
        return Err(Status::ACCESS_DENIED.into());
    }
    let response = ValidateResponse {
        capabilities: negotiated.server_capabilities.0,
        server_guid: context.service().config().guid,
        security_mode: negotiated.server_security_mode.0,
        dialect: negotiated.dialect.number(),
    };
    Ok(IoctlOutput::encoded(|w| response.encode(w)))
}

/// Lets an open outlive its connection, whatever caching it has.
pub(super) fn resiliency(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let negotiated = asked.context.connection.negotiated().ok_or(Status::INVALID_PARAMETER)?;
    let file = open.file()?;
    if negotiated.dialect < Dialect::V2_1 || file.open.node().kind() != Kind::File {
        return Err(Status::INVALID_DEVICE_REQUEST.into());
    }
    let timeout_ms = match Resiliency::decode(&mut asked.input())?.timeout_ms {
        0 => RESILIENCY_MS,
        asked if asked <= MAX_RESILIENCY_MS => asked,
        _ => return Err(Status::INVALID_PARAMETER.into()),
    };
    open.resilient_ms.store(timeout_ms, Ordering::Relaxed);
    Ok(IoctlOutput::none())
}

fn agrees(context: &Context, negotiated: &Negotiation, said: &ValidateRequest) -> bool {
    let offered: Vec<_> = said.dialects.iter().map(|dialect| Revision(*dialect)).collect();
    choose(&context.service().config(), &offered) == Ok(negotiated.dialect)
        && said.client_guid == negotiated.client_guid
        && said.security_mode == negotiated.security_mode.0
        && said.capabilities == negotiated.capabilities.0
}
