"""Makes an HFS Plus volume with the files of a folder in its root, for which Debian 12 has no program (Apple's TN1150).

hfsplus.py IMAGE FOLDER: IMAGE is a file, or a disk, of the size that the volume shall have. The names must be ASCII, and FOLDER
flat. Nothing is read back: that is for others' programs."""

import os
import struct
import sys

BLOCK = 4096
NODE = 8192
HEADER_AT = 1024
DATE = 3_850_000_000  # seconds since 1904: the end of 2025
ROOT_FOLDER, EXTENTS, CATALOG, ALLOCATION, FIRST_FILE = 2, 3, 4, 6, 16
LEAF, INDEX, HEADER = -1, 0, 1


def blocks_of(size):
    return -(-size // BLOCK)


def fork(size, start):
    """HFSPlusForkData with one extent."""
    count = blocks_of(size)
    return struct.pack(">QII", size, 0, count) + struct.pack(">II", start if count else 0, count) + bytes(56)


def name_of(text):
    return struct.pack(">H", len(text)) + text.encode("utf-16-be")


def key(parent, name):
    body = struct.pack(">I", parent) + name_of(name)
    return struct.pack(">H", len(body)) + body


def dates():
    return struct.pack(">5I", DATE, DATE, DATE, DATE, 0)


def folder_record(identifier, valence):
    permissions = struct.pack(">IIBBHI", 0, 0, 0, 0, 0o040755, 0)
    return struct.pack(">hHII", 1, 0, valence, identifier) + dates() + permissions + bytes(40)


def file_record(identifier, size, start):
    permissions = struct.pack(">IIBBHI", 0, 0, 0, 0, 0o100644, 1)
    head = struct.pack(">hHII", 2, 2, 0, identifier)  # flag 2: it has a thread record
    return head + dates() + permissions + bytes(40) + fork(size, start) + fork(0, 0)


def thread_record(kind, parent, name):
    return struct.pack(">hHI", kind, 0, parent) + name_of(name)


def node(kind, height, before, after, records):
    """A B-tree node: the records from its beginning, their offsets from its end."""
    body = struct.pack(">IIbBHH", after, before, kind, height, len(records), 0)
    offsets = []
    for record in records:
        offsets.append(len(body))
        body += record
    offsets.append(len(body))
    tail = struct.pack(f">{len(offsets)}H", *reversed(offsets))
    assert len(body) + len(tail) <= NODE
    return body + bytes(NODE - len(body) - len(tail)) + tail


def in_nodes(records):
    """The records in groups that fit into a node each."""
    group, used = [], 14 + 2
    for record in records:
        if used + len(record) + 2 > NODE:
            yield group
            group, used = [], 14 + 2
        group.append(record)
        used += len(record) + 2
    if group:
        yield group


def tree(records, total_nodes, max_key, attributes):
    """A whole B-tree file, of records in order: the leaves first, and above them what leads there."""
    nodes, level, height, leaves = [], [bytes(record) for record in records], 1, (0, 0)
    while level:
        groups, first = list(in_nodes(level)), 1 + len(nodes)
        above = []
        for at, group in enumerate(groups):
            before = first + at - 1 if at else 0
            after = first + at + 1 if at + 1 < len(groups) else 0
            nodes.append(node(LEAF if height == 1 else INDEX, height, before, after, group))
            length = 2 + struct.unpack(">H", group[0][:2])[0]
            above.append(group[0][:length] + struct.pack(">I", first + at))
        if height == 1:
            leaves = (first, first + len(groups) - 1)
        level = above if len(groups) > 1 else []
        height += 1
    used = 1 + len(nodes)
    assert used <= total_nodes <= (NODE - 256) * 8
    depth = height - 1
    head = struct.pack(">HIIII", depth, used - 1 if nodes else 0, len(records), *leaves)
    head += struct.pack(">HHIIHIBBI", NODE, max_key, total_nodes, total_nodes - used, 0, NODE, 0, 0, attributes) + bytes(64)
    map_ = bytearray(NODE - 256)
    set_bits(map_, 0, used)
    return node(HEADER, 0, 0, 0, [head, bytes(128), bytes(map_)]) + b"".join(nodes) + bytes((total_nodes - used) * NODE)


def set_bits(bitmap, start, count):
    for bit in range(start, start + count):
        bitmap[bit // 8] |= 0x80 >> bit % 8


def volume_header(total, used, files, next_id, forks):
    head = struct.pack(">2sHI4sI", b"H+", 4, 0x100, b"10.0", 0)  # 0x100: cleanly unmounted
    head += struct.pack(">4I", DATE, DATE, 0, DATE) + struct.pack(">5I", files, 0, BLOCK, total, total - used)
    head += struct.pack(">5I", used, 65536, 65536, next_id, 1) + struct.pack(">Q", 1) + bytes(32)
    return head + b"".join(forks)


def catalog_of(names, sizes, starts):
    """The catalog's records, in the order of their keys."""
    volume = "interop"
    records = [((1, volume), folder_record(ROOT_FOLDER, len(names)))]
    records.append(((ROOT_FOLDER, ""), thread_record(3, 1, volume)))
    for at, name in enumerate(names):
        identifier = FIRST_FILE + at
        records.append(((ROOT_FOLDER, name), file_record(identifier, sizes[at], starts[at])))
        records.append(((identifier, ""), thread_record(4, ROOT_FOLDER, name)))
    records.sort(key=lambda record: (record[0][0], record[0][1].lower()))
    return [key(*where) + what for where, what in records]


def main(image, folder):
    with open(image, "r+b") as disk:
        size = disk.seek(0, os.SEEK_END)
        total = size // BLOCK
        names = sorted(os.listdir(folder))
        sizes = [os.path.getsize(os.path.join(folder, name)) for name in names]
        bitmap = bytearray(blocks_of(total // 8 + 1) * BLOCK)
        tree_nodes = 64 + len(names) // 4
        lengths = [len(bitmap), 8 * NODE, tree_nodes * NODE] + sizes
        starts, free = [], 1  # the first block has the volume header
        for length in lengths:
            starts.append(free)
            free += blocks_of(length)
        assert free < total, "the volume is too small"
        set_bits(bitmap, 0, free)
        set_bits(bitmap, total - 1, 1)  # the alternate volume header
        files = catalog_of(names, sizes, starts[3:])
        contents = [bytes(bitmap), tree([], 8, 10, 2), tree(files, tree_nodes, 516, 6)]
        forks = [fork(length, start) for length, start in zip(lengths[:3], starts)] + [fork(0, 0), fork(0, 0)]
        header = volume_header(total, free + 1, len(names), FIRST_FILE + len(names), forks)
        assert len(header) == 512
        for start, content in zip(starts, contents):
            disk.seek(start * BLOCK)
            disk.write(content)
        for name, start in zip(names, starts[3:]):
            disk.seek(start * BLOCK)
            with open(os.path.join(folder, name), "rb") as source:
                disk.write(source.read())
        for at in (HEADER_AT, size - 1024):
            disk.seek(at)
            disk.write(header)
        disk.flush()
        os.fsync(disk.fileno())


if __name__ == "__main__":
    main(*sys.argv[1:])
