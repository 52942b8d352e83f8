//! The operations on clients and sessions of minor version 1, RFC 8881 18.33 to 18.51. The layouts are those of RFC 5662.

use super::types::*;
use super::*;

/// EXCHGID4_FLAG_UPD_CONFIRMED_REC_A: the client changes its confirmed record.
pub const UPDATE_CONFIRMED: u32 = 0x4000_0000;
/// EXCHGID4_FLAG_CONFIRMED_R, in replies: the client is confirmed.
pub const CONFIRMED: u32 = 0x8000_0000;
/// EXCHGID4_FLAG_USE_NON_PNFS: the server has no layouts.
pub const NO_PNFS: u32 = 0x1_0000;
/// All EXCHGID4_FLAG_* that a client may send: SUPP_MOVED_REFER, SUPP_MOVED_MIGR, BIND_PRINC_STATEID, the three of pNFS, and
/// UPD_CONFIRMED_REC_A.
pub const EXCHANGE_FLAGS: u32 = 0x1 | 0x2 | 0x100 | 0x7_0000 | UPDATE_CONFIRMED;
/// EXCHGID4_FLAG_SUPP_FENCE_OPS, RFC 7862 14.1: from minor version 2.
pub const FENCE: u32 = 0x4;
/// CREATE_SESSION4_FLAG_CONN_BACK_CHAN: the server may call the client over this connection.
pub const BACK_CHANNEL: u32 = 2;
/// SEQ4_STATUS_CB_PATH_DOWN: the server cannot call the client.
pub const CALLBACK_PATH_DOWN: u32 = 0x1;
/// SEQ4_STATUS_RECALLABLE_STATE_REVOKED: the client has lost delegations, and has not freed their stateids.
pub const DELEGATIONS_REVOKED: u32 = 0x40;
/// All CREATE_SESSION4_FLAG_*: PERSIST, CONN_BACK_CHAN and CONN_RDMA.
pub const CREATE_SESSION_FLAGS: u32 = 7;
/// The most stateids of one TEST_STATEID.
pub const TESTED_LIMIT: usize = 1024;
/// The most entries of each list in EXCHANGE_ID, CREATE_SESSION and BACKCHANNEL_CTL.
const LIST_LIMIT: u32 = 64;

/// sessionid4.
pub type SessionId = [u8; 16];

record! {
    /// EXCHANGE_ID4args, 18.35, without the client's description of itself.
    pub struct ExchangeId<'a> {
        /// Changes when the client restarts.
        pub verifier: Verifier,
        /// co_ownerid.
        pub name: OwnerName<'a>,
        pub flags: u32,
        pub protect: StateProtect,
        pub implementation: Implementation,
    }

    /// EXCHANGE_ID4resok with SP4_NONE and without the server's description of itself.
    pub struct ExchangedId<'a> {
        pub client: u64,
        /// The sequence number of the first CREATE_SESSION.
        pub sequence: u32,
        pub flags: u32,
        pub protect: StateProtect,
        pub owner_minor: u64,
        pub owner_major: OwnerName<'a>,
        pub scope: OwnerName<'a>,
        pub implementation: Implementation,
    }

    /// CREATE_SESSION4args, 18.36.
    pub struct CreateSession {
        pub client: u64,
        pub sequence: u32,
        pub flags: u32,
        pub fore: ChannelAttributes,
        pub back: ChannelAttributes,
        /// The program that the server calls.
        pub program: u32,
        pub security: CallbackSecurity,
    }

    /// CREATE_SESSION4resok.
    pub struct CreatedSession {
        pub session: SessionId,
        pub sequence: u32,
        pub flags: u32,
        pub fore: ChannelAttributes,
        pub back: ChannelAttributes,
    }

    /// SEQUENCE4args, 18.46.
    pub struct Sequence {
        pub session: SessionId,
        pub sequence: u32,
        pub slot: u32,
        pub highest_slot: u32,
        pub cache: bool,
    }

    /// SEQUENCE4resok.
    pub struct SequenceReply {
        pub session: SessionId,
        pub sequence: u32,
        pub slot: u32,
        pub highest_slot: u32,
        pub target_highest_slot: u32,
        pub flags: u32,
    }

    /// BACKCHANNEL_CTL4args, 18.33.
    pub struct BackChannel {
        pub program: u32,
        pub security: CallbackSecurity,
    }

    /// BIND_CONN_TO_SESSION4args and BIND_CONN_TO_SESSION4resok, 18.34.
    pub struct BindConnection {
        pub session: SessionId,
        /// channel_dir_from_client4, channel_dir_from_server4.
        pub direction: u32,
        pub rdma: bool,
    }

    /// SET_SSV4args, 18.47.
    pub struct SetSsv<'a> {
        pub ssv: OwnerName<'a>,
        pub digest: OwnerName<'a>,
    }

    /// GET_DIR_DELEGATION4args, 18.39.
    pub struct DirectoryDelegation {
        pub signal: bool,
        pub notifications: Bitmap,
        pub child_delay: NfsTime,
        pub folder_delay: NfsTime,
        pub child_attributes: Bitmap,
        pub folder_attributes: Bitmap,
    }

    /// WANT_DELEGATION4args, 18.49.
    pub struct WantDelegation {
        pub want: u32,
        pub claim: DelegationClaim,
    }
}

