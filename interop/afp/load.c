/* The load program of `cargo xtask compare afp`: drives an AFP server. There is no client library to be had, so it speaks
 * DSI and AFP 3.3 itself (Apple Filing Protocol Reference); it is the same for both servers.
 *
 *   load WORKLOAD --port N --share NAME --user NAME --password TEXT [--host H] and the options of ../load.h
 *
 * The user `guest` logs in as one.
 *
 *   read      PREFIX.<client> from 0 to size, passes times (FPReadExt)    write    the same, overwriting (FPWriteExt)
 *   random    block bytes at random offsets below size, for seconds       small    as read, wrapping, for seconds
 *   new       as write, to files that are made before the clock runs
 *   create    count files: FPCreateFile, FPOpenFork, FPWriteExt block bytes, FPCloseFork
 *   stat      FPGetFileDirParms with what a Finder asks for               remove   FPDelete
 *   missing   FPGetFileDirParms of count names that are not there         rename   FPRename of those files, there and back
 *   list      FPEnumerateExt2 of the folder PREFIX (empty: the volume's own) to its end, passes times, by block bytes,
 *             with Finder info
 *   idle      count sessions with a volume each; the server's memory before and after
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "../load.h"

#define DEPTH_MAX 256
#define HEADER 16
#define ENUMERATE_MOST 5000

/* DSI commands; AFP commands and results. */
enum { DSI_COMMAND = 2, DSI_OPEN_SESSION = 4, DSI_TICKLE = 5, DSI_WRITE = 6 };
enum {
    CLOSE_FORK = 4, CREATE_FILE = 7, DELETE = 8, RENAME = 28, LOGIN = 18, OPEN_VOL = 24, OPEN_FORK = 26, GET_FILE_DIR_PARMS = 34,
    READ_EXT = 60, WRITE_EXT = 61, ENUMERATE_EXT2 = 68
};
enum { NO_ERROR = 0, EOF_ERROR = -5009, OBJECT_NOT_FOUND = -5018 };

static const char *host = "127.0.0.1", *share = "share", *user = "ada", *password = "secret";
static int port = 548;

/* What one client holds while it works. */
struct work {
    const struct plan *plan;
    struct client *result;
    struct position at;
    int socket;
    uint16_t next_id, volume, fork;
    uint8_t *reply;
    size_t room;
    uint32_t folder;
};

/* A message in the making. */
struct message {
    uint8_t bytes[1024];
    size_t length;
};

static int own_option(char **argv, int *i)
{
    const char *name = argv[*i], *value = argv[*i + 1];
    if (!strcmp(name, "--host")) host = value;
    else if (!strcmp(name, "--port")) port = atoi(value);
    else if (!strcmp(name, "--share")) share = value;
    else if (!strcmp(name, "--user")) user = value;
    else if (!strcmp(name, "--password")) password = value;
    else return 0;
    *i += 1;
    return 1;
}

/* --- Messages ---------------------------------------------------------------------------------------------------- */

static void put(struct message *m, const void *bytes, size_t length)
{
    if (m->length + length > sizeof m->bytes)
        die("message", "too long");
    memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
}

static void number(struct message *m, uint64_t value, int bytes)
{
    while (bytes-- > 0) {
        uint8_t byte = value >> 8 * bytes;
        put(m, &byte, 1);
    }
}

static void pascal(struct message *m, const char *text)
{
    number(m, strlen(text), 1);
    put(m, text, strlen(text));
}

static void even(struct message *m)
{
    if (m->length % 2)
        number(m, 0, 1);
}

/* A path of one UTF-8 name; none for the folder itself. */
static void path(struct message *m, const char *name)
{
    number(m, 3, 1);
    number(m, 0x08000103, 4);
    number(m, strlen(name), 2);
    put(m, name, strlen(name));
}

static uint64_t read_number(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | *p++;
    return value;
}

