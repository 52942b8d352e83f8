//! The calls with which this server is a client: of its domain controller.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use libloading::Library as File;

use super::{
    Buffer, CONTINUE, Context, ERRORS, GssCredentials, GssError, Handle, INDEFINITE, KERBEROS, Library, Oid,
    OidSet,
};

/// GSS_C_INITIATE.
const INITIATE: c_int = 1;
/// 1.2.840.113554.1.2.2.1: a principal (GSS_KRB5_NT_PRINCIPAL_NAME).
const PRINCIPAL: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01";
/// GSS_C_MUTUAL_FLAG, GSS_C_REPLAY_FLAG, GSS_C_SEQUENCE_FLAG, GSS_C_CONF_FLAG and GSS_C_INTEG_FLAG: messages are encrypted.
const WANTED: u32 = 2 | 4 | 8 | 16 | 32;

type ImportName = unsafe extern "C" fn(*mut u32, *const Buffer, *const Oid, *mut Handle) -> u32;
type WithPassword = unsafe extern "C" fn(
    *mut u32,
    Handle,
    *const Buffer,
    u32,
    *const OidSet,
    c_int,
    *mut Handle,
    *mut *mut OidSet,
    *mut u32,
) -> u32;
type InitSecContext = unsafe extern "C" fn(
    *mut u32,
    Handle,
    *mut Handle,
    Handle,
    *const Oid,
    u32,
    u32,
    *const c_void,
    *const Buffer,
    *mut *const Oid,
    *mut Buffer,
    *mut u32,
    *mut u32,
) -> u32;

/// The functions for clients.
pub(super) struct Initiating {
    import_name: ImportName,
    with_password: WithPassword,
    init_sec_context: InitSecContext,
}

impl Initiating {
    pub(super) fn of(file: &File) -> Result<Self, String> {
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is that of the function in RFC 2744 or gssapi_ext.h.
                *unsafe { file.get(concat!($name, "\0").as_bytes()) }.map_err(|error| error.to_string())?
            };
        }
        Ok(Self {
            import_name: function!("gss_import_name"),
            with_password: function!("gss_acquire_cred_with_password"),
            init_sec_context: function!("gss_init_sec_context"),
        })
    }
}

/// A name of the library, which gets it back.
struct Name<'a>(&'a Library, Handle);

impl Drop for Name<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the name is of the library, and is used no more.
        unsafe { (self.0.release_name)(&mut minor, &mut self.1) };
    }
}

impl Library {
    fn principal(&self, name: &str) -> Result<Name<'_>, GssError> {
        let (mut minor, mut handle) = (0, null_mut());
        // SAFETY: all pointers are valid during the call.
        let major = unsafe {
            (self.initiating.import_name)(
                &mut minor,
                &Buffer::of(name.as_bytes()),
                &Oid::of(PRINCIPAL),
                &mut handle,
            )
        };
        self.check(major, minor)?;
        Ok(Name(self, handle))
    }

    /// The means of a principal to get tickets. The password is sent to no server.
    pub(crate) fn client(
        self: &Arc<Self>,
        principal: &str,
        password: &str,
    ) -> Result<GssCredentials, GssError> {
        let name = self.principal(principal)?;
        let (mut minor, mut handle) = (0, null_mut());
        let mechanism = Oid::of(KERBEROS);
        let mechanisms = OidSet { count: 1, elements: &mechanism };
        // SAFETY: all pointers are valid during the call; the result is owned by `Credentials`.
        let major = unsafe {
            (self.initiating.with_password)(
                &mut minor,
                name.1,
                &Buffer::of(password.as_bytes()),
                INDEFINITE,
                &mechanisms,
                INITIATE,
                &mut handle,
                null_mut(),
                null_mut(),
            )
        };
        self.check(major, minor)?;
        Ok(GssCredentials { library: self.clone(), handle })
    }
}

impl Context {
    /// A message with a checksum, not encrypted.
    pub(crate) fn protect(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.wrapped(message, false)
    }

    /// A message whose checksum is right, encrypted or not.
    pub(crate) fn checked(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.unwrapped(message).map(|(message, _)| message)
    }
}

impl GssCredentials {
    /// A context with a service that has not begun.
    pub(crate) fn begin(&self) -> Context {
        Context { library: self.library.clone(), handle: null_mut() }
    }

    /// The next token for a service, such as `ldap/dc1.lab.test@LAB.TEST`, after its last one, and whether the context is
    /// complete.
    pub(crate) fn step(
        &self,
        context: &mut Context,
        service: &str,
        received: &[u8],
    ) -> Result<(Vec<u8>, bool), GssError> {
        let library = &self.library;
        let name = library.principal(service)?;
        let (mut minor, mut reply) = (0, Buffer::none());
        // SAFETY: all pointers are valid during the call; `taken` gives the token back, and the context owns its handle.
        let major = unsafe {
            (library.initiating.init_sec_context)(
                &mut minor,
                self.handle,
                &mut context.handle,
                name.1,
                &Oid::of(KERBEROS),
                WANTED,
                INDEFINITE,
                null(),
                &Buffer::of(received),
                null_mut(),
                &mut reply,
                null_mut(),
                null_mut(),
            )
        };
        let reply = library.taken(reply);
        library.check(major, minor)?;
        debug_assert!(major & ERRORS == 0);
        Ok((reply, major & CONTINUE == 0))
    }
}
