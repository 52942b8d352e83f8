"""In the virtual machine: for each connection a process of the user that its first line names, in the folder that it names."""

import json
import os
import socket
import sys

from way_local import become, serve

PORT = 7000


def is_mounted(folder):
    """By the list: the root of this machine is nobody in the folder."""
    with open("/proc/mounts") as mounts:
        return any(line.split()[1] == folder for line in mounts)


def talk(connection):
    requests, replies = connection.makefile("r"), connection.makefile("w")
    uid, groups, folder = json.loads(requests.readline())
    if not is_mounted(folder):
        replies.write("not mounted\n")
        replies.flush()
        return
    become(uid, groups)
    try:
        os.chdir(folder)
    except PermissionError:
        replies.write("not let in\n")
        replies.flush()
        return
    replies.write("ready\n")
    replies.flush()
    serve(requests, replies, syncs=True)


def main():
    listener = socket.create_server(("0.0.0.0", PORT), backlog=64)
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            try:
                talk(connection)
            except Exception as error:  # noqa: BLE001: the console shows it
                print(f"worker: {error}", file=sys.stderr)
            os._exit(0)
        connection.close()


if __name__ == "__main__":
    main()
