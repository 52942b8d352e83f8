/* NFSv3 and NLM through libnfs's raw API, one command a line, one answer a line, for nfs3.py:
 *
 *   read NAME OFFSET LENGTH      write NAME OFFSET TEXT STABLE   truncate NAME SIZE   commit NAME   create NAME
 *   rename NAME NEW              remove NAME                     handle NAME
 *   lock OWNER NAME OFFSET LENGTH EXCLUSIVE                      unlock OWNER NAME OFFSET LENGTH
 *
 * An answer is the status as a number, and what was read, the verifier, or the handle in hexadecimal. Names have no
 * spaces. TEXT is hexadecimal. */
#define _GNU_SOURCE
#include <inttypes.h>

#include "../nfs/rpc.h"

#define DATA_MAX 65536

static struct rpc_context *nfs, *nlm;
static struct handle root;

struct data {
    unsigned len;
    char bytes[DATA_MAX];
};

static void on_read(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    READ3res *reply = data;
    on_status(rpc, status, data, private_data);
    if (call->status == 0) {
        struct data *out = call->out;
        out->len = reply->READ3res_u.resok.data.data_len;
        if (out->len > DATA_MAX)
            die("READ", "more than was asked for");
        memcpy(out->bytes, reply->READ3res_u.resok.data.data_val, out->len);
    }
}

static void on_write(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    WRITE3res *reply = data;
    on_status(rpc, status, data, private_data);
    if (call->status == 0) {
        struct data *out = call->out;
        out->len = NFS3_WRITEVERFSIZE;
        memcpy(out->bytes, reply->WRITE3res_u.resok.verf, out->len);
    }
}

static void on_commit(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    COMMIT3res *reply = data;
    on_status(rpc, status, data, private_data);
    if (call->status == 0) {
        struct data *out = call->out;
        out->len = NFS3_WRITEVERFSIZE;
        memcpy(out->bytes, reply->COMMIT3res_u.resok.verf, out->len);
    }
}

static void on_lock(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    (void)rpc;
    call->finished = 1;
    call->status = status == RPC_STATUS_SUCCESS ? (int)((NLM4_LOCKres *)data)->status : -1;
}

static int read_file(struct handle *file, uint64_t offset, unsigned len, struct data *out)
{
    struct call call = { .out = out };
    READ3args args = { .file = as_fh(file), .offset = offset, .count = len };
    if (rpc_nfs3_read_async(nfs, on_read, &args, &call) != 0)
        return -1;
    return wait_for(nfs, &call, 45000);
}

static int write_file(struct handle *file, uint64_t offset, struct data *in, int stable, struct data *out)
{
    struct call call = { .out = out };
    WRITE3args args = { .file = as_fh(file), .offset = offset, .count = in->len, .stable = stable,
                        .data = { .data_len = in->len, .data_val = in->bytes } };
    if (rpc_nfs3_write_async(nfs, on_write, &args, &call) != 0)
        return -1;
    return wait_for(nfs, &call, 45000);
}

static int commit_file(struct handle *file, struct data *out)
{
    struct call call = { .out = out };
    COMMIT3args args = { .file = as_fh(file), .offset = 0, .count = 0 };
    if (rpc_nfs3_commit_async(nfs, on_commit, &args, &call) != 0)
        return -1;
    return wait_for(nfs, &call, 45000);
}

static int truncate_file(struct handle *file, uint64_t size)
{
    struct call call = { 0 };
    SETATTR3args args = { .object = as_fh(file) };
    args.new_attributes.size.set_it = 1;
    args.new_attributes.size.set_size3_u.size = size;
    if (rpc_nfs3_setattr_async(nfs, on_status, &args, &call) != 0)
        return -1;
    return wait_for(nfs, &call, 45000);
}

static nlm4_lock range(char *owner, struct handle *file, uint64_t offset, uint64_t len)
{
    nlm4_lock lock = { .caller_name = owner, .svid = 1, .l_offset = offset, .l_len = len };
    lock.fh.data.data_len = file->len;
    lock.fh.data.data_val = file->bytes;
    lock.oh = owner;
    return lock;
}

