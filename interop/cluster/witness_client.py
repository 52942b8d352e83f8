"""A client of the witness service (MS-SWN) by Samba's library, which needs Debian's Python. It registers for an address, prints the
interfaces of the service and all notices as lines of JSON, and registers again when its registration has ended."""

import json
import sys

from samba import NTSTATUSError, WERRORError, credentials, param
from samba.dcerpc import witness

GONE = 1168  # ERROR_NOT_FOUND
NAMES = {witness.WITNESS_NOTIFY_RESOURCE_CHANGE: "change", witness.WITNESS_NOTIFY_CLIENT_MOVE: "move",
         witness.WITNESS_NOTIFY_IP_CHANGE: "addresses"}


def say(**what):
    print(json.dumps(what), flush=True)


def connected(server, protection, user, password, realm):
    settings = param.LoadParm()
    settings.set("log level", "0")
    login = credentials.Credentials()
    login.guess(settings)
    login.set_username(user)
    login.set_password(password)
    login.set_kerberos_state(credentials.MUST_USE_KERBEROS if realm else credentials.DONT_USE_KERBEROS)
    if realm:
        settings.set("realm", realm)
        login.set_realm(realm)
    client = witness.witness(f"ncacn_ip_tcp:{server}[{protection}]", settings, login)
    client.request_timeout = 130
    return client


def listed(interface):
    address = interface.ipv4 if interface.flags & witness.WITNESS_INFO_IPv4_VALID else interface.ipv6
    return {"group": interface.group_name, "state": interface.state, "address": address,
            "witness": bool(interface.flags & witness.WITNESS_INFO_WITNESS_IF)}


def shown(notice):
    messages = []
    for message in notice.messages:
        if notice.type == witness.WITNESS_NOTIFY_RESOURCE_CHANGE:
            messages.append([message.name, message.type])
        else:
            messages.append([[one.ipv4 if one.flags & witness.WITNESS_IPADDR_V4 else one.ipv6, one.flags] for one in message.addr])
    return {NAMES[notice.type]: messages}


def main(server, protection, user, password, address, realm=None):
    client = connected(server, protection, user, password, realm)
    say(interfaces=[listed(one) for one in client.GetInterfaceList().interfaces])
    while True:
        handle = client.RegisterEx(witness.WITNESS_V2, "files", None, address, "CLIENT", witness.WITNESS_REGISTER_NONE, 120)
        say(registered=address)
        try:
            while True:
                say(**shown(client.AsyncNotify(handle)))
        except WERRORError as error:
            if error.args[0] != GONE:
                raise
            say(ended=True)


try:
    main(*sys.argv[1:])
except (NTSTATUSError, WERRORError) as error:
    say(error=str(error))
    sys.exit(1)
