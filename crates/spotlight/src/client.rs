//! The searches that a client has open in one share, and the calls that it makes about them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use query::language::Clock;
use query::spotlight;
use wire::Malformed;

use crate::found::{ATTRIBUTES, FoundFile};
use crate::message::{FileNumbers, Value, decode, encode};
use crate::search::{ClientSearch, Results};

/// The most searches of a client in a share: the one that is the longest open gives way. Finder has one for each window.
const MOST_SEARCHES: usize = 16;
/// The most results of one answer.
const MOST_FETCHED: usize = 100;
/// The most found files whose attributes a client may still ask for: the first ones are forgotten.
const MOST_KNOWN: usize = 20_000;
/// The most attributes of one call.
const MOST_ATTRIBUTES: usize = 256;
/// Bytes of an answer beside its files, and of each file beside its attributes.
const OF_ANSWER: usize = 512;
const OF_FILE: usize = 24;
/// The results of calls that failed.
const FAILED: u64 = u64::MAX;
/// The result of a fetch while the search goes on, as macOS gives it.
const RUNNING: u64 = 0x23;

/// A share that can be searched, as one user sees it.
pub trait Store: Send + Sync {
    /// The path under which the client is told files: `/` and the name of the share.
    fn base(&self) -> String;

    /// The identity of the share, which stays.
    fn uuid(&self) -> [u8; 16];

    /// The paths that the client may search. It puts them before [`base`](Self::base).
    fn path_scope(&self) -> String;

    /// What now and today are.
    fn clock(&self) -> Clock;

    /// Looks for the page of the search at its position, and delivers it. Returns without waiting for that.
    fn look(&self, search: Arc<ClientSearch>);
}

/// A client's searches in one share.
pub struct Client {
    store: Arc<dyn Store>,
    searches: VecDeque<OpenSearch>,
    known: KnownFiles,
}

/// The two numbers by which a client identifies a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SearchContext {
    number: u64,
    connection: u64,
}

struct OpenSearch {
    context: SearchContext,
    search: Arc<ClientSearch>,
    attributes: Vec<String>,
}

/// Files that were found, so that their attributes can be asked for by their numbers.
#[derive(Default)]
struct KnownFiles {
    files: HashMap<u64, FoundFile>,
    order: VecDeque<u64>,
}

impl KnownFiles {
    fn add(&mut self, file: FoundFile) {
        let number = file.number;
        if self.files.insert(number, file).is_some() {
            return;
        }
        self.order.push_back(number);
        if self.order.len() > MOST_KNOWN {
            self.order.pop_front().and_then(|first| self.files.remove(&first));
        }
    }
}

