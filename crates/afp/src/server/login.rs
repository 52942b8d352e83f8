//! Logins, Apple Filing Protocol Reference, FPLogin, FPLoginExt, FPLoginCont, FPChangePassword, FPGetAuthMethods, FPLogout.

use std::sync::Arc;

use bytes::Bytes;

use super::connection::Connection;
use super::request::Outcome;
use crate::wire::{ResultCode, command};

/// What may be said before anybody has logged in.
pub(super) async fn before(_connection: &Arc<Connection>, number: u8, _body: &Bytes) -> Outcome {
    match number {
        command::LOGIN | command::LOGIN_EXT | command::LOGIN_CONT => Err(ResultCode::BAD_UAM),
        _ => Err(ResultCode::USER_NOT_AUTH),
    }
}

/// The same commands from somebody who has.
pub(super) async fn after(connection: &Arc<Connection>, number: u8, _body: &Bytes) -> Outcome {
    match number {
        command::LOGOUT => {
            connection.log_out();
            Ok(super::request::Reply::empty())
        }
        _ => Err(ResultCode::USER_ALREADY_LOGGED_ON),
    }
}
