//! The calls to MIT Kerberos's GSS library, `libgssapi_krb5.so.2`: RFC 2744, and MIT's extensions for keytabs and keys. Only this
//! file has `unsafe`. What leaves it owns what the library has made, and gives it back when it is dropped.

#![allow(unsafe_code, reason = "calls of a C library")]

mod initiating;
mod names;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use libloading::Library as File;

use self::initiating::Initiating;
pub(crate) use self::names::LogonInfo;

/// The library of MIT Kerberos; Heimdal's has another name and other extensions.
const NAME: &str = "libgssapi_krb5.so.2";
/// GSS_C_INDEFINITE.
const INDEFINITE: u32 = u32::MAX;
/// GSS_C_ACCEPT.
const ACCEPT: c_int = 2;
/// GSS_S_CONTINUE_NEEDED.
const CONTINUE: u32 = 1;
/// The bits of a major status that are errors.
const ERRORS: u32 = 0xFFFF_0000;
/// GSS_C_GSS_CODE.
const OF_GSS: c_int = 1;
/// GSS_C_MECH_CODE.
const OF_MECHANISM: c_int = 2;
/// 1.2.840.113554.1.2.2: Kerberos 5.
const KERBEROS: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
/// 1.3.6.1.5.5.2: SPNEGO, in which browsers wrap the tokens of Kerberos (RFC 4178).
const SPNEGO: &[u8] = b"\x2b\x06\x01\x05\x05\x02";
/// 1.2.840.113554.1.2.2.5.5: the session key (GSS_C_INQ_SSPI_SESSION_KEY).
const SESSION_KEY: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x05\x05";
/// The most lines of a message.
const MOST_LINES: usize = 8;

#[repr(C)]
struct Buffer {
    length: usize,
    value: *mut c_void,
}

#[repr(C)]
struct Oid {
    length: u32,
    elements: *const u8,
}

#[repr(C)]
struct OidSet {
    count: usize,
    elements: *const Oid,
}

#[repr(C)]
struct BufferSet {
    count: usize,
    elements: *mut Buffer,
}

#[repr(C)]
struct Pair {
    key: *const c_char,
    value: *const c_char,
}

#[repr(C)]
struct CredentialStore {
    count: u32,
    elements: *const Pair,
}

type Handle = *mut c_void;

type AcquireCredFrom = unsafe extern "C" fn(
    *mut u32,
    Handle,
    u32,
    *const OidSet,
    c_int,
    *const CredentialStore,
    *mut Handle,
    *mut *mut OidSet,
    *mut u32,
) -> u32;
type AcceptSecContext = unsafe extern "C" fn(
    *mut u32,
    *mut Handle,
    Handle,
    *const Buffer,
    *const c_void,
    *mut Handle,
    *mut *const Oid,
    *mut Buffer,
    *mut u32,
    *mut u32,
    *mut Handle,
) -> u32;
type DisplayName = unsafe extern "C" fn(*mut u32, Handle, *mut Buffer, *mut *const Oid) -> u32;
type DisplayStatus = unsafe extern "C" fn(*mut u32, u32, c_int, *const Oid, *mut u32, *mut Buffer) -> u32;
type InquireByOid = unsafe extern "C" fn(*mut u32, Handle, *const Oid, *mut *mut BufferSet) -> u32;
type GetMic = unsafe extern "C" fn(*mut u32, Handle, u32, *const Buffer, *mut Buffer) -> u32;
type VerifyMic = unsafe extern "C" fn(*mut u32, Handle, *const Buffer, *const Buffer, *mut u32) -> u32;
type Wrap = unsafe extern "C" fn(*mut u32, Handle, c_int, u32, *const Buffer, *mut c_int, *mut Buffer) -> u32;
type Unwrap = unsafe extern "C" fn(*mut u32, Handle, *const Buffer, *mut Buffer, *mut c_int, *mut u32) -> u32;
type GetNameAttribute = unsafe extern "C" fn(
    *mut u32,
    Handle,
    *const Buffer,
    *mut c_int,
    *mut c_int,
    *mut Buffer,
    *mut Buffer,
    *mut c_int,
) -> u32;
type ReleaseBuffer = unsafe extern "C" fn(*mut u32, *mut Buffer) -> u32;
type ReleaseBufferSet = unsafe extern "C" fn(*mut u32, *mut *mut BufferSet) -> u32;
type Release = unsafe extern "C" fn(*mut u32, *mut Handle) -> u32;
type DeleteContext = unsafe extern "C" fn(*mut u32, *mut Handle, *mut Buffer) -> u32;

