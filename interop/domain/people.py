"""Makes users and groups in a domain of Samba.

people.py SMB.CONF prints `NAME SID` for each.
"""

import sys

from samba.auth import system_session
from samba.credentials import Credentials
from samba.dcerpc import security
from samba.ndr import ndr_unpack
from samba.param import LoadParm
from samba.samdb import SamDB

(configuration,) = sys.argv[1:]
lp = LoadParm()
lp.load(configuration)
credentials = Credentials()
credentials.guess(lp)
sam = SamDB(session_info=system_session(), credentials=credentials, lp=lp)

for user in ("alice", "bob", "carol", "dave", "erin"):
    sam.newuser(user, user.capitalize() + "-pw1!")
for group in ("engineers", "outer", "painters"):
    sam.newgroup(group)
sam.add_remove_group_members("engineers", ["alice"])
sam.add_remove_group_members("outer", ["engineers"])
sam.add_remove_group_members("painters", ["bob"])

# Alice and her group have numbers (RFC 2307), which overlap.
for name, numbers in (("alice", {"uidNumber": 10001, "gidNumber": 10050}), ("engineers", {"gidNumber": 10001})):
    dn = sam.search(expression=f"(sAMAccountName={name})", attrs=[])[0].dn
    lines = "".join(f"replace: {key}\n{key}: {value}\n-\n" for key, value in numbers.items())
    sam.modify_ldif(f"dn: {dn}\nchangetype: modify\n{lines}")

# Samba's own updates of service names are off here; a domain controller has this one.
dn = sam.search(expression="(sAMAccountName=DC1$)", attrs=[])[0].dn
sam.modify_ldif(f"dn: {dn}\nchangetype: modify\nadd: servicePrincipalName\nservicePrincipalName: ldap/dc1.lab.test\n")

for name in ("alice", "bob", "carol", "engineers", "outer", "painters", "Domain Users"):
    found = sam.search(expression=f"(sAMAccountName={name})", attrs=["objectSid"])[0]
    print(name.replace(" ", "_"), ndr_unpack(security.dom_sid, found["objectSid"][0]))
