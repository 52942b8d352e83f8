//! Kerberos 5 (`Client Krb v2`): the client's token is a ticket, and the server's answer proves that it has the service's key.

use auth::kerberos::Ticket;

use super::{Outcome, UamStep};
use crate::server::config::Config;
use crate::wire::ResultCode;
use crate::wire::login::{KerberosReply, KerberosToken};
use wire::Writer;

/// The bytes of the key that a client may ask for after the login.
const KEY: usize = 16;

/// Takes the second step. The name that the client sends does not count: the ticket says who it is.
pub(in crate::server) async fn enter(config: &Config, info: &[u8]) -> Outcome {
    let KerberosToken { token, .. } = KerberosToken::decode(info)?;
    let kerberos = config.kerberos.as_ref().ok_or(ResultCode::BAD_UAM)?;
    let ticket = match kerberos.accept(token.to_vec()).await {
        Ok(ticket) => ticket,
        Err(why) => {
            tracing::info!(%why, "a ticket of an AFP client is refused");
            return Err(ResultCode::USER_NOT_AUTH);
        }
    };
    let Ticket { principal, account, context, reply, .. } = ticket;
    let found = account.and_then(|name| config.accounts.find_in_any_case(&name));
    let Some(account) = found.filter(|account| !account.disabled) else {
        tracing::info!(principal, "a ticket of an AFP client is for no account that may log in");
        return Err(ResultCode::USER_NOT_AUTH);
    };
    let mut key = [0; KEY];
    let is_random = getrandom::fill(&mut key).is_ok();
    let key = if is_random { context.seal(&key) } else { None };
    let mut w = Writer::new();
    KerberosReply { token: &reply }.encode(&mut w);
    Ok(UamStep::Entered { account, reply: w.into_bytes(), key })
}
