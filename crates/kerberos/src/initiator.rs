//! This server as a client of Kerberos: it logs in to the services of its domain.

use auth::kerberos::SecurityContext;

use crate::library::{Context, GssCredentials, Library};

/// A principal that gets tickets for services: this server as a client. Calls wait for the network.
pub struct Initiator {
    credentials: GssCredentials,
}

/// A login to a service. It protects messages once it is complete.
pub struct Login {
    context: Context,
    service: String,
}

impl Initiator {
    /// A principal such as `administrator@LAB.TEST`, by its password.
    ///
    /// # Errors
    /// The library is absent, or the password is wrong; the text is the library's.
    pub fn by_password(principal: &str, password: &str) -> Result<Self, String> {
        let credentials = Library::open()?.client(principal, password).map_err(|failed| failed.text)?;
        Ok(Self { credentials })
    }

    /// A login to a service, such as `ldap/dc1.lab.test@LAB.TEST`.
    #[must_use]
    pub fn login(&self, service: String) -> Login {
        Login { context: self.credentials.begin(), service }
    }

    /// The next token for the service, after its last one, and whether the login is complete.
    ///
    /// # Errors
    /// There is no ticket, or the service does not prove who it is; the text is the library's.
    pub fn step(&self, login: &mut Login, received: &[u8]) -> Result<(Vec<u8>, bool), String> {
        self.credentials.step(&mut login.context, &login.service, received).map_err(|failed| failed.text)
    }
}

impl Login {
    /// GSS_Wrap without encryption: a message with a checksum.
    #[must_use]
    pub fn protect(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.context.protect(message)
    }

    /// GSS_Unwrap: a message of the service whose checksum is right.
    #[must_use]
    pub fn checked(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.context.checked(message)
    }

    /// What protects the messages that follow.
    #[must_use]
    pub fn context(self) -> Box<dyn SecurityContext> {
        Box::new(self.context)
    }
}