static nlm_cookie cookie(void)
{
    static char bytes[4] = "cook";
    nlm_cookie c = { .data = { .data_len = 4, .data_val = bytes } };
    bytes[3]++;
    return c;
}

static int lock(char *owner, struct handle *file, uint64_t offset, uint64_t len, int exclusive)
{
    struct call call = { 0 };
    NLM4_LOCKargs args = { .cookie = cookie(), .exclusive = exclusive, .lock = range(owner, file, offset, len), .state = 1 };
    if (rpc_nlm4_lock_async(nlm, on_lock, &args, &call) != 0)
        return -1;
    return wait_for(nlm, &call, 45000);
}

static int unlock(char *owner, struct handle *file, uint64_t offset, uint64_t len)
{
    struct call call = { 0 };
    NLM4_UNLOCKargs args = { .cookie = cookie(), .lock = range(owner, file, offset, len) };
    if (rpc_nlm4_unlock_async(nlm, on_lock, &args, &call) != 0)
        return -1;
    return wait_for(nlm, &call, 45000);
}

static void from_hex(const char *text, struct data *out)
{
    for (out->len = 0; out->len < DATA_MAX && sscanf(text + 2 * out->len, "%2hhx", &out->bytes[out->len]) == 1;)
        out->len++;
}

/* A call to our own program failed: the connection may be gone. The caller starts anew. */
static void answer(int status, struct data *out)
{
    if (status < 0)
        exit(3);
    printf("%d ", status);
    for (unsigned i = 0; status == 0 && i < out->len; i++)
        printf("%02x", (unsigned char)out->bytes[i]);
    printf("\n");
    fflush(stdout);
}

static int command(char **word, struct data *out)
{
    struct handle file;
    const char *what = word[0];
    if (!strcmp(what, "create"))
        return create(nfs, &root, word[1], UNCHECKED, &file);
    if (!strcmp(what, "rename"))
        return rename_file(nfs, &root, word[1], word[2]);
    if (!strcmp(what, "remove"))
        return remove_file(nfs, &root, word[1]);
    int locks = !strcmp(what, "lock") || !strcmp(what, "unlock");
    int status = lookup(nfs, &root, locks ? word[2] : word[1], &file);
    if (status != 0)
        return status;
    if (!strcmp(what, "read"))
        return read_file(&file, strtoull(word[2], NULL, 10), strtoul(word[3], NULL, 10), out);
    if (!strcmp(what, "write")) {
        static struct data in;
        from_hex(word[3], &in);
        return write_file(&file, strtoull(word[2], NULL, 10), &in, atoi(word[4]), out);
    }
    if (!strcmp(what, "commit"))
        return commit_file(&file, out);
    if (!strcmp(what, "truncate"))
        return truncate_file(&file, strtoull(word[2], NULL, 10));
    if (!strcmp(what, "handle")) {
        out->len = file.len;
        memcpy(out->bytes, file.bytes, file.len);
        return 0;
    }
    if (!strcmp(what, "lock"))
        return lock(word[1], &file, strtoull(word[3], NULL, 10), strtoull(word[4], NULL, 10), atoi(word[5]));
    if (!strcmp(what, "unlock"))
        return unlock(word[1], &file, strtoull(word[3], NULL, 10), strtoull(word[4], NULL, 10));
    die("unknown command", what);
    return -1;
}

int main(int argc, char **argv)
{
    struct target t = { .host = "127.0.0.1", .export = "/share", .uid = getuid(), .gid = getgid() };
    static struct data out;
    char *line = NULL;
    size_t size = 0;
    for (int i = 1; i + 1 < argc; i++)
        if (!target_option(&t, argv, &i))
            die("unknown option", argv[i]);
    nfs = mount_export(&t, &root);
    nlm = connect_program(&t, t.nfs_port, NLM_PROGRAM, NLM_V4);
    while (getline(&line, &size, stdin) > 0) {
        char *word[8] = { 0 }, *rest = line;
        for (int i = 0; i < 8 && (word[i] = strsep(&rest, " \n")) && *word[i]; i++)
            ;
        out.len = 0;
        answer(command(word, &out), &out);
    }
    return 0;
}
