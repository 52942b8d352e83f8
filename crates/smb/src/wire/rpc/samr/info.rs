//! What is asked about domains, users, groups and aliases, MS-SAMR 2.2.3 to 2.2.8.

use crate::wire::rpc::ndr::Encoder;

/// A time that never comes.
const NEVER: u64 = 0x7fff_ffff_ffff_ffff;
/// A period without an end: times of periods are negative.
const FOREVER: u64 = 0x8000_0000_0000_0000;
/// A lock-out and the time over which failures count: 30 minutes, MS-SAMR 3.1.1.
const HALF_AN_HOUR: u64 = (-18_000_000_000_i64) as u64;
/// `SE_GROUP_MANDATORY`, `_ENABLED_BY_DEFAULT` and `_ENABLED`.
pub(super) const ATTRIBUTES: u32 = 7;

/// Information of which there are several classes.
pub trait Info {
    /// The classes.
    const CLASSES: &'static [u16];
    /// Writes the information of a class. What its pointers point to waits for [`Encoder::flush`].
    fn encode(&self, class: u16, e: &mut Encoder);
}

/// A domain, MS-SAMR 2.2.4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainInfo {
    pub name: String,
    pub users: u32,
    pub groups: u32,
    pub aliases: u32,
}

impl Info for DomainInfo {
    const CLASSES: &'static [u16] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13];

    fn encode(&self, class: u16, e: &mut Encoder) {
        const ENABLED: u32 = 1;
        const PRIMARY: u32 = 3; // the role of a server with accounts of its own
        match class {
            1 => {
                e.align(4);
                e.u16(0); // the shortest password
                e.u16(0); // the length of the history
                e.u32(0);
                halves(e, FOREVER); // until a password must be changed
                halves(e, 0);
            }
            2 => self.general(e),
            3 => halves(e, FOREVER), // until users are logged off
            4 | 6 => e.counted(""),
            5 => e.counted(&self.name),
            7 => e.u32(PRIMARY),
            8 => [0, 0].into_iter().for_each(|time| halves(e, time)),
            9 => e.u32(ENABLED),
            11 => {
                e.align(8);
                self.general(e);
                lockout(e);
            }
            12 => lockout(e),
            _ => [0, 0, 0].into_iter().for_each(|time| halves(e, time)),
        }
    }
}

impl DomainInfo {
    fn general(&self, e: &mut Encoder) {
        halves(e, FOREVER);
        e.counted("");
        e.counted(&self.name);
        e.counted("");
        halves(e, 0); // how often it was modified
        e.u32(1); // enabled
        e.u32(3); // primary
        e.u32(1); // UasCompatibilityRequired, as Windows says
        [self.users, self.groups, self.aliases].into_iter().for_each(|count| e.u32(count));
    }
}

fn lockout(e: &mut Encoder) {
    e.u64(HALF_AN_HOUR);
    e.u64(HALF_AN_HOUR);
    e.u16(0); // after how many failures
}

/// `OLD_LARGE_INTEGER`, MS-SAMR 2.2.2.2: two halves, which begin at a multiple of four.
fn halves(e: &mut Encoder, value: u64) {
    e.u32(value as u32);
    e.u32((value >> 32) as u32);
}

/// A group, MS-SAMR 2.2.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    pub name: String,
    pub comment: String,
    pub members: u32,
}

impl Info for GroupInfo {
    const CLASSES: &'static [u16] = &[1, 2, 3, 4, 5];

    fn encode(&self, class: u16, e: &mut Encoder) {
        match class {
            2 => e.counted(&self.name),
            3 => e.u32(ATTRIBUTES),
            4 => e.counted(&self.comment),
            _ => {
                e.counted(&self.name);
                e.u32(ATTRIBUTES);
                e.u32(self.members);
                e.counted(&self.comment);
            }
        }
    }
}

/// An alias, which is a group of this server alone, MS-SAMR 2.2.6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasInfo {
    pub name: String,
    pub comment: String,
    pub members: u32,
}

impl Info for AliasInfo {
    const CLASSES: &'static [u16] = &[1, 2, 3];

    fn encode(&self, class: u16, e: &mut Encoder) {
        match class {
            2 => e.counted(&self.name),
            3 => e.counted(&self.comment),
            _ => {
                e.counted(&self.name);
                e.u32(self.members);
                e.counted(&self.comment);
            }
        }
    }
}

/// A user, MS-SAMR 2.2.7.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserInfo {
    pub name: String,
    pub rid: u32,
    pub primary_group: u32,
    /// `USER_ACCOUNT` codes, MS-SAMR 2.2.1.12.
    pub control: u32,
}

