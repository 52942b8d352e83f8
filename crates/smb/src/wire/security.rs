//! Security descriptors and their parts, MS-DTYP 2.4.

mod access;
mod ace;
mod descriptor;
mod sid;

pub use access::{AccessMask, GenericMapping};
pub use ace::{Ace, AceBody, AceFlags, AceType, Acl};
pub use descriptor::{Control, SecurityDescriptor, SecurityInformation};
pub use sid::{Sid, well_known};

#[cfg(test)]
mod tests;
