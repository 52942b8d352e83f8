/* The load program of `cargo xtask compare nfs`: one forked process per client drives an NFSv3 server through
 * libnfs's raw asynchronous API, and one line of JSON says how fast it went and what it cost the server.
 *
 *   load WORKLOAD --export /name --nfs-port N --mount-port N [--host H] [--uid N] [--gid N] [--pid SERVER]
 *        [--file PREFIX] [--clients N] [--depth N] [--block BYTES] [--size BYTES] [--passes N] [--seconds S] [--count N]
 *
 *   read      PREFIX.<client> from 0 to size, passes times           write    the same, overwriting, UNSTABLE
 *   random    block bytes at random offsets below size, for seconds  small    as read, wrapping, for seconds
 *   create    count files: CREATE, WRITE block bytes UNSTABLE        commit   the same and COMMIT
 *   stat      count times LOOKUP and GETATTR of those files          remove   REMOVE of those files
 *   list      READDIRPLUS of the folder PREFIX to its end, passes times
 *   idle      count connections that have said GETATTR once; the server's memory before and after
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "rpc.h"

#define CLIENTS_MAX 64
#define SAMPLES_MAX 400000

struct plan {
    const char *workload;
    const char *file;
    struct target target;
    int pid, clients, depth, passes, count;
    unsigned block;
    uint64_t size;
    double seconds;
};

struct client {
    uint64_t ops, bytes, errors;
    double start, end;
    unsigned samples;
    uint32_t latency_ns[SAMPLES_MAX];
};

struct shared {
    atomic_int ready;
    struct client clients[CLIENTS_MAX];
};

/* What one client holds while it works. */
struct work {
    const struct plan *plan;
    struct client *result;
    struct rpc_context *rpc;
    struct handle root, file;
    char *data;
    uint64_t next, limit; /* offsets handed out so far, and where to stop */
    int under_way;
    double deadline;
    uint64_t seed;
};

struct slot {
    struct work *work;
    double sent;
};

static void sample(struct client *c, double seconds)
{
    if (c->samples < SAMPLES_MAX)
        c->latency_ns[c->samples++] = seconds * 1e9 > 4e9 ? 4000000000u : (uint32_t)(seconds * 1e9);
}

