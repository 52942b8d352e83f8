//! The frames of a connection between two servers: greeting, numbered messages, acknowledgements. What a message
//! says is in `message.rs`.

use wire::{Malformed, Reader, Writer};

use super::{Message, MessageField, get_bytes, put_bytes};

/// The first bytes of a connection, with the version of this protocol.
pub const MAGIC: [u8; 8] = *b"FFGATE\x00\x03";
/// The longest name of a cluster.
pub const MAX_CLUSTER_NAME: usize = 64;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const DATA: u8 = 3;
const ACK: u8 = 4;

/// A frame between two servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerFrame {
    /// The first frame of a connection, by the server that sends messages over it.
    Hello {
        /// The name of the cluster.
        cluster: String,
        /// The number of the sender.
        from: u16,
        /// The number of the receiver.
        to: u16,
    },
    /// The answer: the last message of the sender that was received before.
    Welcome {
        /// Its number; 0 if there was none.
        received: u64,
    },
    /// A message.
    Data {
        /// Its number; messages of one sender to one receiver count up from 1.
        number: u64,
        /// The epoch in which it was sent.
        epoch: u64,
        /// The message.
        message: Message,
    },
    /// The last message that was received and processed.
    Ack {
        /// Its number.
        received: u64,
        /// The epoch of the receiver.
        epoch: u64,
    },
}

impl PeerFrame {
    /// The frame, with its length before it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u32_be(0);
        match self {
            Self::Hello { cluster, from, to } => {
                w.u8(HELLO);
                w.put(&MAGIC);
                put_bytes(&mut w, cluster.as_bytes());
                (*from, *to).put(&mut w);
            }
            Self::Welcome { received } => {
                w.u8(WELCOME);
                received.put(&mut w);
            }
            Self::Data { number, epoch, message } => {
                w.u8(DATA);
                (*number, *epoch).put(&mut w);
                message.put(&mut w);
            }
            Self::Ack { received, epoch } => {
                w.u8(ACK);
                (*received, *epoch).put(&mut w);
            }
        }
        w.patch_u32_be(0, u32::try_from(w.len() - 4).unwrap_or(u32::MAX));
        w.into_bytes()
    }

    /// A frame out of its bytes, without its length.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let frame = match r.u8()? {
            HELLO => {
                if r.array::<8>()? != MAGIC {
                    return Err(Malformed("another protocol or version"));
                }
                let cluster = std::str::from_utf8(get_bytes(&mut r, MAX_CLUSTER_NAME)?)
                    .map_err(|_| Malformed("a name that is not UTF-8"))?;
                let (from, to) = MessageField::get(&mut r)?;
                Self::Hello { cluster: cluster.to_owned(), from, to }
            }
            WELCOME => Self::Welcome { received: MessageField::get(&mut r)? },
            DATA => {
                let (number, epoch) = MessageField::get(&mut r)?;
                Self::Data { number, epoch, message: Message::get(&mut r)? }
            }
            ACK => {
                let (received, epoch) = MessageField::get(&mut r)?;
                Self::Ack { received, epoch }
            }
            _ => return Err(Malformed("an unknown kind of frame")),
        };
        r.finish()?;
        Ok(frame)
    }
}
