//! TREE_DISCONNECT, MS-SMB2 2.2.11 and 2.2.12.

use super::layout::empty_body;

empty_body! {
    /// TREE_DISCONNECT request, MS-SMB2 2.2.11.
    pub struct Request;

    /// TREE_DISCONNECT response, MS-SMB2 2.2.12.
    pub struct Response;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_its_structure_size() {
        laid_out!(Request, b"\x04\0\0\0", Request);
        laid_out!(Response, b"\x04\0\0\0", Response);
    }
}
