//! NTLM on the server's side.
