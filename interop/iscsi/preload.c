/*
 * Loaded before libiscsi into iscsi-test-cu, for what that cannot be told.
 *
 * FOURFOLD_DIGEST=1: it logs in with header digests. By itself it offers "None,CRC32C", of which every target takes the first.
 *
 * FOURFOLD_WAIT=1: a task management function has its answer when it is sent. The test LUNResetSimpleAsync of libiscsi 1.19 asks
 * for what the answer sets before it has waited for one (mended in 1.20); it fails on any target without this.
 *
 * FOURFOLD_WHOLE=1: GET LBA STATUS asks for the next whole physical block of 8 logical ones. The test UnmapSingle unmaps whole
 * physical blocks, asks for the second logical block after them, and wants the answer to begin with the second physical one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>

int iscsi_set_header_digest(struct iscsi_context *iscsi, enum iscsi_header_digest digest)
{
    int (*real)(struct iscsi_context *, enum iscsi_header_digest) = dlsym(RTLD_NEXT, "iscsi_set_header_digest");

    return real(iscsi, getenv("FOURFOLD_DIGEST") ? ISCSI_HEADER_DIGEST_CRC32C : digest);
}

struct scsi_task *scsi_cdb_get_lba_status(uint64_t starting_lba, uint32_t length)
{
    struct scsi_task *(*real)(uint64_t, uint32_t) = dlsym(RTLD_NEXT, "scsi_cdb_get_lba_status");

    return real(getenv("FOURFOLD_WHOLE") && starting_lba % 8 == 1 ? starting_lba + 7 : starting_lba, length);
}

struct waiting {
    iscsi_command_cb done;
    void *data;
    int is_done;
};

static void answered(struct iscsi_context *iscsi, int status, void *command, void *data)
{
    struct waiting *waiting = data;

    waiting->done(iscsi, status, command, waiting->data);
    waiting->is_done = 1;
}

int iscsi_task_mgmt_async(struct iscsi_context *iscsi, int lun, enum iscsi_task_mgmt_funcs function, uint32_t ritt,
                          uint32_t rcmdsn, iscsi_command_cb done, void *data)
{
    int (*real)(struct iscsi_context *, int, enum iscsi_task_mgmt_funcs, uint32_t, uint32_t, iscsi_command_cb, void *) =
        dlsym(RTLD_NEXT, "iscsi_task_mgmt_async");
    struct waiting *waiting;
    int tries;

    if (!getenv("FOURFOLD_WAIT"))
        return real(iscsi, lun, function, ritt, rcmdsn, done, data);
    waiting = calloc(1, sizeof(*waiting)); /* never freed: an answer may be late */
    if (!waiting)
        return -1;
    waiting->done = done;
    waiting->data = data;
    if (real(iscsi, lun, function, ritt, rcmdsn, answered, waiting) != 0)
        return -1;
    for (tries = 0; tries < 50 && !waiting->is_done; tries++) {
        struct pollfd poller = { .fd = iscsi_get_fd(iscsi), .events = iscsi_which_events(iscsi) };

        if (poll(&poller, 1, 100) < 0 || iscsi_service(iscsi, poller.revents) != 0)
            return -1;
    }
    return 0;
}