impl Client {
    /// A client that has no search open.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, searches: VecDeque::new(), known: KnownFiles::default() }
    }

    /// Goes on with the share as it is now, and with the rights that its user has now.
    pub fn renew(&mut self, store: Arc<dyn Store>) {
        self.store = store;
    }

    /// The path of the share, as this client is told it.
    pub fn base(&self) -> String {
        self.store.base()
    }

    /// Answers a call, with about `room` bytes at most.
    ///
    /// # Errors
    /// The message is none, or the call is unknown.
    pub fn answer(&mut self, message: &[u8], room: usize) -> Result<Vec<u8>, Malformed> {
        let message = decode(message)?;
        let call = Call::of(&message).ok_or(Malformed("a message without a call"))?;
        let answer = match call.name {
            "fetchPropertiesForContext:" => self.properties(),
            "openQueryWithParams:forContext:" => result(self.open(&call)),
            "fetchQueryResultsForContext:" => self.fetch(&call, room),
            "closeQueryForContext:" => self.close(&call),
            // Macs set their own notes of a share; the tree keeps metadata in its own way.
            "storeAttributes:forOIDArray:context:" => result(Some(())),
            "fetchAttributeNamesForOIDArray:context:" => self.attribute_names(&call),
            "fetchAttributes:forOIDArray:context:" | "fetchAllAttributes:forOIDArray:context:" => {
                self.attributes(&call, room)
            }
            _ => return Err(Malformed("an unknown call")),
        };
        Ok(encode(&answer))
    }

    fn properties(&self) -> Value {
        let text = |text: &str| Value::Text(text.into());
        let uuid = self.store.uuid();
        let scopes = ["kMDQueryScopeComputer", "kMDQueryScopeAllIndexed", "kMDQueryScopeComputerIndexed"];
        let entries = [
            ("kMDSStoreHasPersistentUUID", Value::Bool(true)),
            ("kMDSStoreIsBackup", Value::Bool(false)),
            ("kMDSStoreUUID", Value::Uuid(uuid)),
            ("kMDSStoreSupportsVolFS", Value::Bool(true)),
            ("kMDSVolumeUUID", Value::Uuid(uuid)),
            ("kMDSDiskStoreSpindleNumber", Value::Integer(1)),
            // These three are what macOS itself tells; their meaning is not known.
            ("kMDSDiskStorePolicy", Value::Integer(3)),
            ("kMDSStoreDevice", Value::Integer(0x0100_0003)),
            ("kMDSStoreSupportsTCC", Value::Bool(true)),
            ("kMDSStoreMetaScopes", Value::Array(scopes.map(text).to_vec())),
            ("kMDSStorePathScopes", Value::Array(vec![Value::WideText(self.store.path_scope())])),
        ];
        Value::Dictionary(entries.map(|(name, value)| (name.to_owned(), value)).to_vec())
    }

    fn open(&mut self, call: &Call<'_>) -> Option<()> {
        let context = call.context?;
        let asked = call.arguments.first()?;
        let query = spotlight::parse(asked.named("kMDQueryString")?.text()?, &self.store.clock()).ok()?;
        let scope = self.scope(asked.named("kMDScopeArray")?)?;
        let attributes = texts(asked.named("kMDAttributeArray")?.elements()?);
        let only = match asked.named("kMDQueryItemArray") {
            None => None,
            Some(Value::Files(files)) => Some(files.numbers.clone()),
            Some(Value::Array(numbers)) => Some(numbers.iter().filter_map(Value::integer).collect()),
            Some(_) => return None,
        };
        self.searches.retain(|open| open.context != context);
        if self.searches.len() >= MOST_SEARCHES {
            self.searches.pop_front();
        }
        let search = Arc::new(ClientSearch::new(query, scope, only));
        self.look(&search);
        self.searches.push_back(OpenSearch { context, search, attributes });
        Some(())
    }

    /// Looks for the next page, unless somebody does already or what was found waits to be fetched.
    fn look(&self, search: &Arc<ClientSearch>) {
        if search.begin_looking() {
            self.store.look(search.clone());
        }
    }

    /// The folder that a client wants to search: the first path, in an array or in an array of arrays.
    fn scope(&self, scopes: &Value) -> Option<Vec<String>> {
        let first = scopes.elements()?.first()?;
        let path = first.text().or_else(|| first.elements()?.first()?.text())?;
        let below = match path.strip_prefix(&*self.store.base()) {
            Some(below) if below.is_empty() || below.starts_with('/') => below,
            _ if path.trim_matches('/').is_empty() => "",
            _ => return None,
        };
        let names = below.split('/').filter(|name| !name.is_empty());
        let is_path = !below.split('/').any(|name| matches!(name, "." | ".."));
        is_path.then(|| names.map(str::to_owned).collect())
    }

    fn fetch(&mut self, call: &Call<'_>, room: usize) -> Value {
        let Some(open) = self.find(call) else { return result(None) };
        let (search, context, base) = (open.search.clone(), open.context, self.store.base());
        let mut answer = Answered::new(room);
        let has_room = |file: &FoundFile| answer.add(file.number, describe(file, &open.attributes, &base));
        let Some(Results { files, is_running }) = search.take(MOST_FETCHED, has_room) else {
            self.searches.retain(|open| open.context != context);
            return result(None);
        };
        files.into_iter().for_each(|file| self.known.add(file));
        self.look(&search);
        let status = if is_running { RUNNING } else { 0 };
        answer.into_value(status, FileNumbers::FOUND, context.connection as u32)
    }

    fn find(&self, call: &Call<'_>) -> Option<&OpenSearch> {
        let context = call.context?;
        self.searches.iter().find(|open| open.context == context)
    }

    /// macOS answers a close as if it had failed.
    fn close(&mut self, call: &Call<'_>) -> Value {
        self.searches.retain(|open| Some(open.context) != call.context);
        result(None)
    }

    fn attribute_names(&self, call: &Call<'_>) -> Value {
        let Some(files) = call.arguments.iter().find_map(files_of) else { return result(None) };
        let names = ATTRIBUTES.iter().map(|name| Value::Text((*name).into())).collect();
        let numbers = files.numbers.iter().copied().take(1).collect();
        let files = FileNumbers { purpose: FileNumbers::DESCRIBED, context: files.context, numbers };
        let names = Value::Metadata(Some(Box::new(Value::Array(names))));
        Value::Array(vec![Value::Integer(0), Value::Files(files), names])
    }

    fn attributes(&self, call: &Call<'_>, room: usize) -> Value {
        let Some(files) = call.arguments.iter().find_map(files_of) else { return result(None) };
        let wanted = call.arguments.iter().find_map(Value::elements).map(texts).unwrap_or_default();
        let wanted = match wanted.is_empty() {
            true => ATTRIBUTES.iter().map(|name| (*name).to_owned()).collect(),
            false => wanted,
        };
        let base = self.store.base();
        let mut answer = Answered::new(room);
        for number in files.numbers.iter().take(MOST_FETCHED) {
            let values = self.known.files.get(number).map(|file| describe(file, &wanted, &base));
            if !answer.add(*number, values.unwrap_or(Value::Nil)) {
                break;
            }
        }
        answer.into_value(0, FileNumbers::DESCRIBED, files.context)
    }
}

