//! Session commands, Apple Filing Protocol Reference, FPGetSrvrParms, FPGetSrvrMsg,
//! FPGetSessionToken, FPDisconnectOldSession, FPZzz.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use vfs::names;

use super::session::Session;
use super::session_life::ClientIdentifier;
use super::session_pulse::ASLEEP;
use super::session_token::{self, MAX_NAME};
use crate::catalogue::CatalogId;
use crate::server::files::params;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::names::{long_volume_name, utf8_name};
use crate::wire::session::{
    Asleep, DisconnectOldSession, GetSessionToken, GetSrvrMsg, ListedVolume, SessionToken, SrvrMsg,
    SrvrParms, TokenKind, Zzz,
};
use crate::wire::{ResultCode, command};

/// The longest list of volumes: clients of Mac OS X close the connection if it is longer.
const MAX_LIST: usize = 4600;
/// The longest text in MacRoman.
const MAX_TEXT: usize = 199;
/// The longest text in UTF-8.
const MAX_UTF8_TEXT: usize = 1000;

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::GET_SRVR_PARMS => volumes(request),
        command::GET_SRVR_MSG => message(request),
        command::GET_SESSION_TOKEN => token(request),
        command::DISCONNECT_OLD_SESSION => come_back(request).await,
        command::ZZZ => sleep(request),
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPGetSrvrParms: the volumes that the user may open.
fn volumes(request: &Request) -> Outcome {
    let config = request.session.service.config();
    let mut room = MAX_LIST;
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    let shares = config.shares.iter().filter(|share| request.session.grant(share).is_some());
    let shares = shares.map(|share| (&*share.name, share.options.password.is_some()));
    let homes = config.homes_of(&request.session).map(|(homes, name)| (name, homes.has_password));
    for (name, has_password) in homes.chain(shares) {
        let shown = match request.version().is_3() {
            true => utf8_name(name.as_bytes()).into_owned().into_bytes(),
            false => long_volume_name(name),
        };
        let Some(left) = room.checked_sub(shown.len() + 2).filter(|_| names.len() < 255) else {
            left_out.push(name);
            continue;
        };
        room = left;
        let flags = if has_password { ListedVolume::HAS_PASSWORD } else { 0 };
        names.push((flags, shown));
    }
    tell_of_left_out(request, &left_out);
    let volumes = names.iter().map(|(flags, name)| ListedVolume { flags: *flags, name }).collect();
    let time = params::date(Some(SystemTime::now().into())) as i32;
    Ok(Reply::encoded(|w| SrvrParms { time, volumes }.encode(w)))
}

/// The reply has no second page: 255 volumes and some bytes of names. Those that do not fit can be opened by name. The log
/// says which, again only when their number changes.
fn tell_of_left_out(request: &Request, left_out: &[&str]) {
    const MOST_NAMED: usize = 20;
    let before = request.session.service.left_out.swap(left_out.len(), Ordering::Relaxed);
    if left_out.is_empty() || before == left_out.len() {
        return;
    }
    let named = left_out.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if left_out.len() > MOST_NAMED { ", …" } else { "" };
    tracing::warn!(
        count = left_out.len(),
        "Macs are not shown these volumes, as the list of AFP has no room for more: {named}{more}. They open by \
         `afp://server/NAME`; `afp = false` takes other shares out of the list"
    );
}

/// FPGetSrvrMsg: the greeting, or the administrator's last message.
fn message(request: &Request) -> Outcome {
    let GetSrvrMsg { kind, bitmap } = GetSrvrMsg::decode(&mut request.reader())?;
    let known = if request.version().is_3() { GetSrvrMsg::TEXT | GetSrvrMsg::UTF8 } else { GetSrvrMsg::TEXT };
    if bitmap & !known != 0 {
        return Err(ResultCode::BITMAP_ERROR);
    }
    let service = &request.session.service;
    let text = match kind {
        GetSrvrMsg::LOGIN => service.config().greeting.clone().unwrap_or_default(),
        GetSrvrMsg::SERVER => {
            let own = request.session.told.message();
            own.or_else(|| service.message()).map_or(String::new(), |text| text.to_string())
        }
        _ => return Err(ResultCode::BITMAP_ERROR),
    };
    let text = match bitmap & GetSrvrMsg::UTF8 {
        0 => mac_roman(&text),
        _ => text.as_bytes()[..text.floor_char_boundary(MAX_UTF8_TEXT)].to_vec(),
    };
    Ok(Reply::encoded(|w| SrvrMsg { kind, bitmap, text: &text }.encode(w)))
}

