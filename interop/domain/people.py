"""Makes users, groups and the server's account in a domain of Samba, and writes the server's keytab.

people.py SMB.CONF KEYTAB prints `NAME SID` for each.
"""

import sys

import samba.dckeytab  # gives Net its `export_keytab`
from samba.auth import system_session
from samba.credentials import Credentials
from samba.dcerpc import security
from samba.ndr import ndr_unpack
from samba.net import Net
from samba.param import LoadParm
from samba.samdb import SamDB

HOST = "filer.lab.test"

configuration, keytab = sys.argv[1:]
lp = LoadParm()
lp.load(configuration)
credentials = Credentials()
credentials.guess(lp)
sam = SamDB(session_info=system_session(), credentials=credentials, lp=lp)

for user in ("alice", "bob", "carol"):
    sam.newuser(user, user.capitalize() + "-pw1!")
for group in ("engineers", "outer", "painters"):
    sam.newgroup(group)
sam.add_remove_group_members("engineers", ["alice"])
sam.add_remove_group_members("outer", ["engineers"])
sam.add_remove_group_members("painters", ["bob"])

# AES only; without this the keytab has RC4 alone.
sam.newuser("svc-filer", "Service-pw1!")
dn = sam.search(expression="(sAMAccountName=svc-filer)", attrs=[])[0].dn
sam.modify_ldif(
    f"dn: {dn}\nchangetype: modify\nreplace: msDS-SupportedEncryptionTypes\nmsDS-SupportedEncryptionTypes: 24\n-\n"
    + "add: servicePrincipalName\n"
    + "".join(f"servicePrincipalName: {service}/{HOST}\n" for service in ("cifs", "nfs", "HTTP", "afpserver"))
)
sam.setpassword("(sAMAccountName=svc-filer)", "Service-pw2!", False)
for service in ("cifs", "nfs", "HTTP", "afpserver"):
    Net(None, lp).export_keytab(keytab=keytab, principal=f"{service}/{HOST}")

for name in ("alice", "bob", "carol", "engineers", "outer", "painters", "Domain Users"):
    found = sam.search(expression=f"(sAMAccountName={name})", attrs=["objectSid"])[0]
    print(name.replace(" ", "_"), ndr_unpack(security.dom_sid, found["objectSid"][0]))
