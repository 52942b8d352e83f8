//! The calls to Linux-PAM, `libpam.so.0`: pam_start(3), pam_conv(3), pam_authenticate(3), pam_acct_mgmt(3). Only this file has
//! `unsafe`.

#![allow(unsafe_code, reason = "calls of a C library")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{null, null_mut};

use libloading::Library as File;
use zeroize::Zeroizing;

use crate::{PamRefusal, Service};

const NAME: &str = "libpam.so.0";

const SUCCESS: c_int = 0;
const PERMISSION_DENIED: c_int = 6;
const AUTHENTICATION_ERROR: c_int = 7;
const USER_UNKNOWN: c_int = 10;
const MAX_TRIES: c_int = 11;
const CONVERSATION_ERROR: c_int = 19;
const BUFFER_ERROR: c_int = 5;

/// Items of pam_set_item(3).
const USER: c_int = 2;
const FAIL_DELAY: c_int = 10;

/// Styles of messages, pam_conv(3).
const PROMPT_ECHO_OFF: c_int = 1;
const ERROR_MESSAGE: c_int = 3;
const INFORMATION: c_int = 4;
/// PAM_MAX_NUM_MSG.
const MOST_MESSAGES: c_int = 32;

/// PAM_SILENT, and PAM_DISALLOW_NULL_AUTHTOK: an account without a password may not log in.
const FLAGS: c_int = 0x8000 | 1;

type Handle = *mut c_void;

#[repr(C)]
struct Message {
    style: c_int,
    text: *const c_char,
}

#[repr(C)]
struct Response {
    text: *mut c_char,
    code: c_int,
}

#[repr(C)]
struct PamConversation {
    talk: unsafe extern "C" fn(c_int, *mut *const Message, *mut *mut Response, *mut c_void) -> c_int,
    data: *mut c_void,
}

type Start = unsafe extern "C" fn(*const c_char, *const c_char, *const PamConversation, *mut Handle) -> c_int;
type StartIn = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const PamConversation,
    *const c_char,
    *mut Handle,
) -> c_int;
type End = unsafe extern "C" fn(Handle, c_int) -> c_int;
type Step = unsafe extern "C" fn(Handle, c_int) -> c_int;
type SetItem = unsafe extern "C" fn(Handle, c_int, *const c_void) -> c_int;
type GetItem = unsafe extern "C" fn(Handle, c_int, *mut *const c_void) -> c_int;
type Text = unsafe extern "C" fn(Handle, c_int) -> *const c_char;

/// The functions of the library, which stays open as long as one of them can be called.
pub(crate) struct PamLibrary {
    start: Start,
    start_in: Option<StartIn>,
    end: End,
    authenticate: Step,
    account: Step,
    set_item: SetItem,
    get_item: GetItem,
    text: Text,
    _file: File,
}

impl PamLibrary {
    /// Opens the library of the host.
    pub(crate) fn open() -> Result<Self, String> {
        let missing = |error: libloading::Error| {
            format!(
                "PAM cannot be used ({error}); install it (Debian: `apt install libpam0g`), or remove `host-accounts`"
            )
        };
        // SAFETY: the library is the host's own, and its initializers have no conditions. The types are those of Linux-PAM's
        // headers, and the functions are not called after the library is closed, because the value owns it.
        unsafe {
            let file = File::new(NAME).map_err(missing)?;
            Ok(Self {
                start: *file.get::<Start>(b"pam_start\0").map_err(missing)?,
                start_in: file.get::<StartIn>(b"pam_start_confdir\0").ok().map(|symbol| *symbol),
                end: *file.get::<End>(b"pam_end\0").map_err(missing)?,
                authenticate: *file.get::<Step>(b"pam_authenticate\0").map_err(missing)?,
                account: *file.get::<Step>(b"pam_acct_mgmt\0").map_err(missing)?,
                set_item: *file.get::<SetItem>(b"pam_set_item\0").map_err(missing)?,
                get_item: *file.get::<GetItem>(b"pam_get_item\0").map_err(missing)?,
                text: *file.get::<Text>(b"pam_strerror\0").map_err(missing)?,
                _file: file,
            })
        }
    }

    /// Whether services may be in another folder than the host's.
    pub(crate) fn takes_folders(&self) -> bool {
        self.start_in.is_some()
    }

    /// Verifies a password, and that the user may log in now. Waits for as long as the modules do. `password` ends with its only zero.
    pub(crate) fn verify(
        &self,
        service: &Service,
        user: &CStr,
        password: Zeroizing<Vec<u8>>,
    ) -> Result<(), PamRefusal> {
        let mut answers = PromptAnswers { password, is_told: false };
        let unavailable = |what: &str| PamRefusal::Unavailable(what.to_owned());
        let name =
            CString::new(&*service.name).map_err(|_| unavailable("the name of the service has a zero"))?;
        let folder = service.folder.as_ref().map(|folder| CString::new(folder.as_os_str().as_bytes()));
        let folder = folder.transpose().map_err(|_| unavailable("the path of the service has a zero"))?;
        let conversation = PamConversation { talk, data: (&raw mut answers).cast() };
        let mut handle: Handle = null_mut();
        // SAFETY: the texts and the conversation live until `pam_end`, after which nothing refers to them.
        let code = unsafe {
            match (&folder, self.start_in) {
                (Some(folder), Some(start)) => start(
                    name.as_ptr(),
                    user.as_ptr(),
                    &raw const conversation,
                    folder.as_ptr(),
                    &raw mut handle,
                ),
                _ => (self.start)(name.as_ptr(), user.as_ptr(), &raw const conversation, &raw mut handle),
            }
        };
        if code != SUCCESS || handle.is_null() {
            return Err(PamRefusal::Unavailable(self.said(null_mut(), code)));
        }
        let (code, verdict) = self.ask(handle, user);
        // SAFETY: the handle is from `pam_start`, and is not used after this.
        unsafe { (self.end)(handle, code) };
        verdict
    }

