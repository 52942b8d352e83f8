//! The rules of connections, sessions and chains, through the harness.

mod binding;
mod chains;
mod early;
mod facts;
mod names;
mod namespaces;
mod negotiation;
mod new_settings;
mod observed;
mod posix;
mod robustness;
mod sealing;
mod sessions;
mod signing;
mod team;
mod trees;
mod waiting;

use super::testing::{User, connect, service, service_with};
use crate::client::{Answer, Client, Credentials, FrameProtection, Link, Offer, Request, SetUp};
use crate::wire::{Command, Status, echo, tree_connect};

/// An ECHO.
fn echo() -> Request {
    Request::new(Command::ECHO, |w| echo::Request.encode(w))
}

/// A TREE_CONNECT to a share.
fn tree_connect(share: &str) -> Request {
    let path = format!("\\\\fourfold\\{share}").encode_utf16().collect();
    let request = tree_connect::Request { flags: tree_connect::RequestFlags::NONE, path };
    Request::new(Command::TREE_CONNECT, |w| request.encode(w))
}

/// What comes of a request; `None` when the connection is over.
async fn status<L: Link>(
    client: &mut Client<L>,
    request: Request,
    how: FrameProtection<'_>,
) -> Option<Status> {
    client.call(request, how).await.ok().map(|answer: Answer| answer.status())
}

fn who((name, password): (&str, &str)) -> Credentials {
    Credentials::new(name, password)
}

const NEW: SetUp<'static> = SetUp::New { previous: 0 };
