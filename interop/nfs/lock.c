/* Locking as a Linux or Mac client does it: NLM version 4 (X/Open XNFS; RFC 1813 appendix II) through libnfs's raw API.
 *
 *   lock --export /share --nfs-port N --mount-port N --nlm-port N [--host H] [--uid N] [--gid N] [--callback yes]
 *
 * With --callback the program tests what happens to a lock that was made to wait. It then also plays the client's own
 * portmapper (port 111) and lock manager, so that the lock can be granted; the server must not use port 111. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "outcome.h"
#include "rpc.h"

#define PORTMAP 100000
#define NLM 100021
#define FOREVER 0 /* a length of 0 means to the end of the file */

static struct rpc_context *rpc;
static struct handle file;

struct owner {
    const char *caller;
    const char *bytes;
    unsigned svid;
};

static const struct owner A = { "client-a", "owner-a", 11 };
static const struct owner B = { "client-b", "owner-b", 22 };

struct reply {
    struct call call;
    nlm4_holder holder;
};

static void on_lock(struct rpc_context *r, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    (void)r;
    call->finished = 1;
    /* LOCK, UNLOCK and CANCEL answer alike: the cookie, then the status. */
    call->status = status == RPC_STATUS_SUCCESS ? (int)((NLM4_LOCKres *)data)->status : -1;
}

static void on_test(struct rpc_context *r, int status, void *data, void *private_data)
{
    struct reply *reply = private_data;
    NLM4_TESTres *res = data;
    (void)r;
    reply->call.finished = 1;
    reply->call.status = status == RPC_STATUS_SUCCESS ? (int)res->reply.status : -1;
    if (reply->call.status == NLM4_DENIED)
        reply->holder = res->reply.nlm4_testreply_u.lock.holder;
}

static nlm4_lock range(const struct owner *o, uint64_t offset, uint64_t len)
{
    nlm4_lock lock = { .caller_name = (char *)o->caller, .svid = o->svid, .l_offset = offset, .l_len = len };
    lock.fh.data.data_len = file.len;
    lock.fh.data.data_val = file.bytes;
    lock.oh = (char *)o->bytes;
    return lock;
}

static nlm_cookie cookie(void)
{
    static char bytes[4] = "cook";
    nlm_cookie c = { .data = { .data_len = 4, .data_val = bytes } };
    bytes[3]++;
    return c;
}

static int lock(const struct owner *o, uint64_t offset, uint64_t len, int exclusive, int block)
{
    struct call call = { 0 };
    NLM4_LOCKargs args = { .cookie = cookie(), .block = block, .exclusive = exclusive, .lock = range(o, offset, len),
                           .state = 1 };
    if (rpc_nlm4_lock_async(rpc, on_lock, &args, &call) != 0)
        return -1;
    return wait_for(rpc, &call, 10000);
}

static int unlock(const struct owner *o, uint64_t offset, uint64_t len)
{
    struct call call = { 0 };
    NLM4_UNLOCKargs args = { .cookie = cookie(), .lock = range(o, offset, len) };
    if (rpc_nlm4_unlock_async(rpc, on_lock, &args, &call) != 0)
        return -1;
    return wait_for(rpc, &call, 10000);
}

static int cancel(const struct owner *o, uint64_t offset, uint64_t len)
{
    struct call call = { 0 };
    NLM4_CANCargs args = { .cookie = cookie(), .block = 1, .exclusive = 1, .lock = range(o, offset, len) };
    if (rpc_nlm4_cancel_async(rpc, on_lock, &args, &call) != 0)
        return -1;
    return wait_for(rpc, &call, 10000);
}

static int test(const struct owner *o, uint64_t offset, uint64_t len, int exclusive, nlm4_holder *holder)
{
    struct reply reply = { 0 };
    NLM4_TESTargs args = { .cookie = cookie(), .exclusive = exclusive, .lock = range(o, offset, len) };
    if (rpc_nlm4_test_async(rpc, on_test, &args, &reply) != 0)
        return -1;
    wait_for(rpc, &reply.call, 10000);
    if (holder)
        *holder = reply.holder;
    return reply.call.status;
}

static void ranges(void)
{
    nlm4_holder holder = { 0 };
    check_is("lock", lock(&A, 100, 10, 1, 0), NLM4_GRANTED);
    check_is("lock again by its owner", lock(&A, 100, 10, 1, 0), NLM4_GRANTED);
    check_is("test by another", test(&B, 105, 1, 1, &holder), NLM4_DENIED);
    check("test names the holder", holder.exclusive && holder.svid == 11 && holder.l_offset == 100 && holder.l_len == 10,
          "offset, length or process differ");
    check_is("test by the owner", test(&A, 100, 10, 1, NULL), NLM4_GRANTED);
    check_is("lock by another", lock(&B, 109, 5, 1, 0), NLM4_DENIED);
    check_is("shared lock by another", lock(&B, 109, 5, 0, 0), NLM4_DENIED);
    check_is("lock beside it", lock(&B, 110, 5, 1, 0), NLM4_GRANTED);
    check_is("unlock the middle", unlock(&A, 103, 4), NLM4_GRANTED);
    check_is("the middle is free", test(&B, 103, 4, 1, NULL), NLM4_GRANTED);
    check_is("the left part is still held", test(&B, 102, 1, 1, NULL), NLM4_DENIED);
    check_is("the right part is still held", test(&B, 107, 1, 1, NULL), NLM4_DENIED);
    check_is("unlock all", unlock(&A, 0, FOREVER), NLM4_GRANTED);
    check_is("unlock what is not locked", unlock(&A, 0, FOREVER), NLM4_GRANTED);
    unlock(&B, 0, FOREVER);
}