impl UserInfo {
    pub const DISABLED: u32 = 0x01;
    pub const NORMAL: u32 = 0x10;
    pub const KEEPS_PASSWORD: u32 = 0x200;
}

impl Info for UserInfo {
    const CLASSES: &'static [u16] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 20, 21];

    fn encode(&self, class: u16, e: &mut Encoder) {
        match class {
            1 => {
                self.names(e);
                e.u32(self.primary_group);
                empty(2, e);
            }
            2 => {
                empty(2, e);
                e.u32(0); // country and code page
            }
            3 => self.logon(e),
            4 => hours(e),
            5 => self.account(e),
            6 => self.names(e),
            7 => e.counted(&self.name),
            9 => e.u32(self.primary_group),
            10 => empty(2, e),
            16 => e.u32(self.control),
            17 => halves(e, NEVER),
            21 => self.all(e),
            _ => empty(1, e),
        }
    }
}

impl UserInfo {
    /// The name of the account and of the person, which is not known here.
    fn names(&self, e: &mut Encoder) {
        e.counted(&self.name);
        empty(1, e);
    }

    fn ids(&self, e: &mut Encoder) {
        e.u32(self.rid);
        e.u32(self.primary_group);
    }

    /// MS-SAMR 2.2.7.10.
    fn logon(&self, e: &mut Encoder) {
        self.names(e);
        self.ids(e);
        empty(5, e); // home, its drive, script, profile, workstations
        [0, 0, 0, 0, NEVER].into_iter().for_each(|time| halves(e, time)); // logon, logoff, password set, may and must change
        hours(e);
        e.u32(0); // failed and good logins
        e.u32(self.control);
    }

    /// MS-SAMR 2.2.7.11.
    fn account(&self, e: &mut Encoder) {
        self.names(e);
        self.ids(e);
        empty(6, e); // home, its drive, script, profile, comment, workstations
        [0, 0].into_iter().for_each(|time| halves(e, time)); // logon, logoff
        hours(e);
        e.u32(0); // failed and good logins
        [0, NEVER].into_iter().for_each(|time| halves(e, time)); // password set, account expires
        e.u32(self.control);
    }

    /// MS-SAMR 2.2.7.6.
    fn all(&self, e: &mut Encoder) {
        /// All fields except those about the secrets of the account.
        const FIELDS: u32 = 0x08ff_ffff;
        // Logon, logoff, password set, account expires, password may and must be changed.
        [0, 0, 0, NEVER, 0, NEVER].into_iter().for_each(|time| halves(e, time));
        self.names(e);
        empty(8, e); // home, its drive, script, profile, comment, workstations, comment, parameters
        empty(3, e); // hashes, private data
        e.u32(0); // no security descriptor
        e.null();
        self.ids(e);
        e.u32(self.control);
        e.u32(FIELDS);
        hours(e);
        e.u32(0); // failed and good logins
        e.u32(0); // country and code page
        e.u32(0); // whether there are hashes, whether the password has expired, whether data is sensitive
    }
}

fn empty(count: usize, e: &mut Encoder) {
    (0..count).for_each(|_| e.counted(""));
}

/// `SAMPR_LOGON_HOURS`, MS-SAMR 2.2.7.5: all hours of the week.
fn hours(e: &mut Encoder) {
    e.align(4);
    e.u16(7 * 24);
    e.octets(1260, vec![0xff; 7 * 24 / 8]);
}

/// An entry of a list for people, MS-SAMR 2.2.8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayEntry {
    pub rid: u32,
    /// The control bits of a user, or the attributes of a group.
    pub control: u32,
    pub name: String,
    pub comment: String,
}

impl DisplayEntry {
    /// Users, machines, groups; users and groups with names in 8-bit characters.
    pub const CLASSES: std::ops::RangeInclusive<u16> = 1..=5;
    /// The attributes of groups.
    pub const ATTRIBUTES: u32 = ATTRIBUTES;

    /// How many bytes it takes, about.
    pub fn size(&self) -> usize {
        48 + 2 * (self.name.len() + self.comment.len())
    }

    pub(super) fn encode(&self, class: u16, index: usize, e: &mut Encoder) {
        e.count(index);
        if matches!(class, 4 | 5) {
            let name: Vec<u8> =
                self.name.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect();
            let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
            e.u16(length);
            e.u16(length);
            return e.octets(length.into(), name);
        }
        e.u32(self.rid);
        e.u32(self.control);
        e.counted(&self.name);
        e.counted(&self.comment);
        if class == 1 {
            e.counted(""); // the person's name
        }
    }
}
