//! Who makes a change, and whether that person has given the own password with it.
//!
//! A token may be in the wrong hands, and a session may have been left open. What changes who anybody is, whom the server trusts
//! or what it reaches is done by a person only: the request has the password of the administrator whose session it is, and wrong
//! ones count as those of logins. [`admin::settings::Authority`] says which settings these are.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Extension;
use axum::extract::ConnectInfo;
use axum::http::StatusCode;
use axum::response::Response;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Failure, done};
use crate::login::{self, LoginFactor};

/// The address of the client.
pub(crate) type Peer = Option<Extension<ConnectInfo<SocketAddr>>>;

/// The author of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The account; for a token `token NAME`.
    pub name: String,
    /// It is an administrator who has given the own password with this change.
    pub is_verified: bool,
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeRefusal {
    /// An administrator has to give the own password with it. The text says what demands that.
    NeedsPassword(String),
    /// The lines have the reasons.
    Refused(Vec<String>),
}

impl From<Vec<String>> for ChangeRefusal {
    fn from(lines: Vec<String>) -> Self {
        Self::Refused(lines)
    }
}

/// What was done, or why nothing was.
pub type ChangeResult = Result<Vec<String>, ChangeRefusal>;

impl Author {
    /// The author of a change that has this password, if it has one.
    pub(crate) async fn of(
        api: &Api,
        (actor, peer): (&Actor, Peer),
        own_password: Option<String>,
    ) -> Result<Self, Failure> {
        let name = actor.name.clone();
        match own_password.filter(|text| !text.is_empty()) {
            None => Ok(Self { name, is_verified: false }),
            Some(password) => {
                verify(api, actor, peer, password).await?;
                Ok(Self { name, is_verified: true })
            }
        }
    }

    /// Refuses a change that needs a person.
    pub(crate) fn check_verified(&self, what: &str) -> Result<(), Failure> {
        if self.is_verified { Ok(()) } else { Err(needs_password(what)) }
    }
}

fn needs_password(what: &str) -> Failure {
    let hint = format!(
        "{what} changes identity or trust: an administrator does that in a session, and gives the own password, too \
         (`own_password`); or use `fourfold` on the server"
    );
    Failure::new(StatusCode::FORBIDDEN, hint).needing("own_password")
}

/// The answer to a change.
pub(crate) fn changed(result: ChangeResult) -> Result<Response, Failure> {
    match result {
        Ok(lines) => done(Ok(lines)),
        Err(ChangeRefusal::Refused(lines)) => done(Err(lines)),
        Err(ChangeRefusal::NeedsPassword(what)) => Err(needs_password(&what)),
    }
}

async fn verify(api: &Api, actor: &Actor, peer: Peer, password: String) -> Result<(), Failure> {
    if actor.session.is_none() {
        let hint = "a token does not become a person by a password: log in (`POST /v1/login`), and send it in that session";
        return Err(Failure::new(StatusCode::FORBIDDEN, hint));
    }
    let peer = peer.map_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into(), |Extension(ConnectInfo(peer))| peer);
    match login::checked(api, peer, actor.name.clone(), (password, LoginFactor::OfSession)).await {
        Ok(_) => Ok(()),
        // 401 would say that the session has ended, which is not so.
        Err(failure) if failure.status() == StatusCode::UNAUTHORIZED => {
            let hint = "your own password is wrong; nothing was changed";
            Err(Failure::new(StatusCode::FORBIDDEN, hint).needing("own_password"))
        }
        Err(failure) => Err(failure),
    }
}
