//! CANCEL, MS-SMB2 2.2.30. It has no response.

use super::layout::empty_body;

empty_body! {
    /// CANCEL request, MS-SMB2 2.2.30. The header says which request is cancelled.
    pub struct Request;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_its_structure_size() {
        laid_out!(Request, b"\x04\0\0\0", Request);
    }
}
