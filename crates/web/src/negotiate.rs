//! Logging in to the console by a Kerberos ticket: SPNEGO over HTTP, RFC 4559.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use auth::kerberos::Ticket;
use auth::second_factor::FactorVerdict;
use auth::{Account, Event, Login};
use axum::Json;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::admitted::{check_site, set_cookie};
use crate::answer::{Failure, blocking};
use crate::login::LoggedIn;
use crate::logins::{self, LONGEST_LIFE};
use crate::{Api, second_factor};

const SCHEME: &str = "Negotiate";
const METHOD: &str = "Kerberos";
/// NTLM's signature: browsers without a ticket send it instead.
const NTLM: &[u8] = b"NTLMSSP\0";

/// Begins a session of the account that a Kerberos ticket is for. Without `Authorization: Negotiate` the answer asks for it. As for other
/// changes of a session, the header `X-Fourfold-Console: 1` is needed.
#[utoipa::path(post, path = "/v1/login/negotiate", responses((status = 200, description = "The session has begun", body = LoggedIn), (status = "4XX", description = "Refused; 401 without a ticket", body = Failure)))]
pub(crate) async fn negotiate(State(api): State<Api>, request: Request) -> Result<Response, Failure> {
    check_site(&request)?;
    let Some(kerberos) = api.manage.kerberos() else {
        let hint = "this server has no keytab (`kerberos-keytab`): log in with a password";
        return Err(Failure::new(StatusCode::NOT_FOUND, hint));
    };
    let Some(token) = token(request.headers()) else {
        let asked =
            Failure::new(StatusCode::UNAUTHORIZED, "send a Kerberos ticket: `Authorization: Negotiate`");
        return Ok(([(header::WWW_AUTHENTICATE, SCHEME)], asked).into_response());
    };
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let peer = peer.unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into());
    let refused = |user: &str, why: &str, status, text: String| {
        let line = Login { protocol: "api", peer, user, method: METHOD };
        api.login_guard.log.tell(&line, Event::Failed(why), Instant::now());
        Err(Failure::new(status, text))
    };
    if token.starts_with(NTLM) {
        let text = "the browser has no Kerberos ticket for this server".to_owned();
        return refused("", "NTLM instead of a ticket", StatusCode::UNAUTHORIZED, text);
    }
    let ticket = match kerberos.accept(token).await {
        Ok(ticket) => ticket,
        Err(why) => {
            let text = format!("the ticket is refused: {why}");
            return refused("", &why.to_string(), StatusCode::UNAUTHORIZED, text);
        }
    };
    let Some(account) = administrator(&api, &ticket) else {
        let text = format!("{} may not administer this server", ticket.principal);
        let why = "it is no account that may administer the server";
        return refused(&ticket.principal, why, StatusCode::FORBIDDEN, text);
    };
    let (factors, name) = (api.factors.clone(), account.name.clone());
    let checked = blocking(move || second_factor::check(&factors, &name, None)).await?;
    if checked != Ok(FactorVerdict::NotSet) {
        let text = format!("{} has a second factor: log in with the password and a code", account.name);
        let why = "a ticket without the second factor";
        return refused(&ticket.principal, why, StatusCode::FORBIDDEN, text);
    }
    begun(&api, peer, account, &ticket.reply).await
}

/// The session of an account, and the server's reply to its ticket.
async fn begun(api: &Api, peer: SocketAddr, account: Account, reply: &[u8]) -> Result<Response, Failure> {
    let (user, now) = (account.name.clone(), Instant::now());
    let record = logins::record(&api.login_guard, peer, (&user, METHOD), now);
    let hint = "the system gives no random numbers for a session";
    let secret = api.logins.begin(account, record, now);
    let secret = secret.ok_or_else(|| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, hint))?;
    let headers = [
        (header::SET_COOKIE, set_cookie(api, &secret, LONGEST_LIFE.as_secs())),
        (header::WWW_AUTHENTICATE, format!("{SCHEME} {}", BASE64_STANDARD.encode(reply))),
    ];
    Ok((headers, Json(LoggedIn::of(api, user).await)).into_response())
}

/// The token that a client sends; empty if it is no base64, which Kerberos refuses.
fn token(headers: &HeaderMap) -> Option<Vec<u8>> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| BASE64_STANDARD.decode(token.trim()).unwrap_or_default())
}

/// The account of a ticket's user, if it may administer the server. Names of users count in any case, as for other protocols.
fn administrator(api: &Api, ticket: &Ticket) -> Option<Account> {
    let name = ticket.account.as_deref()?;
    api.manage.administrator(name).or_else(|| api.manage.administrator(&name.to_lowercase()))
}
