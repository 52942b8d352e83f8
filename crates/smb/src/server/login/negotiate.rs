//! NEGOTIATE, MS-SMB2 3.3.5.3 and 3.3.5.4.

use std::time::SystemTime;

use conn::Reply as Frame;
use wire::Writer;

use super::crypto::preauth::Preauth;
use super::crypto::sealing::Cipher;
use super::crypto::signing::SigningAlgorithm;
use super::exchange;
use crate::server::config::{Config, Dialect, EncryptionPolicy};
use crate::server::connection::{Connection, MAX_TRANSACT, framed};
use crate::server::context::{ConnectionScope, Context, Outcome, Reply, ResponseExtras};
use crate::wire::Status;
use crate::wire::header::{Command, Flags, Header};
use crate::wire::negotiate::{Request, Response};
use crate::wire::negotiate_context::{self as wire_context, Context as Offer, SHA_512};
use crate::wire::smb1;
use crate::wire::time::NtTime;
use crate::wire::values::{Capabilities, Dialect as Revision, SecurityMode};

/// READ and WRITE of 2.0.2, which knows one credit per request.
const MAX_TRANSACT_OLD: u32 = 64 * 1024;
/// Bytes of salt in our context of preauthentication integrity.
const SALT: usize = 32;

/// The result of a connection's negotiation.
pub(in crate::server) struct Negotiation {
    pub(in crate::server) dialect: Dialect,
    pub(in crate::server) client_guid: [u8; 16],
    /// The client's capabilities.
    pub(in crate::server) capabilities: Capabilities,
    /// The client's security mode.
    pub(in crate::server) security_mode: SecurityMode,
    /// The server's capabilities.
    pub(in crate::server) server_capabilities: Capabilities,
    /// The server's security mode.
    pub(in crate::server) server_security_mode: SecurityMode,
    pub(in crate::server) cipher: Option<Cipher>,
    pub(in crate::server) signing: SigningAlgorithm,
    /// The hash over the NEGOTIATE messages. Each login continues it.
    pub(in crate::server) preauth: Preauth,
    /// The longest transfer.
    pub(in crate::server) max_transact: u32,
    /// The client offers the POSIX extensions: it is Linux.
    pub(in crate::server) offers_posix: bool,
    /// Opens may ask for the POSIX extensions.
    pub(in crate::server) serves_posix: bool,
}

impl Negotiation {
    /// Whether folders get leases on this connection.
    pub(in crate::server) fn has_directory_leases(&self) -> bool {
        self.server_capabilities.contains(Capabilities::DIRECTORY_LEASING)
    }
}

/// The results of 3.1.1's negotiate contexts.
struct NegotiatedContexts {
    cipher: Option<Cipher>,
    signing: SigningAlgorithm,
    contexts: Vec<Offer>,
}

/// NEGOTIATE, MS-SMB2 3.3.5.4.
pub(in crate::server) async fn run(context: &Context<ConnectionScope>) -> Outcome {
    let connection = &context.connection;
    let request = Request::decode(&context.message)?;
    let config = connection.service.config();
    let dialect = choose(&config, &request.dialects)?;
    let seals = config.encryption != EncryptionPolicy::Off;
    let chosen = match dialect {
        Dialect::V3_1_1 => choose_contexts(&request.contexts, seals, config.posix)?,
        _ => NegotiatedContexts {
            cipher: (seals && dialect.is_v3() && request.capabilities.contains(Capabilities::ENCRYPTION))
                .then_some(Cipher::Aes128Ccm),
            signing: if dialect.is_v3() { SigningAlgorithm::AesCmac } else { SigningAlgorithm::HmacSha256 },
            contexts: Vec::new(),
        },
    };
    let offers_posix =
        dialect == Dialect::V3_1_1 && request.contexts.iter().any(|offer| matches!(offer, Offer::Posix(_)));
    let serves_posix = chosen.contexts.iter().any(|answer| matches!(answer, Offer::Posix(_)));
    // Linux 6.1 crashes when it caches folders under leases (a NULL dereference in open_cached_dir).
    let leases_folders = config.directory_leases && !offers_posix;
    let persists = config.shares.iter().any(|share| share.options.continuous);
    let preauth = Preauth::default();
    preauth.update(&context.message);
    let negotiated = Negotiation {
        dialect,
        client_guid: request.client_guid,
        capabilities: request.capabilities,
        security_mode: request.security_mode,
        server_capabilities: capabilities(
            dialect,
            request.capabilities,
            chosen.cipher,
            (leases_folders, persists),
        ) | of_shares(&config),
        server_security_mode: security_mode(&config),
        cipher: chosen.cipher,
        signing: chosen.signing,
        preauth: preauth.clone(),
        max_transact: max_transact(dialect),
        offers_posix,
        serves_posix,
    };
    let body = response(&config, Revision(dialect.number()), &negotiated, chosen.contexts);
    if connection.negotiated.set(negotiated).is_err() {
        return Err(Status::INVALID_PARAMETER.into()); // two NEGOTIATE requests ran at once
    }
    let also = ResponseExtras { preauth: Some(preauth), ..ResponseExtras::default() };
    Ok(Reply { also: Some(Box::new(also)), ..Reply::of(body) })
}

