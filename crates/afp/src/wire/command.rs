//! The table of commands, Apple Filing Protocol Reference, "AFP Commands".

use super::Version;

/// The family of commands that a command belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Open forks: the commands that move data.
    Fork,
    Volume,
    File,
    Directory,
    Enumerate,
    Search,
    Id,
    Lock,
    Desktop,
    Attribute,
    Acl,
    Identity,
    Session,
    Login,
    /// Commands of no family, and unknown ones.
    Other,
}

/// What the server knows of a command before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    pub name: Option<&'static str>,
    pub family: Family,
    /// The version that it came with; `None` for an unknown one.
    pub since: Option<Version>,
    /// It came with TCP, and is not sent over AppleTalk.
    pub tcp_only: bool,
    /// A repeated request is executed again: that does no harm, or the request is about the connection that it came on.
    pub repeatable: bool,
    /// The numbers of a volume and of a folder follow the command and one byte.
    pub in_folder: bool,
}

wire::layout! {
    /// The folder of a command that begins with one: of all commands with the property `in_folder`.
    pub struct InFolder [1] {
        pub volume: u16,
        pub folder: u32,
    }
}

/// Declares the commands from one table. Its columns: name and number; family; the version that it came with; which properties are
/// true.
macro_rules! commands {
    ($($name:ident = $number:literal: $family:ident, $since:ident, [$($property:ident),*];)*) => {
        $(pub const $name: u8 = $number;)*

        /// The properties of a command.
        #[allow(clippy::needless_update)] // a command may have all of them
        pub const fn properties(number: u8) -> Properties {
            let unknown = Properties {
                name: None,
                family: Family::Other,
                since: None,
                tcp_only: false,
                repeatable: false,
                in_folder: false,
            };
            match number {
                $($name => Properties {
                    name: Some(stringify!($name)),
                    family: Family::$family,
                    since: Some(Version::$since),
                    $($property: true,)*
                    ..unknown
                },)*
                _ => unknown,
            }
        }
    };
}

