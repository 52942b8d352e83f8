/* The load program of `cargo xtask compare iscsi`: drives a logical unit through libiscsi's asynchronous API.
 *
 *   load WORKLOAD --port N --target IQN --lun N [--host H] [--depth N] and the options of ../load.h
 *
 * The logical unit has 3 GiB. PREFIX says which part of it a client uses: `one` is the first GiB, `many` 256 MiB for each client,
 * `free` the 256 MiB behind those of ten clients, `zero` the last 256 MiB.
 *
 *   fill      all of the logical unit, once
 *   read      the client's part from 0 to size, passes times        write     the same, overwriting
 *   random    block bytes at random offsets below size, for seconds  scatter   the same, writing
 *   stable    as scatter, each write with FUA                        flushed   as scatter, SYNCHRONIZE CACHE after each
 *   unmap     UNMAP of block bytes each, one after the other         same      WRITE SAME of zeroes, without UNMAP
 *   login     sessions begun and ended, for seconds
 *   video     count clients read rate bytes a second each, block bytes on a clock; the others write as fast as they can.
 *             Latencies are from when a block was due
 *   idle      count sessions; the server's memory before and after
 */
#define _GNU_SOURCE
#include <poll.h>

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>

#include "../load.h"

#define DEPTH_MAX 256
#define SECTOR 512
#define GIB (1ull << 30)
#define LUN_SIZE (3 * GIB)
#define CROWD_PART (48ull << 20) /* of each of many clients */
#define GAP 0.1 /* seconds */
#define BEHIND_MAX 32 /* blocks that a player waits for at once */

static const char *host = "127.0.0.1", *target = "iqn.2026-01.invalid:lun";
static int port = 3260, lun = 0;
static double rate = 30e6;

/* What one client holds while it works. */
struct work {
    const struct plan *plan;
    struct client *result;
    struct iscsi_context *iscsi;
    struct position at;
    uint64_t base;
    double arrived; /* the last block */
    struct slot *slots;
    int depth, writes, flushes, deallocates, fua, paced, beside, under_way;
};

struct slot {
    struct work *work;
    uint8_t *data;
    uint64_t offset;
    double sent;
    int flushing, busy;
    struct scsi_iovec part;
};

static int own_option(char **argv, int *i)
{
    const char *name = argv[*i], *value = argv[*i + 1];
    if (!strcmp(name, "--host")) host = value;
    else if (!strcmp(name, "--port")) port = atoi(value);
    else if (!strcmp(name, "--target")) target = value;
    else if (!strcmp(name, "--lun")) lun = atoi(value);
    else if (!strcmp(name, "--rate")) rate = atof(value);
    else return 0;
    *i += 1;
    return 1;
}

/* --- Sessions ---------------------------------------------------------------------------------------------------- */

/* One that may log in; its name tells it from the other clients'. */
static struct iscsi_context *new_session(int client)
{
    char name[64];
    snprintf(name, sizeof name, "iqn.2026-01.invalid:load-%d", client);
    struct iscsi_context *iscsi = iscsi_create_context(name);
    if (!iscsi)
        die("session", "no memory");
    iscsi_set_targetname(iscsi, target);
    iscsi_set_session_type(iscsi, ISCSI_SESSION_NORMAL);
    iscsi_set_timeout(iscsi, 30);
    iscsi_set_noautoreconnect(iscsi, 1);
    return iscsi;
}

static const char *portal(void)
{
    static char text[300];
    snprintf(text, sizeof text, "%s:%d", host, port);
    return text;
}

/* A session that has heard of all unit attentions. */
static struct iscsi_context *connect_to_unit(int client)
{
    struct iscsi_context *iscsi = new_session(client);
    if (iscsi_full_connect_sync(iscsi, portal(), lun) != 0)
        die("connect", iscsi_get_error(iscsi));
    return iscsi;
}