/* Sends a message, and data behind it if there are any; its id. */
static uint16_t send_message(struct work *w, int command, const struct message *m, const void *data, size_t length)
{
    struct message h = { .length = 0 };
    uint16_t id = w->next_id++;
    number(&h, 0, 1);
    number(&h, command, 1);
    number(&h, id, 2);
    number(&h, command == DSI_WRITE ? m->length : 0, 4);
    number(&h, m->length + length, 4);
    number(&h, 0, 4);
    struct iovec parts[3] = { { h.bytes, h.length }, { (void *)m->bytes, m->length }, { (void *)data, length } };
    size_t left = h.length + m->length + length;
    for (int i = 0; left > 0;) {
        ssize_t sent = writev(w->socket, parts + i, 3 - i);
        if (sent < 0)
            die("send", strerror(errno));
        left -= sent;
        for (; i < 3 && (size_t)sent >= parts[i].iov_len; i++)
            sent -= parts[i].iov_len;
        if (i < 3) {
            parts[i].iov_base = (char *)parts[i].iov_base + sent;
            parts[i].iov_len -= sent;
        }
    }
    return id;
}

static void receive_all(struct work *w, uint8_t *into, size_t length)
{
    while (length > 0) {
        ssize_t received = recv(w->socket, into, length, MSG_WAITALL);
        if (received <= 0)
            die("receive", received == 0 ? "the server has closed the connection" : strerror(errno));
        into += received;
        length -= received;
    }
}

/* The next reply: its result. What the server sends unasked is passed over. */
static int receive(struct work *w, uint16_t *id, size_t *length)
{
    uint8_t h[HEADER];
    for (;;) {
        receive_all(w, h, HEADER);
        *length = read_number(h + 8, 4);
        if (*length > w->room && !(w->reply = realloc(w->reply, w->room = *length)))
            die("receive", "no memory");
        receive_all(w, w->reply, *length);
        *id = read_number(h + 2, 2);
        if (h[0] == 1)
            return (int32_t)read_number(h + 4, 4);
    }
}

/* A message and its reply. */
static int call(struct work *w, int command, const struct message *m, const void *data, size_t length, size_t *got)
{
    uint16_t sent = send_message(w, command, m, data, length), id;
    int result = receive(w, &id, got);
    if (id != sent)
        die("receive", "an answer to another question");
    return result;
}

/* --- Sessions ---------------------------------------------------------------------------------------------------- */

