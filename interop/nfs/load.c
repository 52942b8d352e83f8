/* The load program of `cargo xtask compare nfs`: drives an NFSv3 server through libnfs's raw asynchronous API.
 *
 *   load WORKLOAD --export /name --nfs-port N --mount-port N [--host H] [--uid N] [--gid N] and the options of ../load.h
 *
 *   read      PREFIX.<client> from 0 to size, passes times           write    the same, overwriting, UNSTABLE
 *   random    block bytes at random offsets below size, for seconds  small    as read, wrapping, for seconds
 *   new       as write, to files that are made before the clock runs
 *   create    count files: CREATE, WRITE block bytes UNSTABLE        commit   the same and COMMIT
 *   stat      count times LOOKUP and GETATTR of those files          remove   REMOVE of those files
 *   missing   LOOKUP of count names that are not there               rename   RENAME of those files, there and back
 *   list      READDIRPLUS of the folder PREFIX (. is the export's own) to its end, passes times
 *   getattr   count times GETATTR of the export                      lookup   LOOKUP of those files
 *   make      count files: CREATE alone
 *   idle      count connections that have said GETATTR once; the server's memory before and after
 */
#define _GNU_SOURCE
#include "rpc.h"

#include "../load.h"

static struct target target = { .host = "127.0.0.1", .export = "/", .nfs_port = 2049, .mount_port = 2049, .uid = -1, .gid = -1 };

static int own_option(char **argv, int *i)
{
    return target_option(&target, argv, i);
}

static const struct target *to(void)
{
    if (target.uid < 0)
        target.uid = getuid(), target.gid = getgid();
    return &target;
}

/* What one client holds while it works. */
struct work {
    const struct plan *plan;
    struct client *result;
    struct rpc_context *rpc;
    struct handle root, file;
    char *data;
    struct position at;
    int under_way;
};

struct slot {
    struct work *work;
    double sent;
};

/* --- Streams: read, write, small, random ------------------------------------------------------------------------- */

static void send_next(struct slot *slot);

static void on_block(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct slot *slot = private_data;
    struct work *w = slot->work;
    int ok = status == RPC_STATUS_SUCCESS && *(int *)data == 0;
    (void)rpc;
    sample(w->result, now() - slot->sent);
    w->under_way--;
    w->result->ops++;
    if (ok && !is_write(w->plan)) {
        READ3res *reply = data;
        w->result->bytes += reply->READ3res_u.resok.data.data_len;
        ok = reply->READ3res_u.resok.data.data_len == w->plan->block;
    } else if (ok) {
        ok = ((WRITE3res *)data)->WRITE3res_u.resok.count == w->plan->block;
        w->result->bytes += w->plan->block;
    }
    if (!ok)
        w->result->errors++;
    if (status == RPC_STATUS_SUCCESS)
        send_next(slot);
}

static void send_next(struct slot *slot)
{
    struct work *w = slot->work;
    uint64_t offset;
    int failed;
    if (!next_offset(w->plan, &w->at, &offset))
        return;
    slot->sent = now();
    if (is_write(w->plan)) {
        WRITE3args args = { .file = as_fh(&w->file), .offset = offset, .count = w->plan->block, .stable = UNSTABLE,
                            .data = { .data_len = w->plan->block, .data_val = w->data } };
        failed = rpc_nfs3_write_async(w->rpc, on_block, &args, slot);
    } else {
        READ3args args = { .file = as_fh(&w->file), .offset = offset, .count = w->plan->block };
        failed = rpc_nfs3_read_async(w->rpc, on_block, &args, slot);
    }
    if (failed)
        w->result->errors++;
    else
        w->under_way++;
}

static void stream(struct work *w)
{
    struct slot slots[256];
    int depth = w->plan->depth > 256 ? 256 : w->plan->depth;
    for (int i = 0; i < depth; i++) {
        slots[i].work = w;
        send_next(&slots[i]);
    }
    while (w->under_way > 0)
        if (turn(w->rpc, 10000) < 0)
            die("stream", rpc_get_error(w->rpc));
}

/* --- Files: create, commit, stat, remove, list ------------------------------------------------------------------- */

