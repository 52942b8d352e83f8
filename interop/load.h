/* What the load programs share: a plan from the command line, one forked process per client that all go at once, what it
 * cost the server and everybody else, and one line of JSON.
 *
 *   load WORKLOAD [--pid SERVER] [--file PREFIX] [--clients N] [--depth N] [--block BYTES] [--size BYTES] [--passes N]
 *        [--seconds S] [--count N] [--idle N [--each SECONDS]] [--pin 0|1] [--think MICROSECONDS], and options of the
 *        protocol's own
 *
 * A client that is alone stays on one processor; with --pin 0 it is where the scheduler puts it. With --think each client
 * computes for so long before it sends the next block of a stream.
 *
 * --idle runs the workload without, with, and again without N idle connections. `kept` is the part of the speed that
 * remains beside them. With --each, each of these connections does one small operation in so many seconds: `beside_ops` is
 * how many there were while the workload ran, and `held_kib` is what the server took for the connections.
 *
 * The workload `beside` is the same in all programs: client 0 reads 4 KiB at random offsets, one at a time, and only its
 * latency is reported; the other clients read their files by 1 MiB at the depth asked for.
 *
 * A program defines the five functions declared below. */
#ifndef FOURFOLD_LOAD_H
#define FOURFOLD_LOAD_H

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common.h"

#define CLIENTS_MAX 256
#define SAMPLES_MAX 400000
#define PROCESSES_MAX 65536

/* What is asked for. */
struct plan {
    const char *workload;
    const char *file;
    int pid, clients, depth, passes, count, idle, pin, think;
    unsigned block;
    uint64_t size;
    double seconds, each;
};

/* What one client has done. */
struct client {
    uint64_t ops, bytes, errors;
    uint64_t beside; /* bytes that others moved meanwhile, to disturb */
    uint64_t gaps; /* of a stream on a clock: how often nothing came for too long */
    double longest_gap;
    double start, end;
    unsigned samples;
    uint32_t latency_ns[SAMPLES_MAX];
};

struct shared {
    atomic_int ready;
    struct client clients[CLIENTS_MAX];
};

/* Takes an option of the protocol's own at argv[*i], and moves *i to its last word. */
static int own_option(char **argv, int *i);
/* Everything before the clock runs; the result is handed to `drive`. */
static void *prepare(const struct plan *p, struct client *result, int client);
/* The workload itself. */
static void drive(void *prepared, int client, double deadline);
/* One more connection that has said something once and is kept. */
static void *hold(const struct plan *p);
/* One small operation on such a connection. */
static void small_operation(void *held);

/* Whether it writes blocks of a file: one that exists, or a new one. */
static inline int is_write(const struct plan *p)
{
    return !strcmp(p->workload, "write") || !strcmp(p->workload, "new");
}

static inline int is_stream(const struct plan *p)
{
    const char *w = p->workload;
    return is_write(p) || !strcmp(w, "read") || !strcmp(w, "small") || !strcmp(w, "random");
}

/* The plan of one client: in the workload `beside` they differ. */
static struct plan plan_of(const struct plan *p, int client)
{
    struct plan own = *p;
    if (!strcmp(p->workload, "beside")) {
        own.workload = client == 0 ? "random" : "read";
        own.block = client == 0 ? 4096 : 1 << 20;
        own.depth = client == 0 ? 1 : p->depth;
    }
    return own;
}

/* Whether it goes to blocks in no order. */
static int is_random(const struct plan *p)
{
    const char *w = p->workload;
    return !strcmp(w, "random") || !strcmp(w, "scatter") || !strcmp(w, "stable") || !strcmp(w, "flushed");
}

/* The number in the name of a client's file: there are 50. */
static inline int file_number(int client)
{
    return client % 50;
}

