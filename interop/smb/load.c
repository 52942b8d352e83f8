/* The load program of `cargo xtask compare smb`: drives an SMB server through libsmb2.
 *
 *   load WORKLOAD --port N --share NAME --user NAME --password TEXT [--host H] and the options of ../load.h
 *
 *   read      PREFIX.<client> from 0 to size, passes times           write    the same, overwriting
 *   random    block bytes at random offsets below size, for seconds  small    as read, wrapping, for seconds
 *   new       as write, to files that are made before the clock runs
 *   create    count files: CREATE, WRITE block bytes, CLOSE          stat     CREATE, QUERY_INFO, CLOSE in one compound
 *   remove    CREATE with delete-on-close and CLOSE in one compound
 *   list      QUERY_DIRECTORY of the folder PREFIX to its end, passes times, by block bytes, with ids and sizes
 *   finder    the same on a connection that said AAPL: Finder info and the size of the resource fork, too
 *   get, put  the file PREFIX.0 to nowhere, or the file --local to PREFIX.0, by smbclient: --protection sign or encrypt with the
 *             algorithms that libsmb2 lacks, AES-GMAC and AES-128-GCM; --configuration is its smb.conf
 *   idle      count sessions with a tree each; the server's memory before and after
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <time.h> /* libsmb2's headers use what they do not include */

#include <smb2/smb2.h>
#include <smb2/libsmb2.h>
#include <smb2/libsmb2-raw.h>

#include "../load.h"

#define DEPTH_MAX 256
#define NO_MORE_FILES 0x80000006u /* MS-ERREF 2.3.1 */
#define ID_BOTH_DIRECTORY_INFORMATION 0x25 /* MS-FSCC 2.4 */

#ifdef NEWER_LIBC_WANTED
/* The library was built with a newer C library, whose headers gave these functions other names. */
long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }
unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoul(text, end, base); }
#endif

static const char *host = "127.0.0.1", *share = "share", *user = "ada", *password = "secret";
static const char *protection = "off", *configuration = "/dev/null", *local = "one.0";
static int port = 445;

/* What one client holds while it works. */
struct work {
    const struct plan *plan;
    struct client *result;
    struct smb2_context *smb2;
    struct smb2fh *file;
    struct position at;
    int under_way;
};

struct slot {
    struct work *work;
    uint8_t *data;
    double sent;
};

static int own_option(char **argv, int *i)
{
    const char *name = argv[*i], *value = argv[*i + 1];
    if (!strcmp(name, "--host")) host = value;
    else if (!strcmp(name, "--port")) port = atoi(value);
    else if (!strcmp(name, "--share")) share = value;
    else if (!strcmp(name, "--user")) user = value;
    else if (!strcmp(name, "--password")) password = value;
    else if (!strcmp(name, "--protection")) protection = value;
    else if (!strcmp(name, "--configuration")) configuration = value;
    else if (!strcmp(name, "--local")) local = value;
    else return 0;
    *i += 1;
    return 1;
}

static struct smb2_context *connect_to_share(void)
{
    struct smb2_context *smb2 = smb2_init_context();
    struct smb2_url *url;
    char text[512];
    if (!smb2)
        die("connect", "no memory");
    snprintf(text, sizeof text, "smb://%s@%s:%d/%s/?sec=ntlmssp", user, host, port, share);
    if (!(url = smb2_parse_url(smb2, text)))
        die(text, smb2_get_error(smb2));
    smb2_set_security_mode(smb2, SMB2_NEGOTIATE_SIGNING_ENABLED);
    smb2_set_password(smb2, password);
    if (smb2_connect_share(smb2, url->server, url->share, url->user) != 0)
        die("connect", smb2_get_error(smb2));
    smb2_destroy_url(url);
    return smb2;
}

static void turn(struct smb2_context *smb2)
{
    struct pollfd p = { .fd = smb2_get_fd(smb2), .events = smb2_which_events(smb2) };
    if (poll(&p, 1, 30000) <= 0 || smb2_service(smb2, p.revents) < 0)
        die("the connection", smb2_get_error(smb2));
}

/* --- Streams: read, write, small, random ------------------------------------------------------------------------- */

static void send_next(struct slot *slot);

static void on_block(struct smb2_context *smb2, int status, void *data, void *private_data)
{
    struct slot *slot = private_data;
    struct work *w = slot->work;
    (void)smb2, (void)data;
    sample(w->result, now() - slot->sent);
    w->under_way--;
    w->result->ops++;
    if (status == (int)w->plan->block)
        w->result->bytes += w->plan->block;
    else
        w->result->errors++;
    send_next(slot);
}

