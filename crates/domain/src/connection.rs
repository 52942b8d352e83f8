//! An encrypted connection to a domain controller, logged in by Kerberos.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;

use auth::kerberos::SecurityContext;
use kerberos::Initiator;
use ldap3::adapters::{Adapter, EntriesOnly, PagedResults};
use ldap3::{Ldap, LdapConnAsync, LdapConnSettings, Scope, SearchEntry, StdStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;

use crate::Error;
use crate::membership::wait;
use crate::wire::bind;

const PORT: u16 = 389;
/// How long a controller may take to connect, or to answer.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The most addresses of controllers that are tried.
const MOST_ADDRESSES: usize = 8;
/// The most tokens of a login.
const MOST_STEPS: usize = 8;
/// The security layer that encrypts, RFC 4752 3.3.
const ENCRYPTING: u8 = 4;
/// The longest encrypted message that the controller may send.
const LONGEST: u32 = 1 << 20;
/// How many entries the directory sends at once. The limit of Active Directory is 1,000.
const PAGE: i32 = 500;
/// The longest plain message that is sent in one piece.
const PIECE: usize = 16 << 10;

/// Where a domain is.
pub(crate) struct Place<'a> {
    /// The DNS name of the domain, to which its controllers' addresses belong.
    pub(crate) domain: &'a str,
    /// A controller to ask instead.
    pub(crate) controller: Option<&'a str>,
}

/// A connection.
pub(crate) struct Connection {
    ldap: Ldap,
    /// The controller's name.
    pub(crate) host: String,
    /// The name of the domain in the directory, such as `DC=lab,DC=test`.
    pub(crate) base: String,
}

/// What a controller says of itself to everyone.
struct Root {
    address: SocketAddr,
    host: String,
    base: String,
}

impl Connection {
    /// Connects to a controller, and logs in.
    pub(crate) async fn open(place: &Place<'_>, principal: &str, who: &Initiator) -> Result<Self, Error> {
        let Root { address, host, base } = find(place).await?;
        let broken = |why: String| Error::Broken { host: host.clone(), why };
        let tcp = within(TcpStream::connect(address)).await.map_err(broken)?;
        let mut socket = LdapSocket { tcp, host: host.clone() };
        let service = format!("ldap/{host}@{}", place.domain.to_uppercase());
        let context = socket.log_in(principal, who, service).await?;
        let (ours, theirs) = StdUnixStream::pair().map_err(|error| broken(error.to_string()))?;
        ours.set_nonblocking(true).map_err(|error| broken(error.to_string()))?;
        let plain = UnixStream::from_std(ours).map_err(|error| broken(error.to_string()))?;
        tokio::task::spawn_local(pump(socket.tcp, plain, context));
        let settings = LdapConnSettings::new().set_std_stream(StdStream::Unix(theirs));
        let opened = LdapConnAsync::with_settings(settings, "ldapi://directory").await;
        let (connection, ldap) = opened.map_err(|error| broken(error.to_string()))?;
        tokio::task::spawn_local(connection.drive());
        Ok(Self { ldap, host, base })
    }

    /// The entries that match.
    pub(crate) async fn search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        attributes: &[&str],
    ) -> Result<Vec<SearchEntry>, Error> {
        let what = "search";
        let found = self.ldap.with_timeout(TIMEOUT).search(base, scope, filter, attributes.to_vec()).await;
        let (entries, _) = found
            .and_then(ldap3::SearchResult::success)
            .map_err(|error| Error::Refused { what, why: error.to_string() })?;
        Ok(entries.into_iter().map(SearchEntry::construct).collect())
    }

    /// All entries of the domain that match, page by page; at most `most`.
    pub(crate) async fn all(
        &mut self,
        filter: &str,
        attributes: &[&str],
        most: usize,
    ) -> Result<Vec<SearchEntry>, Error> {
        let refused = |error: ldap3::LdapError| Error::Refused {
            what: "list users and groups",
            why: error.to_string(),
        };
        let pages: Vec<Box<dyn Adapter<'_, _, _>>> =
            vec![Box::new(EntriesOnly::new()), Box::new(PagedResults::new(PAGE))];
        let (base, ldap) = (self.base.clone(), self.ldap.with_timeout(TIMEOUT));
        let search = ldap.streaming_search_with(pages, &base, Scope::Subtree, filter, attributes.to_vec());
        let (mut search, mut all) = (search.await.map_err(refused)?, Vec::new());
        while let Some(entry) = search.next().await.map_err(refused)? {
            if all.len() >= most {
                return Err(Error::Refused {
                    what: "list users and groups",
                    why: format!("there are more than {most}"),
                });
            }
            all.push(SearchEntry::construct(entry));
        }
        search.finish().await.success().map_err(refused)?;
        Ok(all)
    }

    /// A handle for changes.
    pub(crate) fn changing(&mut self) -> &mut Ldap {
        self.ldap.with_timeout(TIMEOUT)
    }
}

