//! The server side of Kerberos: a thread takes the tickets of clients and says who they are.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use auth::Domain;
use auth::kerberos::{Accepting, Beginning, Kerberos, LoginProgress, SecurityContext, Ticket, TicketRefusal};
use tokio::sync::oneshot;

use crate::keytab;
use crate::library::{AcceptedContext, Context, GssCredentials, Library, LogonInfo, c_string};
use crate::wire::logon_info;

/// The file of the state folder in which MIT Kerberos remembers the tickets that it has seen.
const REPLAYS: &str = "kerberos-replays";
/// The longest token that is given to the library. A ticket with a very large PAC has 128 KiB.
const LONGEST_TOKEN: usize = 256 << 10;

/// The most logins that wait for the thread.
const MOST_WAITING: usize = 256;

/// Why Kerberos cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library cannot be opened.
    #[error(
        "MIT Kerberos cannot be used ({0}); install it (Debian: `apt install libgssapi-krb5-2`), or remove `kerberos-keytab`"
    )]
    Library(String),
    /// The keytab cannot be read.
    #[error("the keytab {} cannot be read: {why}; it must be readable by the server's user", path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// What the host says.
        why: String,
    },
    /// The keytab has no keys.
    #[error("the keytab {} has no keys; `ktutil` or `kadmin ktadd` writes them", .0.display())]
    Empty(PathBuf),
    /// The host has no thread left.
    #[error("no thread for Kerberos: {0}")]
    Thread(std::io::Error),
    /// The library does not take the keytab.
    #[error("MIT Kerberos does not take the keytab {}: {why}", path.display())]
    Refused {
        /// Its path.
        path: PathBuf,
        /// What the library says.
        why: String,
    },
}

/// Takes the tickets that are made for the keys of a keytab.
///
/// A thread of its own does that: it reads the keytab as the server's user, while the threads that serve clients act as the
/// clients' users, and a slow disk keeps no other client waiting. It ends with the acceptor.
pub struct Acceptor {
    jobs: SyncSender<AcceptJob>,
    realms: Vec<String>,
    principals: Vec<String>,
}

/// A client's token, the login that it continues, and where the result goes.
struct AcceptJob {
    token: Vec<u8>,
    begun: Option<Context>,
    done: oneshot::Sender<Result<TokenOutcome, TicketRefusal>>,
}

/// What comes of a token.
enum TokenOutcome {
    Whole(Ticket),
    /// The token for the client, which is to send another one.
    Half(Vec<u8>, Context),
}

/// A token that is being looked at.
type Taking = Pin<Box<dyn Future<Output = Result<TokenOutcome, TicketRefusal>> + Send>>;

impl Acceptor {
    /// An acceptor with the keys of a keytab. Users of `realms` have the accounts of their names; if there are none, those of
    /// the realms in the keytab. Users of `domain` have accounts by what their tickets say.
    ///
    /// # Errors
    /// The library or the keytab cannot be used; the text says what to do.
    pub fn new(
        keytab: &Path,
        realms: &[String],
        state: &Path,
        domain: Option<Arc<Domain>>,
    ) -> Result<Self, Error> {
        let unreadable = |why: String| Error::Unreadable { path: keytab.into(), why };
        let file = std::fs::read(keytab).map_err(|error| unreadable(error.to_string()))?;
        let entries = keytab::entries(&file).map_err(|error| unreadable(error.to_string()))?;
        if entries.is_empty() {
            return Err(Error::Empty(keytab.into()));
        }
        let library = Library::open().map_err(Error::Library)?;
        let text = |path: String| c_string(path).ok_or_else(|| unreadable("a zero in its path".into()));
        let names = (
            text(format!("FILE:{}", keytab.display()))?,
            text(format!("file2:{}", state.join(REPLAYS).display()))?,
        );
        let credentials = library
            .credentials(&names.0, &names.1)
            .map_err(|failed| Error::Refused { path: keytab.into(), why: failed.text })?;
        let unique = |mut all: Vec<String>| {
            all.sort();
            all.dedup();
            all
        };
        let principals = unique(entries.iter().map(keytab::Entry::to_string).collect());
        let realms = match realms.is_empty() {
            true => unique(entries.into_iter().map(|entry| entry.realm).collect()),
            false => realms.to_vec(),
        };
        let (jobs, received) = sync_channel(MOST_WAITING);
        let rules = TicketRules { keytab: keytab.to_owned(), realms: realms.clone(), domain };
        let work = move || accept_all(&credentials, &rules, &received);
        std::thread::Builder::new().name("kerberos".into()).spawn(work).map_err(Error::Thread)?;
        Ok(Self { jobs, realms, principals })
    }

    /// The principals of the keytab, such as `cifs/filer.example.com@EXAMPLE.COM`.
    pub fn principals(&self) -> &[String] {
        &self.principals
    }

    /// The realms whose users have accounts.
    pub fn realms(&self) -> &[String] {
        &self.realms
    }
}

/// What decides which account a ticket means.
struct TicketRules {
    keytab: PathBuf,
    realms: Vec<String>,
    domain: Option<Arc<Domain>>,
}