static uint64_t random_step(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* --- Streams: read, write, small, random ------------------------------------------------------------------------- */

static void send_next(struct slot *slot);

static int next_offset(struct work *w, uint64_t *offset)
{
    const struct plan *p = w->plan;
    uint64_t blocks = p->size / p->block;
    if (p->seconds > 0 ? now() >= w->deadline : w->next >= w->limit)
        return 0;
    *offset = !strcmp(p->workload, "random") ? random_step(&w->seed) % blocks * p->block
                                             : w->next % (blocks * p->block);
    w->next += p->block;
    return 1;
}

static void on_block(struct rpc_context *rpc, int status, void *data, void *private_data)
{
    struct slot *slot = private_data;
    struct work *w = slot->work;
    int ok = status == RPC_STATUS_SUCCESS && *(int *)data == 0;
    (void)rpc;
    sample(w->result, now() - slot->sent);
    w->under_way--;
    w->result->ops++;
    if (ok && strcmp(w->plan->workload, "write")) {
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
    if (!next_offset(w, &offset))
        return;
    slot->sent = now();
    if (!strcmp(w->plan->workload, "write")) {
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
    w->limit = w->plan->size * w->plan->passes;
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
    int failed;
    if (!strcmp(workload, "remove"))
        return remove_file(w->rpc, &w->root, name);
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

/* --- The server's side: CPU and memory --------------------------------------------------------------------------- */

/* User and system time of all the server's threads, those that have ended included, in nanosecond steps (the same
 * counters as utime and stime of /proc/PID/stat, which only tick every 10 ms). */
static double server_cpu(int pid)
{
    clockid_t clock;
    struct timespec t;
    if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* A field of /proc/PID/smaps_rollup in KiB. */
static long server_memory(int pid, const char *field)
{
    char path[64], line[256];
    long kib = 0;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    if (pid == 0 || !(f = fopen(path, "r")))
        return 0;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, field, strlen(field)))
            kib = atol(line + strlen(field));
    fclose(f);
    return kib;
}

/* Seconds during which the machine's CPUs did anything at all. */
static double machine_busy(void)
{
    unsigned long user = 0, nice = 0, system = 0, idle_ = 0, wait_ = 0, irq = 0, softirq = 0;
    FILE *f = fopen("/proc/stat", "r");
    if (!f)
        return 0;
    if (fscanf(f, "cpu %lu %lu %lu %lu %lu %lu %lu", &user, &nice, &system, &idle_, &wait_, &irq, &softirq) != 7)
        user = 0;
    fclose(f);
    return (double)(user + nice + system + irq + softirq) / sysconf(_SC_CLK_TCK);
}

static double children_cpu(void)
{
    struct rusage r;
    getrusage(RUSAGE_CHILDREN, &r);
    return r.ru_utime.tv_sec + r.ru_stime.tv_sec + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void idle(const struct plan *p)
{
    struct rlimit all = { 0 };
    struct rpc_context **held = calloc(p->count, sizeof *held);
    struct handle root;
    double cpu, start;
    getrlimit(RLIMIT_NOFILE, &all);
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
    struct rpc_context *first = mount_export(&p->target, &root);
    if (getattr(first, &root) != 0)
        die("idle", "GETATTR failed");
    long before = server_memory(p->pid, "Pss:");
    int connected = 0;
    for (; connected < p->count; connected++) {
        held[connected] = connect_program(&p->target, p->target.nfs_port, NFS_PROGRAM, NFS_V3);
        if (getattr(held[connected], &root) != 0)
            die("idle", "GETATTR failed");
    }
    sleep(1);
    long after = server_memory(p->pid, "Pss:");
    cpu = server_cpu(p->pid);
    start = now();
    sleep(3);
    printf("{\"workload\":\"idle\",\"ops\":%d,\"bytes\":%ld,\"errors\":0,\"seconds\":%.3f,\"cpu\":%.6f,"
           "\"client_cpu\":0,\"others_cpu\":0,\"p50_us\":0,\"p99_us\":0,\"pss_kib\":%ld}\n",
           connected, (after - before) * 1024, now() - start, server_cpu(p->pid) - cpu, after);
}

/* --- Processes and the report ------------------------------------------------------------------------------------ */

static void prepare(struct work *w, int client)
{
    const char *workload = w->plan->workload;
    char name[256];
    w->rpc = mount_export(&w->plan->target, &w->root);
    w->data = malloc(w->plan->block + 8);
    memset(w->data, 'a' + client % 26, w->plan->block);
    w->seed = 88172645463325252ull + client;
    if (!strcmp(workload, "create") || !strcmp(workload, "commit") || !strcmp(workload, "stat")
        || !strcmp(workload, "remove"))
        return;
    snprintf(name, sizeof name, !strcmp(workload, "list") ? "%s" : "%s.%d", w->plan->file, client);
    if (lookup(w->rpc, &w->root, name, &w->file) != 0)
        die("no such file in the export", name);
}

/* A client that is alone stays on one processor. Left to the scheduler it hops between them, and where it is decides
 * more than the server does: two idle processors that wake each other take 50 us, one that goes on takes none. */
static void stay_on_one_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &one);
    sched_setaffinity(0, sizeof one, &one); /* where that is forbidden, the figures are less steady */
}

static void run_client(const struct plan *p, struct shared *shared, int client, int go)
{
    const char *workload = p->workload;
    struct work w = { .plan = p, .result = &shared->clients[client] };
    char byte;
    if (p->clients == 1)
        stay_on_one_processor();
    prepare(&w, client);
    atomic_fetch_add(&shared->ready, 1);
    if (read(go, &byte, 1) != 0) /* the parent closes its end to let all go at once */
        die("start", "unexpected byte");
    w.result->start = now();
    w.deadline = w.result->start + p->seconds;
    if (!strcmp(workload, "list"))
        list(&w);
    else if (!strcmp(workload, "read") || !strcmp(workload, "write") || !strcmp(workload, "small")
             || !strcmp(workload, "random"))
        stream(&w);
    else
        files(&w, client);
    w.result->end = now();
    exit(0);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void report(const struct plan *p, struct shared *shared, double cpu, double busy)
{
    uint64_t ops = 0, bytes = 0, errors = 0, samples = 0;
    double start = 1e300, end = 0;
    uint32_t *all = malloc(sizeof(uint32_t) * SAMPLES_MAX * p->clients + 1);
    for (int i = 0; i < p->clients; i++) {
        struct client *c = &shared->clients[i];
        ops += c->ops, bytes += c->bytes, errors += c->errors;
        start = c->start < start ? c->start : start;
        end = c->end > end ? c->end : end;
        memcpy(all + samples, c->latency_ns, c->samples * sizeof(uint32_t));
        samples += c->samples;
    }
    qsort(all, samples, sizeof(uint32_t), by_value);
    printf("{\"workload\":\"%s\",\"ops\":%lu,\"bytes\":%lu,\"errors\":%lu,\"seconds\":%.6f,\"cpu\":%.6f,"
           "\"client_cpu\":%.6f,\"others_cpu\":%.3f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"pss_kib\":%ld}\n",
           p->workload, ops, bytes, errors, end - start, cpu, children_cpu(), busy - cpu - children_cpu(), samples ? all[samples / 2] / 1e3 : 0,
           samples ? all[samples * 99 / 100] / 1e3 : 0, server_memory(p->pid, "Pss:"));
}

static int run(const struct plan *p)
{
    int go[2], state, failed = 0;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe(go) != 0)
        die("start", "no memory or no pipe");
    for (int i = 0; i < p->clients; i++) {
        if (fork() == 0) {
            close(go[1]);
            run_client(p, shared, i, go[0]);
        }
    }
    close(go[0]);
    while (atomic_load(&shared->ready) < p->clients) {
        if (waitpid(-1, &state, WNOHANG) > 0)
            return 2; /* a client failed before it began and has said why */
        usleep(1000);
    }
    usleep(20000); /* the last one is now waiting too */
    double cpu = server_cpu(p->pid), busy = machine_busy();
    close(go[1]);
    while (wait(&state) > 0)
        failed |= state;
    report(p, shared, server_cpu(p->pid) - cpu, machine_busy() - busy);
    return failed ? 2 : 0;
}

static void parse(struct plan *p, int argc, char **argv)
{
    if (argc < 2)
        die("load", "name a workload");
    p->workload = argv[1];
    for (int i = 2; i + 1 < argc; i++) {
        const char *name = argv[i], *value = argv[i + 1];
        if (target_option(&p->target, argv, &i))
            continue;
        if (!strcmp(name, "--file")) p->file = value;
        else if (!strcmp(name, "--pid")) p->pid = atoi(value);
        else if (!strcmp(name, "--clients")) p->clients = atoi(value);
        else if (!strcmp(name, "--depth")) p->depth = atoi(value);
        else if (!strcmp(name, "--passes")) p->passes = atoi(value);
        else if (!strcmp(name, "--count")) p->count = atoi(value);
        else if (!strcmp(name, "--block")) p->block = atoi(value);
        else if (!strcmp(name, "--size")) p->size = atoll(value);
        else if (!strcmp(name, "--seconds")) p->seconds = atof(value);
        else die("unknown option", name);
        i++;
    }
    if (p->clients < 1 || p->clients > CLIENTS_MAX || p->block == 0 || p->size < p->block)
        die("load", "clients must be 1 to 64, block at least 1 and size at least one block");
}

int main(int argc, char **argv)
{
    struct plan plan = { .file = "load", .clients = 1, .depth = 1, .passes = 1, .count = 1, .block = 1 << 20,
                         .size = 1 << 30, .target = { .host = "127.0.0.1", .export = "/", .nfs_port = 2049,
                         .mount_port = 2049, .uid = getuid(), .gid = getgid() } };
    parse(&plan, argc, argv);
    if (!strcmp(plan.workload, "idle")) {
        idle(&plan);
        return 0;
    }
    return run(&plan);
}
