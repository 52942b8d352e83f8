//! LOGOFF, MS-SMB2 2.2.7 and 2.2.8.

use super::layout::empty_body;

empty_body! {
    /// LOGOFF request, MS-SMB2 2.2.7.
    pub struct Request;

    /// LOGOFF response, MS-SMB2 2.2.8.
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