static void sample(struct client *c, double seconds)
{
    if (c->samples < SAMPLES_MAX)
        c->latency_ns[c->samples++] = seconds * 1e9 > 4e9 ? 4000000000u : (uint32_t)(seconds * 1e9);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t random_step(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Where a stream goes on: its own position, and the state of its random numbers. */
struct position {
    uint64_t next, seed;
    double deadline;
};

/* Whether there is one more block, and where. */
static int next_offset(const struct plan *p, struct position *at, uint64_t *offset)
{
    uint64_t blocks = p->size / p->block;
    for (double until = now() + p->think / 1e6; p->think > 0 && now() < until;)
        ;
    if (p->seconds > 0 ? now() >= at->deadline : at->next >= p->size * p->passes)
        return 0;
    *offset = is_random(p) ? random_step(&at->seed) % blocks * p->block : at->next % (blocks * p->block);
    at->next += p->block;
    return 1;
}

/* --- The server's side: CPU and memory --------------------------------------------------------------------------- */

/* The server's processes: the one named and all that descend from it. */
static int processes(int pid, int *found)
{
    static int pids[PROCESSES_MAX], parents[PROCESSES_MAX];
    int count = 0, size = 0;
    char path[64];
    DIR *all = opendir("/proc");
    for (struct dirent *e; all && count < PROCESSES_MAX && (e = readdir(all));) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%d (%*[^)]) %*c %d", &pids[count], &parents[count]) == 2)
            count++;
        if (f)
            fclose(f);
    }
    if (all)
        closedir(all);
    found[size++] = pid;
    for (int i = 0; i < size; i++)
        for (int j = 0; j < count && size < PROCESSES_MAX; j++)
            if (parents[j] == found[i])
                found[size++] = pids[j];
    return size;
}

