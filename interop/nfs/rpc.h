/* What load.c, lock.c and files.c share: a connection to one RPC program through libnfs's raw API, and calls that
 * wait for their reply. Everything goes to a port named by the caller, so that no portmapper is needed. */
#ifndef FOURFOLD_RPC_H
#define FOURFOLD_RPC_H

#include <poll.h>
#include <sys/time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw-nlm.h>

#include "../common.h"

#define HANDLE_MAX 64

struct target {
    const char *host;
    const char *export;
    int nfs_port;
    int mount_port;
    int uid;
    int gid;
};

struct handle {
    unsigned len;
    char bytes[HANDLE_MAX];
};

/* One call under way: the callback copies out of the reply what the caller asked for, since libnfs frees the reply
 * when the callback returns. */
struct call {
    int finished;
    int status; /* the protocol's own status, or -1 when the transport failed */
    struct handle handle;
    void *out;
};

/* One turn of the event loop; non-zero when the connection is gone. */
static inline int turn(struct rpc_context *rpc, int timeout_ms)
{
    struct pollfd p = { .fd = rpc_get_fd(rpc), .events = rpc_which_events(rpc) };
    if (poll(&p, 1, timeout_ms) < 0)
        return -1;
    return rpc_service(rpc, p.revents);
}

static inline int wait_for(struct rpc_context *rpc, struct call *call, int timeout_ms)
{
    double deadline = now() + timeout_ms / 1000.0;
    while (!call->finished) {
        if (turn(rpc, 100) < 0 || now() > deadline) {
            call->status = -1;
            return -1;
        }
    }
    return call->status;
}

static inline void on_plain(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    (void)rpc;
    (void)data;
    call->finished = 1;
    call->status = status == RPC_STATUS_SUCCESS ? 0 : -1;
}

/* Every NFSv3 reply begins with its status. */
static inline void on_status(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    (void)rpc;
    call->finished = 1;
    call->status = status == RPC_STATUS_SUCCESS ? *(int *)data : -1;
}

static inline void keep_handle(struct call *call, const char *bytes, unsigned len)
{
    if (len > HANDLE_MAX)
        die("handle", "longer than 64 bytes");
    call->handle.len = len;
    memcpy(call->handle.bytes, bytes, len);
}

static inline void on_mount(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    mountres3 *reply = data;
    (void)rpc;
    call->finished = 1;
    call->status = status == RPC_STATUS_SUCCESS ? (int)reply->fhs_status : -1;
    if (call->status == 0)
        keep_handle(call, reply->mountres3_u.mountinfo.fhandle.fhandle3_val,
                    reply->mountres3_u.mountinfo.fhandle.fhandle3_len);
}

static inline void on_lookup(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    LOOKUP3res *reply = data;
    on_status(rpc, status, data, private_data);
    if (call->status == 0)
        keep_handle(call, reply->LOOKUP3res_u.resok.object.data.data_val,
                    reply->LOOKUP3res_u.resok.object.data.data_len);
}

static inline void on_create(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct call *call = private_data;
    CREATE3res *reply = data;
    on_status(rpc, status, data, private_data);
    if (call->status == 0 && reply->CREATE3res_u.resok.obj.handle_follows)
        keep_handle(call, reply->CREATE3res_u.resok.obj.post_op_fh3_u.handle.data.data_val,
                    reply->CREATE3res_u.resok.obj.post_op_fh3_u.handle.data.data_len);
}

static inline struct nfs_fh3 as_fh(struct handle *h)
{
    struct nfs_fh3 fh = { .data = { .data_len = h->len, .data_val = h->bytes } };
    return fh;
}

static inline struct rpc_context *connect_program(const struct target *t, int port, int program, int version)
{
    struct rpc_context *rpc = rpc_init_context();
    struct call call = { 0 };
    rpc_set_uid(rpc, t->uid);
    rpc_set_gid(rpc, t->gid);
    if (rpc_connect_port_async(rpc, t->host, port, program, version, on_plain, &call) != 0
        || wait_for(rpc, &call, 10000) != 0) {
        fprintf(stderr, "port %d, program %d version %d: ", port, program, version);
        die("connect", rpc_get_error(rpc) ? rpc_get_error(rpc) : "the server does not accept it");
    }
    return rpc;
}

