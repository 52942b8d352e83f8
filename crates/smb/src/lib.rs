//! SMB 2.0.2, 2.1, 3.0, 3.0.2 and 3.1.1 (MS-SMB2), with what goes with it: file information (MS-FSCC), NTLM (MS-NLMP)
//! in SPNEGO, security descriptors (MS-DTYP), and the few RPC interfaces that clients need to show a server.

#[cfg(any(test, feature = "client"))]
pub mod client;
mod ranks;
pub mod server;
#[cfg(test)]
mod testing;
pub mod wire;