/* Waits for the connection, at most so long, and does what is to be done. */
static void turn(struct work *w, double seconds)
{
    struct pollfd p = { .fd = iscsi_get_fd(w->iscsi), .events = iscsi_which_events(w->iscsi) };
    struct timespec limit = { .tv_sec = (time_t)seconds, .tv_nsec = (seconds - (time_t)seconds) * 1e9 };
    int ready = ppoll(&p, 1, &limit, NULL);
    if (ready < 0 || (ready > 0 && iscsi_service(w->iscsi, p.revents) != 0))
        die("the connection", iscsi_get_error(w->iscsi));
}

static void logins(struct work *w, int client, double deadline)
{
    while (now() < deadline) {
        struct iscsi_context *iscsi = new_session(client);
        double sent = now();
        if (iscsi_connect_sync(iscsi, portal()) != 0 || iscsi_login_sync(iscsi) != 0 || iscsi_logout_sync(iscsi) != 0)
            die("login", iscsi_get_error(iscsi));
        iscsi_disconnect(iscsi);
        iscsi_destroy_context(iscsi);
        sample(w->result, now() - sent);
        w->result->ops++;
    }
}

/* --- Blocks ------------------------------------------------------------------------------------------------------ */

static void begin(struct slot *slot);
static void send_command(struct slot *slot);

static void on_done(struct iscsi_context *iscsi, int status, void *data, void *private_data)
{
    struct slot *slot = private_data;
    struct work *w = slot->work;
    struct scsi_task *task = data;
    (void)iscsi;
    int good = status == SCSI_STATUS_GOOD && (w->deallocates || task->residual_status == SCSI_RESIDUAL_NO_RESIDUAL);
    scsi_free_scsi_task(task);
    if (good && w->flushes && !slot->flushing) {
        slot->flushing = 1;
        send_command(slot);
        return;
    }
    double at = now();
    w->under_way--;
    slot->busy = slot->flushing = 0;
    w->result->errors += !good;
    if (w->beside) {
        w->result->beside += good ? w->plan->block : 0;
    } else {
        sample(w->result, at - slot->sent);
        w->result->ops++;
        w->result->bytes += good ? w->plan->block : 0;
        double gap = at - w->arrived;
        w->result->longest_gap = w->paced && gap > w->result->longest_gap ? gap : w->result->longest_gap;
        w->result->gaps += w->paced && gap > GAP;
        w->arrived = at;
    }
    if (!w->paced)
        begin(slot);
}

/* UNMAP or WRITE SAME of a block's length. */
static struct scsi_task *deallocate(struct slot *slot, uint64_t lba, uint32_t count)
{
    static unsigned char zeroes[SECTOR];
    struct work *w = slot->work;
    struct unmap_list range = { .lba = lba, .num = count };
    if (!strcmp(w->plan->workload, "unmap"))
        return iscsi_unmap_task(w->iscsi, lun, 0, 0, &range, 1, on_done, slot);
    return iscsi_writesame16_task(w->iscsi, lun, lba, zeroes, SECTOR, count, 0, 0, 0, 0, on_done, slot);
}

static void send_command(struct slot *slot)
{
    struct work *w = slot->work;
    const struct plan *p = w->plan;
    uint64_t lba = (w->base + slot->offset) / SECTOR;
    struct scsi_task *task;
    slot->part = (struct scsi_iovec){ .iov_base = slot->data, .iov_len = p->block };
    if (slot->flushing)
        task = iscsi_synchronizecache16_task(w->iscsi, lun, lba, p->block / SECTOR, 0, 0, on_done, slot);
    else if (w->deallocates)
        task = deallocate(slot, lba, p->block / SECTOR);
    else if (w->writes)
        task = iscsi_write16_task(w->iscsi, lun, lba, slot->data, p->block, SECTOR, 0, 0, w->fua, 0, 0, on_done, slot);
    else
        task = iscsi_read16_iov_task(w->iscsi, lun, lba, p->block, SECTOR, 0, 0, 0, 0, 0, on_done, slot, &slot->part, 1);
    if (!task)
        die("command", iscsi_get_error(w->iscsi));
}

