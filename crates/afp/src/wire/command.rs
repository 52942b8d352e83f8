//! Numbers of commands, Apple Filing Protocol Reference, "AFP Commands".

macro_rules! commands {
    ($($name:ident = $number:literal;)*) => {
        $(pub const $name: u8 = $number;)*

        /// The name of a command, if it has one.
        pub fn name(number: u8) -> Option<&'static str> {
            match number {
                $($number => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

commands! {
    BYTE_RANGE_LOCK = 1;
    CLOSE_VOL = 2;
    CLOSE_DIR = 3;
    CLOSE_FORK = 4;
    COPY_FILE = 5;
    CREATE_DIR = 6;
    CREATE_FILE = 7;
    DELETE = 8;
    ENUMERATE = 9;
    FLUSH = 10;
    FLUSH_FORK = 11;
    GET_FORK_PARMS = 14;
    GET_SRVR_INFO = 15;
    GET_SRVR_PARMS = 16;
    GET_VOL_PARMS = 17;
    LOGIN = 18;
    LOGIN_CONT = 19;
    LOGOUT = 20;
    MAP_ID = 21;
    MAP_NAME = 22;
    MOVE_AND_RENAME = 23;
    OPEN_VOL = 24;
    OPEN_DIR = 25;
    OPEN_FORK = 26;
    READ = 27;
    RENAME = 28;
    SET_DIR_PARMS = 29;
    SET_FILE_PARMS = 30;
    SET_FORK_PARMS = 31;
    SET_VOL_PARMS = 32;
    WRITE = 33;
    GET_FILE_DIR_PARMS = 34;
    SET_FILE_DIR_PARMS = 35;
    CHANGE_PASSWORD = 36;
    GET_USER_INFO = 37;
    GET_SRVR_MSG = 38;
    CREATE_ID = 39;
    DELETE_ID = 40;
    RESOLVE_ID = 41;
    EXCHANGE_FILES = 42;
    CAT_SEARCH = 43;
    OPEN_DT = 48;
    CLOSE_DT = 49;
    GET_ICON = 51;
    GET_ICON_INFO = 52;
    ADD_APPL = 53;
    REMOVE_APPL = 54;
    GET_APPL = 55;
    ADD_COMMENT = 56;
    REMOVE_COMMENT = 57;
    GET_COMMENT = 58;
    BYTE_RANGE_LOCK_EXT = 59;
    READ_EXT = 60;
    WRITE_EXT = 61;
    GET_AUTH_METHODS = 62;
    LOGIN_EXT = 63;
    GET_SESSION_TOKEN = 64;
    DISCONNECT_OLD_SESSION = 65;
    ENUMERATE_EXT = 66;
    CAT_SEARCH_EXT = 67;
    ENUMERATE_EXT2 = 68;
    GET_EXT_ATTR = 69;
    SET_EXT_ATTR = 70;
    REMOVE_EXT_ATTR = 71;
    LIST_EXT_ATTRS = 72;
    GET_ACL = 73;
    SET_ACL = 74;
    ACCESS = 75;
    SPOTLIGHT_RPC = 76;
    SYNC_DIR = 78;
    SYNC_FORK = 79;
    ZZZ = 122;
    ADD_ICON = 192;
}