/* What ended children of a process have used: fields 16 and 17 of its stat, in ticks. */
static double ended_children_cpu(int pid)
{
    char path[64], line[1024], *rest;
    long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    if (fgets(line, sizeof line, f) && (rest = strrchr(line, ')'))
        && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %ld %ld", &user, &system) != 2)
        user = system = 0;
    fclose(f);
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

/* User and system time of all the server's threads and processes, those that have ended included, in nanosecond steps
 * for those that run (the same counters as utime and stime of /proc/PID/stat, which only tick every 10 ms). */
static double server_cpu(int pid)
{
    static int found[PROCESSES_MAX];
    double sum = 0;
    clockid_t clock;
    struct timespec t;
    for (int i = pid == 0 ? 0 : processes(pid, found); i-- > 0;) {
        if (clock_getcpuclockid(found[i], &clock) == 0 && clock_gettime(clock, &t) == 0)
            sum += t.tv_sec + t.tv_nsec / 1e9;
        sum += ended_children_cpu(found[i]);
    }
    return sum;
}

/* A field of /proc/PID/smaps_rollup in KiB, of all the server's processes. */
static long server_memory(int pid, const char *field)
{
    static int found[PROCESSES_MAX];
    char path[64], line[256];
    long kib = 0;
    for (int i = pid == 0 ? 0 : processes(pid, found); i-- > 0;) {
        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", found[i]);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        while (fgets(line, sizeof line, f))
            if (!strncmp(line, field, strlen(field)))
                kib += atol(line + strlen(field));
        fclose(f);
    }
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

static void allow_many_connections(void)
{
    struct rlimit all = { 0 };
    getrlimit(RLIMIT_NOFILE, &all);
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
}

/* What connections that do nothing take. */
static void idle(const struct plan *p)
{
    double cpu, start;
    allow_many_connections();
    hold(p);
    long before = server_memory(p->pid, "Pss:");
    static struct client logins[1];
    for (int i = 0; i < p->count; i++) {
        start = now();
        hold(p);
        sample(logins, now() - start);
    }
    qsort(logins->latency_ns, logins->samples, sizeof(uint32_t), by_value);
    sleep(1);
    long after = server_memory(p->pid, "Pss:");
    cpu = server_cpu(p->pid);
    start = now();
    sleep(3);
    printf("{\"workload\":\"idle\",\"ops\":%d,\"bytes\":%ld,\"errors\":0,\"seconds\":%.3f,\"cpu\":%.6f,"
           "\"client_cpu\":0,\"others_cpu\":0,\"p50_us\":%.1f,\"p99_us\":%.1f,\"pss_kib\":%ld}\n",
           p->count, (after - before) * 1024, now() - start, server_cpu(p->pid) - cpu,
           logins->latency_ns[logins->samples / 2] / 1e3, logins->latency_ns[logins->samples * 99 / 100] / 1e3, after);
}

/* --- Processes and the report ------------------------------------------------------------------------------------ */

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
    struct client *result = &shared->clients[client];
    struct plan own = plan_of(p, client);
    char byte;
    if (p->clients == 1 && p->pin)
        stay_on_one_processor();
    void *prepared = prepare(&own, result, client);
    atomic_fetch_add(&shared->ready, 1);
    if (read(go, &byte, 1) != 0) /* the parent closes its end to let all go at once */
        die("start", "unexpected byte");
    result->start = now();
    drive(prepared, client, result->start + p->seconds);
    result->end = now();
    if (client > 0 && !strcmp(p->workload, "beside")) {
        result->beside = result->bytes;
        result->bytes = result->ops = result->samples = 0;
    }
    exit(0);
}

/* What one go of all clients gave. */
struct go {
    struct shared *shared;
    double cpu, busy, clients_cpu;
    unsigned long beside_ops;
    long held_kib;
    int failed;
};

/* The slowest client's speed as a part of the mean. */
static double fairness(const struct plan *p, const struct shared *shared)
{
    double sum = 0, slowest = 1e300;
    for (int i = 0; i < p->clients; i++) {
        const struct client *c = &shared->clients[i];
        double speed = c->bytes / (c->end - c->start);
        sum += speed;
        slowest = speed < slowest ? speed : slowest;
    }
    return sum > 0 ? slowest / (sum / p->clients) : 0;
}

static void report(const struct plan *p, const struct go *done, double kept)
{
    uint64_t ops = 0, bytes = 0, errors = 0, samples = 0, beside = 0, gaps = 0;
    double start = 1e300, end = 0, longest_gap = 0;
    uint32_t *all = malloc(sizeof(uint32_t) * SAMPLES_MAX * p->clients + 1);
    for (int i = 0; i < p->clients; i++) {
        const struct client *c = &done->shared->clients[i];
        ops += c->ops, bytes += c->bytes, errors += c->errors, beside += c->beside, gaps += c->gaps;
        longest_gap = c->longest_gap > longest_gap ? c->longest_gap : longest_gap;
        start = c->start < start ? c->start : start;
        end = c->end > end ? c->end : end;
        memcpy(all + samples, c->latency_ns, c->samples * sizeof(uint32_t));
        samples += c->samples;
    }
    qsort(all, samples, sizeof(uint32_t), by_value);
    printf("{\"workload\":\"%s\",\"ops\":%lu,\"bytes\":%lu,\"errors\":%lu,\"seconds\":%.6f,\"cpu\":%.6f,"
           "\"client_cpu\":%.6f,\"others_cpu\":%.3f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,"
           "\"beside\":%lu,\"beside_ops\":%lu,\"held_kib\":%ld,\"gaps\":%lu,\"longest_gap_ms\":%.1f,\"fairness\":%.3f,"
           "\"kept\":%.4f,\"pss_kib\":%ld}\n",
           p->workload, ops, bytes, errors, end - start, done->cpu, done->clients_cpu,
           done->busy - done->cpu - done->clients_cpu,
           samples ? all[samples / 2] / 1e3 : 0, samples ? all[samples * 99 / 100] / 1e3 : 0,
           samples ? all[samples - 1] / 1e3 : 0, beside, done->beside_ops, done->held_kib, gaps, longest_gap * 1e3,
           fairness(p, done->shared), kept, server_memory(p->pid, "Pss:"));
}

/* `small`: what counts the small operations of the connections that are held, if there are any. */
static struct go run_once(const struct plan *p, atomic_ulong *small)
{
    int go[2], state;
    struct go done = { .clients_cpu = -children_cpu() };
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe(go) != 0)
        die("start", "no memory or no pipe");
    pid_t clients[CLIENTS_MAX];
    for (int i = 0; i < p->clients; i++) {
        clients[i] = fork();
        if (clients[i] == 0) {
            close(go[1]);
            run_client(p, shared, i, go[0]);
        }
    }
    close(go[0]);
    while (atomic_load(&shared->ready) < p->clients) {
        for (int i = 0; i < p->clients; i++)
            if (waitpid(clients[i], &state, WNOHANG) > 0)
                exit(2); /* a client failed before it began and has said why */
        usleep(1000);
    }
    usleep(20000); /* the last one is now waiting too */
    double cpu = server_cpu(p->pid), busy = machine_busy();
    done.beside_ops = small ? -atomic_load(small) : 0;
    close(go[1]);
    for (int i = 0; i < p->clients; i++)
        done.failed |= waitpid(clients[i], &state, 0) != clients[i] || state != 0;
    usleep(100000); /* a server's process for a client that has left takes a moment to end, and that counts, too */
    done.shared = shared;
    done.cpu = server_cpu(p->pid) - cpu;
    done.beside_ops += small ? atomic_load(small) : 0;
    done.busy = machine_busy() - busy;
    done.clients_cpu += children_cpu();
    return done;
}

static double speed(const struct plan *p, const struct go *done)
{
    double sum = 0;
    for (int i = 0; i < p->clients; i++) {
        const struct client *c = &done->shared->clients[i];
        sum += c->end > c->start ? c->ops / (c->end - c->start) : 0;
    }
    return sum;
}

/* Has each connection do one small operation in the time asked for, in turn, and counts them. Ends with the process. */
static void keep_busy(const struct plan *p, void **held, atomic_ulong *done)
{
    for (double next = now();; next += p->each / p->idle) {
        double early = next - now();
        if (early > 0)
            usleep(early * 1e6);
        else if (early < -p->each)
            next = now(); /* it does not catch up with what it could not do */
        small_operation(held[atomic_fetch_add(done, 1) % p->idle]);
    }
}

/* A process that has `p->idle` connections. Returns when all are there. `done` counts what they do. */
static pid_t hold_all(const struct plan *p, atomic_ulong *done)
{
    int there[2];
    char byte;
    void **held = calloc(p->idle, sizeof *held);
    if (!held || pipe(there) != 0)
        die("start", "no memory or no pipe");
    pid_t holder = fork();
    if (holder == 0) {
        close(there[0]);
        allow_many_connections();
        for (int i = 0; i < p->idle; i++)
            held[i] = hold(p);
        if (write(there[1], "", 1) != 1)
            _exit(2);
        if (p->each > 0)
            keep_busy(p, held, done);
        pause();
        _exit(0);
    }
    close(there[1]);
    if (holder < 0 || read(there[0], &byte, 1) != 1)
        die("idle", "the connections cannot be made");
    close(there[0]);
    free(held);
    return holder;
}

static int run(const struct plan *p)
{
    double kept = 0;
    struct go before = { 0 }, done;
    if (p->idle == 0) {
        done = run_once(p, NULL);
    } else {
        before = run_once(p, NULL);
        atomic_ulong *small = mmap(NULL, sizeof *small, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (small == MAP_FAILED)
            die("start", "no memory");
        long empty = server_memory(p->pid, "Pss:");
        pid_t holder = hold_all(p, small);
        sleep(1); /* the logins' work ends */
        long held_kib = server_memory(p->pid, "Pss:") - empty;
        done = run_once(p, small);
        done.held_kib = held_kib;
        kill(holder, SIGKILL);
        waitpid(holder, NULL, 0);
        sleep(1); /* the server notices that they have gone */
        struct go after = run_once(p, NULL);
        double without = (speed(p, &before) + speed(p, &after)) / 2;
        kept = without > 0 ? speed(p, &done) / without : 0;
        done.failed |= before.failed | after.failed;
    }
    report(p, &done, kept);
    return done.failed ? 2 : 0;
}

static void parse(struct plan *p, int argc, char **argv)
{
    if (argc < 2)
        die("load", "name a workload");
    p->workload = argv[1];
    for (int i = 2; i + 1 < argc; i++) {
        const char *name = argv[i], *value = argv[i + 1];
        if (own_option(argv, &i))
            continue;
        if (!strcmp(name, "--file")) p->file = value;
        else if (!strcmp(name, "--pid")) p->pid = atoi(value);
        else if (!strcmp(name, "--clients")) p->clients = atoi(value);
        else if (!strcmp(name, "--depth")) p->depth = atoi(value);
        else if (!strcmp(name, "--passes")) p->passes = atoi(value);
        else if (!strcmp(name, "--count")) p->count = atoi(value);
        else if (!strcmp(name, "--block")) p->block = atoi(value);
        else if (!strcmp(name, "--size")) p->size = atoll(value);
        else if (!strcmp(name, "--idle")) p->idle = atoi(value);
        else if (!strcmp(name, "--each")) p->each = atof(value);
        else if (!strcmp(name, "--pin")) p->pin = atoi(value);
        else if (!strcmp(name, "--think")) p->think = atoi(value);
        else if (!strcmp(name, "--seconds")) p->seconds = atof(value);
        else die("unknown option", name);
        i++;
    }
    if (p->clients < 1 || p->clients > CLIENTS_MAX || p->block == 0 || p->size < p->block)
        die("load", "clients must be 1 to 256, block at least 1 and size at least one block");
}

int main(int argc, char **argv)
{
    struct plan plan = { .file = "load", .clients = 1, .depth = 1, .passes = 1, .count = 1, .block = 1 << 20,
                         .size = 1 << 30, .pin = 1 };
    parse(&plan, argc, argv);
    if (!strcmp(plan.workload, "idle")) {
        idle(&plan);
        return 0;
    }
    return run(&plan);
}

#endif