/// The answer to an SMB1 NEGOTIATE that offers SMB2, MS-SMB2 3.3.5.3. `None` ends the connection.
pub(in crate::server) fn upgrade(connection: &Connection, message: &[u8]) -> Option<Frame> {
    let offered = smb1::Negotiate::decode(message).ok()?;
    if connection.negotiated().is_some() || !connection.window.lock().take(0, 1) {
        return None;
    }
    let config = connection.service.config();
    let wildcard = offered.offers(smb1::Negotiate::SMB_2_WILDCARD) && config.newest > Dialect::V2_0_2;
    let speaks_old = offered.offers(smb1::Negotiate::SMB_2_002) && config.oldest == Dialect::V2_0_2;
    if !wildcard && !speaks_old {
        const INSTEAD: &str = "turn on SMB 2 or newer there; on Linux mount with `-o vers=3.1.1`";
        connection.service.refused.tell(connection.peer.address.ip(), "SMB 1 alone", INSTEAD);
        return None;
    }
    let old = Dialect::V2_0_2;
    let negotiated = Negotiation {
        dialect: old,
        client_guid: [0; 16],
        capabilities: Capabilities::NONE,
        security_mode: SecurityMode::SIGNING_ENABLED,
        server_capabilities: capabilities(
            if wildcard { Dialect::V2_1 } else { old },
            Capabilities::NONE,
            None,
            (false, false),
        ) | of_shares(&config),
        server_security_mode: security_mode(&config),
        cipher: None,
        signing: SigningAlgorithm::HmacSha256,
        preauth: Preauth::default(),
        max_transact: max_transact(if wildcard { Dialect::V2_1 } else { old }),
        offers_posix: false,
        serves_posix: false,
    };
    let revision = if wildcard { Revision::WILDCARD } else { Revision::SMB_2_0_2 };
    let body = response(&config, revision, &negotiated, Vec::new());
    if !wildcard {
        connection.negotiated.set(negotiated).ok()?;
    }
    let credits = connection.window.lock().grant(1, 1);
    let mut w = Writer::new();
    // 3.3.5.3.1: fields that the specification does not name are 0. The SMB1 request had no credit
    // charge to repeat.
    let plain = Header { credit_charge: 0, ..Header::request(Command::NEGOTIATE, 0) };
    Header { credits, flags: Flags::RESPONSE, ..plain }.encode(&mut w);
    w.put(&body);
    Some(framed(w.into_bytes()))
}

/// The newest dialect that both sides speak.
pub(in crate::server) fn choose(config: &Config, offered: &[Revision]) -> Result<Dialect, Status> {
    if offered.is_empty() {
        return Err(Status::INVALID_PARAMETER);
    }
    let both = |dialect: &Dialect| {
        (config.oldest..=config.newest).contains(dialect) && offered.contains(&Revision(dialect.number()))
    };
    Dialect::ALL.into_iter().rev().find(both).ok_or(Status::NOT_SUPPORTED)
}