/// The functions of the library, which stays open as long as one of them can be called.
pub(crate) struct Library {
    acquire_cred_from: AcquireCredFrom,
    accept_sec_context: AcceptSecContext,
    display_name: DisplayName,
    get_name_attribute: GetNameAttribute,
    display_status: DisplayStatus,
    inquire_by_oid: InquireByOid,
    get_mic: GetMic,
    verify_mic: VerifyMic,
    wrap: Wrap,
    unwrap: Unwrap,
    release_buffer: ReleaseBuffer,
    release_buffer_set: ReleaseBufferSet,
    release_name: Release,
    release_cred: Release,
    delete_context: DeleteContext,
    initiating: Initiating,
    _file: File,
}

/// Why a call failed: the code of the mechanism, and what the library says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GssError {
    pub(crate) code: u32,
    pub(crate) text: String,
}

/// The keys of a keytab, or the tickets of a principal.
pub(crate) struct GssCredentials {
    library: Arc<Library>,
    handle: Handle,
}

/// What a client and the server have in common after a login.
pub(crate) struct Context {
    library: Arc<Library>,
    handle: Handle,
}

/// A login.
pub(crate) struct AcceptedContext {
    pub(crate) context: Context,
    /// The principal, with its realm.
    pub(crate) principal: String,
    /// What the client waits for; may be empty.
    pub(crate) reply: Vec<u8>,
    pub(crate) session_key: Vec<u8>,
    /// What the PAC says of the user.
    pub(crate) logon_info: LogonInfo,
    /// In seconds; `None` if the ticket never ends.
    pub(crate) lifetime: Option<u32>,
    /// The client is to send another token: what is known of it comes then.
    pub(crate) is_unfinished: bool,
}

// SAFETY: credentials may move between threads; they are not shared.
unsafe impl Send for GssCredentials {}
// SAFETY: so may a context.
unsafe impl Send for Context {}

impl Buffer {
    fn none() -> Self {
        Self { length: 0, value: null_mut() }
    }

    /// The library only reads it, while `bytes` lives.
    fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
    }
}

impl Oid {
    fn of(bytes: &'static [u8]) -> Self {
        Self { length: bytes.len() as u32, elements: bytes.as_ptr() }
    }
}

impl Library {
    /// Opens the library.
    pub(crate) fn open() -> Result<Arc<Self>, String> {
        macro_rules! function {
            ($file:ident, $name:literal) => {
                // SAFETY: the type is that of the function in RFC 2744 or gssapi_ext.h.
                *unsafe { $file.get(concat!($name, "\0").as_bytes()) }.map_err(|error| error.to_string())?
            };
        }
        // SAFETY: the library's initialization has no requirements.
        let file = unsafe { File::new(NAME) }.map_err(|error| error.to_string())?;
        Ok(Arc::new(Self {
            acquire_cred_from: function!(file, "gss_acquire_cred_from"),
            accept_sec_context: function!(file, "gss_accept_sec_context"),
            display_name: function!(file, "gss_display_name"),
            get_name_attribute: function!(file, "gss_get_name_attribute"),
            display_status: function!(file, "gss_display_status"),
            inquire_by_oid: function!(file, "gss_inquire_sec_context_by_oid"),
            get_mic: function!(file, "gss_get_mic"),
            verify_mic: function!(file, "gss_verify_mic"),
            wrap: function!(file, "gss_wrap"),
            unwrap: function!(file, "gss_unwrap"),
            release_buffer: function!(file, "gss_release_buffer"),
            release_buffer_set: function!(file, "gss_release_buffer_set"),
            release_name: function!(file, "gss_release_name"),
            release_cred: function!(file, "gss_release_cred"),
            delete_context: function!(file, "gss_delete_sec_context"),
            initiating: Initiating::of(&file)?,
            _file: file,
        }))
    }

