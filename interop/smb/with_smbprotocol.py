"""Python's smbprotocol: signed and encrypted sessions, contexts, locks, notifications, compounds."""

import os
import stat
import subprocess
import threading
import uuid

import smbclient
import smbclient.shutil
from smbprotocol.connection import Connection, Dialects, Request
from smbprotocol.create_contexts import (CreateContextName, SMB2CreateContextRequest, SMB2CreateQueryMaximalAccessRequest,
                                         SMB2CreateQueryMaximalAccessResponse)
from smbprotocol.change_notify import CompletionFilter, FileSystemWatcher
from smbprotocol.exceptions import SMBResponseException
from smbprotocol.file_info import FileDispositionInformation, FileInformationClass
from smbprotocol.header import NtStatus, SMB2HeaderRequest
from smbprotocol.open import (CreateDisposition, CreateOptions, DirectoryAccessMask, FileAttributes, FilePipePrinterAccessMask,
                              ImpersonationLevel, Open, RequestedOplockLevel, ShareAccess, SMB2LockElement, SMB2LockRequest,
                              SMB2SetInfoRequest)
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect

from outcome import LINKS, arguments, check, is_, make_links, targets_are_there

A = arguments()
ALL = ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE | ShareAccess.FILE_SHARE_DELETE
READ = FilePipePrinterAccessMask.GENERIC_READ
WRITE = FilePipePrinterAccessMask.GENERIC_WRITE
DELETE = FilePipePrinterAccessMask.DELETE


def connect(dialect=None, encrypted=False, password=None):
    """A session and a tree."""
    connection = Connection(uuid.uuid4(), "127.0.0.1", A.port)
    connection.connect(dialect)
    session = Session(connection, A.user, password or A.password, require_encryption=encrypted)
    session.connect()
    tree = TreeConnect(session, rf"\\127.0.0.1\{A.share}")
    tree.connect()
    return tree


def opened(tree, name, access=READ | WRITE | DELETE, share=ALL, disposition=CreateDisposition.FILE_OPEN_IF,
           options=CreateOptions.FILE_NON_DIRECTORY_FILE, contexts=None, send=True):
    file = Open(tree, name)
    answer = file.create(ImpersonationLevel.Impersonation, access, FileAttributes.FILE_ATTRIBUTE_NORMAL, share,
                         disposition, options, create_contexts=contexts, send=send)
    return (file, answer) if contexts or not send else file


def status_of(call):
    try:
        call()
    except SMBResponseException as error:
        return error.status
    return NtStatus.STATUS_SUCCESS


def content(length):
    return bytes((i ^ (i >> 8) ^ (i >> 16)) & 255 for i in range(length))


def write_and_read(dialect, encrypted=False):
    def test():
        tree = connect(dialect, encrypted)
        is_(tree.session.connection.dialect, dialect)
        file, wanted = opened(tree, "dialect"), content(200_000)
        for at in range(0, len(wanted), 65536):
            file.write(wanted[at:at + 65536], at)
        file.flush()
        got = b"".join(file.read(at, min(65536, len(wanted) - at)) for at in range(0, len(wanted), 65536))
        is_(got, wanted)
        file.close()
        with open(os.path.join(A.folder, "dialect"), "rb") as stored:
            is_(stored.read(), wanted)
        tree.session.connection.disconnect()
    return test


def past_the_end():
    file = opened(connect(), "short", disposition=CreateDisposition.FILE_OVERWRITE_IF)
    file.write(b"12345", 0)
    is_(file.read(3, 100), b"45")
    is_(status_of(lambda: file.read(5, 1)), NtStatus.STATUS_END_OF_FILE)  # MS-SMB2 3.3.5.12
    file.close()


def share_modes():
    one, two = connect(), connect()
    first = opened(one, "exclusive", share=ShareAccess.FILE_SHARE_READ)
    is_(status_of(lambda: opened(two, "exclusive")), NtStatus.STATUS_SHARING_VIOLATION)
    opened(two, "exclusive", access=READ, share=ALL).close()
    first.close()
    opened(two, "exclusive").close()


def locks():
    one, two = connect(), connect()
    first, second = opened(one, "locked"), opened(two, "locked")
    first.write(b"0123456789", 0)

    def lock(file, offset, length, flags):
        request = SMB2LockRequest()
        request["file_id"] = file.file_id
        element = SMB2LockElement()
        element["offset"], element["length"], element["flags"] = offset, length, flags
        request["locks"] = [element]
        tree = file.tree_connect
        sent = file.connection.send(request, tree.session.session_id, tree.tree_connect_id)
        file.connection.receive(sent)

    lock(first, 2, 4, 0x02 | 0x10)  # exclusive, fail immediately: MS-SMB2 2.2.26.1; statuses: MS-ERREF 2.3.1
    is_(status_of(lambda: lock(second, 5, 1, 0x01 | 0x10)), 0xC0000055)
    is_(status_of(lambda: second.read(2, 1)), 0xC0000054)
    is_(second.read(6, 4), b"6789")
    lock(first, 2, 4, 0x04)
    lock(second, 5, 1, 0x01 | 0x10)
    first.close()
    second.close()


