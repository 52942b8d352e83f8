//! NDR, C706 chapter 14: arguments as bytes. Every value begins at a multiple of its own size,
//! counted from the start of the arguments. The target of a pointer inside a structure follows the
//! structure, in the order of the pointers.

mod decoder;
mod encoder;

pub use decoder::Decoder;
pub use encoder::Encoder;

/// A context handle as it is on the wire (C706 appendix N, `ndr_context_handle`): opaque to the client.
pub type Handle = [u8; 20];
