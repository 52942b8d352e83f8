/* What programs do with files, through libnfs's ordinary (POSIX-like) API.
 *
 *   files --export /share --nfs-port N --mount-port N [--host H] [--uid N] [--gid N] [--version 4]
 *
 * The expected values are those POSIX gives for the same calls on a local file system. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "outcome.h"
#include "rpc.h"

static struct nfs_context *nfs;
static int version = 3;

/* A new file that is open for writing. Over NFSv4, libnfs 4 opens for reading in nfs_creat, and sends no mode: write_file sets it. */
static int made(const char *path, struct nfsfh **fh)
{
    return version == 3 ? nfs_creat(nfs, path, 0644, fh) : nfs_open2(nfs, path, O_CREAT | O_RDWR, 0644, fh);
}

static void write_file(const char *path, const char *text)
{
    struct nfsfh *fh;
    if (made(path, &fh) != 0)
        die(path, nfs_get_error(nfs));
    if (nfs_write(nfs, fh, strlen(text), (void *)text) != (int)strlen(text))
        die(path, nfs_get_error(nfs));
    nfs_close(nfs, fh);
    if (version != 3)
        nfs_chmod(nfs, path, 0644);
}

static int content_is(const char *path, const char *text)
{
    char buf[256] = { 0 };
    struct nfsfh *fh;
    int got;
    if (nfs_open(nfs, path, O_RDONLY, &fh) != 0)
        return 0;
    got = nfs_read(nfs, fh, sizeof buf - 1, buf);
    nfs_close(nfs, fh);
    return got == (int)strlen(text) && !memcmp(buf, text, got);
}

static struct nfs_stat_64 stat_of(const char *path)
{
    struct nfs_stat_64 st = { 0 };
    if (nfs_lstat64(nfs, path, &st) != 0)
        memset(&st, 0, sizeof st);
    return st;
}

static void plain_files(void)
{
    struct nfs_stat_64 before, st;
    write_file("/a", "hello");
    check("what was written is read", content_is("/a", "hello"), "it is not");
    before = stat_of("/a");
    check_is("size", before.nfs_size, 5);
    check_is("mode", before.nfs_mode & 07777, 0644);
    check_is("kind", before.nfs_mode & S_IFMT, S_IFREG);
    check_is("rename", nfs_rename(nfs, "/a", "/b"), 0);
    st = stat_of("/b");
    check("rename keeps the inode number", st.nfs_ino == before.nfs_ino && st.nfs_ino != 0, "it changed");
    check_is("the old name is gone", nfs_access(nfs, "/a", F_OK), -ENOENT);
    write_file("/c", "other");
    check_is("rename over a file", nfs_rename(nfs, "/b", "/c"), 0);
    check("rename over a file replaces it", content_is("/c", "hello"), "it does not");
    check_is("truncate", nfs_truncate(nfs, "/c", 2), 0);
    check("truncate keeps the beginning", content_is("/c", "he"), "it does not");
    check_is("chmod", nfs_chmod(nfs, "/c", 0600), 0);
    check_is("chmod is seen", stat_of("/c").nfs_mode & 07777, 0600);
    check_is("unlink", nfs_unlink(nfs, "/c"), 0);
    check_is("unlink twice", nfs_unlink(nfs, "/c"), -ENOENT);
}

static void times(void)
{
    struct timeval set[2] = { { .tv_sec = 1000000000, .tv_usec = 123456 }, { .tv_sec = 1700000000, .tv_usec = 654321 } };
    write_file("/t", "x");
    check_is("utimes", nfs_utimes(nfs, "/t", set), 0);
    check_is("atime", stat_of("/t").nfs_atime, 1000000000);
    check_is("mtime", stat_of("/t").nfs_mtime, 1700000000);
    check_is("mtime has its fraction", stat_of("/t").nfs_mtime_nsec / 1000, 654321);
    nfs_unlink(nfs, "/t");
}

static void links(void)
{
    char target[64] = { 0 };
    write_file("/one", "linked");
    check_is("hard link", nfs_link(nfs, "/one", "/two"), 0);
    check_is("link count", stat_of("/one").nfs_nlink, 2);
    check("both names are one file", stat_of("/one").nfs_ino == stat_of("/two").nfs_ino, "they differ");
    nfs_unlink(nfs, "/one");
    check("the other name stays", content_is("/two", "linked"), "it does not");
    check_is("symlink", nfs_symlink(nfs, "two", "/soft"), 0);
    nfs_readlink(nfs, "/soft", target, sizeof target);
    check("readlink", !strcmp(target, "two"), target);
    check_is("a symlink is one", stat_of("/soft").nfs_mode & S_IFMT, S_IFLNK);
    if (version == 3) /* over NFSv4, libnfs 4 uses the sequence number of an OPEN that has failed again */
        check("a symlink is followed by the client", content_is("/soft", "linked"), "it is not");
    nfs_symlink(nfs, "../../../etc/passwd", "/out");
    check("a symlink out of the share gives no foreign file", !nfs_access(nfs, "/out", R_OK) == 0, "it does");
    nfs_unlink(nfs, "/out");
    nfs_unlink(nfs, "/soft");
    nfs_unlink(nfs, "/two");
}