/// One algorithm of each kind that the client offers, MS-SMB2 3.3.5.4. Kinds that the server does
/// not support get no answer.
fn choose_contexts(offers: &[Offer], seals: bool, posix: bool) -> Result<NegotiatedContexts, Status> {
    let mut chosen =
        NegotiatedContexts { cipher: None, signing: SigningAlgorithm::AesCmac, contexts: Vec::new() };
    let kinds: Vec<_> = offers.iter().map(std::mem::discriminant).collect();
    let known = |offer: &Offer| !matches!(offer, Offer::Unknown { .. });
    for (at, offer) in offers.iter().enumerate() {
        if known(offer) && kinds[..at].contains(&kinds[at]) {
            return Err(Status::INVALID_PARAMETER);
        }
        match offer {
            Offer::PreauthIntegrity { hashes, .. } => {
                if !hashes.contains(&SHA_512) {
                    return Err(Status::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP);
                }
                let mut salt = vec![0; SALT];
                getrandom::fill(&mut salt).map_err(|_| Status::INSUFFICIENT_RESOURCES)?;
                chosen.contexts.push(Offer::PreauthIntegrity { hashes: vec![SHA_512], salt });
            }
            Offer::Encryption(ciphers) => {
                if ciphers.is_empty() {
                    return Err(Status::INVALID_PARAMETER);
                }
                chosen.cipher = preferred_cipher(ciphers).filter(|_| seals);
                let id = chosen.cipher.map_or(0, Cipher::id);
                chosen.contexts.push(Offer::Encryption(vec![wire_context::Cipher(id)]));
            }
            Offer::Signing(algorithms) => {
                if algorithms.is_empty() {
                    return Err(Status::INVALID_PARAMETER);
                }
                // No algorithm in common: AES-CMAC, which every client of 3.x knows, and no context.
                if let Some(signing) = preferred_signing(algorithms) {
                    chosen.signing = signing;
                    chosen.contexts.push(Offer::Signing(vec![wire_context::Signing(signing.id())]));
                }
            }
            // A list of versions, each a GUID.
            Offer::Posix(versions) if posix => match versions.as_chunks::<16>() {
                (_, [_, ..]) => return Err(Status::INVALID_PARAMETER),
                (versions, []) if versions.contains(&wire_context::POSIX) => {
                    chosen.contexts.push(Offer::Posix(wire_context::POSIX.to_vec()));
                }
                _ => {}
            },
            _ => {}
        }
    }
    match chosen.contexts.iter().any(|answer| matches!(answer, Offer::PreauthIntegrity { .. })) {
        true => Ok(chosen),
        false => Err(Status::INVALID_PARAMETER),
    }
}

/// GCM is several times as fast as CCM. 128 bits are enough unless the client offers only 256.
fn preferred_cipher(offered: &[wire_context::Cipher]) -> Option<Cipher> {
    [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Aes128Ccm, Cipher::Aes256Ccm]
        .into_iter()
        .find(|cipher| offered.contains(&wire_context::Cipher(cipher.id())))
}

fn preferred_signing(offered: &[wire_context::Signing]) -> Option<SigningAlgorithm> {
    [SigningAlgorithm::AesGmac, SigningAlgorithm::AesCmac, SigningAlgorithm::HmacSha256]
        .into_iter()
        .find(|algorithm| offered.contains(&wire_context::Signing(algorithm.id())))
}

/// The server's capabilities. Those of 3.x are limited to the client's own, 3.3.5.4: some clients
/// act on capabilities that they do not understand.
fn capabilities(
    dialect: Dialect,
    asked: Capabilities,
    cipher: Option<Cipher>,
    (leases_folders, persists): (bool, bool),
) -> Capabilities {
    let mut all = Capabilities::NONE;
    if dialect >= Dialect::V2_1 {
        all |= Capabilities::LEASING | Capabilities::LARGE_MTU;
    }
    if dialect.is_v3() {
        let folders = if leases_folders { Capabilities::DIRECTORY_LEASING } else { Capabilities::NONE };
        let handles = if persists { Capabilities::PERSISTENT_HANDLES } else { Capabilities::NONE };
        all |= (Capabilities::MULTI_CHANNEL | folders | handles) & asked;
    }
    if dialect.is_v3() && dialect < Dialect::V3_1_1 && cipher.is_some() {
        all |= Capabilities::ENCRYPTION;
    }
    all
}

/// What the shares make possible: paths of a namespace are sent only if the server says so here, MS-SMB2 3.2.4.3.
fn of_shares(config: &Config) -> Capabilities {
    let is_namespace = config.shares.iter().any(|share| share.options.dfs);
    if is_namespace { Capabilities::DFS } else { Capabilities::NONE }
}

fn security_mode(config: &Config) -> SecurityMode {
    match config.require_signing {
        true => SecurityMode::SIGNING_ENABLED | SecurityMode::SIGNING_REQUIRED,
        false => SecurityMode::SIGNING_ENABLED,
    }
}

fn max_transact(dialect: Dialect) -> u32 {
    if dialect.has_large_mtu() { MAX_TRANSACT } else { MAX_TRANSACT_OLD }
}

fn response(config: &Config, dialect: Revision, agreed: &Negotiation, contexts: Vec<Offer>) -> Vec<u8> {
    let response = Response {
        security_mode: agreed.server_security_mode,
        dialect,
        server_guid: config.guid,
        capabilities: agreed.server_capabilities,
        max_transact_size: agreed.max_transact,
        max_read_size: agreed.max_transact,
        max_write_size: agreed.max_transact,
        system_time: NtTime::from(vfs::Time::from(SystemTime::now())).0,
        server_start_time: 0,
        security_buffer: exchange::hint(config.kerberos.is_some()),
        contexts,
    };
    let mut w = Writer::new();
    response.encode(&mut w);
    w.into_bytes()
}
