//! The calls of the server to clients of minor version 0, each over a connection of its own to the place that the client has
//! named in SETCLIENTID: RFC 7530 10.2.1 and 16.33.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Semaphore;

use super::backchannel::CallbackOutcome;
use super::client::Client;
use super::names::CallbackAddress;
use crate::server::outgoing::{CallEndpoint, CallResults, call};
use crate::server::{CallOrigin, Service};
use crate::wire::portmap::UniversalAddress;
use crate::wire::v4::callbacks::{
    CALLBACK_VERSION, CB_COMPOUND, CB_NULL, Callback, CallbackCall, CallbackReply,
};
use crate::wire::v4::types::Status;
use crate::wire::xdr::Encode;

/// The most calls to one client that are in flight.
const CALLS_OF_CLIENT: usize = 4;
/// The most calls to all of them: each has a connection, for a few seconds at most.
pub(super) const CALLS: usize = 64;

/// Where and how a client of minor version 0 is called.
pub(super) struct CallPath {
    to: CallEndpoint,
    program: u32,
    /// The client's own name of it.
    ident: u32,
    /// The client has answered its last call.
    is_proven: AtomicBool,
    is_being_proven: AtomicBool,
    calls: Semaphore,
}

impl CallPath {
    /// The path to the place that a client has named. The server connects to no other host than the one that the client calls
    /// from, so that nobody can make it connect anywhere else.
    pub(super) fn to(
        place: &CallbackAddress,
        program: u32,
        ident: u32,
        origin: CallOrigin,
    ) -> Option<Arc<Self>> {
        if !matches!(&*place.net, b"tcp" | b"tcp6") {
            return None;
        }
        let UniversalAddress(to) = UniversalAddress::parse(&place.address)?;
        let host = to.ip().to_canonical();
        if host != origin.address.to_canonical()
            || host.is_unspecified()
            || host.is_multicast()
            || to.port() == 0
        {
            return None;
        }
        Some(Arc::new(Self {
            to: CallEndpoint::Tcp(SocketAddr::new(origin.address, to.port())),
            program,
            ident,
            is_proven: AtomicBool::new(false),
            is_being_proven: AtomicBool::new(false),
            calls: Semaphore::new(CALLS_OF_CLIENT),
        }))
    }

    /// Whether the client can be called.
    pub(super) fn is_proven(&self) -> bool {
        self.is_proven.load(Ordering::Acquire)
    }

    /// Calls CB_NULL once, unless that is being done. The client gets no delegation before it has answered.
    pub(super) fn prove(self: &Arc<Self>, service: &Arc<Service>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_proven() || self.is_being_proven.swap(true, Ordering::AcqRel) {
            return;
        }
        let (path, service) = (self.clone(), service.clone());
        runtime.spawn(async move {
            path.call(&service, CB_NULL, &()).await;
            path.is_being_proven.store(false, Ordering::Release);
        });
    }

    async fn call(
        &self,
        service: &Service,
        procedure: u32,
        arguments: &(impl Encode + Sync),
    ) -> Option<CallResults> {
        // Of this client first: one that does not answer must not keep others from being called.
        let _own = self.calls.acquire().await.ok()?;
        let _all = service.nfs4.calls.acquire().await.ok()?;
        let procedure = (self.program, CALLBACK_VERSION, procedure);
        let results = call(service.network(), &self.to, procedure, arguments).await.ok();
        self.is_proven.store(results.is_some(), Ordering::Release);
        results
    }

    /// Calls CB_COMPOUND.
    pub(super) async fn call_back(&self, service: &Service, callback: Callback<'_>) -> CallbackOutcome {
        let call = CallbackCall { minor: 0, ident: self.ident, sequence: None, callback };
        let Some(results) = self.call(service, CB_COMPOUND, &call).await else {
            return CallbackOutcome::Unreachable;
        };
        match results.value::<CallbackReply>() {
            Ok(CallbackReply::Executed { status: Some(Status::OK), .. }) => CallbackOutcome::Accepted,
            Ok(CallbackReply::Attributes { known, .. }) => CallbackOutcome::Attributes(known),
            Ok(_) => CallbackOutcome::Later,
            Err(_) => CallbackOutcome::Unreachable,
        }
    }
}

impl Client {
    /// Calls the client of minor version 0.
    pub(super) async fn call_back(&self, service: &Service, callback: Callback<'_>) -> CallbackOutcome {
        match self.call_path() {
            Some(path) => path.call_back(service, callback).await,
            None => CallbackOutcome::Unreachable,
        }
    }

    /// Whether the client of minor version 0 can be called.
    pub(super) fn is_callable(&self) -> bool {
        self.call_path().is_some_and(|path| path.is_proven())
    }
}
