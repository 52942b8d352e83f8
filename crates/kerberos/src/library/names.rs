//! What the library says of the client of a login.

use std::ptr::null_mut;

use super::{Buffer, ERRORS, GssError, Handle, Library};

/// What the domain controller says of a user, as an attribute of the client's name.
const LOGON_INFO: &[u8] = b"urn:mspac:logon-info";

/// The part of a PAC about the user.
pub(crate) enum LogonInfo {
    /// The ticket has no PAC, or this is not in it, or the library hides it because its signature is wrong.
    Absent,
    /// The signature of the PAC is not that of the keytab's key.
    Unverified,
    Verified(Vec<u8>),
}

impl Library {
    /// What the domain controller says of the user with a name. The library has verified the signature of the PAC while it took
    /// the ticket, and says with the attribute whether it was right.
    pub(super) fn logon_info(&self, name: Handle) -> LogonInfo {
        if name.is_null() {
            return LogonInfo::Absent;
        }
        let (mut minor, mut is_authenticated, mut is_complete, mut more) = (0, 0, 0, -1);
        let (mut value, mut display_value) = (Buffer::none(), Buffer::none());
        // SAFETY: the name is of the library; `taken` gives the values back.
        let major = unsafe {
            (self.get_name_attribute)(
                &mut minor,
                name,
                &Buffer::of(LOGON_INFO),
                &mut is_authenticated,
                &mut is_complete,
                &mut value,
                &mut display_value,
                &mut more,
            )
        };
        let (value, _) = (self.taken(value), self.taken(display_value));
        match (major & ERRORS, is_authenticated) {
            (0, 0) => LogonInfo::Unverified,
            (0, _) => LogonInfo::Verified(value),
            _ => LogonInfo::Absent,
        }
    }

    /// The text of a name, which the library gets back.
    pub(super) fn name(&self, mut name: Handle) -> Result<String, GssError> {
        if name.is_null() {
            return Ok(String::new());
        }
        let (mut minor, mut text) = (0, Buffer::none());
        // SAFETY: the name is of the library; `taken` gives the text back.
        let major = unsafe { (self.display_name)(&mut minor, name, &mut text, null_mut()) };
        let bytes = self.taken(text);
        let mut ignored = 0;
        // SAFETY: the name is of the library, and is used no more.
        unsafe { (self.release_name)(&mut ignored, &mut name) };
        self.check(major, minor)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