    /// The last code, and the verdict.
    fn ask(&self, handle: Handle, user: &CStr) -> (c_int, Result<(), PamRefusal>) {
        // SAFETY: the handle is from `pam_start`, and the item is a function of the type that pam_fail_delay(3) has.
        unsafe { (self.set_item)(handle, FAIL_DELAY, no_delay as DelayFunction as *const c_void) };
        // SAFETY: the handle is from `pam_start`.
        let code = unsafe { (self.authenticate)(handle, FLAGS) };
        if code != SUCCESS {
            let said = self.said(handle, code);
            let is_wrong =
                matches!(code, AUTHENTICATION_ERROR | USER_UNKNOWN | MAX_TRIES | PERMISSION_DENIED);
            return (
                code,
                Err(if is_wrong { PamRefusal::Password(said) } else { PamRefusal::Unavailable(said) }),
            );
        }
        // SAFETY: as above.
        let code = unsafe { (self.account)(handle, FLAGS) };
        if code != SUCCESS {
            return (code, Err(PamRefusal::Account(self.said(handle, code))));
        }
        match self.is_user(handle, user) {
            true => (code, Ok(())),
            false => (code, Err(PamRefusal::Account("it stands for another user of the host".into()))),
        }
    }

    /// Whether PAM still names the user that logs in. A module may have changed PAM_USER.
    fn is_user(&self, handle: Handle, user: &CStr) -> bool {
        let mut item: *const c_void = null();
        // SAFETY: the handle is from `pam_start`. The item is a text that lives as long as the handle.
        unsafe {
            (self.get_item)(handle, USER, &raw mut item) == SUCCESS
                && !item.is_null()
                && CStr::from_ptr(item.cast()) == user
        }
    }

    fn said(&self, handle: Handle, code: c_int) -> String {
        // SAFETY: Linux-PAM does not look at the handle, and the text is a constant of the library.
        let text = unsafe { (self.text)(handle, code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: it ends with a zero.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// What a module that asks is told.
struct PromptAnswers {
    /// It ends with its only zero. Wiped at its end; Linux-PAM wipes the copies that it gets.
    password: Zeroizing<Vec<u8>>,
    /// It was told: a further question is for something else.
    is_told: bool,
}

type DelayFunction = extern "C" fn(c_int, c_uint, *mut c_void);

/// Wrong passwords are delayed by the server itself, without a thread.
extern "C" fn no_delay(_code: c_int, _microseconds: c_uint, _data: *mut c_void) {}

/// Answers a module: the first question without an echo gets the password; texts get no answer; other questions are refused.
///
/// # Safety
/// Linux-PAM calls it with `count` messages, and with the data of the conversation.
unsafe extern "C" fn talk(
    count: c_int,
    messages: *mut *const Message,
    responses: *mut *mut Response,
    data: *mut c_void,
) -> c_int {
    if !(1..=MOST_MESSAGES).contains(&count) || messages.is_null() || responses.is_null() || data.is_null() {
        return CONVERSATION_ERROR;
    }
    let count = count as usize;
    // SAFETY: the data are those of `verify`, which waits, and no other reference to them exists meanwhile.
    let answers = unsafe { &mut *data.cast::<PromptAnswers>() };
    // SAFETY: any sizes; the result is looked at.
    let all: *mut Response = unsafe { libc::calloc(count, size_of::<Response>()) }.cast();
    if all.is_null() {
        return BUFFER_ERROR;
    }
    for at in 0..count {
        // SAFETY: there are `count` pointers to messages, and `count` responses, all zero.
        let told = unsafe { answer(*messages.add(at), &mut *all.add(at), answers) };
        if !told {
            // SAFETY: the texts before this one are of `strdup`, or null; the array is of `calloc`.
            unsafe {
                (0..at).for_each(|before| wipe(&(*all.add(before)), answers));
                libc::free(all.cast());
            }
            return CONVERSATION_ERROR;
        }
    }
    // SAFETY: it is not null. Linux-PAM frees what it gets.
    unsafe { *responses = all };
    SUCCESS
}

/// Answers one message. False: it cannot be answered.
///
/// # Safety
/// The message is null or one of Linux-PAM.
unsafe fn answer(message: *const Message, response: &mut Response, answers: &mut PromptAnswers) -> bool {
    if message.is_null() {
        return false;
    }
    // SAFETY: it is one of Linux-PAM.
    match unsafe { (*message).style } {
        PROMPT_ECHO_OFF if !answers.is_told => {
            answers.is_told = true;
            // SAFETY: the password ends with a zero.
            response.text = unsafe { libc::strdup(answers.password.as_ptr().cast()) };
            !response.text.is_null()
        }
        ERROR_MESSAGE | INFORMATION => true,
        _ => false,
    }
}

/// Wipes and frees a copy of the password.
///
/// # Safety
/// The text is null or a copy of the password, by `strdup`.
unsafe fn wipe(response: &Response, answers: &PromptAnswers) {
    if !response.text.is_null() {
        // SAFETY: the copy is as long as the password with its zero.
        unsafe {
            libc::explicit_bzero(response.text.cast(), answers.password.len());
            libc::free(response.text.cast());
        }
    }
}