static void open_session(struct work *w)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct hostent *found = gethostbyname(host);
    struct message m = { .length = 0 };
    size_t got;
    int one = 1;
    if (!found)
        die(host, "is not known");
    memcpy(&to.sin_addr, found->h_addr, sizeof to.sin_addr);
    w->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (w->socket < 0 || connect(w->socket, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect", strerror(errno));
    setsockopt(w->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    number(&m, 0x0104, 2); /* the attention quantum: 1024 bytes */
    number(&m, 1024, 4);
    if (call(w, DSI_OPEN_SESSION, &m, NULL, 0, &got) != NO_ERROR)
        die("OpenSession", "refused");
}

static void log_in(struct work *w)
{
    struct message m = { .length = 0 };
    char secret[8] = { 0 };
    size_t got;
    int result;
    memcpy(secret, password, strlen(password) < 8 ? strlen(password) : 8);
    number(&m, LOGIN, 1);
    pascal(&m, "AFP3.3");
    if (!strcmp(user, "guest")) {
        pascal(&m, "No User Authent");
    } else {
        pascal(&m, "Cleartxt Passwrd");
        pascal(&m, user);
        even(&m);
        put(&m, secret, sizeof secret);
    }
    if ((result = call(w, DSI_COMMAND, &m, NULL, 0, &got)) != NO_ERROR) {
        fprintf(stderr, "FPLogin: %d\n", result);
        exit(2);
    }
    m.length = 0;
    number(&m, OPEN_VOL << 8, 2);
    number(&m, 0x20, 2); /* the volume's id */
    pascal(&m, share);
    even(&m);
    if ((result = call(w, DSI_COMMAND, &m, NULL, 0, &got)) != NO_ERROR || got < 4) {
        fprintf(stderr, "FPOpenVol: %d\n", result);
        exit(2);
    }
    w->volume = read_number(w->reply + 2, 2);
}

static struct work *connect_to_share(const struct plan *p, struct client *result)
{
    struct work *w = calloc(1, sizeof *w);
    *w = (struct work){ .plan = p, .result = result, .folder = 2 };
    open_session(w);
    log_in(w);
    return w;
}

/* --- Streams: read, write, small, random ------------------------------------------------------------------------- */

static int open_fork(struct work *w, const char *name, int modes)
{
    struct message m = { .length = 0 };
    size_t got;
    number(&m, OPEN_FORK << 8, 2);
    number(&m, w->volume, 2);
    number(&m, w->folder, 4);
    number(&m, 0, 2);
    number(&m, modes, 2);
    path(&m, name);
    int result = call(w, DSI_COMMAND, &m, NULL, 0, &got);
    if (result == NO_ERROR && got >= 4)
        w->fork = read_number(w->reply + 2, 2);
    return result;
}

static void move_block(struct message *m, struct work *w, int command, uint64_t offset)
{
    m->length = 0;
    number(m, command << 8, 2);
    number(m, w->fork, 2);
    number(m, offset, 8);
    number(m, w->plan->block, 8);
}

static int send_next(struct work *w, const uint8_t *data, double *sent)
{
    const struct plan *p = w->plan;
    struct message m;
    uint64_t offset;
    int writes = is_write(p);
    if (!next_offset(p, &w->at, &offset))
        return 0;
    move_block(&m, w, writes ? WRITE_EXT : READ_EXT, offset);
    double now_ = now();
    uint16_t id = writes ? send_message(w, DSI_WRITE, &m, data, p->block) : send_message(w, DSI_COMMAND, &m, NULL, 0);
    sent[id % DEPTH_MAX] = now_;
    return 1;
}

static void stream(struct work *w, int client)
{
    const struct plan *p = w->plan;
    double sent[DEPTH_MAX];
    uint8_t *data = malloc(p->block);
    int under_way = 0, writes = is_write(p);
    memset(data, 'a' + client % 26, p->block);
    while (under_way < p->depth && under_way < DEPTH_MAX && send_next(w, data, sent))
        under_way++;
    while (under_way > 0) {
        uint16_t id;
        size_t got;
        int result = receive(w, &id, &got);
        sample(w->result, now() - sent[id % DEPTH_MAX]);
        under_way--;
        w->result->ops++;
        if (result == NO_ERROR && (writes || got == p->block))
            w->result->bytes += p->block;
        else
            w->result->errors++;
        under_way += send_next(w, data, sent);
    }
}

/* --- Files: create, stat, remove --------------------------------------------------------------------------------- */

static void named(struct message *m, struct work *w, int command, const char *name)
{
    m->length = 0;
    number(m, command << 8, 2);
    number(m, w->volume, 2);
    number(m, w->folder, 4);
    path(m, name);
}

static int create(struct work *w, const char *name)
{
    static uint8_t data[1 << 20];
    struct message m;
    size_t got;
    named(&m, w, CREATE_FILE, name);
    if (call(w, DSI_COMMAND, &m, NULL, 0, &got) != NO_ERROR || open_fork(w, name, 2) != NO_ERROR)
        return -1;
    move_block(&m, w, WRITE_EXT, 0);
    int result = call(w, DSI_WRITE, &m, data, w->plan->block, &got);
    w->result->bytes += w->plan->block;
    m.length = 0;
    number(&m, CLOSE_FORK << 8, 2);
    number(&m, w->fork, 2);
    return call(w, DSI_COMMAND, &m, NULL, 0, &got) != NO_ERROR ? -1 : result;
}

static int stat_file(struct work *w, const char *name)
{
    struct message m = { .length = 0 };
    size_t got;
    number(&m, GET_FILE_DIR_PARMS << 8, 2);
    number(&m, w->volume, 2);
    number(&m, w->folder, 4);
    number(&m, 0xe93f, 2); /* attributes, parent, dates, Finder info, number, both lengths, UTF-8 name, UNIX privileges */
    number(&m, 0xa13f, 2);
    path(&m, name);
    return call(w, DSI_COMMAND, &m, NULL, 0, &got);
}

static int rename_file(struct work *w, const char *name, const char *new_name)
{
    struct message m;
    size_t got;
    named(&m, w, RENAME, name);
    path(&m, new_name);
    return call(w, DSI_COMMAND, &m, NULL, 0, &got);
}

static int one_file(struct work *w, const char *name)
{
    struct message m;
    size_t got;
    char moved[260];
    if (!strcmp(w->plan->workload, "missing"))
        return stat_file(w, name) == OBJECT_NOT_FOUND ? NO_ERROR : -1;
    if (!strcmp(w->plan->workload, "rename")) {
        snprintf(moved, sizeof moved, "%s.r", name);
        int failed = rename_file(w, name, moved);
        return failed != NO_ERROR ? failed : rename_file(w, moved, name);
    }
    if (!strcmp(w->plan->workload, "create"))
        return create(w, name);
    if (!strcmp(w->plan->workload, "stat"))
        return stat_file(w, name);
    named(&m, w, DELETE, name);
    return call(w, DSI_COMMAND, &m, NULL, 0, &got);
}

static void files(struct work *w, int client)
{
    char name[256];
    for (int i = 0; i < w->plan->count; i++) {
        double sent = now();
        snprintf(name, sizeof name, "%s.%d.%d", w->plan->file, client, i);
        if (one_file(w, name) != NO_ERROR)
            w->result->errors++;
        w->result->ops++;
        sample(w->result, now() - sent);
    }
}

/* --- Listings ---------------------------------------------------------------------------------------------------- */

/* How many entries the reply has; each begins with its length. */
static int entries(const struct work *w, size_t got)
{
    int count = got < 6 ? 0 : (int)read_number(w->reply + 4, 2);
    size_t at = 6;
    for (int i = 0; i < count; i++) {
        if (at + 4 > got || read_number(w->reply + at, 2) < 4)
            die("FPEnumerateExt2", "an entry that is none");
        at += read_number(w->reply + at, 2);
    }
    return at == got ? count : 0;
}

static void list(struct work *w)
{
    const struct plan *p = w->plan;
    for (int pass = 0; pass < p->passes; pass++) {
        uint32_t seen = 0;
        double sent = now();
        for (;;) {
            struct message m = { .length = 0 };
            size_t got;
            number(&m, ENUMERATE_EXT2 << 8, 2);
            number(&m, w->volume, 2);
            number(&m, w->folder, 4);
            number(&m, 0xe93f, 2);
            number(&m, 0xa13f, 2);
            number(&m, ENUMERATE_MOST, 2);
            number(&m, seen + 1, 4);
            number(&m, p->block, 4);
            path(&m, p->file);
            int result = call(w, DSI_COMMAND, &m, NULL, 0, &got);
            int count = result == NO_ERROR ? entries(w, got) : 0;
            w->result->errors += result != NO_ERROR && result != OBJECT_NOT_FOUND;
            if (count == 0)
                break;
            seen += count;
        }
        w->result->ops += seen;
        w->result->errors += seen != (uint32_t)p->count;
        sample(w->result, now() - sent);
    }
}

/* --- What ../load.h asks for ------------------------------------------------------------------------------------- */

static void *hold(const struct plan *p)
{
    return connect_to_share(p, NULL); /* never closed: it ends with this process */
}

static void small_operation(void *held)
{
    if (stat_file(held, "") != NO_ERROR)
        die("FPGetFileDirParms", "failed");
}

static void *prepare(const struct plan *p, struct client *result, int client)
{
    struct work *w = connect_to_share(p, result);
    struct message m;
    size_t got;
    char name[256];
    w->at.seed = 88172645463325252ull + client;
    if (is_stream(p)) {
        snprintf(name, sizeof name, "%s.%d", p->file, file_number(client));
        named(&m, w, CREATE_FILE, name);
        if (!strcmp(p->workload, "new") && call(w, DSI_COMMAND, &m, NULL, 0, &got) != NO_ERROR)
            die(name, "cannot be made");
        if (open_fork(w, name, is_write(p) ? 3 : 1) != NO_ERROR)
            die(name, "cannot be opened");
    }
    return w;
}

static void drive(void *prepared, int client, double deadline)
{
    struct work *w = prepared;
    w->at.deadline = deadline;
    if (is_stream(w->plan))
        stream(w, client);
    else if (!strcmp(w->plan->workload, "list"))
        list(w);
    else
        files(w, client);
}