/// Works until the acceptor is gone.
fn accept_all(credentials: &GssCredentials, rules: &TicketRules, jobs: &Receiver<AcceptJob>) {
    for AcceptJob { token, begun, done } in jobs {
        let accepted = credentials
            .accept(begun, &token)
            .map_err(|failed| with_keytab(refused(failed.code, failed.text), &rules.keytab));
        let taken = accepted.and_then(|accepted| match accepted.is_unfinished {
            true => Ok(TokenOutcome::Half(accepted.reply, accepted.context)),
            false => ticket(accepted, rules).map(TokenOutcome::Whole),
        });
        _ = done.send(taken); // the client may be gone
    }
}

fn ticket(accepted: AcceptedContext, rules: &TicketRules) -> Result<Ticket, TicketRefusal> {
    let AcceptedContext { context, principal, reply, session_key, logon_info, lifetime, .. } = accepted;
    let realms = &rules.realms;
    let is_machine = is_machine(&principal, realms);
    let of_domain = match &rules.domain {
        _ if is_machine => None,
        Some(domain) => account_in(domain, &principal, logon_info)?,
        None => None,
    };
    let by_name = || account(&principal, realms).filter(|_| !is_machine).map(str::to_owned);
    let account = of_domain.or_else(by_name);
    let expires = lifetime.map(|seconds| SystemTime::now() + Duration::from_secs(u64::from(seconds)));
    let context = Box::new(context);
    Ok(Ticket { principal, account, is_machine, session_key, reply, expires, context })
}

/// The account of a domain's user, which is known from then on. `None` if the ticket is of another realm and says nothing of its
/// user. MIT Kerberos 1.20 hides a PAC whose signature is wrong, so a ticket of the domain without one is refused.
fn account_in(
    domain: &Domain,
    principal: &str,
    logon_info: LogonInfo,
) -> Result<Option<String>, TicketRefusal> {
    let realm = principal.rsplit_once('@').map_or("", |(_, realm)| realm);
    let information = match logon_info {
        LogonInfo::Absent if realm != domain.realm() => return Ok(None),
        LogonInfo::Absent | LogonInfo::Unverified => {
            return Err(TicketRefusal::Other(format!(
                "the ticket of {principal} has no PAC, or the signature of its PAC is wrong"
            )));
        }
        LogonInfo::Verified(bytes) => bytes,
    };
    let user = logon_info::decode(&information).map_err(|malformed| {
        TicketRefusal::Other(format!("the PAC in the ticket of {principal} is damaged: {malformed}"))
    })?;
    let account = domain.enter(realm, user);
    account
        .map(Some)
        .map_err(|why| TicketRefusal::Other(format!("{principal} cannot be a user of this server: {why}")))
}

impl Acceptor {
    fn take(&self, begun: Option<Context>, token: Vec<u8>) -> Taking {
        let refuse = |why: &str| -> Taking {
            let refused = TicketRefusal::Other(why.to_owned());
            Box::pin(std::future::ready(Err(refused)))
        };
        if token.len() > LONGEST_TOKEN {
            return refuse("the ticket is too long");
        }
        let (done, result) = oneshot::channel();
        match self.jobs.try_send(AcceptJob { token, begun, done }) {
            Ok(()) => Box::pin(async {
                result.await.unwrap_or_else(|_| Err(TicketRefusal::Other("the server is stopping".into())))
            }),
            Err(_) => refuse("too many clients log in at once"),
        }
    }
}

/// A login that has no further token.
fn whole(taken: TokenOutcome) -> Result<Ticket, TicketRefusal> {
    match taken {
        TokenOutcome::Whole(ticket) => Ok(ticket),
        TokenOutcome::Half(..) => {
            Err(TicketRefusal::Other("the client wants to send more than one message".into()))
        }
    }
}

impl Kerberos for Acceptor {
    fn accept(&self, token: Vec<u8>) -> Accepting {
        let taking = self.take(None, token);
        Box::pin(async { taking.await.and_then(whole) })
    }

    fn begin(&self, token: Vec<u8>) -> Beginning {
        let taking = self.take(None, token);
        Box::pin(async {
            Ok(match taking.await? {
                TokenOutcome::Whole(ticket) => LoginProgress::Whole(ticket),
                TokenOutcome::Half(reply, context) => LoginProgress::Half { reply, state: Box::new(context) },
            })
        })
    }

    fn finish(&self, begun: Box<dyn Any + Send>, token: Vec<u8>) -> Accepting {
        let Ok(context) = begun.downcast::<Context>() else {
            let other = TicketRefusal::Other("it was begun by another server".into());
            return Box::pin(std::future::ready(Err(other)));
        };
        let taking = self.take(Some(*context), token);
        Box::pin(async { taking.await.and_then(whole) })
    }
}

impl SecurityContext for Context {
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        Context::sign(self, message).ok()
    }

    fn verifies(&self, message: &[u8], checksum: &[u8]) -> bool {
        Context::verifies(self, message, checksum)
    }

    fn seal(&self, message: &[u8]) -> Option<Vec<u8>> {
        Context::seal(self, message)
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        Context::open(self, sealed)
    }
}

