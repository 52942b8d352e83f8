"""Python's impacket: SMB1's NEGOTIATE that becomes SMB2, logins, files, and the RPC pipes."""

import io
import os

from impacket.dcerpc.v5 import lsad, lsat, srvs, transport, wkst
from impacket.smb import SMB_DIALECT
from impacket.smb3structs import SMB2_DIALECT_002, SMB2_DIALECT_21, SMB2_DIALECT_30, SMB2_DIALECT_311
from impacket.smbconnection import SessionError, SMBConnection

from outcome import LINKS, arguments, check, is_, make_links, targets_are_there

A = arguments()


def connect(dialect=None, password=None):
    connection = SMBConnection("127.0.0.1", "127.0.0.1", sess_port=A.port, preferredDialect=dialect)
    connection.login(A.user, A.password if password is None else password)
    return connection


def content(length):
    return bytes((i ^ (i >> 8) ^ (i >> 16)) & 255 for i in range(length))


def files(dialect):
    def test():
        connection, wanted = connect(dialect), content(300_000)
        if dialect:
            is_(connection.getDialect(), dialect)
        connection.createDirectory(A.share, "impacket")
        connection.putFile(A.share, r"impacket\größe", io.BytesIO(wanted).read)
        got = io.BytesIO()
        connection.getFile(A.share, r"impacket\größe", got.write)
        is_(got.getvalue(), wanted)
        connection.rename(A.share, r"impacket\größe", r"impacket\other")
        found = {entry.get_longname(): entry.get_filesize() for entry in connection.listPath(A.share, r"impacket\*")}
        is_(found["other"], len(wanted))
        connection.deleteFile(A.share, r"impacket\other")
        connection.deleteDirectory(A.share, "impacket")
        is_(os.path.exists(os.path.join(A.folder, "impacket")), False)
        connection.logoff()
    return test


def links_are_renamed():
    make_links(A.folder)
    connection = connect()
    for name, target in LINKS.items():
        connection.rename(A.share, name, "renamed")
        is_(os.readlink(os.path.join(A.folder, "renamed")), target)
        connection.deleteFile(A.share, "renamed")
    targets_are_there(A.folder)


def links_are_removed():
    make_links(A.folder)
    connection = connect()
    listed = [entry.get_longname() for entry in connection.listPath(A.share, "*")]
    for name in LINKS:
        is_(name in listed, True)
        connection.deleteFile(A.share, name)
        is_(os.path.islink(os.path.join(A.folder, name)), False)
    make_links(A.folder)
    connection.deleteDirectory(A.share, "to folder")
    is_(os.path.islink(os.path.join(A.folder, "to folder")), False)
    targets_are_there(A.folder)


def upgraded():
    """MS-SMB2 3.3.5.3: an SMB1 NEGOTIATE with "SMB 2.???" among its dialects."""
    connection = SMBConnection("127.0.0.1", "127.0.0.1", sess_port=A.port)
    connection.login(A.user, A.password)
    if connection.getDialect() == SMB_DIALECT:
        raise AssertionError("it speaks SMB1")


def wrong_password():
    try:
        connect(password="wrong")
    except SessionError as error:
        return is_(error.getErrorCode(), 0xC000006D)  # STATUS_LOGON_FAILURE
    raise AssertionError("it may enter")


def bound(pipe, interface):
    rpc = transport.SMBTransport("127.0.0.1", A.port, pipe, smb_connection=connect()).get_dce_rpc()
    rpc.connect()
    rpc.bind(interface)
    return rpc


def shares():
    names = [entry["shi1_netname"][:-1] for entry in connect().listShares()]
    is_(A.share in names and "IPC$" in names, True)


def server_information():
    answer = srvs.hNetrServerGetInfo(bound(r"\srvsvc", srvs.MSRPC_UUID_SRVS), 101)
    is_(answer["InfoStruct"]["ServerInfo101"]["sv101_platform_id"], 500)  # SV_PLATFORM_ID_NT: MS-SRVS 2.2.2.6


def share_information():
    answer = srvs.hNetrShareGetInfo(bound(r"\srvsvc", srvs.MSRPC_UUID_SRVS), A.share + "\x00", 1)
    is_(answer["InfoStruct"]["ShareInfo1"]["shi1_type"], 0)  # STYPE_DISKTREE: MS-SRVS 2.2.2.4


def workstation():
    answer = wkst.hNetrWkstaGetInfo(bound(r"\wkssvc", wkst.MSRPC_UUID_WKST), 100)
    is_(answer["WkstaInfo"]["WkstaInfo100"]["wki100_platform_id"], 500)  # MS-WKST 2.2.5.1


def names():
    rpc = bound(r"\lsarpc", lsat.MSRPC_UUID_LSAT)
    policy = lsad.hLsarOpenPolicy2(rpc, 0x02000000)["PolicyHandle"]
    answer = lsat.hLsarLookupNames(rpc, policy, [A.user])
    is_(answer["TranslatedSids"]["Sids"][0]["Use"], 1)  # SidTypeUser: MS-LSAT 2.2.13


check("SMB1 becomes SMB2", upgraded)
for dialect, name in [(SMB2_DIALECT_002, "2.0.2"), (SMB2_DIALECT_21, "2.1"), (SMB2_DIALECT_30, "3.0"), (SMB2_DIALECT_311, "3.1.1")]:
    check(f"{name} files", files(dialect))
check("links are renamed", links_are_renamed)
check("links are removed", links_are_removed)
check("a wrong password", wrong_password)
check("srvsvc gives the shares", shares)
check("srvsvc gives the server", server_information)
check("srvsvc gives one share", share_information)
check("wkssvc gives the workstation", workstation)
check("lsarpc gives a name", names)
