//! The messages: SOAP 1.2 in UDP datagrams and in HTTP requests.

pub mod answer;
pub mod http;
pub mod request;

/// XML namespaces.
pub mod namespace {
    /// SOAP 1.2.
    pub const SOAP: &str = "http://www.w3.org/2003/05/soap-envelope";
    /// WS-Addressing, August 2004.
    pub const ADDRESSING: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
    /// WS-Discovery, April 2005.
    pub const DISCOVERY: &str = "http://schemas.xmlsoap.org/ws/2005/04/discovery";
    /// The Devices Profile, February 2006.
    pub const DEVICE_PROFILE: &str = "http://schemas.xmlsoap.org/ws/2006/02/devprof";
    /// WS-MetadataExchange.
    pub const METADATA: &str = "http://schemas.xmlsoap.org/ws/2004/09/mex";
    /// WS-Transfer.
    pub const TRANSFER: &str = "http://schemas.xmlsoap.org/ws/2004/09/transfer";
    /// PnP-X.
    pub const PNPX: &str = "http://schemas.microsoft.com/windows/pnpx/2005/10";
    /// The properties that Windows computers publish.
    pub const PUBLICATION: &str = "http://schemas.microsoft.com/windows/pub/2005/07";
}