static void sharing(void)
{
    check_is("shared lock", lock(&A, 0, 10, 0, 0), NLM4_GRANTED);
    check_is("a second shared lock", lock(&B, 0, 10, 0, 0), NLM4_GRANTED);
    check_is("upgrade while shared", lock(&A, 0, 10, 1, 0), NLM4_DENIED);
    unlock(&B, 0, FOREVER);
    check_is("upgrade when alone", lock(&A, 0, 10, 1, 0), NLM4_GRANTED);
    check_is("the upgrade excludes", test(&B, 0, 1, 0, NULL), NLM4_DENIED);
    unlock(&A, 0, FOREVER);
}

static void edges(void)
{
    check_is("lock to the end of the file", lock(&A, 1000, FOREVER, 1, 0), NLM4_GRANTED);
    check_is("it reaches the last offset", test(&B, INT64_MAX, 1, 1, NULL), NLM4_DENIED);
    check_is("and begins where it says", test(&B, 999, 1, 1, NULL), NLM4_GRANTED);
    unlock(&A, 0, FOREVER);
    struct handle kept = file;
    memset(file.bytes, 0x5a, file.len);
    int status = lock(&A, 0, 1, 1, 0);
    check("a forged handle is refused", status == NLM4_STALE_FH || status == NLM4_FAILED || status == NLM4_DENIED_NOLOCKS,
          "it is not");
    file = kept;
}

static void waiting_without_callback(void)
{
    check_is("lock that others wait for", lock(&A, 0, 10, 1, 0), NLM4_GRANTED);
    check_is("a blocking lock is told to wait", lock(&B, 5, 1, 1, 1), NLM4_BLOCKED);
    check_is("cancel", cancel(&B, 5, 1), NLM4_GRANTED);
    unlock(&A, 0, FOREVER);
    check_is("a cancelled lock is not granted later", test(&A, 5, 1, 1, NULL), NLM4_GRANTED);
    unlock(&B, 0, FOREVER);
}

/* --- The client's side of a grant: a portmapper on 111 and a lock manager that says yes, in a process of their own --- */

struct heard {
    atomic_int asked, granted, port;
};

static uint32_t word(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

static unsigned put(uint8_t *out, unsigned at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[at + i] = value >> (24 - 8 * i);
    return at + 4;
}

/* The reply to one call; 0 when it is none we can answer. */
static unsigned answer(const uint8_t *in, unsigned len, uint8_t *out, struct heard *heard)
{
    char address[32];
    unsigned at = 24, n = 0;
    if (len < 40 || word(in + 4) != 0)
        return 0;
    uint32_t program = word(in + 12), version = word(in + 16), proc = word(in + 20);
    for (int auth = 0; auth < 2; auth++) { /* credential and verifier */
        if (at + 8 > len)
            return 0;
        at += 8 + (word(in + at + 4) + 3) / 4 * 4;
    }
    n = put(out, n, word(in)); /* transaction */
    n = put(out, n, 1);        /* REPLY */
    n = put(out, n, 0);        /* MSG_ACCEPTED */
    n = put(out, n, 0);        /* AUTH_NONE */
    n = put(out, n, 0);
    n = put(out, n, 0); /* SUCCESS */
    if (proc == 0)
        return n;
    if (program == PORTMAP && proc == 3 && at + 4 <= len) { /* GETPORT, GETADDR */
        int port = word(in + at) == NLM ? atomic_load(&heard->port) : 0;
        atomic_fetch_add(&heard->asked, 1);
        if (version == 2)
            return put(out, n, port);
        int l = port ? snprintf(address, sizeof address, "127.0.0.1.%d.%d", port >> 8, port & 255) : 0;
        n = put(out, n, l);
        memset(out + n, 0, 32);
        memcpy(out + n, address, l);
        return n + (l + 3) / 4 * 4;
    }
    if (program == NLM && (proc == 5 || proc == 10) && at + 4 <= len) { /* GRANTED, GRANTED_MSG */
        unsigned cookie_len = word(in + at), padded = (cookie_len + 3) / 4 * 4;
        atomic_fetch_add(&heard->granted, 1);
        if (proc == 10 || at + 4 + padded > len)
            return n;
        memcpy(out + n, in + at, 4 + padded);
        return put(out, n + 4 + padded, NLM4_GRANTED);
    }
    n = put(out, n - 4, 3); /* PROC_UNAVAIL */
    return n;
}

static int bound(int type, int port)
{
    int s = socket(AF_INET, type, 0), on = 1;
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, (struct sockaddr *)&a, sizeof a) != 0)
        return -1;
    if (type == SOCK_STREAM)
        listen(s, 8);
    return s;
}