/* MNT, then a connection to the NFS port; the root's handle comes back in `root`. */
static inline struct rpc_context *mount_export(const struct target *t, struct handle *root)
{
    struct rpc_context *rpc = connect_program(t, t->mount_port, MOUNT_PROGRAM, MOUNT_V3);
    struct call call = { 0 };
    if (rpc_mount3_mnt_async(rpc, on_mount, (char *)t->export, &call) != 0 || wait_for(rpc, &call, 10000) != 0)
        die("MNT", call.status > 0 ? "refused" : rpc_get_error(rpc));
    *root = call.handle;
    rpc_destroy_context(rpc);
    return connect_program(t, t->nfs_port, NFS_PROGRAM, NFS_V3);
}

static inline int lookup(struct rpc_context *rpc, struct handle *dir, const char *name, struct handle *out)
{
    struct call call = { 0 };
    LOOKUP3args args = { .what = { .dir = as_fh(dir), .name = (char *)name } };
    if (rpc_nfs3_lookup_async(rpc, on_lookup, &args, &call) != 0)
        return -1;
    if (wait_for(rpc, &call, 30000) == 0)
        *out = call.handle;
    return call.status;
}

static inline int create(struct rpc_context *rpc, struct handle *dir, const char *name, enum createmode3 mode,
                         struct handle *out)
{
    struct call call = { 0 };
    CREATE3args args = { .where = { .dir = as_fh(dir), .name = (char *)name }, .how = { .mode = mode } };
    args.how.createhow3_u.obj_attributes.mode.set_it = 1;
    args.how.createhow3_u.obj_attributes.mode.set_mode3_u.mode = 0644;
    if (rpc_nfs3_create_async(rpc, on_create, &args, &call) != 0)
        return -1;
    if (wait_for(rpc, &call, 30000) == 0)
        *out = call.handle;
    return call.status;
}

static inline int write_at(struct rpc_context *rpc, struct handle *file, uint64_t offset, char *data, unsigned len,
                           enum stable_how stable)
{
    struct call call = { 0 };
    WRITE3args args = { .file = as_fh(file), .offset = offset, .count = len, .stable = stable,
                        .data = { .data_len = len, .data_val = data } };
    if (rpc_nfs3_write_async(rpc, on_status, &args, &call) != 0)
        return -1;
    return wait_for(rpc, &call, 30000);
}

static inline int commit(struct rpc_context *rpc, struct handle *file)
{
    struct call call = { 0 };
    COMMIT3args args = { .file = as_fh(file), .offset = 0, .count = 0 };
    if (rpc_nfs3_commit_async(rpc, on_status, &args, &call) != 0)
        return -1;
    return wait_for(rpc, &call, 30000);
}

static inline int getattr(struct rpc_context *rpc, struct handle *file)
{
    struct call call = { 0 };
    GETATTR3args args = { .object = as_fh(file) };
    if (rpc_nfs3_getattr_async(rpc, on_status, &args, &call) != 0)
        return -1;
    return wait_for(rpc, &call, 30000);
}

static inline int remove_file(struct rpc_context *rpc, struct handle *dir, const char *name)
{
    struct call call = { 0 };
    REMOVE3args args = { .object = { .dir = as_fh(dir), .name = (char *)name } };
    if (rpc_nfs3_remove_async(rpc, on_status, &args, &call) != 0)
        return -1;
    return wait_for(rpc, &call, 30000);
}

static inline int rename_file(struct rpc_context *rpc, struct handle *dir, const char *name, const char *new_name)
{
    struct call call = { 0 };
    RENAME3args args = { .from = { .dir = as_fh(dir), .name = (char *)name },
                         .to = { .dir = as_fh(dir), .name = (char *)new_name } };
    if (rpc_nfs3_rename_async(rpc, on_status, &args, &call) != 0)
        return -1;
    return wait_for(rpc, &call, 30000);
}

/* Options every program takes; returns 1 when `argv[*i]` was one of them. */
static inline int target_option(struct target *t, char **argv, int *i)
{
    const char *name = argv[*i], *value = argv[*i + 1];
    if (!strcmp(name, "--host")) t->host = value;
    else if (!strcmp(name, "--export")) t->export = value;
    else if (!strcmp(name, "--nfs-port")) t->nfs_port = atoi(value);
    else if (!strcmp(name, "--mount-port")) t->mount_port = atoi(value);
    else if (!strcmp(name, "--uid")) t->uid = atoi(value);
    else if (!strcmp(name, "--gid")) t->gid = atoi(value);
    else return 0;
    *i += 1;
    return 1;
}

#endif