/// The result of a change.
pub(crate) fn done(
    what: &'static str,
    result: ldap3::result::Result<ldap3::LdapResult>,
) -> Result<(), Error> {
    let result = result.and_then(ldap3::LdapResult::success);
    result.map(|_| ()).map_err(|error| Error::Refused { what, why: error.to_string() })
}

/// The first controller that answers.
async fn find(place: &Place<'_>) -> Result<Root, Error> {
    let name = place.controller.unwrap_or(place.domain);
    let unreachable = |why: String| Error::Unreachable { domain: place.domain.to_owned(), why };
    let addresses =
        within(lookup_host((name, PORT))).await.map_err(|why| unreachable(format!("{name}: {why}")))?;
    let mut last = format!("{name} has no address");
    for address in addresses.take(MOST_ADDRESSES) {
        match root(address, place.domain).await {
            Ok(root) => return Ok(root),
            Err(why) => last = format!("{address}: {why}"),
        }
    }
    Err(unreachable(last))
}

/// The name of the controller at an address, if it is one of the domain. It waits for the network.
pub(crate) fn host_at(address: IpAddr, domain: &str, limit: Duration) -> Result<String, String> {
    let asked = async { Ok(timeout(limit, root(SocketAddr::new(address, PORT), domain)).await) };
    match wait(asked) {
        Ok(Ok(root)) => root.map(|root| root.host),
        Ok(Err(_)) => Err("its directory does not answer in time".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Asks a controller for its name, without a login (RFC 4512 5.1). A false answer is found out: the controller then has no key for its name.
async fn root(address: SocketAddr, domain: &str) -> Result<Root, String> {
    let settings = LdapConnSettings::new().set_conn_timeout(TIMEOUT);
    let opened = LdapConnAsync::with_settings(settings, &format!("ldap://{address}")).await;
    let (connection, mut ldap) = opened.map_err(|error| error.to_string())?;
    tokio::task::spawn_local(connection.drive());
    let wanted = vec!["dnsHostName", "defaultNamingContext"];
    let found = ldap.with_timeout(TIMEOUT).search("", Scope::Base, "(objectClass=*)", wanted).await;
    let (entries, _) = found.and_then(ldap3::SearchResult::success).map_err(|error| error.to_string())?;
    _ = ldap.unbind().await;
    let entry = entries.into_iter().next().map(SearchEntry::construct).ok_or("it says nothing of itself")?;
    let first = |name: &str| first(&entry, name).map(str::to_owned);
    let (host, base) =
        first("dnsHostName").zip(first("defaultNamingContext")).ok_or("it is no domain controller")?;
    let expected: Vec<String> = domain.split('.').map(|part| format!("DC={part}")).collect();
    match base.eq_ignore_ascii_case(&expected.join(",")) {
        true => Ok(Root { address, host: host.to_lowercase(), base }),
        false => Err(format!("it is a controller of {base}")),
    }
}

/// The first value of an attribute, whose name counts in any case.
pub(crate) fn first<'a>(entry: &'a SearchEntry, name: &str) -> Option<&'a str> {
    let (_, values) = entry.attrs.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
    values.first().map(String::as_str)
}

async fn within<T>(work: impl Future<Output = std::io::Result<T>>) -> Result<T, String> {
    match timeout(TIMEOUT, work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("no answer".into()),
    }
}

/// The connection before `ldap3` has it.
struct LdapSocket {
    tcp: TcpStream,
    host: String,
}

impl LdapSocket {
    fn broken(&self, why: impl Into<String>) -> Error {
        Error::Broken { host: self.host.clone(), why: why.into() }
    }

    /// The exchange of RFC 4752 3.1, which ends with the choice of a security layer.
    async fn log_in(
        &mut self,
        principal: &str,
        who: &Initiator,
        service: String,
    ) -> Result<Box<dyn SecurityContext>, Error> {
        let refused = |why: String| Error::Login { principal: principal.to_owned(), why };
        let (mut login, mut received) = (who.login(service), Vec::new());
        let mut is_complete = false;
        for step in 1..=MOST_STEPS as u8 {
            if is_complete && !received.is_empty() {
                let offered = login.checked(&received).ok_or_else(|| self.broken("its offer is damaged"))?;
                if offered.first().is_none_or(|layers| layers & ENCRYPTING == 0) {
                    return Err(self.broken("it does not encrypt"));
                }
                let mut chosen = LONGEST.to_be_bytes();
                chosen[0] = ENCRYPTING;
                let chosen = login.protect(&chosen).ok_or_else(|| self.broken("nothing can be protected"))?;
                let last = self.bind(step, &chosen).await?;
                return match last.code {
                    0 => Ok(login.context()),
                    _ => Err(refused(last.text)),
                };
            }
            let token = match is_complete {
                true => Vec::new(),
                false => {
                    let (token, complete) = who.step(&mut login, &received).map_err(refused)?;
                    is_complete = complete;
                    token
                }
            };
            let answer = self.bind(step, &token).await?;
            if answer.code != bind::IN_PROGRESS {
                return Err(refused(answer.text));
            }
            received = answer.token;
        }
        Err(self.broken("its login does not end"))
    }

    async fn bind(&mut self, id: u8, token: &[u8]) -> Result<bind::Response, Error> {
        let bytes = within(self.exchange(id, token)).await.map_err(|why| self.broken(why))?;
        bind::response(&bytes).map_err(|malformed| self.broken(malformed.to_string()))
    }

    async fn exchange(&mut self, id: u8, token: &[u8]) -> std::io::Result<Vec<u8>> {
        self.tcp.write_all(&bind::request(id, token)).await?;
        let mut bytes = vec![0; 6];
        self.tcp.read_exact(&mut bytes).await?;
        let length =
            bind::length(&bytes).map_err(|malformed| std::io::Error::other(malformed.to_string()))?;
        let length = length.filter(|length| *length >= bytes.len());
        bytes.resize(length.ok_or_else(|| std::io::Error::other("an answer that is too short"))?, 0);
        self.tcp.read_exact(&mut bytes[6..]).await?;
        Ok(bytes)
    }
}

/// Encrypts what `ldap3` sends, and decrypts what the controller answers, until one of them ends. Each piece has its length in
/// front, RFC 4422 3.7.
async fn pump(mut tcp: TcpStream, mut plain: UnixStream, context: Box<dyn SecurityContext>) {
    let (mut from, mut to) = tcp.split();
    let (mut asked, mut answers) = plain.split();
    let mut piece = vec![0; PIECE];
    let (mut head, mut known) = ([0; 4], 0);
    loop {
        tokio::select! {
            read = asked.read(&mut piece) => {
                let Ok(count @ 1..) = read else { return };
                let Some(sealed) = context.seal(&piece[..count]) else { return };
                let length = (sealed.len() as u32).to_be_bytes();
                if to.write_all(&[&length, &sealed[..]].concat()).await.is_err() {
                    return;
                }
            }
            read = from.read(&mut head[known..]) => {
                let Ok(count @ 1..) = read else { return };
                known += count;
                if known < head.len() {
                    continue;
                }
                known = 0;
                let length = u32::from_be_bytes(head);
                if length > LONGEST {
                    return;
                }
                let mut sealed = vec![0; length as usize];
                let Ok(_) = from.read_exact(&mut sealed).await else { return };
                let Some(message) = context.open(&sealed) else { return };
                if answers.write_all(&message).await.is_err() {
                    return;
                }
            }
        }
    }
}