    /// The keys of a keytab. `replays` is the file in which the library remembers the tickets it has seen.
    pub(crate) fn credentials(
        self: &Arc<Self>,
        keytab: &CStr,
        replays: &CStr,
    ) -> Result<GssCredentials, GssError> {
        let (mut minor, mut handle) = (0, null_mut());
        let pairs = [
            Pair { key: c"keytab".as_ptr(), value: keytab.as_ptr() },
            Pair { key: c"rcache".as_ptr(), value: replays.as_ptr() },
        ];
        let store = CredentialStore { count: pairs.len() as u32, elements: pairs.as_ptr() };
        let known = [Oid::of(KERBEROS), Oid::of(SPNEGO)];
        let mechanisms = OidSet { count: known.len(), elements: known.as_ptr() };
        // SAFETY: all pointers are valid during the call; the results are owned by `Credentials`.
        let major = unsafe {
            (self.acquire_cred_from)(
                &mut minor,
                null_mut(),
                INDEFINITE,
                &mechanisms,
                ACCEPT,
                &store,
                &mut handle,
                null_mut(),
                null_mut(),
            )
        };
        self.check(major, minor)?;
        Ok(GssCredentials { library: self.clone(), handle })
    }

    fn check(&self, major: u32, minor: u32) -> Result<(), GssError> {
        if major & ERRORS == 0 {
            return Ok(());
        }
        // Without an error of the mechanism, the text of its code says nothing.
        let text = match minor {
            0 => self.text(major, OF_GSS),
            minor => format!("{} ({})", self.text(minor, OF_MECHANISM), self.text(major, OF_GSS)),
        };
        Err(GssError { code: minor, text })
    }

    fn text(&self, code: u32, kind: c_int) -> String {
        let (mut lines, mut next) = (Vec::new(), 0);
        let kerberos = Oid::of(KERBEROS);
        for _ in 0..MOST_LINES {
            let (mut minor, mut line) = (0, Buffer::none());
            // SAFETY: all pointers are valid during the call; `taken` gives the line back.
            let major =
                unsafe { (self.display_status)(&mut minor, code, kind, &kerberos, &mut next, &mut line) };
            let bytes = self.taken(line);
            if major & ERRORS != 0 {
                break;
            }
            lines.push(String::from_utf8_lossy(&bytes).into_owned());
            if next == 0 {
                break;
            }
        }
        lines.join("; ")
    }

    /// The bytes of a buffer of the library, which gets it back.
    fn taken(&self, mut buffer: Buffer) -> Vec<u8> {
        let bytes = match buffer.value.is_null() {
            true => Vec::new(),
            // SAFETY: the library has made the buffer with this length.
            false => unsafe { std::slice::from_raw_parts(buffer.value.cast::<u8>(), buffer.length) }.to_vec(),
        };
        let mut minor = 0;
        // SAFETY: the buffer is of the library or empty, and is used no more.
        unsafe { (self.release_buffer)(&mut minor, &mut buffer) };
        bytes
    }
}

impl GssCredentials {
    /// Takes a client's token. `begun`: the login that it continues.
    pub(crate) fn accept(&self, begun: Option<Context>, token: &[u8]) -> Result<AcceptedContext, GssError> {
        let library = &self.library;
        let mut context = begun.unwrap_or_else(|| Context { library: library.clone(), handle: null_mut() });
        let (mut minor, mut name) = (0, null_mut());
        let (mut reply, mut lifetime) = (Buffer::none(), 0);
        // SAFETY: all pointers are valid during the call; what it makes is owned by what follows.
        let major = unsafe {
            (library.accept_sec_context)(
                &mut minor,
                &mut context.handle,
                self.handle,
                &Buffer::of(token),
                null(),
                &mut name,
                null_mut(),
                &mut reply,
                null_mut(),
                &mut lifetime,
                null_mut(),
            )
        };
        let reply = library.taken(reply);
        let logon_info = library.logon_info(name);
        let principal = library.name(name);
        library.check(major, minor)?;
        let is_unfinished = major & CONTINUE != 0;
        let session_key = if is_unfinished { Vec::new() } else { context.session_key()? };
        let lifetime = (lifetime != INDEFINITE).then_some(lifetime);
        Ok(AcceptedContext {
            context,
            principal: principal?,
            reply,
            session_key,
            logon_info,
            lifetime,
            is_unfinished,
        })
    }
}

