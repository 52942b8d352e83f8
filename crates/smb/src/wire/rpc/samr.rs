//! The accounts of a server, MS-SAMR: what clients need to show and choose users and groups.

mod info;
mod request;
mod response;

pub use info::{AliasInfo, DisplayEntry, DomainInfo, GroupInfo, Info, UserInfo};
pub use request::{PartialList, Request, SamrObject, SamrOpen, Shape};
pub use response::{
    Names, Numbers, alias_memberships_response, change_response, connect5_response, display_index_response,
    displayed_response, group_members_response, groups_response, handle_response, info_response,
    list_response, names_response, numbers_response, password_response, security_response, sid_response,
    sids_response,
};

/// Rights on the objects, MS-SAMR 2.2.1.3 to 2.2.1.7.
pub mod rights {
    pub const SERVER_CONNECT: u32 = 0x01;
    pub const SERVER_ENUMERATE: u32 = 0x10;
    pub const SERVER_LOOKUP: u32 = 0x20;
    pub const DOMAIN_READ_PASSWORD: u32 = 0x01;
    pub const DOMAIN_READ_OTHER: u32 = 0x04;
    pub const DOMAIN_ALIAS_MEMBERSHIP: u32 = 0x80;
    pub const DOMAIN_LIST: u32 = 0x100;
    pub const DOMAIN_LOOKUP: u32 = 0x200;
    pub const GROUP_READ: u32 = 0x01;
    pub const GROUP_MEMBERS: u32 = 0x10;
    pub const ALIAS_MEMBERS: u32 = 0x04;
    pub const ALIAS_READ: u32 = 0x08;
    pub const USER_READ_GENERAL: u32 = 0x01;
    pub const USER_READ_PREFERENCES: u32 = 0x02;
    pub const USER_READ_LOGON: u32 = 0x08;
    pub const USER_READ_ACCOUNT: u32 = 0x10;
    pub const USER_LIST_GROUPS: u32 = 0x100;
    pub const USER_READ_GROUP: u32 = 0x200;
    pub const READ_CONTROL: u32 = 0x0002_0000;
    pub const MAXIMUM_ALLOWED: u32 = 0x0200_0000;
    pub const GENERIC_EXECUTE: u32 = 0x2000_0000;
    pub const GENERIC_READ: u32 = 0x8000_0000;
}
