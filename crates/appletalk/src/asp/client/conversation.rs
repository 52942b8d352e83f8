//! What a client waits for.

#[derive(Debug)]
pub(super) enum Conversation {
    Status,
    Open,
    Close,
    Command {
        sequence: u16,
        /// How many bytes of a reply there is room for.
        room: usize,
        /// What is to be written.
        data: Option<Vec<u8>>,
        /// How much of it the server has asked for.
        written: usize,
    },
}