/// deleg_claim4: by what right a client wants a delegation of the current file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelegationClaim {
    File,
    PreviouslyDelegatedFile,
    /// It had this one before the server's restart.
    Previous(DelegationType),
}

impl Decode<'_> for DelegationClaim {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            1 => Decode::decode(r).map(Self::Previous),
            4 => Ok(Self::File),
            6 => Ok(Self::PreviouslyDelegatedFile),
            _ => Err(Malformed("unknown claim of a delegation")),
        }
    }
}

impl Encode for DelegationClaim {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Previous(kind) => put_words(w, &[1, kind.0]),
            Self::File => w.u32_be(4),
            Self::PreviouslyDelegatedFile => w.u32_be(6),
        }
    }
}

/// state_protect4_a: how the state of a client is protected. The parameters of the two kinds that the server refuses are read
/// and not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateProtect {
    /// SP4_NONE.
    None,
    /// SP4_MACH_CRED.
    MachineCredential,
    /// SP4_SSV.
    SecretState,
}

impl Decode<'_> for StateProtect {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            0 => Ok(Self::None),
            1 => skip_protected(r).map(|()| Self::MachineCredential),
            2 => {
                skip_protected(r)?;
                for _ in 0..2 {
                    skip_list(r, |r| OwnerName::decode(r).map(|_| ()))?; // hash and encryption algorithms
                }
                r.skip(8)?; // window, number of handles
                Ok(Self::SecretState)
            }
            _ => Err(Malformed("unknown state_protect_how4")),
        }
    }
}

impl Encode for StateProtect {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::None => w.u32_be(0),
            Self::MachineCredential => put_words(w, &[1, 0, 0]),
            Self::SecretState => put_words(w, &[2, 0, 0, 0, 0, 0, 0]),
        }
    }
}

/// state_protect_ops4: the operations that must, and those that may, be protected.
fn skip_protected(r: &mut Reader<'_>) -> Result<(), Malformed> {
    Bitmap::decode(r)?;
    Bitmap::decode(r).map(|_| ())
}

fn skip_list(
    r: &mut Reader<'_>,
    mut item: impl FnMut(&mut Reader<'_>) -> Result<(), Malformed>,
) -> Result<u32, Malformed> {
    let count = r.u32_be()?;
    if count > LIST_LIMIT {
        return Err(Malformed("a list longer than its limit"));
    }
    (0..count).try_for_each(|_| item(r))?;
    Ok(count)
}

/// nfs_impl_id4 of at most one program: read and not kept, and never sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Implementation;

impl Decode<'_> for Implementation {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = skip_list(r, |r| {
            OwnerName::decode(r)?; // domain
            OwnerName::decode(r)?; // name
            NfsTime::decode(r).map(|_| ())
        })?;
        if count > 1 { Err(Malformed("more than one implementation")) } else { Ok(Self) }
    }
}

