//! Changes of a password, Apple Filing Protocol Reference, FPChangePassword: the steps of a login,
//! but in the last step the new password comes before the old one (only `Cleartxt Passwrd` has the
//! old one first).

use auth::LEGACY;

use super::sealed::PasswordDecryption;
use super::{Judge, Method, dhx, dhx2, typed};
use crate::wire::ResultCode;

/// The progress of a change.
pub(in crate::server) enum Step {
    /// The server sends this, and waits for the client's next step.
    Continue(Vec<u8>, Change),
    /// The new and the old password.
    Passwords { new: String, old: String },
}

/// A change of several steps, between two of them.
pub(in crate::server) enum Change {
    Dhx2Offered(dhx2::Dhx2Exchange),
    Dhx2(PasswordDecryption),
    Dhx(PasswordDecryption),
}

/// The first step.
pub(in crate::server) fn start(method: Method, info: &[u8], judge: &Judge<'_>) -> Result<Step, ResultCode> {
    match method {
        Method::Dhx2 => {
            let (reply, offered) = dhx2::Dhx2Exchange::new(judge)?;
            Ok(Step::Continue(reply, Change::Dhx2Offered(offered)))
        }
        Method::Dhx => {
            let key = info.get(2..).ok_or(ResultCode::PARAM_ERROR)?; // after an unused number
            let (reply, sealed) = dhx::agree(key, judge)?;
            Ok(Step::Continue(reply, Change::Dhx(sealed)))
        }
        Method::Cleartext => {
            let (old, new) = info.split_at_checked(LEGACY).ok_or(ResultCode::PARAM_ERROR)?;
            let new = new.get(..LEGACY).ok_or(ResultCode::PARAM_ERROR)?;
            Ok(Step::Passwords { new: typed(new), old: typed(old) })
        }
        Method::Kerberos | Method::Srp | Method::TwoWayRandnum | Method::Randnum | Method::Guest => {
            Err(ResultCode::CALL_NOT_SUPPORTED)
        }
    }
}

impl Change {
    /// The next step.
    pub(in crate::server) fn next(self, info: &[u8], judge: &Judge<'_>) -> Result<Step, ResultCode> {
        match self {
            Self::Dhx2Offered(offered) => {
                let (reply, sealed) = offered.agree(info, judge)?;
                Ok(Step::Continue(reply, Self::Dhx2(sealed)))
            }
            Self::Dhx2(sealed) => passwords(&sealed.open(info, 2, dhx2::PASSWORD)?),
            Self::Dhx(sealed) => passwords(&sealed.open(info, 2, dhx::PASSWORD)?),
        }
    }
}

fn passwords(sent: &[Vec<u8>]) -> Result<Step, ResultCode> {
    let [new, old] = sent else { return Err(ResultCode::PARAM_ERROR) };
    Ok(Step::Passwords { new: typed(new), old: typed(old) })
}