// The versions: *Inside AppleTalk*, chapter 13 ("AFP Calls" and the results of FPChangePassword and FPGetUserInfo); "AppleTalk Filing
// Protocol Version 2.1 and 2.2", table 1-12; Apple Filing Protocol Programming Guide, "AFP Version Differences".
commands! {
    BYTE_RANGE_LOCK = 1: Lock, V1_1, [];
    CLOSE_VOL = 2: Volume, V1_1, [];
    CLOSE_DIR = 3: Directory, V1_1, [];
    CLOSE_FORK = 4: Fork, V1_1, [];
    COPY_FILE = 5: File, V1_1, [in_folder];
    CREATE_DIR = 6: Directory, V1_1, [in_folder];
    CREATE_FILE = 7: File, V1_1, [in_folder];
    DELETE = 8: File, V1_1, [in_folder];
    ENUMERATE = 9: Enumerate, V1_1, [repeatable];
    FLUSH = 10: Volume, V1_1, [repeatable];
    FLUSH_FORK = 11: Fork, V1_1, [repeatable];
    GET_FORK_PARMS = 14: Fork, V1_1, [repeatable];
    GET_SRVR_INFO = 15: Other, V1_1, [];
    GET_SRVR_PARMS = 16: Session, V1_1, [repeatable];
    GET_VOL_PARMS = 17: Volume, V1_1, [repeatable];
    LOGIN = 18: Login, V1_1, [];
    LOGIN_CONT = 19: Login, V1_1, [];
    LOGOUT = 20: Login, V1_1, [repeatable];
    MAP_ID = 21: Identity, V1_1, [repeatable];
    MAP_NAME = 22: Identity, V1_1, [repeatable];
    MOVE_AND_RENAME = 23: File, V1_1, [in_folder];
    OPEN_VOL = 24: Volume, V1_1, [];
    OPEN_DIR = 25: Directory, V1_1, [in_folder];
    OPEN_FORK = 26: Fork, V1_1, [in_folder];
    READ = 27: Fork, V1_1, [repeatable];
    RENAME = 28: File, V1_1, [in_folder];
    SET_DIR_PARMS = 29: Directory, V1_1, [in_folder];
    SET_FILE_PARMS = 30: File, V1_1, [in_folder];
    SET_FORK_PARMS = 31: Fork, V1_1, [];
    SET_VOL_PARMS = 32: Volume, V1_1, [];
    WRITE = 33: Fork, V1_1, [];
    GET_FILE_DIR_PARMS = 34: File, V1_1, [repeatable, in_folder];
    SET_FILE_DIR_PARMS = 35: File, V1_1, [in_folder];
    CHANGE_PASSWORD = 36: Login, V2_0, [];
    GET_USER_INFO = 37: Identity, V2_0, [repeatable];
    GET_SRVR_MSG = 38: Session, V2_1, [repeatable];
    CREATE_ID = 39: Id, V2_1, [in_folder];
    DELETE_ID = 40: Id, V2_1, [];
    RESOLVE_ID = 41: Id, V2_1, [repeatable];
    EXCHANGE_FILES = 42: File, V2_1, [in_folder];
    CAT_SEARCH = 43: Search, V2_1, [repeatable];
    OPEN_DT = 48: Desktop, V1_1, [];
    CLOSE_DT = 49: Desktop, V1_1, [];
    GET_ICON = 51: Desktop, V1_1, [repeatable];
    GET_ICON_INFO = 52: Desktop, V1_1, [repeatable];
    ADD_APPL = 53: Desktop, V1_1, [in_folder];
    REMOVE_APPL = 54: Desktop, V1_1, [in_folder];
    GET_APPL = 55: Desktop, V1_1, [repeatable];
    ADD_COMMENT = 56: Desktop, V1_1, [in_folder];
    REMOVE_COMMENT = 57: Desktop, V1_1, [in_folder];
    GET_COMMENT = 58: Desktop, V1_1, [repeatable, in_folder];
    BYTE_RANGE_LOCK_EXT = 59: Lock, V3_0, [];
    READ_EXT = 60: Fork, V3_0, [repeatable];
    WRITE_EXT = 61: Fork, V3_0, [];
    GET_AUTH_METHODS = 62: Login, V3_0, [repeatable];
    LOGIN_EXT = 63: Login, V3_0, [];
    GET_SESSION_TOKEN = 64: Session, V3_0, [repeatable];
    DISCONNECT_OLD_SESSION = 65: Session, V3_0, [repeatable];
    ENUMERATE_EXT = 66: Enumerate, V3_0, [repeatable];
    CAT_SEARCH_EXT = 67: Search, V3_0, [repeatable];
    ENUMERATE_EXT2 = 68: Enumerate, V3_1, [repeatable];
    GET_EXT_ATTR = 69: Attribute, V3_2, [repeatable];
    SET_EXT_ATTR = 70: Attribute, V3_2, [];
    REMOVE_EXT_ATTR = 71: Attribute, V3_2, [];
    LIST_EXT_ATTRS = 72: Attribute, V3_2, [repeatable];
    GET_ACL = 73: Acl, V3_2, [repeatable];
    SET_ACL = 74: Acl, V3_2, [];
    ACCESS = 75: Acl, V3_2, [repeatable];
    SPOTLIGHT_RPC = 76: Search, V3_2, [];
    SYNC_DIR = 78: Volume, V3_2, [repeatable];
    SYNC_FORK = 79: Fork, V3_2, [repeatable];
    // AFP 2.3, and only over TCP (Reference, FPZzz). Macs send it in sessions of AFP 2.2, too (Netatalk, auth.c).
    ZZZ = 122: Session, V2_2, [tcp_only, repeatable];
    ADD_ICON = 192: Desktop, V1_1, [];
}