impl Encode for Implementation {
    fn encode(&self, w: &mut Writer) {
        w.u32_be(0);
    }
}

/// channel_attrs4: the limits of one direction of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelAttributes {
    pub header_padding: u32,
    /// The longest request and the longest reply, with their heads of RPC, in bytes.
    pub request_size: u32,
    pub reply_size: u32,
    /// The longest reply that is kept, in bytes.
    pub kept_size: u32,
    pub operations: u32,
    /// The number of slots.
    pub requests: u32,
    /// Of RDMA.
    pub inbound_reads: Option<u32>,
}

impl Decode<'_> for ChannelAttributes {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            header_padding: r.u32_be()?,
            request_size: r.u32_be()?,
            reply_size: r.u32_be()?,
            kept_size: r.u32_be()?,
            operations: r.u32_be()?,
            requests: r.u32_be()?,
            inbound_reads: Decode::decode(r)?, // an array of at most one, which has the form of optional data
        })
    }
}

impl Encode for ChannelAttributes {
    fn encode(&self, w: &mut Writer) {
        let Self { header_padding, request_size, reply_size, kept_size, operations, requests, .. } = *self;
        put_words(w, &[header_padding, request_size, reply_size, kept_size, operations, requests]);
        self.inbound_reads.encode(w);
    }
}

/// callback_sec_parms4<>: how the server may identify itself when it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallbackSecurity {
    pub none: bool,
    /// The user and the group of AUTH_SYS. The rest of its credential is read and not kept.
    pub sys: Option<(u32, u32)>,
    pub gss: bool,
}

impl CallbackSecurity {
    /// Whether there is a flavour that the server can use.
    pub fn is_usable(&self) -> bool {
        self.none || self.sys.is_some()
    }
}

impl Decode<'_> for CallbackSecurity {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut found = Self::default();
        skip_list(r, |r| {
            match r.u32_be()? {
                0 => found.none = true,
                1 => {
                    let sys = crate::wire::rpc::AuthSys::decode(r)?;
                    found.sys = Some((sys.uid, sys.gid));
                }
                6 => {
                    found.gss = true;
                    r.skip(4)?; // service
                    OwnerName::decode(r)?;
                    OwnerName::decode(r)?;
                }
                _ => return Err(Malformed("unknown flavour of callbacks")),
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl Encode for CallbackSecurity {
    fn encode(&self, w: &mut Writer) {
        w.u32_be(u32::from(self.none) + u32::from(self.sys.is_some()) + u32::from(self.gss));
        if self.none {
            w.u32_be(0);
        }
        if let Some((uid, gid)) = self.sys {
            put_words(w, &[1, 0, 0, uid, gid, 0]);
        }
        if self.gss {
            put_words(w, &[6, 1, 0, 0]);
        }
    }
}

/// stateid4<>, TEST_STATEID4args: the encoded stateids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateIds<'a>(&'a [u8]);

impl<'a> StateIds<'a> {
    /// The bytes of a stateid.
    const SIZE: usize = 16;

    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = StateId> + use<'a> {
        self.0.chunks_exact(Self::SIZE).map(|bytes| {
            StateId::decode(&mut Reader::new(bytes)).unwrap_or(StateId::INVALID) // of 16 bytes each
        })
    }
}

impl<'a> Decode<'a> for StateIds<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = r.u32_be()? as usize;
        if count > TESTED_LIMIT {
            return Err(Malformed("more stateids than the limit"));
        }
        r.take(count * Self::SIZE).map(Self)
    }
}

impl Encode for StateIds<'_> {
    fn encode(&self, w: &mut Writer) {
        w.u32_be((self.0.len() / Self::SIZE) as u32); // at most TESTED_LIMIT
        w.put(self.0);
    }
}