/// Files and their attributes, as many as an answer has room for.
struct Answered {
    room: usize,
    numbers: Vec<u64>,
    values: Vec<Value>,
}

impl Answered {
    /// The list begins with a value that stands for nothing, as that of macOS does.
    fn new(room: usize) -> Self {
        Self { room: room.saturating_sub(OF_ANSWER), numbers: Vec::new(), values: vec![Value::Nil] }
    }

    /// Adds a file, if there is room for it or it is the first one.
    fn add(&mut self, number: u64, values: Value) -> bool {
        let length = encode(&values).len() + OF_FILE;
        if length > self.room && !self.numbers.is_empty() {
            return false;
        }
        self.room = self.room.saturating_sub(length);
        self.numbers.push(number);
        self.values.push(values);
        true
    }

    fn into_value(self, status: u64, purpose: u16, context: u32) -> Value {
        let values = (!self.numbers.is_empty()).then(|| Box::new(Value::Array(self.values)));
        let files = FileNumbers { purpose, context, numbers: self.numbers };
        Value::Array(vec![Value::Integer(status), Value::Files(files), Value::Metadata(values)])
    }
}

/// A call: its name, the search that it is about, and its arguments.
struct Call<'a> {
    name: &'a str,
    context: Option<SearchContext>,
    arguments: &'a [Value],
}

impl<'a> Call<'a> {
    fn of(message: &'a Value) -> Option<Self> {
        let (head, arguments) = message.elements()?.split_first()?;
        let (name, numbers) = head.elements()?.split_first()?;
        let context = match numbers {
            [Value::Integer(number), Value::Integer(connection), ..] => {
                Some(SearchContext { number: *number, connection: *connection })
            }
            _ => None,
        };
        // The second number comes back in 32 bits.
        let context = context.filter(|context| u32::try_from(context.connection).is_ok());
        Some(Self { name: name.text()?, context, arguments })
    }
}

/// The answer that has only a result.
fn result(done: Option<()>) -> Value {
    Value::Array(vec![Value::Integer(done.map_or(FAILED, |()| 0))])
}

fn describe(file: &FoundFile, attributes: &[String], base: &str) -> Value {
    if attributes.is_empty() {
        return Value::Nil;
    }
    Value::Array(attributes.iter().map(|name| file.attribute(name, base)).collect())
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(Value::text).take(MOST_ATTRIBUTES).map(str::to_owned).collect()
}

fn files_of(value: &Value) -> Option<&FileNumbers> {
    match value {
        Value::Files(files) => Some(files),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
