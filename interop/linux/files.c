/* What programs do with files, by system calls, on mounted shares. `files basics DIR NAME` prints `pass NAME, WHAT` and
 * `fail NAME, WHAT: WHY`; the other commands end with 1 and say why. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static jmp_buf failed;
static char why[512];

/* Ends the present check. */
static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    longjmp(failed, 1);
}

#define CALL(expression) \
    ({ \
        __typeof__(expression) result_ = (expression); \
        if (result_ == (__typeof__(expression))-1) fail("line %d: %s: %s", __LINE__, #expression, strerror(errno)); \
        result_; \
    })
#define MUST(condition) \
    do { \
        if (!(condition)) fail("line %d: not true: %s", __LINE__, #condition); \
    } while (0)
#define FAILS(expression, error) \
    do { \
        if ((expression) != -1) fail("line %d: it succeeds: %s", __LINE__, #expression); \
        if (errno != (error)) fail("line %d: %s: %s, not %s", __LINE__, #expression, strerror(errno), #error); \
    } while (0)

/* A path in the present folder; a few can be in use at the same time. */
static char folder[2048];
static const char *at(const char *name) {
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *path, const char *text) {
    int file = CALL(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    size_t length = strlen(text);
    MUST(CALL(write(file, text, length)) == (ssize_t)length);
    CALL(close(file));
}

static void expect_fd(int file, const char *text) {
    char found[256];
    ssize_t length = CALL(pread(file, found, sizeof found - 1, 0));
    found[length] = 0;
    if (strcmp(found, text)) fail("it has \"%s\", not \"%s\"", found, text);
}

static void expect(const char *path, const char *text) {
    int file = CALL(open(path, O_RDONLY));
    expect_fd(file, text);
    CALL(close(file));
}

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void pause_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Whether a name is listed, byte for byte. */
static int listed(const char *path, const char *name, int *count) {
    DIR *all = opendir(path);
    if (!all) fail("opendir %s: %s", path, strerror(errno));
    int found = 0;
    *count = 0;
    for (struct dirent *entry; (entry = readdir(all));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        ++*count;
        found |= !strcmp(entry->d_name, name);
    }
    closedir(all);
    return found;
}

static void exclusive(void) {
    put(at("x"), "one");
    FAILS(open(at("x"), O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
    CALL(close(CALL(open(at("y"), O_CREAT | O_EXCL | O_WRONLY, 0644))));
    expect(at("x"), "one");
}

static void appends(void) {
    int first = CALL(open(at("log"), O_WRONLY | O_CREAT | O_APPEND, 0644));
    int second = CALL(open(at("log"), O_WRONLY | O_APPEND));
    for (int i = 0; i < 10; i++) CALL(write(i % 2 ? second : first, i % 2 ? "b" : "a", 1));
    CALL(close(first));
    CALL(close(second));
    expect(at("log"), "ababababab");
}

static void truncates(void) {
    int file = CALL(open(at("file"), O_RDWR | O_CREAT, 0644));
    char bytes[8192], zeros[8192] = {0};
    CALL(pwrite(file, "0123456789", 10, 0));
    CALL(ftruncate(file, 4));
    CALL(ftruncate(file, 8000));
    MUST(CALL(pread(file, bytes, sizeof bytes, 0)) == 8000);
    MUST(!memcmp(bytes, "0123", 4) && !memcmp(bytes + 4, zeros, 7996));
    CALL(close(file));
    CALL(truncate(at("file"), 2));
    struct stat status;
    CALL(stat(at("file"), &status));
    MUST(status.st_size == 2);
    CALL(close(CALL(open(at("file"), O_WRONLY | O_TRUNC))));
    CALL(stat(at("file"), &status));
    MUST(status.st_size == 0);
}

static void sparse(void) {
    int file = CALL(open(at("sparse"), O_RDWR | O_CREAT, 0644));
    off_t far = (5LL << 30) + 17;
    CALL(pwrite(file, "end", 3, far));
    CALL(fsync(file));
    char bytes[4096], zeros[4096] = {0};
    MUST(CALL(pread(file, bytes, sizeof bytes, 4LL << 30)) == 4096 && !memcmp(bytes, zeros, 4096));
    MUST(CALL(pread(file, bytes, sizeof bytes, far)) == 3 && !memcmp(bytes, "end", 3));
    struct stat status;
    CALL(fstat(file, &status));
    MUST(status.st_size == far + 3);
    CALL(close(file));
    CALL(unlink(at("sparse")));
}

static void renames(void) {
    put(at("a"), "new");
    put(at("b"), "old");
    CALL(rename(at("a"), at("b")));
    expect(at("b"), "new");
    FAILS(access(at("a"), F_OK), ENOENT);
    CALL(mkdir(at("dir"), 0755));
    put(at("dir/file"), "x");
    CALL(rename(at("dir"), at("moved")));
    expect(at("moved/file"), "x");
    CALL(rename(at("b"), at("moved/b")));
    expect(at("moved/b"), "new");
}

/* Linux's NFS client gives a file that is in use another name (.nfs...) when it is removed, and removes that after close() has
 * returned: with a delegation it first writes the data that it has and returns the delegation, over another connection than the next
 * listing. */
static void becomes_empty(const char *path) {
    int count = 1;
    for (int tries = 0; count && tries < 1000; tries++) {
        if (tries) usleep(10000);
        listed(path, "", &count);
    }
    if (count) fail("%d entries are left in %s", count, path);
}

static void renames_onto_folder(void) {
    CALL(mkdir(at("dir"), 0755));
    CALL(mkdir(at("full"), 0755));
    put(at("full/file"), "x");
    FAILS(rename(at("dir"), at("full")), ENOTEMPTY);
    CALL(unlink(at("full/file")));
    becomes_empty(at("full"));
    put(at("dir/file"), "y");
    CALL(rename(at("dir"), at("full")));
    expect(at("full/file"), "y");
}

/* The reader has other flags than the opens that follow: Linux 6.1's SMB client gives an open of the same path with the same flags the
 * handle that is open, also when the path is another file's by now (fs/cifs, cifs_get_readable_path). */
static void renames_over_open(void) {
    put(at("target"), "old");
    put(at("new"), "new");
    int reader = CALL(open(at("target"), O_RDWR));
    CALL(rename(at("new"), at("target")));
    expect(at("target"), "new");
    expect_fd(reader, "old");
    CALL(close(reader));
    expect(at("target"), "new");
}

static void renames_open(void) {
    int file = CALL(open(at("before"), O_RDWR | O_CREAT, 0644));
    CALL(pwrite(file, "one", 3, 0));
    CALL(rename(at("before"), at("after")));
    CALL(pwrite(file, "two", 3, 3));
    CALL(close(file));
    expect(at("after"), "onetwo");
}

static void renames_folder_in_use(void) {
    CALL(mkdir(at("here"), 0755));
    int file = CALL(open(at("here/file"), O_RDWR | O_CREAT, 0644));
    CALL(write(file, "one", 3));
    CALL(rename(at("here"), at("there")));
    CALL(close(file));
    expect(at("there/file"), "one");
}

static void unlinks_open(void) {
    int file = CALL(open(at("gone"), O_RDWR | O_CREAT, 0644));
    CALL(write(file, "still", 5));
    CALL(unlink(at("gone")));
    CALL(pwrite(file, "S", 1, 0));
    expect_fd(file, "Still");
    CALL(close(file));
    becomes_empty(folder);
}

static void removed_while_open(void) {
    int file = CALL(open(at("gone"), O_RDWR | O_CREAT, 0644));
    CALL(unlink(at("gone")));
    FAILS(access(at("gone"), F_OK), ENOENT);
    CALL(close(file));
}

static void folders(void) {
    CALL(mkdir(at("dir"), 0755));
    FAILS(mkdir(at("dir"), 0755), EEXIST);
    put(at("dir/file"), "x");
    FAILS(rmdir(at("dir")), ENOTEMPTY);
    FAILS(open(at("dir/file/below"), O_RDONLY), ENOTDIR);
    FAILS(open(at("no/file"), O_RDONLY), ENOENT);
    FAILS(open(at("dir"), O_WRONLY), EISDIR);
    CALL(unlink(at("dir/file")));
    becomes_empty(at("dir"));
    CALL(rmdir(at("dir")));
}

/* As rm -r does it: entries are removed while they are listed. */
static void lists_and_removes(void) {
    enum { COUNT = 100 };
    char name[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "entry %03d", i);
        put(at(name), "");
    }
    int count;
    MUST(listed(folder, "entry 099", &count));
    if (count != COUNT) fail("%d entries are listed, not %d", count, COUNT);
    DIR *all = opendir(folder);
    for (struct dirent *entry; (entry = readdir(all));)
        if (entry->d_name[0] != '.') CALL(unlink(at(entry->d_name)));
    closedir(all);
    listed(folder, "", &count);
    if (count) fail("%d entries are left", count);
}

static void hard_links(void) {
    put(at("one"), "same");
    CALL(link(at("one"), at("two")));
    struct stat one, two;
    CALL(stat(at("one"), &one));
    CALL(stat(at("two"), &two));
    if (one.st_ino != two.st_ino) fail("the inode numbers are %lx and %lx", one.st_ino, two.st_ino);
    if (one.st_nlink != 2 || two.st_nlink != 2) fail("there are %lu and %lu links", one.st_nlink, two.st_nlink);
    FAILS(link(at("one"), at("two")), EEXIST);
    put(at("two"), "both");
    expect(at("one"), "both");
    CALL(unlink(at("one")));
    expect(at("two"), "both");
}

static void times(void) {
    put(at("file"), "x");
    struct timespec set[2] = {{1000000001, 123456700}, {1600000002, 987654300}};
    CALL(utimensat(AT_FDCWD, at("file"), set, 0));
    struct stat status;
    CALL(stat(at("file"), &status));
    MUST(status.st_mtim.tv_sec == set[1].tv_sec && status.st_mtim.tv_nsec == set[1].tv_nsec);
    MUST(status.st_atim.tv_sec == set[0].tv_sec && status.st_atim.tv_nsec == set[0].tv_nsec);
    put(at("file"), "y");
    CALL(stat(at("file"), &status));
    time_t now = time(NULL);
    if (status.st_mtim.tv_sec < now - 60 || status.st_mtim.tv_sec > now + 60) fail("a write sets the time to %ld", status.st_mtim.tv_sec);
    if (status.st_ctim.tv_sec < now - 60 || status.st_ctim.tv_sec > now + 60) fail("the change time is %ld", status.st_ctim.tv_sec);
}

static void maps(void) {
    enum { SIZE = 3 * 4096 };
    int file = CALL(open(at("map"), O_RDWR | O_CREAT, 0644));
    CALL(ftruncate(file, SIZE));
    char *shared = CALL((char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    memcpy(shared + 4090, "across the page", 15);
    CALL(msync(shared, SIZE, MS_SYNC));
    char bytes[15];
    CALL(pread(file, bytes, 15, 4090));
    MUST(!memcmp(bytes, "across the page", 15));
    CALL(pwrite(file, "written", 7, 8192));
    MUST(!memcmp(shared + 8192, "written", 7));
    char *private = CALL((char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
    private[0] = 'p';
    MUST(shared[0] == 0);
    munmap(shared, SIZE);
    munmap(private, SIZE);
    CALL(close(file));
    file = CALL(open(at("map"), O_RDONLY));
    CALL(pread(file, bytes, 7, 8192));
    MUST(!memcmp(bytes, "written", 7));
    CALL(close(file));
}

static void direct(void) {
    int file = open(at("direct"), O_RDWR | O_CREAT | O_DIRECT, 0644);
    if (file < 0 && errno == EINVAL) return; /* this mount has none */
    CALL(file);
    char *page;
    MUST(!posix_memalign((void **)&page, 4096, 65536));
    for (int i = 0; i < 65536; i++) page[i] = i * 7 + (i >> 9);
    MUST(CALL(pwrite(file, page, 65536, 4096)) == 65536);
    char *back;
    MUST(!posix_memalign((void **)&back, 4096, 65536));
    MUST(CALL(pread(file, back, 65536, 4096)) == 65536 && !memcmp(page, back, 65536));
    CALL(close(file));
    free(page);
    free(back);
}

static void copies(void) {
    enum { SIZE = 300000 };
    static char bytes[SIZE], back[SIZE];
    for (int i = 0; i < SIZE; i++) bytes[i] = i * 31 + (i >> 8);
    int from = CALL(open(at("from"), O_RDWR | O_CREAT, 0644)), to = CALL(open(at("to"), O_RDWR | O_CREAT, 0644));
    MUST(CALL(write(from, bytes, SIZE)) == SIZE);
    CALL(lseek(from, 0, SEEK_SET));
    size_t left = SIZE;
    while (left) {
        ssize_t done = copy_file_range(from, NULL, to, NULL, left, 0);
        if (done < 0 && (errno == EOPNOTSUPP || errno == EXDEV)) done = sendfile(to, from, NULL, left);
        if (done <= 0) fail("%zu bytes are not copied: %s", left, strerror(errno));
        left -= done;
    }
    MUST(CALL(pread(to, back, SIZE, 0)) == SIZE && !memcmp(bytes, back, SIZE));
    CALL(close(from));
    CALL(close(to));
}

static struct flock range(short type, off_t start, off_t length) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
}

/* Runs it in another process, and gives what it exits with. */
static int in_child(int (*what)(const char *), const char *path) {
    pid_t child = CALL(fork());
    if (!child) _exit(what(path));
    int status;
    CALL(waitpid(child, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/* Linux's SMB client says EACCES where another lock is in the way; POSIX allows that for fcntl. */
static int try_lock(const char *path) {
    int file = open(path, O_RDWR);
    struct flock lock = range(F_WRLCK, 10, 10);
    if (file < 0) return 90;
    return fcntl(file, F_SETLK, &lock) ? (errno == EACCES ? EAGAIN : errno) : 0;
}

static int try_flock(const char *path) {
    int file = open(path, O_RDWR);
    return file < 0 ? 90 : flock(file, LOCK_EX | LOCK_NB) ? (errno == EACCES ? EAGAIN : errno) : 0;
}

static void locks(void) {
    put(at("locked"), "0123456789012345678901234567890");
    int file = CALL(open(at("locked"), O_RDWR));
    struct flock lock = range(F_WRLCK, 0, 15);
    CALL(fcntl(file, F_SETLK, &lock));
    int result = in_child(try_lock, at("locked"));
    if (result != EAGAIN) fail("a locked range: %s", strerror(result));
    lock = range(F_UNLCK, 0, 15);
    CALL(fcntl(file, F_SETLK, &lock));
    result = in_child(try_lock, at("locked"));
    if (result) fail("an unlocked range: %s", strerror(result));
    lock = range(F_RDLCK, 5, 3);
    CALL(fcntl(file, F_SETLK, &lock));
    result = in_child(try_lock, at("locked"));
    if (result) fail("beside a locked range: %s", strerror(result));
    CALL(close(file));
}

static void flocks(void) {
    put(at("locked"), "x");
    int file = CALL(open(at("locked"), O_RDWR));
    CALL(flock(file, LOCK_EX));
    int result = in_child(try_flock, at("locked"));
    if (result != EAGAIN) fail("a locked file: %s", strerror(result));
    CALL(flock(file, LOCK_UN));
    result = in_child(try_flock, at("locked"));
    if (result) fail("an unlocked file: %s", strerror(result));
    CALL(close(file));
}

static void names(const char *const *all) {
    for (; *all; all++) {
        char other[300];
        int count;
        int file = open(at(*all), O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (file < 0) fail("\"%s\" is not made: %s", *all, strerror(errno));
        CALL(write(file, "x", 1));
        CALL(close(file));
        if (!listed(folder, *all, &count)) fail("\"%s\" is not listed", *all);
        if (count != 1) fail("there are %d entries beside \"%s\"", count, *all);
        expect(at(*all), "x");
        snprintf(other, sizeof other, "%.240s 2", *all);
        if (rename(at(*all), at(other))) fail("\"%s\" is not renamed: %s", *all, strerror(errno));
        if (rename(at(other), at(*all))) fail("\"%s\" is not renamed back: %s", *all, strerror(errno));
        if (!listed(folder, *all, &count)) fail("\"%s\" is not listed after a rename", *all);
        if (unlink(at(*all))) fail("\"%s\" is not removed: %s", *all, strerror(errno));
    }
}

static void ordinary_names(void) {
    static const char *const all[] = {
        "with blanks  inside", "größe", "日本語のファイル", "😀 smile", "a.b.c.d", "-rf", "'quoted'", "$HOME", "#hash;&|", "%41%00",
        "._mac", ".hidden", "~tilde~", "UPPER lower", "[brackets]{braces}(round)", "tab+plus=equal,comma", "desktop.ini", "Thumbs.db", NULL,
    };
    names(all);
}

static void names_for_windows(void) {
    static const char *const all[] = {
        "a:b", "what?", "star*", "<less> and >", "pipe|", "\"double\"", "ends with dot.", "ends with blank ", "con", "AUX.txt",
        "nul", "com1", "line\nbreak", "tab\tinside", "bell\007", NULL,
    };
    names(all);
}

static void backslashes(void) {
    static const char *const all[] = {"back\\slash", NULL};
    names(all);
}

static void decomposed_names(void) {
    static const char *const all[] = {"gro\xcc\x88\xc3\x9f""e", "e\xcc\x81t\xc3\xa9", "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", "A\xcc\x8a", NULL};
    names(all);
}

static void long_names(void) {
    char name[256], path[4096] = "";
    memset(name, 'n', 255);
    name[255] = 0;
    put(at(name), "long");
    int count;
    MUST(listed(folder, name, &count));
    expect(at(name), "long");
    char longer[300];
    memset(longer, 'n', 256);
    longer[256] = 0;
    FAILS(open(at(longer), O_RDONLY), ENAMETOOLONG);
    for (int i = 0; i < 20; i++) {
        strcat(path, i ? "/a folder that is deep below" : "a folder that is deep below");
        CALL(mkdir(at(path), 0755));
    }
    strcat(path, "/file");
    put(at(path), "deep");
    expect(at(path), "deep");
}

static void space(void) {
    struct statvfs all;
    CALL(statvfs(folder, &all));
    MUST(all.f_blocks > 0 && all.f_bfree <= all.f_blocks && all.f_bavail <= all.f_blocks && all.f_namemax == 255);
}

static void reads_ahead(void) {
    enum { SIZE = 3 << 20 };
    char *bytes = malloc(SIZE), *back = malloc(SIZE);
    for (int i = 0; i < SIZE; i++) bytes[i] = i ^ (i >> 8) ^ (i >> 16);
    int file = CALL(open(at("large"), O_RDWR | O_CREAT, 0644));
    for (int done = 0; done < SIZE;) done += CALL(write(file, bytes + done, SIZE - done));
    CALL(fsync(file));
    CALL(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
    for (int done = 0; done < SIZE;) {
        ssize_t part = CALL(pread(file, back + done, 65536, done));
        MUST(part > 0);
        done += part;
    }
    MUST(!memcmp(bytes, back, SIZE));
    CALL(close(file));
    free(bytes);
    free(back);
}

static const struct {
    const char *name;
    void (*run)(void);
} BASICS[] = {
    {"O_EXCL", exclusive},
    {"appending through two descriptors", appends},
    {"truncating", truncates},
    {"a hole of 5 GiB", sparse},
    {"renaming", renames},
    {"renaming a folder onto another one", renames_onto_folder},
    {"renaming over an open file", renames_over_open},
    {"renaming an open file", renames_open},
    {"renaming a folder with an open file", renames_folder_in_use},
    {"removing an open file", unlinks_open},
    {"an open file that is removed has no name", removed_while_open},
    {"folders", folders},
    {"removing 100 files while they are listed", lists_and_removes},
    {"hard links", hard_links},
    {"times", times},
    {"mmap", maps},
    {"O_DIRECT", direct},
    {"copy_file_range", copies},
    {"3 MiB written and read", reads_ahead},
    {"fcntl locks", locks},
    {"flock", flocks},
    {"odd names", ordinary_names},
    {"names that Windows has not", names_for_windows},
    {"a backslash in a name", backslashes},
    {"decomposed names", decomposed_names},
    {"long names and paths", long_names},
    {"statvfs", space},
};

static int basics(const char *path, const char *name) {
    CALL(mkdir(path, 0755));
    for (size_t i = 0; i < sizeof BASICS / sizeof *BASICS; i++) {
        snprintf(folder, sizeof folder, "%s/%zu", path, i);
        double start = now_s();
        if (mkdir(folder, 0755)) {
            printf("fail %s, %s: mkdir: %s\n", name, BASICS[i].name, strerror(errno));
        } else if (!setjmp(failed)) {
            BASICS[i].run();
            printf("pass %s, %s\n", name, BASICS[i].name);
        } else {
            for (char *at = why; *at; at++)
                if ((unsigned char)*at < ' ') *at = ' ';
            printf("fail %s, %s: %s\n", name, BASICS[i].name, why);
        }
        fflush(stdout);
        fprintf(stderr, "%s: %.1f s\n", BASICS[i].name, now_s() - start);
    }
    return 0;
}

/* Random operations on one file, whose content is kept in memory, too. After fsx of Apple, by what it does. */
static int fsx(const char *path, unsigned seed, int operations) {
    enum { MOST = 200000 };
    static char good[MOST + 1], found[MOST + 1];
    snprintf(folder, sizeof folder, "%s", path);
    off_t size = 0;
    srandom(seed);
    int file = CALL(open(path, O_RDWR | O_CREAT | O_TRUNC, 0644));
    for (int i = 0; i < operations; i++) {
        int what = random() % 100;
        off_t start = random() % MOST, length = random() % 40000 + 1;
        if (start + length > MOST) length = MOST - start;
        fprintf(stderr, "%d: %d at %ld, %ld bytes, of %ld\n", i, what, (long)start, (long)length, (long)size);
        if (what < 30) {
            memset(good + start, 'a' + i % 26, length);
            if (start > size) memset(good + size, 0, start - size);
            MUST(CALL(pwrite(file, good + start, length, start)) == length);
            if (start + length > size) size = start + length;
        } else if (what < 40 && size) {
            start %= size;
            if (start + length > size) length = size - start;
            long page = start & ~4095L;
            char *map = CALL((char *)mmap(NULL, start + length - page, PROT_READ | PROT_WRITE, MAP_SHARED, file, page));
            memset(map + (start - page), 'A' + i % 26, length);
            memset(good + start, 'A' + i % 26, length);
            if (what < 35) CALL(msync(map, start + length - page, MS_SYNC));
            CALL(munmap(map, start + length - page));
        } else if (what < 50 && size) {
            start %= size;
            if (start + length > size) length = size - start;
            long page = start & ~4095L;
            char *map = CALL((char *)mmap(NULL, start + length - page, PROT_READ, MAP_SHARED, file, page));
            if (memcmp(map + (start - page), good + start, length)) fail("operation %d: what is mapped differs", i);
            CALL(munmap(map, start + length - page));
        } else if (what < 60) {
            if (start > size) memset(good + size, 0, start - size);
            CALL(ftruncate(file, start));
            size = start;
        } else if (what < 65) {
            CALL(fsync(file));
        } else if (what < 70) {
            CALL(close(file));
            file = CALL(open(path, O_RDWR));
        } else if (what < 73 && size) {
            start %= size;
            if (start + length > size) length = size - start;
            if (!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, length)) memset(good + start, 0, length);
            else if (errno != EOPNOTSUPP) fail("operation %d: a hole: %s", i, strerror(errno));
        } else {
            ssize_t expected = start >= size ? 0 : start + length > size ? size - start : length;
            ssize_t got = CALL(pread(file, found, length, start));
            if (got != expected) fail("operation %d: %zd bytes are read, not %zd", i, got, expected);
            for (ssize_t j = 0; j < got; j++)
                if (found[j] != good[start + j]) fail("operation %d: byte %ld is %02x, not %02x", i, (long)(start + j), found[j] & 255, good[start + j] & 255);
        }
        struct stat status;
        CALL(fstat(file, &status));
        if (status.st_size != size) fail("operation %d: the size is %ld, not %ld", i, (long)status.st_size, (long)size);
    }
    CALL(close(file));
    file = CALL(open(path, O_RDONLY));
    MUST(CALL(read(file, found, MOST)) == size && !memcmp(found, good, size));
    CALL(close(file));
    CALL(unlink(path));
    return 0;
}

enum { RECORD = 1024 };

static int is_smb(int file) {
    struct statfs status;
    CALL(fstatfs(file, &status));
    return (unsigned)status.f_type == 0xFF534D42 || (unsigned)status.f_type == 0xFE534D42;
}

/* Opens a journal again whose record `number` could not be synced. This record is not counted: it is cut off and written again. */
static int reopened(int file, const char *path, int number) {
    close(file);
    do pause_ms(100), file = open(path, O_WRONLY | O_APPEND);
    while (file < 0 && errno == EAGAIN);
    CALL(file);
    CALL(ftruncate(file, (off_t)number * RECORD));
    return file;
}

/* Records are appended and synced; the number of each one that is synced goes to a local file. It ends when `stop` is there.
   Linux's SMB client does not repeat a FLUSH whose connection ends, and sends the next one with the old handle, also with `hard`: fsync
   is EAGAIN or EBADF then, and the file must be opened again. NFS has to hide the restart of the server from the program. */
static int journal(const char *path, const char *local, const char *stop) {
    int file = CALL(open(path, O_WRONLY | O_CREAT | O_APPEND, 0644)), notes = CALL(open(local, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    int may_reopen = is_smb(file);
    for (int i = 0; access(stop, F_OK);) {
        char record[RECORD];
        memset(record, '.', sizeof record);
        record[snprintf(record, sizeof record, "%08d", i)] = ' ';
        record[sizeof record - 1] = '\n';
        if (write(file, record, sizeof record) != sizeof record) fail("record %d: write: %s", i, strerror(errno));
        if (!fsync(file)) {
            dprintf(notes, "%d\n", i++);
            pause_ms(20);
        } else if (may_reopen && (errno == EAGAIN || errno == EBADF)) {
            fprintf(stderr, "record %d: fsync: %s, and again\n", i, strerror(errno));
            file = reopened(file, path, i);
        } else {
            fail("record %d: fsync: %s", i, strerror(errno));
        }
    }
    CALL(close(file));
    return 0;
}

/* Every record that was noted is in the file, whole and in order. */
static int journal_is_whole(const char *path, const char *local) {
    FILE *notes = fopen(local, "r");
    if (!notes) fail("%s: %s", local, strerror(errno));
    int last = -1, count = 0, number;
    while (fscanf(notes, "%d", &number) == 1) last = number, count++;
    fclose(notes);
    MUST(last == count - 1 && count > 0);
    int file = CALL(open(path, O_RDONLY));
    char record[RECORD], head[16];
    for (int i = 0; i <= last; i++) {
        if (CALL(read(file, record, sizeof record)) != sizeof record) fail("record %d of %d is missing", i, last);
        snprintf(head, sizeof head, "%08d ", i);
        if (memcmp(record, head, 9) || record[sizeof record - 1] != '\n') fail("record %d of %d is \"%.12s\"", i, last, record);
    }
    printf("%d records\n", count);
    return 0;
}

/* Records are appended to one file under a lock of all of it, each time by opening it (`reopen`), or through one open. */
static int append_locked(const char *path, const char *who, int count, int reopen) {
    int file = CALL(open(path, O_RDWR | O_CREAT | O_APPEND, 0644));
    for (int i = 0; i < count; i++) {
        if (reopen) {
            CALL(close(file));
            file = CALL(open(path, O_RDWR | O_APPEND));
        }
        struct flock lock = range(F_WRLCK, 0, 0);
        while (fcntl(file, F_SETLKW, &lock))
            if (errno != EINTR) fail("record %d: lock: %s", i, strerror(errno));
        struct stat status; /* which asks the server for the size */
        CALL(fstat(file, &status));
        char record[64];
        int length = snprintf(record, sizeof record, "%s %d of %d\n", who, i, count);
        ssize_t written = write(file, record, length);
        if (written != length) fail("record %d: write: %s", i, strerror(errno));
        lock = range(F_UNLCK, 0, 0);
        if (fcntl(file, F_SETLK, &lock)) fail("record %d: unlock: %s", i, strerror(errno));
    }
    if (close(file)) fail("close: %s", strerror(errno));
    return 0;
}

/* Writes into the first bytes without any lock, and counts what is refused. */
static int write_plain(const char *path, int count) {
    int file = CALL(open(path, O_RDWR | O_CREAT, 0644)), refusals = 0;
    for (int i = 0; i < count; i++) {
        if (pwrite(file, "0123456789", 10, i % 5) != 10) fprintf(stderr, "write %d: %s\n", i, strerror(errno)), refusals++;
        if (fsync(file)) fprintf(stderr, "fsync %d: %s\n", i, strerror(errno)), refusals++;
        pause_ms(10);
    }
    if (close(file)) fprintf(stderr, "close: %s\n", strerror(errno)), refusals++;
    if (refusals) fail("%d of %d are refused", refusals, count);
    return 0;
}

/* A change made through one mount is seen through the other by a file that is opened afterwards. */
static int cross(const char *first, const char *second) {
    char one[2048], two[2048], text[64];
    for (int i = 0; i < 20; i++) {
        const char *from = i % 2 ? first : second, *to = i % 2 ? second : first;
        snprintf(one, sizeof one, "%s/file", from);
        snprintf(two, sizeof two, "%s/file", to);
        snprintf(text, sizeof text, "round %06d", i);
        put(one, text);
        int file = CALL(open(two, O_RDONLY));
        char found[64] = "";
        CALL(read(file, found, sizeof found - 1));
        CALL(close(file));
        if (strcmp(found, text)) fail("%s: it has \"%s\", not \"%s\", which was written as %s", two, found, text, one);
    }
    return 0;
}

/* A file takes the place of another one through one mount, round after round, while a process opens that name through the other mount
   all the time. Each time a file that is opened afterwards is the newest one. */
static int replaced(const char *by, const char *through, int rounds) {
    char next[2048], name[2048], other[2048], text[64];
    snprintf(next, sizeof next, "%s/next", by);
    snprintf(name, sizeof name, "%s/file", by);
    snprintf(other, sizeof other, "%s/file", through);
    put(name, "round 0");
    pid_t child = CALL(fork());
    if (!child) prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int file; !child;) { /* until it is killed */
        if ((file = open(other, O_RDONLY)) < 0) continue;
        read(file, text, sizeof text);
        close(file);
    }
    int older = 0;
    for (int i = 1; i <= rounds; i++) {
        snprintf(text, sizeof text, "round %d", i);
        put(next, text);
        CALL(rename(next, name));
        int file = CALL(open(other, O_RDONLY));
        char found[64] = "";
        CALL(read(file, found, sizeof found - 1));
        struct stat status;
        if (strcmp(found, text)) {
            int is_there = !fstat(file, &status);
            printf("%s, not %s, of a file that %s\n", found, text, is_there ? "the server still has" : strerror(errno));
            older++;
        }
        CALL(close(file));
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (older) fail("%d of %d files that were opened had been replaced before", older, rounds);
    return 0;
}

/* A lock taken through one mount holds through the other, and who waits gets it. */
static int cross_locks(const char *first, const char *second) {
    char one[2048], two[2048];
    snprintf(one, sizeof one, "%s/locked", first);
    snprintf(two, sizeof two, "%s/locked", second);
    int mine = CALL(open(one, O_RDWR | O_CREAT, 0644)), other = CALL(open(two, O_RDWR));
    CALL(ftruncate(mine, 100));
    struct flock lock = range(F_WRLCK, 10, 10);
    CALL(fcntl(mine, F_SETLK, &lock));
    pid_t child = CALL(fork());
    if (!child) {
        struct flock mine = range(F_WRLCK, 15, 10);
        if (!fcntl(other, F_SETLK, &mine)) _exit(1);
        if (errno != EAGAIN && errno != EACCES) _exit(2);
        mine = range(F_WRLCK, 30, 10);
        if (fcntl(other, F_SETLK, &mine)) _exit(3);
        mine = range(F_WRLCK, 15, 10);
        if (fcntl(other, F_SETLKW, &mine)) _exit(4);
        _exit(0);
    }
    pause_ms(2000);
    int status;
    pid_t ended = CALL(waitpid(child, &status, WNOHANG));
    if (ended) fail("the other process ends with %d while the range is locked", WEXITSTATUS(status));
    lock = range(F_UNLCK, 10, 10);
    CALL(fcntl(mine, F_SETLK, &lock));
    double start = now_s();
    while (!(ended = CALL(waitpid(child, &status, WNOHANG))) && now_s() < start + 10) pause_ms(50);
    if (!ended) {
        kill(child, SIGKILL);
        fail("it does not get the lock within 10 s");
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail("the other process ends with %d", WEXITSTATUS(status));
    printf("it gets the lock after %.2f s\n", now_s() - start);
    return 0;
}

/* Holds a lock until `stop` is there; then the file is still locked for others. */
static int hold_lock(const char *path, const char *ready, const char *stop) {
    int file = CALL(open(path, O_RDWR | O_CREAT, 0644));
    struct flock lock = range(F_WRLCK, 0, 20);
    CALL(fcntl(file, F_SETLK, &lock));
    CALL(close(CALL(open(ready, O_CREAT | O_WRONLY, 0644))));
    while (access(stop, F_OK)) pause_ms(50);
    CALL(pwrite(file, "held", 4, 0));
    CALL(fsync(file));
    CALL(close(file));
    return 0;
}

int main(int count, char **args) {
    signal(SIGPIPE, SIG_IGN);
    const char *what = count > 1 ? args[1] : "";
    if (setjmp(failed)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    if (!strcmp(what, "basics") && count == 4) return basics(args[2], args[3]);
    if (!strcmp(what, "fsx") && count == 5) return fsx(args[2], atoi(args[3]), atoi(args[4]));
    if (!strcmp(what, "journal") && count == 5) return journal(args[2], args[3], args[4]);
    if (!strcmp(what, "journal-is-whole") && count == 4) return journal_is_whole(args[2], args[3]);
    if (!strcmp(what, "append-locked") && count == 6) return append_locked(args[2], args[3], atoi(args[4]), atoi(args[5]));
    if (!strcmp(what, "write-plain") && count == 4) return write_plain(args[2], atoi(args[3]));
    if (!strcmp(what, "cross") && count == 4) return cross(args[2], args[3]);
    if (!strcmp(what, "replaced") && count == 5) return replaced(args[2], args[3], atoi(args[4]));
    if (!strcmp(what, "cross-locks") && count == 4) return cross_locks(args[2], args[3]);
    if (!strcmp(what, "hold-lock") && count == 5) return hold_lock(args[2], args[3], args[4]);
    if (!strcmp(what, "try-lock") && count == 3) return try_lock(args[2]);
    fprintf(stderr, "usage: files basics|fsx|journal|journal-is-whole|append-locked|cross|replaced|cross-locks|hold-lock|try-lock ...\n");
    return 2;
}