/// The account that a principal means: that of its name, if it is a user (no service, which has two components) of one of
/// these realms.
fn account<'a>(principal: &'a str, realms: &[String]) -> Option<&'a str> {
    let (name, realm) = principal.rsplit_once('@')?;
    let is_user = !name.is_empty() && !name.contains(['/', '\\', '@']);
    (is_user && realms.iter().any(|known| known == realm)).then_some(name)
}

/// Whether a principal is a host of these realms. Clients of NFS use its key for what no user asks for: Linux takes the first of
/// `HOST$`, `root/HOST`, `nfs/HOST` and `host/HOST` in its keytab.
fn is_machine(principal: &str, realms: &[String]) -> bool {
    let Some((name, realm)) = principal.rsplit_once('@') else { return false };
    let is_host = match name.split_once('/') {
        Some((service, host)) => {
            matches!(service, "nfs" | "host" | "root") && !host.is_empty() && !host.contains(['/', '\\', '@'])
        }
        None => name.len() > 1 && name.ends_with('$') && !name.contains(['\\', '@']),
    };
    is_host && realms.iter().any(|known| known == realm)
}

/// The base of Kerberos's error codes (RFC 4120 7.5.9), as MIT numbers them.
const BASE: u32 = (-1_765_328_384_i32) as u32;

fn refused(code: u32, text: String) -> TicketRefusal {
    match code.wrapping_sub(BASE) {
        32 => TicketRefusal::Expired,
        33 | 37 => TicketRefusal::Clock,
        34 => TicketRefusal::Replayed,
        44 => TicketRefusal::OtherVersion(text),
        35 | 45 | 181 | 230 => TicketRefusal::OtherService(text),
        _ => TicketRefusal::Other(text),
    }
}

/// A keytab that cannot be opened has no keys, as the library says: whether it is that.
fn with_keytab(refused: TicketRefusal, keytab: &Path) -> TicketRefusal {
    match refused {
        TicketRefusal::OtherService(text) => match std::fs::File::open(keytab) {
            Ok(_) => TicketRefusal::OtherService(text),
            Err(error) => TicketRefusal::Keytab(format!("{}: {error}", keytab.display())),
        },
        refused => refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_the_own_realms_have_the_account_of_their_name_and_others_have_none() {
        let realms = ["LAB.TEST".to_owned()];
        assert_eq!(account("ada@LAB.TEST", &realms), Some("ada"));
        for other in ["ada@OTHER.TEST", "ada", "@LAB.TEST", "ada/admin@LAB.TEST", "ada\\@LAB.TEST@OTHER.TEST"]
        {
            assert_eq!(account(other, &realms), None, "{other}");
        }
        assert_eq!(account("a\\@b@LAB.TEST", &realms), None);
    }

    #[test]
    fn hosts_of_the_own_realms_are_machines_and_no_users() {
        let realms = ["LAB.TEST".to_owned()];
        for host in ["nfs/a.lab.test@LAB.TEST", "host/a@LAB.TEST", "root/a@LAB.TEST", "A$@LAB.TEST"] {
            assert!(is_machine(host, &realms), "{host}");
        }
        for other in [
            "nfs/a@OTHER.TEST",
            "nfs/@LAB.TEST",
            "nfs/a/b@LAB.TEST",
            "ada/admin@LAB.TEST",
            "$@LAB.TEST",
            "ada@LAB.TEST",
        ] {
            assert!(!is_machine(other, &realms), "{other}");
        }
    }

    #[test]
    fn the_reasons_that_an_administrator_mends_in_other_ways_are_told_apart() {
        let of = |code: i32| refused(code as u32, "text".into());
        assert_eq!(of(-1_765_328_352), TicketRefusal::Expired); // KRB5KRB_AP_ERR_TKT_EXPIRED
        assert_eq!(of(-1_765_328_347), TicketRefusal::Clock); // KRB5KRB_AP_ERR_SKEW
        assert_eq!(of(-1_765_328_350), TicketRefusal::Replayed); // KRB5KRB_AP_ERR_REPEAT
        assert_eq!(of(-1_765_328_203), TicketRefusal::OtherService("text".into())); // KRB5_KT_NOTFOUND
        assert_eq!(of(-1_765_328_340), TicketRefusal::OtherVersion("text".into())); // KRB5KRB_AP_ERR_BADKEYVER
        assert_eq!(of(-1), TicketRefusal::Other("text".into()));
        let folder = tempfile::tempdir().unwrap();
        let gone = with_keytab(TicketRefusal::OtherService("text".into()), &folder.path().join("keytab"));
        assert!(matches!(gone, TicketRefusal::Keytab(_)), "{gone:?}");
        assert_eq!(with_keytab(TicketRefusal::Clock, &folder.path().join("keytab")), TicketRefusal::Clock);
    }

    #[test]
    fn a_keytab_that_is_missing_or_empty_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keytab");
        let error = |path: &Path| Acceptor::new(path, &[], folder.path(), None).err().unwrap().to_string();
        assert!(error(&path).contains("cannot be read"));
        std::fs::write(&path, b"\x05\x02").unwrap();
        assert!(error(&path).contains("kadmin ktadd"));
    }
}