static void serve_datagram(int s, struct heard *heard)
{
    uint8_t in[2048], out[2048];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    ssize_t len = recvfrom(s, in, sizeof in, 0, (struct sockaddr *)&from, &size);
    unsigned n = len > 0 ? answer(in, len, out, heard) : 0;
    if (n > 0 && sendto(s, out, n, 0, (struct sockaddr *)&from, size) < 0)
        perror("sendto");
}

/* One record in, one record out; 0 when the connection is over. */
static int serve_stream(int s, struct heard *heard)
{
    uint8_t in[2048], out[2052];
    if (recv(s, in, 4, MSG_WAITALL) != 4)
        return 0;
    unsigned len = word(in) & 0x7fffffff;
    if (len > sizeof in || recv(s, in, len, MSG_WAITALL) != (ssize_t)len)
        return 0;
    unsigned n = answer(in, len, out + 4, heard);
    put(out, 0, 0x80000000u | n);
    return n > 0 && send(s, out, n + 4, MSG_NOSIGNAL) > 0;
}

static void play_client(struct heard *heard)
{
    struct pollfd p[64];
    int n = 4, port = 0;
    struct sockaddr_in a;
    socklen_t size = sizeof a;
    p[0].fd = bound(SOCK_DGRAM, 111);
    p[1].fd = bound(SOCK_STREAM, 111);
    p[2].fd = bound(SOCK_DGRAM, 0);
    getsockname(p[2].fd, (struct sockaddr *)&a, &size);
    port = ntohs(a.sin_port);
    p[3].fd = bound(SOCK_STREAM, port);
    for (int i = 0; i < 4; i++)
        if (p[i].fd < 0)
            _exit(1);
    atomic_store(&heard->port, port);
    for (int i = 0; i < n; i++)
        p[i].events = POLLIN;
    while (poll(p, n, -1) > 0) {
        for (int i = n - 1; i >= 0; i--) {
            if (!p[i].revents)
                continue;
            if (i == 0 || i == 2)
                serve_datagram(p[i].fd, heard);
            else if (i < 4 && n < 64)
                p[n].fd = accept(p[i].fd, NULL, NULL), p[n].events = POLLIN, p[n++].revents = 0;
            else if (i >= 4 && !serve_stream(p[i].fd, heard))
                close(p[i].fd), p[i] = p[--n];
        }
    }
}

static int within(atomic_int *value, int at_least, double seconds)
{
    double deadline = now() + seconds;
    while (atomic_load(value) < at_least && now() < deadline)
        usleep(10000);
    return atomic_load(value) >= at_least;
}

static void granting(void)
{
    struct heard *heard = mmap(NULL, sizeof *heard, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        play_client(heard);
        _exit(1);
    }
    if (!within(&heard->port, 1, 5)) {
        check("callback services", 0, "cannot bind port 111");
        return;
    }
    check_is("a lock in the way", lock(&A, 0, 10, 1, 0), NLM4_GRANTED);
    check_is("a lock that waits for it", lock(&B, 5, 1, 1, 1), NLM4_BLOCKED);
    usleep(200000);
    check_is("it is not granted early", atomic_load(&heard->granted), 0);
    check_is("the first goes", unlock(&A, 0, 10), NLM4_GRANTED);
    check("the server asks the client's portmapper", within(&heard->asked, 1, 10), "it does not");
    check("the waiting lock is granted by callback", within(&heard->granted, 1, 10), "no callback within 10 s");
    check_is("the granted lock holds", test(&A, 5, 1, 1, NULL), NLM4_DENIED);
    check_is("asking again after the grant", lock(&B, 5, 1, 1, 1), NLM4_GRANTED);
    unlock(&B, 0, FOREVER);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    struct target t = { .host = "127.0.0.1", .export = "/share", .uid = getuid(), .gid = getgid() };
    int nlm_port = 0, callback = 0;
    struct handle root;
    for (int i = 1; i + 1 < argc; i++) {
        if (target_option(&t, argv, &i))
            continue;
        if (!strcmp(argv[i], "--nlm-port")) nlm_port = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--callback")) callback = !strcmp(argv[++i], "yes");
        else die("unknown option", argv[i]);
    }
    struct rpc_context *nfs = mount_export(&t, &root);
    if (create(nfs, &root, "locked", UNCHECKED, &file) != 0)
        die("CREATE", "failed");
    rpc = connect_program(&t, nlm_port, NLM_PROGRAM, NLM_V4);
    struct call call = { 0 };
    rpc_nlm4_null_async(rpc, on_plain, &call);
    check_is("NLM answers on this port", wait_for(rpc, &call, 5000), 0);
    if (callback) {
        granting();
    } else {
        ranges();
        sharing();
        edges();
        waiting_without_callback();
    }
    remove_file(nfs, &root, "locked");
    return 0;
}
