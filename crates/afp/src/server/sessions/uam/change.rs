//! Changes of a password, Apple Filing Protocol Reference, FPChangePassword: the steps of a login,
//! but in the last step the new password comes before the old one (only `Cleartxt Passwrd` has the
//! old one first).

use auth::LEGACY;

use super::sealed::PasswordDecryption;
use super::{UamContext, UamMethod, dhx, dhx2, typed};
use crate::wire::ResultCode;

/// The progress of a change.
pub(in crate::server) enum ChangeStep {
    /// The server sends this, and waits for the client's next step.
    Continue(Vec<u8>, ChangeExchange),
    /// The new and the old password.
    Passwords { new: String, old: String },
}

/// A change of several steps, between two of them.
pub(in crate::server) enum ChangeExchange {
    Dhx2Offered(dhx2::Dhx2Exchange),
    Dhx2(PasswordDecryption),
    Dhx(PasswordDecryption),
}

/// The first step.
pub(in crate::server) fn start(
    method: UamMethod,
    info: &[u8],
    judge: &UamContext<'_>,
) -> Result<ChangeStep, ResultCode> {
    match method {
        UamMethod::Dhx2 => {
            let (reply, offered) = dhx2::Dhx2Exchange::new(judge)?;
            Ok(ChangeStep::Continue(reply, ChangeExchange::Dhx2Offered(offered)))
        }
        UamMethod::Dhx => {
            let key = info.get(2..).ok_or(ResultCode::PARAM_ERROR)?; // after an unused number
            let (reply, sealed) = dhx::agree(key, judge)?;
            Ok(ChangeStep::Continue(reply, ChangeExchange::Dhx(sealed)))
        }
        UamMethod::Cleartext => {
            let (old, new) = info.split_at_checked(LEGACY).ok_or(ResultCode::PARAM_ERROR)?;
            let new = new.get(..LEGACY).ok_or(ResultCode::PARAM_ERROR)?;
            Ok(ChangeStep::Passwords { new: typed(new), old: typed(old) })
        }
        UamMethod::Kerberos
        | UamMethod::Srp
        | UamMethod::TwoWayRandnum
        | UamMethod::Randnum
        | UamMethod::Guest => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

impl ChangeExchange {
    /// The next step.
    pub(in crate::server) fn next(
        self,
        info: &[u8],
        judge: &UamContext<'_>,
    ) -> Result<ChangeStep, ResultCode> {
        match self {
            Self::Dhx2Offered(offered) => {
                let (reply, sealed) = offered.agree(info, judge)?;
                Ok(ChangeStep::Continue(reply, Self::Dhx2(sealed)))
            }
            Self::Dhx2(sealed) => passwords(&sealed.open(info, 2, dhx2::PASSWORD)?),
            Self::Dhx(sealed) => passwords(&sealed.open(info, 2, dhx::PASSWORD)?),
        }
    }
}

fn passwords(sent: &[Vec<u8>]) -> Result<ChangeStep, ResultCode> {
    let [new, old] = sent else { return Err(ResultCode::PARAM_ERROR) };
    Ok(ChangeStep::Passwords { new: typed(new), old: typed(old) })
}