def notified():
    tree = connect()
    access = DirectoryAccessMask.FILE_LIST_DIRECTORY | DirectoryAccessMask.FILE_READ_ATTRIBUTES
    os.makedirs(os.path.join(A.folder, "watched"), exist_ok=True)
    os.chmod(os.path.join(A.folder, "watched"), 0o777)
    folder = opened(tree, "watched", access=access, options=CreateOptions.FILE_DIRECTORY_FILE,
                    disposition=CreateDisposition.FILE_OPEN)
    watcher = FileSystemWatcher(folder)
    watcher.start(CompletionFilter.FILE_NOTIFY_CHANGE_FILE_NAME)
    waiter = threading.Thread(target=watcher.wait, daemon=True)
    waiter.start()
    opened(connect(), r"watched\new").close()
    waiter.join(10)
    if waiter.is_alive():
        raise AssertionError("nobody tells")
    is_([action["file_name"].get_value() for action in watcher.result][0], "new")


def program_waits():
    """A program of the server's machine that reads a file waits until this client has written what it caches."""
    tree = connect()
    stored = os.path.join(A.folder, "oplock")
    file = opened(tree, "oplock", disposition=CreateDisposition.FILE_OVERWRITE_IF)
    file.write(b"before", 0)
    file.close()
    file = Open(tree, "oplock")
    file.create(ImpersonationLevel.Impersonation, READ | WRITE, FileAttributes.FILE_ATTRIBUTE_NORMAL, ALL,
                CreateDisposition.FILE_OPEN, CreateOptions.FILE_NON_DIRECTORY_FILE,
                oplock_level=RequestedOplockLevel.SMB2_OPLOCK_LEVEL_BATCH)
    is_(file.oplock_level, RequestedOplockLevel.SMB2_OPLOCK_LEVEL_BATCH)
    # The library has no breaks of oplocks: one comes as the answer to this, MS-SMB2 3.3.4.6.
    told = Request(SMB2HeaderRequest(), None, tree.session.connection)
    tree.session.connection.outstanding_requests[0xFFFFFFFFFFFFFFFF] = told
    program = subprocess.Popen(["cat", stored], stdout=subprocess.PIPE)
    is_(told.response_event.wait(20), True)
    is_(program.poll(), None)
    file.write(b"cached", 0)
    file.close()  # gives the oplock back, as an acknowledgment does
    is_(program.communicate(timeout=20)[0], b"cached")


def maximal_access():
    context = SMB2CreateContextRequest()
    context["buffer_name"] = CreateContextName.SMB2_CREATE_QUERY_MAXIMAL_ACCESS_REQUEST
    context["buffer_data"] = SMB2CreateQueryMaximalAccessRequest()
    file, answers = opened(connect(), "maximal", contexts=[context])
    found = [answer for answer in answers if isinstance(answer, SMB2CreateQueryMaximalAccessResponse)]
    is_(found[0]["query_status"].get_value(), 0)
    is_(found[0]["maximal_access"].get_value() & 0x3, 0x3)
    file.close()


def compound():
    tree = connect()
    file = Open(tree, "compound")
    steps = [file.create(ImpersonationLevel.Impersonation, READ | WRITE, FileAttributes.FILE_ATTRIBUTE_NORMAL, ALL,
                         CreateDisposition.FILE_OVERWRITE_IF, CreateOptions.FILE_NON_DIRECTORY_FILE, send=False),
             file.write(b"compound", 0, send=False), file.read(0, 8, send=False), file.close(False, send=False)]
    connection, session = tree.session.connection, tree.session.session_id
    requests = connection.send_compound([step[0] for step in steps], session, tree.tree_connect_id, related=True)
    got = [step[1](request) for step, request in zip(steps, requests)]
    is_(got[2], b"compound")


def delete_on_close():
    tree = connect()
    options = CreateOptions.FILE_NON_DIRECTORY_FILE | CreateOptions.FILE_DELETE_ON_CLOSE
    file = opened(tree, "temporary", options=options)
    is_(os.path.exists(os.path.join(A.folder, "temporary")), True)
    file.close()
    is_(os.path.exists(os.path.join(A.folder, "temporary")), False)


def wrong_password():
    is_(status_of(lambda: connect(password="wrong")), NtStatus.STATUS_LOGON_FAILURE)