impl Context {
    fn session_key(&self) -> Result<Vec<u8>, GssError> {
        let (mut minor, mut set) = (0, null_mut());
        let wanted = Oid::of(SESSION_KEY);
        // SAFETY: the context is of the library; the set is given back below.
        let major = unsafe { (self.library.inquire_by_oid)(&mut minor, self.handle, &wanted, &mut set) };
        self.library.check(major, minor)?;
        if set.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the library has made the set; its first buffer is the key.
        let key = unsafe {
            match (*set).count {
                0 => Vec::new(),
                _ => {
                    let first = &*(*set).elements;
                    std::slice::from_raw_parts(first.value.cast::<u8>(), first.length).to_vec()
                }
            }
        };
        // SAFETY: the set is of the library, and is used no more.
        unsafe { (self.library.release_buffer_set)(&mut minor, &mut set) };
        Ok(key)
    }

    /// A checksum over a message (RFC 4121 4.2.4).
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, GssError> {
        let (mut minor, mut checksum) = (0, Buffer::none());
        let message = Buffer::of(message);
        // SAFETY: the context is of the library; `taken` gives the checksum back.
        let major = unsafe { (self.library.get_mic)(&mut minor, self.handle, 0, &message, &mut checksum) };
        let checksum = self.library.taken(checksum);
        self.library.check(major, minor).map(|()| checksum)
    }

    /// Whether a checksum of the other side is right, in whatever order it came.
    pub(crate) fn verifies(&self, message: &[u8], checksum: &[u8]) -> bool {
        let mut minor = 0;
        let (message, checksum) = (Buffer::of(message), Buffer::of(checksum));
        // SAFETY: the context is of the library, and the buffers live during the call.
        let major =
            unsafe { (self.library.verify_mic)(&mut minor, self.handle, &message, &checksum, null_mut()) };
        major & ERRORS == 0
    }

    /// A message, encrypted (RFC 4121 4.2.4).
    pub(crate) fn seal(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.wrapped(message, true)
    }

    /// A message with a checksum, encrypted or not.
    fn wrapped(&self, message: &[u8], encrypt: bool) -> Option<Vec<u8>> {
        let (mut minor, mut is_encrypted, mut sealed) = (0, 0, Buffer::none());
        let (message, library, encrypt) = (Buffer::of(message), &self.library, c_int::from(encrypt));
        // SAFETY: the context is of the library; `taken` gives the sealed message back.
        let major = unsafe {
            (library.wrap)(&mut minor, self.handle, encrypt, 0, &message, &mut is_encrypted, &mut sealed)
        };
        let sealed = library.taken(sealed);
        (major & ERRORS == 0 && is_encrypted >= encrypt).then_some(sealed)
    }

    /// What the other side has encrypted, in whatever order it came.
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.unwrapped(sealed).filter(|(_, is_encrypted)| *is_encrypted).map(|(message, _)| message)
    }

    /// A message whose checksum is right, and whether it was encrypted.
    fn unwrapped(&self, sealed: &[u8]) -> Option<(Vec<u8>, bool)> {
        let (mut minor, mut is_encrypted, mut message) = (0, 0, Buffer::none());
        let (sealed, library) = (Buffer::of(sealed), &self.library);
        // SAFETY: the context is of the library; `taken` gives the message back.
        let major = unsafe {
            (library.unwrap)(&mut minor, self.handle, &sealed, &mut message, &mut is_encrypted, null_mut())
        };
        let message = library.taken(message);
        (major & ERRORS == 0).then_some((message, is_encrypted != 0))
    }
}

impl Drop for GssCredentials {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is of the library, and is used no more.
        unsafe { (self.library.release_cred)(&mut minor, &mut self.handle) };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            let mut minor = 0;
            // SAFETY: the handle is of the library, and is used no more.
            unsafe { (self.library.delete_context)(&mut minor, &mut self.handle, null_mut()) };
        }
    }
}

/// A path for the library.
pub(crate) fn c_string(text: String) -> Option<CString> {
    CString::new(text).ok()
}