static void begin(struct slot *slot)
{
    struct work *w = slot->work;
    if (!next_offset(w->plan, &w->at, &slot->offset))
        return;
    slot->sent = now();
    slot->busy = 1;
    w->under_way++;
    send_command(slot);
}

static void make_slots(struct work *w, int count, int client)
{
    w->depth = count < DEPTH_MAX ? count : DEPTH_MAX;
    w->slots = calloc(w->depth, sizeof *w->slots);
    for (int i = 0; i < w->depth; i++) {
        w->slots[i] = (struct slot){ .work = w, .data = malloc(w->plan->block) };
        memset(w->slots[i].data, 'a' + client % 26, w->plan->block);
    }
}

static void stream(struct work *w)
{
    for (int i = 0; i < w->depth; i++)
        begin(&w->slots[i]);
    while (w->under_way > 0)
        turn(w, 1);
}

/* A player: block after block is asked for when its time has come, whatever became of those before. */
static void paced_stream(struct work *w, int client)
{
    double period = w->plan->block / rate, started = w->result->start + period * client / w->plan->count;
    w->arrived = started;
    for (uint64_t block = 0; started + block * period < w->at.deadline;) {
        double due = started + block * period, at = now();
        struct slot *slot = &w->slots[block % w->depth];
        if (at < due || slot->busy) {
            turn(w, at < due ? due - at : 0.001);
            continue;
        }
        begin(slot);
        slot->sent = due;
        block++;
    }
    while (w->under_way > 0)
        turn(w, 1);
}

/* --- What ../load.h asks for ------------------------------------------------------------------------------------- */

static void *hold(const struct plan *p)
{
    static int held;
    (void)p;
    return connect_to_unit(held++); /* never closed: it ends with this process */
}

static void small_operation(void *held)
{
    struct scsi_task *task = iscsi_testunitready_sync(held, lun);
    if (!task || task->status != SCSI_STATUS_GOOD)
        die("TEST UNIT READY", iscsi_get_error(held));
    scsi_free_scsi_task(task);
}

static uint64_t part_of(const struct plan *p, int client)
{
    if (!strncmp(p->file, "many", 4))
        return client * (GIB / 4);
    if (!strncmp(p->file, "crowd", 5))
        return client * CROWD_PART;
    if (!strncmp(p->file, "free", 4))
        return LUN_SIZE - GIB / 2;
    return !strncmp(p->file, "zero", 4) ? LUN_SIZE - GIB / 4 : 0;
}

static void *prepare(const struct plan *p, struct client *result, int client)
{
    struct work *w = calloc(1, sizeof *w);
    const char *name = p->workload;
    int is_video = !strcmp(name, "video");
    *w = (struct work){ .plan = p, .result = result, .base = part_of(p, client) };
    w->at.seed = 88172645463325252ull + client;
    w->fua = !strcmp(name, "stable");
    w->flushes = !strcmp(name, "flushed");
    w->deallocates = !strcmp(name, "unmap") || !strcmp(name, "same");
    w->paced = is_video && client < p->count;
    w->beside = is_video && !w->paced;
    w->writes = w->fua || w->flushes || w->beside || !strcmp(name, "write") || !strcmp(name, "scatter") || !strcmp(name, "fill");
    if (w->base + p->size > LUN_SIZE)
        die("size", "more than the logical unit has");
    if (strcmp(name, "login"))
        w->iscsi = connect_to_unit(client);
    make_slots(w, w->paced ? BEHIND_MAX : p->depth, client);
    return w;
}

static void drive(void *prepared, int client, double deadline)
{
    struct work *w = prepared;
    w->at.deadline = deadline;
    if (!strcmp(w->plan->workload, "login"))
        logins(w, client, deadline);
    else if (w->paced)
        paced_stream(w, client);
    else
        stream(w);
}