/// A text in MacRoman, cut to the length that old clients accept. Other characters become question
/// marks.
fn mac_roman(text: &str) -> Vec<u8> {
    let mut room = [0; 4];
    let one = |c: char| match c {
        '\n' => b'\r', // the Mac's line ending
        ':' => b':',
        '/' => b'/',
        _ => {
            let short = names::short_view(c.encode_utf8(&mut room).as_bytes(), CatalogId::ROOT.0, MAX_TEXT);
            if let [byte] = short[..] { byte } else { b'?' }
        }
    };
    text.chars().take(MAX_TEXT).map(one).collect()
}

/// FPGetSessionToken: the token allows the client to reconnect, and the name identifies the
/// client's other sessions.
fn token(request: &Request) -> Outcome {
    let GetSessionToken { kind, time, id } = GetSessionToken::decode(&mut request.reader())?;
    if id.len() > MAX_NAME {
        return Err(ResultCode::PARAM_ERROR);
    }
    let session = &request.session;
    let name = ClientIdentifier { id: id.into(), time };
    match kind {
        TokenKind::LOGIN_WITHOUT_ID => {}
        TokenKind::LOGIN_WITH_ID | TokenKind::LOGIN_WITH_TIME_AND_ID => {
            end_others(session, &name);
            session.life.set_name(name);
        }
        TokenKind::RECONNECT_WITH_ID | TokenKind::RECONNECT_WITH_TIME_AND_ID => session.life.set_name(name),
        TokenKind::KERBEROS_SESSION_KEY => {
            let token = session.key().ok_or(ResultCode::CALL_NOT_SUPPORTED)?;
            return Ok(Reply::encoded(|w| SessionToken { token }.encode(w)));
        }
        // For the Reconnect UAM, which is not offered.
        _ => return Err(ResultCode::CALL_NOT_SUPPORTED),
    }
    let secret = session.life.secret().ok_or(ResultCode::MISC_ERROR)?;
    let token = secret.token(session.id);
    Ok(Reply::encoded(|w| SessionToken { token: &token }.encode(w)))
}

/// Ends older sessions of the same user's same machine, which has restarted since. A session
/// without a start time counts as older.
fn end_others(session: &Arc<Session>, name: &ClientIdentifier) {
    if name.id.is_empty() {
        return;
    }
    for other in session.service.all_sessions() {
        let is_its = |theirs: &ClientIdentifier| {
            theirs.id == name.id && (theirs.time != name.time || name.time.is_none())
        };
        let is_same = other.life.name().as_ref().is_some_and(is_its);
        if other.id != session.id && is_same && other.user.is(&session.user) {
            other.service.end_session(&other);
            other.close();
        }
    }
}

/// FPDisconnectOldSession: the client continues the session of its lost connection. The result does
/// not say what is wrong with a token. If the session was at a server of the cluster that is lost, it is
/// gone, and nothing of it is in the way any more when the client hears that.
async fn come_back(request: &Request) -> Outcome {
    let DisconnectOldSession { token, .. } = DisconnectOldSession::decode(&mut request.reader())?;
    let now = &request.session;
    let connection = now.connection().ok_or(ResultCode::SESSION_CLOSED)?;
    let (number, secret) = session_token::parts(token).map_err(|_| ResultCode::MISC_ERROR)?;
    now.service.wait_for_loss(number).await;
    let old = now.service.session(number).filter(|old| old.life.has_secret(secret));
    let its_own =
        |old: &Arc<Session>| old.id != now.id && old.user.is(&now.user) && old.version == now.version;
    let old = old.filter(its_own).ok_or(ResultCode::MISC_ERROR)?;
    connection.take_over(&old)?;
    Ok(Reply::empty())
}

/// FPZzz.
fn sleep(request: &Request) -> Outcome {
    let Zzz { flags } = Zzz::decode(&mut request.reader())?;
    match flags & Zzz::WAKE {
        0 => request.session.life.fall_asleep(flags & Zzz::EXTENDED != 0),
        _ => request.session.life.wake_up(),
    }
    let hours = (ASLEEP.as_secs() / 3600) as u32;
    Ok(Reply::encoded(|w| Asleep { hours }.encode(w)))
}

#[cfg(test)]
mod sockets;
#[cfg(test)]
mod tests;
