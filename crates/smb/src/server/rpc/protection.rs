//! What protects messages after a login: signatures of NTLM over whole messages, which may be encrypted, or checksums of Kerberos over
//! arguments and results (MS-RPCE 3.3.1.5.2.2, without header signing).

use auth::kerberos::SecurityContext;

use super::bound::Part;
use crate::server::login::ntlm::protection::{NtlmProtection as Ntlm, SIGNATURE};
use crate::wire::rpc::pdu::{Header, Response, Trailer, auth_level, kind};

/// What results are padded to, MS-RPCE 2.2.2.11.
const PADDED_TO: usize = 16;
/// The longest token: checksums of Kerberos have 28 to 40 bytes (RFC 4121 4.2.6.1, RFC 8009).
pub(super) const LONGEST_TOKEN: usize = 64;

pub(super) enum RpcProtection {
    Ntlm(Box<Ntlm>),
    Kerberos(Box<dyn SecurityContext>),
}

impl RpcProtection {
    /// A part of an answer, padded and signed, and encrypted if that is the level. `None`: it cannot be.
    pub(super) fn response(&mut self, trailer: Trailer, call: u32, part: &Part<'_>) -> Option<Vec<u8>> {
        let length = part.response.stub.len();
        let padding = length.next_multiple_of(PADDED_TO) - length;
        let trailer = Trailer { padding: padding as u8, ..trailer };
        let mut stub = part.response.stub.to_vec();
        stub.resize(length + padding, 0);
        let token = match self {
            Self::Ntlm(_) => vec![0; SIGNATURE],
            Self::Kerberos(context) => context.sign(&stub).filter(|token| token.len() <= LONGEST_TOKEN)?,
        };
        let auth_length = token.len() as u16;
        let header = Header { flags: part.flags, auth_length, ..Header::new(kind::RESPONSE, call) };
        let mut message = header.message(|w| {
            Response { stub: &stub, ..part.response }.encode(w);
            trailer.encode(w);
            w.put(&token);
        });
        if let Self::Ntlm(ntlm) = self {
            let signed = message.len() - SIGNATURE;
            let sealed =
                (trailer.level == auth_level::PRIVACY).then_some(Response::OVERHEAD..signed - Trailer::LEN);
            let signature = ntlm.protect(&mut message[..signed], sealed);
            message[signed..].copy_from_slice(&signature);
        }
        Some(message)
    }

    /// Verifies a request whose arguments are from `stub_at` to `at`, where its trailer begins, and decrypts them.
    pub(super) fn open(
        &mut self,
        message: &mut [u8],
        (stub_at, at): (usize, usize),
        level: u8,
        token: &[u8],
    ) -> bool {
        match self {
            Self::Ntlm(ntlm) => {
                let sealed = (level == auth_level::PRIVACY).then_some(stub_at..at);
                ntlm.open(&mut message[..at + Trailer::LEN], sealed, token)
            }
            Self::Kerberos(context) => context.verifies(&message[stub_at..at], token),
        }
    }
}
