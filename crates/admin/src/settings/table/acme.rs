//! The settings of `[server]` for a certificate that an issuer gives and renews by itself: ACME, RFC 8555.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new};

use Authority::{Administrator, Host};
use Kind::{Number, OneOf, Text, Texts, Url};
use Table::Server;

/// A certificate of an issuer.
pub(super) const ACME: &[Setting] = &[
    new(Server, "acme-names", Administrator, Texts, "[\"nas.example.com\"]").without_default("no certificate is asked for").says(
        "The names for which the server gets its certificate from an issuer, by ACME, and renews it.",
        "With the setting you accept the issuer's terms. The first third of the time that is left begins the renewal. The certificate \
         takes the place of `api-certificate.pem` in the state folder, so that `admin-certificate` must not be set. docs/console.md \
         has the steps.",
    ),
    new(Server, "acme-directory", Administrator, Url(&["https"]), "\"https://acme-v02.api.letsencrypt.org/directory\"").says(
        "The issuer, by the address of its ACME directory. The default is Let's Encrypt.",
        "An issuer of your own, such as step-ca, has one, too; see `acme-ca`.",
    ),
    new(Server, "acme-email", Administrator, Text, "\"ada@example.com\"").without_default("none").says(
        "The address of mail that the issuer gets, for warnings about the certificate.",
        "",
    ),
    new(Server, "acme-challenge", Administrator, OneOf(&["http", "dns"]), "\"http\"").says(
        "How the server shows the issuer that the names are its own.",
        "\"http\": the issuer fetches a page from port 80 of the names, which the server opens for that time only. \"dns\": a \
         program puts a record into the zone (`acme-dns-hook`); that works without being reachable, and for names with `*`.",
    ),
    new(Server, "acme-http-port", Administrator, Number(1, 65_535), "80").says(
        "The port for `acme-challenge = \"http\"`, if a router or a web server in front leads port 80 to another one.",
        "",
    ),
    new(Server, "acme-dns-hook", Host, Kind::File, "\"/etc/fourfold/acme-dns\"").without_default("none").says(
        "The program that changes the zone for `acme-challenge = \"dns\"`.",
        "It is called with `add NAME VALUE`, puts a TXT record of this name and value into the zone, and returns when the servers of the \
         zone answer with it, within ten minutes. `remove NAME VALUE` takes it away. `confinement` lets the server execute programs in /etc, /usr and /opt only.",
    ),
    new(Server, "acme-ca", Administrator, Kind::File, "\"/etc/ssl/own-ca.pem\"").without_default("those that this machine trusts").says(
        "The certificates, in PEM, by which the server knows its issuer.",
        "For an issuer of your own, whose address has a certificate that this machine does not trust.",
    ),
];
