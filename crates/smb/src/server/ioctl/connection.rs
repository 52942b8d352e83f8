//! VALIDATE_NEGOTIATE_INFO, MS-SMB2 3.3.5.15.12.

use super::{Asked, Output};
use crate::server::config::Dialect;
use crate::server::context::{Context, Failure};
use crate::server::negotiate::{Negotiated, choose};
use crate::wire::Status;
use crate::wire::fsctl::negotiate::{ValidateRequest, ValidateResponse};
use crate::wire::values::Dialect as Revision;

/// How long the response is.
const RESPONSE_LEN: usize = 24;

/// Says again what was agreed on, now signed. A client that was understood otherwise than it meant has somebody in the
/// middle: its connection ends without an answer.
pub(super) fn validate(asked: &Asked<'_>) -> Result<Output, Failure> {
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
    Ok(Output::encoded(|w| response.encode(w)))
}

fn agrees(context: &Context, negotiated: &Negotiated, said: &ValidateRequest) -> bool {
    let offered: Vec<_> = said.dialects.iter().map(|dialect| Revision(*dialect)).collect();
    choose(&context.service().config(), &offered) == Ok(negotiated.dialect)
        && said.client_guid == negotiated.client_guid
        && said.security_mode == negotiated.security_mode.0
        && said.capabilities == negotiated.capabilities.0
}