static void folders(void)
{
    char path[64];
    int seen = 0;
    struct nfsdir *dir;
    check_is("mkdir", nfs_mkdir(nfs, "/d"), 0);
    check_is("mkdir twice", nfs_mkdir(nfs, "/d"), -EEXIST);
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof path, "/d/entry %04d", i);
        write_file(path, "");
    }
    check_is("rmdir of a full folder", nfs_rmdir(nfs, "/d"), -ENOTEMPTY);
    if (nfs_opendir(nfs, "/d", &dir) == 0) {
        for (struct nfsdirent *e; (e = nfs_readdir(nfs, dir));)
            seen += !strncmp(e->name, "entry ", 6);
        nfs_closedir(nfs, dir);
    }
    check_is("a listing has every entry once", seen, 1000);
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof path, "/d/entry %04d", i);
        nfs_unlink(nfs, path);
    }
    check_is("rmdir", nfs_rmdir(nfs, "/d"), 0);
    check_is("rmdir of nothing", nfs_rmdir(nfs, "/d"), -ENOENT);
}

static void names(void)
{
    static const char *kept[] = { "/gr\xc3\xb6\xc3\x9f" "e", "/a:b", "/a\\b", "/ leading", "/trailing ", "/a.", "/A", "/%41" };
    char longest[258] = "/";
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) {
        char name[64];
        write_file(kept[i], kept[i]);
        snprintf(name, sizeof name, "the name \"%s\" is kept", kept[i] + 1);
        check(name, content_is(kept[i], kept[i]), "it is not");
        nfs_unlink(nfs, kept[i]);
    }
    memset(longest + 1, 'n', 255);
    write_file(longest, "long");
    check("a name of 255 bytes", content_is(longest, "long"), "it is not found");
    nfs_unlink(nfs, longest);
    memset(longest + 1, 'n', 256);
    check_is("a name of 256 bytes", nfs_access(nfs, longest, F_OK), -ENAMETOOLONG);
}

static void large(void)
{
    uint64_t at = 5ull << 30;
    char buf[8] = { 0 };
    struct nfsfh *fh;
    if (made("/big", &fh) != 0)
        die("/big", nfs_get_error(nfs));
    check_is("write at 5 GiB", nfs_pwrite(nfs, fh, at, 4, "tail"), 4);
    check_is("fsync", nfs_fsync(nfs, fh), 0);
    nfs_close(nfs, fh);
    check("size past 4 GiB", stat_of("/big").nfs_size == at + 4, "is wrong");
    check("a sparse file takes little room", stat_of("/big").nfs_blocks < 2048, "it takes 1 MiB or more");
    if (nfs_open(nfs, "/big", O_RDONLY, &fh) == 0) {
        check("read at 5 GiB", nfs_pread(nfs, fh, at, 8, buf) == 4 && !memcmp(buf, "tail", 4), "is wrong");
        check("a hole reads as zeros", nfs_pread(nfs, fh, 1 << 30, 8, buf) == 8 && !memcmp(buf, "\0\0\0\0\0\0\0\0", 8),
              "it does not");
        nfs_close(nfs, fh);
    }
    nfs_unlink(nfs, "/big");
}

static void space(void)
{
    struct nfs_statvfs_64 v = { 0 };
    check_is("statvfs", nfs_statvfs64(nfs, "/", &v), 0);
    check("there is room", v.f_blocks > 0 && v.f_bavail <= v.f_blocks && v.f_bavail > 0, "there is none");
    if (version == 3) /* over NFSv4, libnfs 4 does not ask for the sizes, so its nfs-cp copies nothing */
        check("transfers of 1 MiB", nfs_get_readmax(nfs) == 1 << 20 && nfs_get_writemax(nfs) == 1 << 20, "are not offered");
}

int main(int argc, char **argv)
{
    struct target t = { .host = "127.0.0.1", .export = "/share", .uid = getuid(), .gid = getgid() };
    char url[512];
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--version")) version = atoi(argv[++i]);
        else if (!target_option(&t, argv, &i)) die("unknown option", argv[i]);
    nfs = nfs_init_context();
    snprintf(url, sizeof url, "nfs://%s%s/?nfsport=%d&mountport=%d&uid=%d&gid=%d&version=%d", t.host, t.export,
             t.nfs_port, t.mount_port, t.uid, t.gid, version);
    struct nfs_url *parsed = nfs_parse_url_dir(nfs, url);
    if (!parsed || nfs_mount(nfs, parsed->server, parsed->path) != 0)
        die("mount", nfs_get_error(nfs));
    check("mount", 1, "");
    nfs_umask(nfs, 0);
    plain_files();
    times();
    links();
    folders();
    names();
    large();
    space();
    check_is("umount", nfs_umount(nfs), 0);
    return 0;
}
