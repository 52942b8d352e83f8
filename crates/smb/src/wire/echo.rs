//! ECHO, MS-SMB2 2.2.28 and 2.2.29.

use super::layout::empty_body;

empty_body! {
    /// ECHO request, MS-SMB2 2.2.28.
    pub struct Request;

    /// ECHO response, MS-SMB2 2.2.29.
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
