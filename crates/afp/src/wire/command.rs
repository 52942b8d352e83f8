//! The table of commands, Apple Filing Protocol Reference, "AFP Commands".

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

/// Declares the commands from one table. Its columns: name and number; family; which properties are true.
macro_rules! commands {
    ($($name:ident = $number:literal: $family:ident, [$($property:ident),*];)*) => {
        $(pub const $name: u8 = $number;)*

        /// The properties of a command.
        #[allow(clippy::needless_update)] // a command may have all of them
        pub const fn properties(number: u8) -> Properties {
            let unknown = Properties { name: None, family: Family::Other, repeatable: false, in_folder: false };
            match number {
                $($name => Properties {
                    name: Some(stringify!($name)),
                    family: Family::$family,
                    $($property: true,)*
                    ..unknown
                },)*
                _ => unknown,
            }
        }
    };
}

commands! {
    BYTE_RANGE_LOCK = 1: Lock, [];
    CLOSE_VOL = 2: Volume, [];
    CLOSE_DIR = 3: Directory, [];
    CLOSE_FORK = 4: Fork, [];
    COPY_FILE = 5: File, [in_folder];
    CREATE_DIR = 6: Directory, [in_folder];
    CREATE_FILE = 7: File, [in_folder];
    DELETE = 8: File, [in_folder];
    ENUMERATE = 9: Enumerate, [repeatable];
    FLUSH = 10: Volume, [repeatable];
    FLUSH_FORK = 11: Fork, [repeatable];
    GET_FORK_PARMS = 14: Fork, [repeatable];
    GET_SRVR_INFO = 15: Other, [];
    GET_SRVR_PARMS = 16: Session, [repeatable];
    GET_VOL_PARMS = 17: Volume, [repeatable];
    LOGIN = 18: Login, [];
    LOGIN_CONT = 19: Login, [];
    LOGOUT = 20: Login, [repeatable];
    MAP_ID = 21: Identity, [repeatable];
    MAP_NAME = 22: Identity, [repeatable];
    MOVE_AND_RENAME = 23: File, [in_folder];
    OPEN_VOL = 24: Volume, [];
    OPEN_DIR = 25: Directory, [in_folder];
    OPEN_FORK = 26: Fork, [in_folder];
    READ = 27: Fork, [repeatable];
    RENAME = 28: File, [in_folder];
    SET_DIR_PARMS = 29: Directory, [in_folder];
    SET_FILE_PARMS = 30: File, [in_folder];
    SET_FORK_PARMS = 31: Fork, [];
    SET_VOL_PARMS = 32: Volume, [];
    WRITE = 33: Fork, [];
    GET_FILE_DIR_PARMS = 34: File, [repeatable, in_folder];
    SET_FILE_DIR_PARMS = 35: File, [in_folder];
    CHANGE_PASSWORD = 36: Login, [];
    GET_USER_INFO = 37: Identity, [repeatable];
    GET_SRVR_MSG = 38: Session, [repeatable];
    CREATE_ID = 39: Id, [in_folder];
    DELETE_ID = 40: Id, [];
    RESOLVE_ID = 41: Id, [repeatable];
    EXCHANGE_FILES = 42: File, [in_folder];
    CAT_SEARCH = 43: Search, [repeatable];
    OPEN_DT = 48: Desktop, [];
    CLOSE_DT = 49: Desktop, [];
    GET_ICON = 51: Desktop, [repeatable];
    GET_ICON_INFO = 52: Desktop, [repeatable];
    ADD_APPL = 53: Desktop, [in_folder];
    REMOVE_APPL = 54: Desktop, [in_folder];
    GET_APPL = 55: Desktop, [repeatable];
    ADD_COMMENT = 56: Desktop, [in_folder];
    REMOVE_COMMENT = 57: Desktop, [in_folder];
    GET_COMMENT = 58: Desktop, [repeatable, in_folder];
    BYTE_RANGE_LOCK_EXT = 59: Lock, [];
    READ_EXT = 60: Fork, [repeatable];
    WRITE_EXT = 61: Fork, [];
    GET_AUTH_METHODS = 62: Login, [repeatable];
    LOGIN_EXT = 63: Login, [];
    GET_SESSION_TOKEN = 64: Session, [repeatable];
    DISCONNECT_OLD_SESSION = 65: Session, [repeatable];
    ENUMERATE_EXT = 66: Enumerate, [repeatable];
    CAT_SEARCH_EXT = 67: Search, [repeatable];
    ENUMERATE_EXT2 = 68: Enumerate, [repeatable];
    GET_EXT_ATTR = 69: Attribute, [repeatable];
    SET_EXT_ATTR = 70: Attribute, [];
    REMOVE_EXT_ATTR = 71: Attribute, [];
    LIST_EXT_ATTRS = 72: Attribute, [repeatable];
    GET_ACL = 73: Acl, [repeatable];
    SET_ACL = 74: Acl, [];
    ACCESS = 75: Acl, [repeatable];
    SPOTLIGHT_RPC = 76: Other, [repeatable];
    SYNC_DIR = 78: Volume, [repeatable];
    SYNC_FORK = 79: Fork, [repeatable];
    ZZZ = 122: Session, [repeatable];
    ADD_ICON = 192: Desktop, [];
}