static void send_next(struct slot *slot)
{
    struct work *w = slot->work;
    const struct plan *p = w->plan;
    uint64_t offset;
    if (!next_offset(p, &w->at, &offset))
        return;
    slot->sent = now();
    int failed = is_write(p)
        ? smb2_pwrite_async(w->smb2, w->file, slot->data, p->block, offset, on_block, slot)
        : smb2_pread_async(w->smb2, w->file, slot->data, p->block, offset, on_block, slot);
    if (failed)
        die("stream", smb2_get_error(w->smb2));
    w->under_way++;
}

static void stream(struct work *w, int client)
{
    static struct slot slots[DEPTH_MAX];
    for (int i = 0; i < w->plan->depth && i < DEPTH_MAX; i++) {
        slots[i] = (struct slot){ .work = w, .data = malloc(w->plan->block) };
        memset(slots[i].data, 'a' + client % 26, w->plan->block);
        send_next(&slots[i]);
    }
    while (w->under_way > 0)
        turn(w->smb2);
}

/* --- Files: create, stat, remove --------------------------------------------------------------------------------- */

static int create(struct work *w, const char *name)
{
    static uint8_t data[1 << 20];
    struct smb2fh *file = smb2_open(w->smb2, name, O_WRONLY | O_CREAT | O_EXCL);
    if (!file)
        return -1;
    int written = smb2_pwrite(w->smb2, file, data, w->plan->block, 0);
    w->result->bytes += w->plan->block;
    return smb2_close(w->smb2, file) != 0 || written != (int)w->plan->block ? -1 : 0;
}

