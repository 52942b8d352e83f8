"""Changes the PAC in a user's service ticket, and encrypts it again with the key of the service.

forged_pac.py CACHE KEYTAB PRINCIPAL FROM TO NEW: in the ticket for PRINCIPAL the number FROM at the end of the user's SID becomes TO. The
signatures stay as they were, so they are wrong then. NEW is a cache with the changed ticket.
"""

import os
import struct
import sys

from impacket.krb5.asn1 import AuthorizationData, EncTicketPart, Ticket
from impacket.krb5.ccache import CCache
from impacket.krb5.crypto import Key, _enctype_table
from impacket.krb5.keytab import Keytab
from pyasn1.codec.der import decoder, encoder

IF_RELEVANT, PAC = 1, 128
TICKET_USAGE = 2


def key_of(keytab, principal, etype, version):
    for entry in Keytab.loadFile(keytab).entries:
        block = entry.main_part["keyblock"]
        name = entry.main_part["principal"].prettyPrint().decode()
        if (name, block["keytype"], entry.kvno) == (principal, etype, version):
            return Key(etype, block["keyvalue"]["data"])
    raise SystemExit(f"the keytab has no key {version} of {principal}")


def changed(authorization, old, new):
    for outer in authorization:
        if int(outer["ad-type"]) != IF_RELEVANT:
            continue
        inner = decoder.decode(bytes(outer["ad-data"]), asn1Spec=AuthorizationData())[0]
        for element in inner:
            if int(element["ad-type"]) == PAC:
                pac = bytes(element["ad-data"])
                assert struct.pack("<I", old) in pac, "the PAC does not have the number"
                element["ad-data"] = pac.replace(struct.pack("<I", old), struct.pack("<I", new))
                outer["ad-data"] = encoder.encode(inner)
                return
    raise SystemExit("the ticket has no PAC")


def main():
    cache, keytab, principal, old, new, to = sys.argv[1:]
    ccache = CCache.loadFile(cache)
    credential = ccache.getCredential(principal, anySPN=False)
    ticket = decoder.decode(credential.ticket["data"], asn1Spec=Ticket())[0]
    etype, version = int(ticket["enc-part"]["etype"]), int(ticket["enc-part"]["kvno"])
    cipher, key = _enctype_table[etype], key_of(keytab, principal, etype, version)
    plain = cipher.decrypt(key, TICKET_USAGE, bytes(ticket["enc-part"]["cipher"]))
    part = decoder.decode(plain, asn1Spec=EncTicketPart())[0]
    changed(part["authorization-data"], int(old), int(new))
    ticket["enc-part"]["cipher"] = cipher.encrypt(key, TICKET_USAGE, encoder.encode(part), None)
    credential.ticket["data"] = encoder.encode(ticket)
    credential.ticket["length"] = len(credential.ticket["data"])
    ccache.credentials = [credential]  # without a ticket for others no new one can be got
    os.umask(0o077)  # Heimdal takes no cache that others can read
    ccache.saveFile(to)


if __name__ == "__main__":
    main()
