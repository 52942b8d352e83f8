//! Named pipes: PIPE_WAIT and PIPE_PEEK, MS-FSCC 2.3.

use wire::{Malformed, Reader, Writer};

use crate::wire::text;

/// FSCTL_PIPE_WAIT request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// In units of 100 ns. `None`: the pipe's default timeout.
    pub timeout: Option<u64>,
    pub name: Vec<u16>,
}

impl Wait {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (timeout, name_len) = (r.u64_le()?, r.u32_le()?);
        let timeout = (r.u8()? != 0).then_some(timeout);
        r.skip(1)?;
        Ok(Self { timeout, name: text::units(r, name_len as usize)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u64_le(self.timeout.unwrap_or(0));
        w.u32_le(text::byte_len(&self.name));
        w.u8(u8::from(self.timeout.is_some()));
        w.u8(0);
        text::put(w, &self.name);
    }
}

wire::layout! {
    LittleEndian;
    /// FSCTL_PIPE_PEEK reply, before the data.
    #[derive(Default)]
    pub struct Peek {
        pub state: u32,
        pub read_data_available: u32,
        pub number_of_messages: u32,
        pub message_length: u32,
    }
}