static int one_file(struct work *w, const char *name)
{
    const char *workload = w->plan->workload;
    struct handle file;
    char moved[260];
    int failed;
    if (!strcmp(workload, "remove"))
        return remove_file(w->rpc, &w->root, name);
    if (!strcmp(workload, "missing"))
        return lookup(w->rpc, &w->root, name, &file) == NFS3ERR_NOENT ? 0 : -1;
    if (!strcmp(workload, "rename")) {
        snprintf(moved, sizeof moved, "%s.r", name);
        failed = rename_file(w->rpc, &w->root, name, moved);
        return failed ? failed : rename_file(w->rpc, &w->root, moved, name);
    }
    if (!strcmp(workload, "getattr"))
        return getattr(w->rpc, &w->root);
    if (!strcmp(workload, "lookup"))
        return lookup(w->rpc, &w->root, name, &file);
    if (!strcmp(workload, "make"))
        return create(w->rpc, &w->root, name, GUARDED, &file);
    if (!strcmp(workload, "stat"))
        return (failed = lookup(w->rpc, &w->root, name, &file)) ? failed : getattr(w->rpc, &file);
    if ((failed = create(w->rpc, &w->root, name, GUARDED, &file)) != 0
        || (failed = write_at(w->rpc, &file, 0, w->data, w->plan->block, UNSTABLE)) != 0)
        return failed;
    w->result->bytes += w->plan->block;
    return !strcmp(workload, "commit") ? commit(w->rpc, &file) : 0;
}

static void files(struct work *w, int client)
{
    char name[256];
    for (int i = 0; i < w->plan->count; i++) {
        double sent = now();
        snprintf(name, sizeof name, "%s-%d-%05d", w->plan->file, client, i);
        if (one_file(w, name) != 0)
            w->result->errors++;
        w->result->ops++;
        sample(w->result, now() - sent);
    }
}

struct listing {
    struct call call;
    cookie3 cookie;
    cookieverf3 verifier;
    uint64_t entries, bare;
    int eof;
};

static void on_list(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct listing *l = private_data;
    READDIRPLUS3res *reply = data;
    on_status(rpc, status, data, &l->call);
    if (l->call.status != 0)
        return;
    memcpy(l->verifier, reply->READDIRPLUS3res_u.resok.cookieverf, sizeof l->verifier);
    l->eof = reply->READDIRPLUS3res_u.resok.reply.eof;
    for (entryplus3 *e = reply->READDIRPLUS3res_u.resok.reply.entries; e; e = e->nextentry) {
        l->cookie = e->cookie;
        l->entries += strcmp(e->name, ".") && strcmp(e->name, "..");
        l->bare += !e->name_attributes.attributes_follow || !e->name_handle.handle_follows;
    }
}

static void list(struct work *w)
{
    for (int pass = 0; pass < w->plan->passes; pass++) {
        struct listing l = { 0 };
        double sent = now();
        while (!l.eof) {
            READDIRPLUS3args args = { .dir = as_fh(&w->file), .cookie = l.cookie, .dircount = w->plan->block,
                                      .maxcount = w->plan->block };
            memcpy(args.cookieverf, l.verifier, sizeof l.verifier);
            l.call.finished = 0;
            if (rpc_nfs3_readdirplus_async(w->rpc, on_list, &args, &l) != 0 || wait_for(w->rpc, &l.call, 30000) != 0) {
                w->result->errors++;
                return;
            }
        }
        w->result->ops += l.entries;
        w->result->errors += l.entries != (uint64_t)w->plan->count;
        sample(w->result, now() - sent);
    }
}

/* --- What ../load.h asks for ------------------------------------------------------------------------------------- */

static struct handle held_root;

static void *hold(const struct plan *p)
{
    uid_t own = geteuid();
    /* For root, libnfs looks for a free port below 1024. It has too few for 10,000 connections. */
    if (own == 0 && seteuid(to()->uid) != 0)
        die("idle", "seteuid");
    struct rpc_context *rpc = held_root.len == 0 ? mount_export(to(), &held_root)
                                                 : connect_program(to(), to()->nfs_port, NFS_PROGRAM, NFS_V3);
    (void)p;
    small_operation(rpc);
    if (own == 0 && seteuid(0) != 0)
        die("idle", "seteuid");
    return rpc;
}

static void small_operation(void *held)
{
    if (getattr(held, &held_root) != 0)
        die("idle", "GETATTR failed");
}

static void *prepare(const struct plan *p, struct client *result, int client)
{
    struct work *w = calloc(1, sizeof *w);
    char name[256];
    w->plan = p;
    w->result = result;
    w->rpc = mount_export(to(), &w->root);
    w->data = malloc(p->block + 8);
    memset(w->data, 'a' + client % 26, p->block);
    w->at.seed = 88172645463325252ull + client;
    if (!is_stream(p) && strcmp(p->workload, "list"))
        return w;
    snprintf(name, sizeof name, !strcmp(p->workload, "list") ? "%s" : "%s.%d", p->file, file_number(client));
    if (!strcmp(name, "."))
        w->file = w->root;
    else if (!strcmp(p->workload, "new") ? create(w->rpc, &w->root, name, GUARDED, &w->file)
                                         : lookup(w->rpc, &w->root, name, &w->file))
        die("cannot be found or made in the export", name);
    return w;
}

static void drive(void *prepared, int client, double deadline)
{
    struct work *w = prepared;
    w->at.deadline = deadline;
    if (is_stream(w->plan))
        stream(w);
    else if (!strcmp(w->plan->workload, "list"))
        list(w);
    else
        files(w, client);
}
