//! Result codes, Apple Filing Protocol Reference, "AFP Result Codes".

use std::fmt;

/// The result of a command in its reply; 0 is success.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResultCode(pub i32);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        impl ResultCode {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// Its name, if it has one.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    NO_ERROR = 0;
    /// ASP and DSI: the server has no room for another session.
    TOO_MANY_SESSIONS = -1068;
    ACCESS_DENIED = -5000;
    AUTH_CONTINUE = -5001;
    BAD_UAM = -5002;
    BAD_VERSION = -5003;
    BITMAP_ERROR = -5004;
    CANT_MOVE = -5005;
    DENY_CONFLICT = -5006;
    DIR_NOT_EMPTY = -5007;
    DISK_FULL = -5008;
    EOF_ERROR = -5009;
    FILE_BUSY = -5010;
    FLAT_VOLUME = -5011;
    ITEM_NOT_FOUND = -5012;
    LOCK_ERROR = -5013;
    MISC_ERROR = -5014;
    NO_MORE_LOCKS = -5015;
    NO_SERVER = -5016;
    OBJECT_EXISTS = -5017;
    OBJECT_NOT_FOUND = -5018;
    PARAM_ERROR = -5019;
    RANGE_NOT_LOCKED = -5020;
    RANGE_OVERLAP = -5021;
    SESSION_CLOSED = -5022;
    USER_NOT_AUTH = -5023;
    CALL_NOT_SUPPORTED = -5024;
    OBJECT_TYPE_ERROR = -5025;
    TOO_MANY_FILES_OPEN = -5026;
    SERVER_GOING_DOWN = -5027;
    CANT_RENAME = -5028;
    DIR_NOT_FOUND = -5029;
    ICON_TYPE_ERROR = -5030;
    VOLUME_LOCKED = -5031;
    OBJECT_LOCKED = -5032;
    CONTAINS_SHARED_ERROR = -5033;
    ID_NOT_FOUND = -5034;
    ID_EXISTS = -5035;
    DIFFERENT_VOLUMES = -5036;
    CATALOG_CHANGED = -5037;
    SAME_OBJECT = -5038;
    BAD_ID = -5039;
    PASSWORD_SAME = -5040;
    PASSWORD_TOO_SHORT = -5041;
    PASSWORD_EXPIRED = -5042;
    INSIDE_SHARED_ERROR = -5043;
    INSIDE_TRASH_ERROR = -5044;
    PASSWORD_NEEDS_CHANGE = -5045;
    PASSWORD_POLICY = -5046;
    USER_ALREADY_LOGGED_ON = -5047;
}

impl fmt::Debug for ResultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "result {}", self.0),
        }
    }
}