def listing():
    tree = connect()
    os.makedirs(os.path.join(A.folder, "listed"), exist_ok=True)
    for i in range(500):
        with open(os.path.join(A.folder, "listed", f"entry {i:03}"), "w") as file:
            file.write("x" * i)
    access = DirectoryAccessMask.FILE_LIST_DIRECTORY | DirectoryAccessMask.FILE_READ_ATTRIBUTES
    folder = opened(tree, "listed", access=access, options=CreateOptions.FILE_DIRECTORY_FILE,
                    disposition=CreateDisposition.FILE_OPEN)
    for kind in (FileInformationClass.FILE_ID_BOTH_DIRECTORY_INFORMATION, FileInformationClass.FILE_ID_FULL_DIRECTORY_INFORMATION,
                 FileInformationClass.FILE_FULL_DIRECTORY_INFORMATION, FileInformationClass.FILE_BOTH_DIRECTORY_INFORMATION,
                 FileInformationClass.FILE_DIRECTORY_INFORMATION, FileInformationClass.FILE_NAMES_INFORMATION):
        names, flags = set(), 1  # SMB2_RESTART_SCANS: MS-SMB2 2.2.33
        while True:
            try:
                page = folder.query_directory("entry*", kind, flags=flags, max_output=8192)
            except SMBResponseException as error:
                is_(error.status, NtStatus.STATUS_NO_MORE_FILES)
                break
            flags = 0
            names.update(entry["file_name"].get_value().decode("utf-16-le") for entry in page)
        is_(len(names), 500)
    folder.close()


def whole_files():
    """The high-level module: what a script does."""
    smbclient.register_session("127.0.0.1", username=A.user, password=A.password, port=A.port)
    root = rf"\\127.0.0.1\{A.share}"
    options = {"username": A.user, "password": A.password, "port": A.port}
    smbclient.makedirs(rf"{root}\script\deep", exist_ok=True, **options)
    with smbclient.open_file(rf"{root}\script\größe", mode="w", encoding="utf-8", **options) as file:
        file.write("text\n")
    is_(sorted(smbclient.listdir(rf"{root}\script", **options)), ["deep", "größe"])
    is_(smbclient.stat(rf"{root}\script\größe", **options).st_size, 5)
    smbclient.rename(rf"{root}\script\größe", rf"{root}\script\deep\moved", **options)
    smbclient.utime(rf"{root}\script\deep\moved", times=(981173106, 981173106), **options)
    is_(int(os.stat(os.path.join(A.folder, "script/deep/moved")).st_mtime), 981173106)
    smbclient.shutil.rmtree(rf"{root}\script", **options)
    is_(os.path.exists(os.path.join(A.folder, "script")), False)
    smbclient.reset_connection_cache()


def links():
    """As Python's os does it, with FILE_OPEN_REPARSE_POINT."""
    root = rf"\\127.0.0.1\{A.share}"
    options = {"username": A.user, "password": A.password, "port": A.port}
    make_links(A.folder)
    for name, target in LINKS.items():
        is_(stat.S_ISLNK(smbclient.lstat(rf"{root}\{name}", **options).st_mode), True)
        is_(smbclient.readlink(rf"{root}\{name}", **options).replace("\\", "/").endswith(target.replace("../", "")), True)
        smbclient.rename(rf"{root}\{name}", rf"{root}\renamed", **options)
        is_(os.readlink(os.path.join(A.folder, "renamed")), target)
        smbclient.remove(rf"{root}\renamed", **options)
        is_(os.path.lexists(os.path.join(A.folder, "renamed")), False)
    targets_are_there(A.folder)
    smbclient.reset_connection_cache()


def set_info(tree, file, information):
    request = SMB2SetInfoRequest()
    request["info_type"], request["file_info_class"] = information.INFO_TYPE, information.INFO_CLASS
    request["file_id"], request["buffer"] = file.file_id, information
    connection = tree.session.connection
    connection.receive(connection.send(request, tree.session.session_id, tree.tree_connect_id))


def plain_links():
    """As Java's and Go's libraries do it: an open for DELETE, then FileDispositionInformation."""
    make_links(A.folder)
    tree = connect()
    for name in LINKS:
        file = opened(tree, name, access=DELETE | FilePipePrinterAccessMask.FILE_READ_ATTRIBUTES, options=0,
                      disposition=CreateDisposition.FILE_OPEN)
        disposition = FileDispositionInformation()
        disposition["delete_pending"] = True
        set_info(tree, file, disposition)
        file.close()
        is_(os.path.islink(os.path.join(A.folder, name)), False)
    targets_are_there(A.folder)


for dialect, name in [(Dialects.SMB_2_0_2, "2.0.2"), (Dialects.SMB_2_1_0, "2.1"), (Dialects.SMB_3_0_0, "3.0"),
                      (Dialects.SMB_3_0_2, "3.0.2"), (Dialects.SMB_3_1_1, "3.1.1")]:
    check(f"{name} writes and reads", write_and_read(dialect))
    if dialect >= Dialects.SMB_3_0_0:
        check(f"{name} encrypted", write_and_read(dialect, True))
check("a read past the end", past_the_end)
check("share modes", share_modes)
check("byte-range locks", locks)
check("a change is told", notified)
check("a local program waits for an oplock", program_waits)
check("maximal access", maximal_access)
check("a related compound", compound)
check("delete on close", delete_on_close)
check("a wrong password", wrong_password)
check("listings of every class", listing)
check("whole files", whole_files)
check("links", links)
check("links without FILE_OPEN_REPARSE_POINT", plain_links)