static int one_file(struct work *w, const char *name)
{
    struct smb2_stat_64 found;
    if (!strcmp(w->plan->workload, "create"))
        return create(w, name);
    return !strcmp(w->plan->workload, "stat") ? smb2_stat(w->smb2, name, &found) : smb2_unlink(w->smb2, name);
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

/* --- Listings ---------------------------------------------------------------------------------------------------- */

struct listing {
    int finished;
    uint32_t status;
    smb2_file_id folder;
    uint64_t entries;
    int has_aapl;
};

static uint32_t u32(const uint8_t *bytes)
{
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void wait_for(struct work *w, struct listing *l, struct smb2_pdu *pdu)
{
    if (!pdu)
        die("list", smb2_get_error(w->smb2));
    l->finished = 0;
    smb2_queue_pdu(w->smb2, pdu);
    while (!l->finished)
        turn(w->smb2);
}

static void on_create(struct smb2_context *smb2, int status, void *data, void *private_data)
{
    struct listing *l = private_data;
    struct smb2_create_reply *reply = data;
    (void)smb2;
    l->finished = 1;
    l->status = status;
    if (status != 0)
        return;
    memcpy(l->folder, reply->file_id, sizeof l->folder);
    l->has_aapl = reply->create_context_length > 0 && memmem(reply->create_context, reply->create_context_length, "AAPL", 4);
}

static void on_page(struct smb2_context *smb2, int status, void *data, void *private_data)
{
    struct listing *l = private_data;
    struct smb2_query_directory_reply *reply = data;
    (void)smb2;
    l->finished = 1;
    l->status = status;
    if (status != 0)
        return;
    const uint8_t *entry = reply->output_buffer, *end = entry + reply->output_buffer_length;
    for (uint32_t next = 1; next != 0 && entry + 104 <= end; entry += next) { /* MS-FSCC 2.4.17: the name is at 104 */
        const uint8_t *name = entry + 104;
        uint32_t length = u32(entry + 60);
        int is_dot = (length == 2 && name[0] == '.') || (length == 4 && name[0] == '.' && name[2] == '.');
        l->entries += !is_dot;
        next = u32(entry);
    }
}

static void on_end(struct smb2_context *smb2, int status, void *data, void *private_data)
{
    struct listing *l = private_data;
    (void)smb2, (void)data;
    l->finished = 1;
    l->status = status;
}

/* The SMB2_CREATE_CONTEXT of a Mac that asks for everything: capabilities, volume and model. */
static const uint8_t AAPL[] = {
    0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 24, 0, 0, 0, 'A', 'A', 'P', 'L', 0, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0,
};

static void open_folder(struct work *w, struct listing *l, const char *name, int is_mac)
{
    struct smb2_create_request request = {
        .impersonation_level = SMB2_IMPERSONATION_IMPERSONATION,
        .desired_access = 0x81, /* FILE_LIST_DIRECTORY and FILE_READ_ATTRIBUTES: MS-SMB2 2.2.13.1.2 */
        .share_access = SMB2_FILE_SHARE_READ | SMB2_FILE_SHARE_WRITE | SMB2_FILE_SHARE_DELETE,
        .create_disposition = SMB2_FILE_OPEN,
        .create_options = SMB2_FILE_DIRECTORY_FILE,
        .name = name,
        .create_context_length = is_mac ? sizeof AAPL : 0,
        .create_context = is_mac ? (uint8_t *)AAPL : NULL,
    };
    wait_for(w, l, smb2_cmd_create_async(w->smb2, &request, on_create, l));
    if (l->status != 0)
        die(name, "cannot be opened");
    if (is_mac && !l->has_aapl)
        die("AAPL", "the server does not answer it");
}

static void close_folder(struct work *w, struct listing *l)
{
    struct smb2_close_request request = { 0 };
    memcpy(request.file_id, l->folder, sizeof l->folder);
    wait_for(w, l, smb2_cmd_close_async(w->smb2, &request, on_end, l));
}

static void list(struct work *w)
{
    const struct plan *p = w->plan;
    int is_mac = !strcmp(p->workload, "finder");
    for (int pass = 0; pass < p->passes; pass++) {
        struct listing l = { 0 };
        double sent = now();
        open_folder(w, &l, p->file, is_mac);
        while (l.status == 0) {
            struct smb2_query_directory_request request = {
                .file_information_class = ID_BOTH_DIRECTORY_INFORMATION,
                .output_buffer_length = p->block,
                .name = "*",
            };
            memcpy(request.file_id, l.folder, sizeof l.folder);
            wait_for(w, &l, smb2_cmd_query_directory_async(w->smb2, &request, on_page, &l));
        }
        w->result->errors += l.status != NO_MORE_FILES;
        close_folder(w, &l);
        w->result->ops += l.entries;
        w->result->errors += l.entries != (uint64_t)p->count;
        sample(w->result, now() - sent);
    }
}

/* --- Whole files through smbclient --------------------------------------------------------------------------------- */

static int is_copy(const struct plan *p)
{
    return !strcmp(p->workload, "get") || !strcmp(p->workload, "put");
}

static void become_smbclient(const struct plan *p)
{
    char unc[256], number[16], login[256], command[1024], protect[64];
    int quiet = open("/dev/null", O_WRONLY);
    snprintf(unc, sizeof unc, "//%s/%s", host, share);
    snprintf(number, sizeof number, "%d", port);
    snprintf(login, sizeof login, "%s%%%s", user, password);
    snprintf(protect, sizeof protect, "--client-protection=%s", protection);
    if (!strcmp(p->workload, "get"))
        snprintf(command, sizeof command, "get %s.0 /dev/null", p->file);
    else
        snprintf(command, sizeof command, "put %s %s.0", local, p->file);
    dup2(quiet, STDOUT_FILENO);
    dup2(quiet, STDERR_FILENO);
    execlp("smbclient", "smbclient", unc, "-s", configuration, "-p", number, "-U", login, protect,
           "--option=client smb3 signing algorithms=AES-128-GMAC",
           "--option=client smb3 encryption algorithms=AES-128-GCM", "-c", command, (char *)NULL);
    _exit(127);
}

static void copy(struct work *w)
{
    int state = -1;
    double sent = now();
    pid_t child = fork();
    if (child == 0)
        become_smbclient(w->plan);
    if (child < 0 || waitpid(child, &state, 0) != child || state != 0)
        w->result->errors++;
    w->result->ops++;
    w->result->bytes += w->plan->size;
    sample(w->result, now() - sent);
}

/* --- What ../load.h asks for ------------------------------------------------------------------------------------- */

static void *hold(const struct plan *p)
{
    (void)p;
    return connect_to_share(); /* never closed: it ends with this process */
}

static void small_operation(void *held)
{
    struct smb2_stat_64 st;
    if (smb2_stat(held, "", &st) != 0)
        die("stat", smb2_get_error(held));
}

static void *prepare(const struct plan *p, struct client *result, int client)
{
    struct work *w = calloc(1, sizeof *w);
    char name[256];
    *w = (struct work){ .plan = p, .result = result, .smb2 = is_copy(p) ? NULL : connect_to_share() };
    w->at.seed = 88172645463325252ull + client;
    if (is_stream(p)) {
        snprintf(name, sizeof name, "%s.%d", p->file, file_number(client));
        int makes = !strcmp(p->workload, "new") ? O_CREAT | O_EXCL : 0;
        w->file = smb2_open(w->smb2, name, (is_write(p) ? O_RDWR : O_RDONLY) | makes);
        if (!w->file)
            die(name, smb2_get_error(w->smb2));
    }
    return w;
}

static void drive(void *prepared, int client, double deadline)
{
    struct work *w = prepared;
    const char *workload = w->plan->workload;
    w->at.deadline = deadline;
    if (is_stream(w->plan))
        stream(w, client);
    else if (is_copy(w->plan))
        copy(w);
    else if (!strcmp(workload, "list") || !strcmp(workload, "finder"))
        list(w);
    else
        files(w, client);
}
