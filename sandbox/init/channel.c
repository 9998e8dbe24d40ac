/* Messages of the control socket: one datagram each, a letter and NUL-terminated fields. */
#define _GNU_SOURCE
#include "channel.h"

#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PROTOCOL_VERSION "1"

static char buffer[MESSAGE_MAX + 1];

static void enlarge_buffers(int control)
{
    int size = MESSAGE_MAX; /* the kernel doubles it, and caps it where we may not force it */
    if (setsockopt(control, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0)
        setsockopt(control, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (setsockopt(control, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
        setsockopt(control, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

static int connect_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (control >= 0 && connect(control, (struct sockaddr *)&address, sizeof address) < 0) {
        close(control);
        return -1;
    }
    return control;
}

static int is_control_socket(int descriptor)
{
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return -1;
    errno = EPROTONOSUPPORT;
    return type == SOCK_SEQPACKET ? 0 : -1;
}

int channel_open(const char *where)
{
    unsigned long long number;
    int control = -1;
    errno = EINVAL;
    if (strncmp(where, "path:/", 6) == 0)
        control = connect_path(where + 5);
    else if (strncmp(where, "fd:", 3) == 0 && parse_number(where + 3, 1 << 20, &number))
        control = (int)number;
    if (control < 0 || is_control_socket(control) < 0)
        return -1;
    enlarge_buffers(control);
    return control;
}

void channel_discard(struct message *message)
{
    for (int i = 0; i < message->descriptor_count; i++)
        close(message->descriptors[i]);
    message->descriptor_count = 0;
}

static void take_descriptors(struct msghdr *header, struct message *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (message->descriptor_count < DESCRIPTORS_MAX)
                message->descriptors[message->descriptor_count++] = descriptor;
            else
                close(descriptor);
        }
    }
}

enum received channel_receive(int control, struct message *message)
{
    union {
        char space[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
        struct cmsghdr align;
    } ancillary;
    struct iovec part = {buffer, MESSAGE_MAX};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &ancillary,
                            .msg_controllen = sizeof ancillary};
    ssize_t size;
    do
        size = recvmsg(control, &header, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size <= 0)
        return CLOSED;
    message->descriptor_count = 0;
    take_descriptors(&header, message);
    if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        channel_discard(message);
        return MALFORMED;
    }
    message->kind = buffer[0];
    message->body = buffer + 1;
    message->size = (size_t)size - 1;
    return RECEIVED;
}

static void send_or_exit(int control, struct iovec *part, void *ancillary, size_t size)
{
    struct msghdr header = {.msg_iov = part,
                            .msg_iovlen = 1,
                            .msg_control = ancillary,
                            .msg_controllen = size};
    ssize_t sent;
    do
        sent = sendmsg(control, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        _exit(EXIT_FAILURE);
}

void channel_send(int control, int descriptor, char kind, ...)
{
    char text[512] = {kind};
    size_t used = 1;
    const char *field;
    va_list fields;
    va_start(fields, kind);
    while ((field = va_arg(fields, const char *)) != NULL) {
        size_t length = strlen(field) + 1;
        if (length > sizeof text - used)
            _exit(EXIT_FAILURE);
        memcpy(text + used, field, length);
        used += length;
    }
    va_end(fields);

    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } rights = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    memcpy(CMSG_DATA(&rights.header), &descriptor, sizeof descriptor);
    struct iovec part = {text, used};
    send_or_exit(control, &part, descriptor < 0 ? NULL : &rights,
                 descriptor < 0 ? 0 : sizeof rights);
}

void channel_refuse(int control, const char *id, int error, const char *what)
{
    channel_send(control, -1, 'e', id, errno_name(error), what, NULL);
}

void channel_hello(int control)
{
    union {
        char space[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr header;
    } proof = {.header = {CMSG_LEN(sizeof(struct ucred)), SOL_SOCKET, SCM_CREDENTIALS}};
    struct ucred self = {getpid(), getuid(), getgid()};
    memcpy(CMSG_DATA(&proof.header), &self, sizeof self);
    char text[] = "h" PROTOCOL_VERSION; /* its own NUL ends the field */
    struct iovec part = {text, sizeof text};
    send_or_exit(control, &part, &proof, sizeof proof);
}

struct fields fields_of(const struct message *message)
{
    const char *end = message->body + message->size;
    bool bad = message->size > 0 && end[-1] != '\0';
    return (struct fields){message->body, end, bad};
}

const char *next_text(struct fields *fields)
{
    if (fields->bad || fields->at == fields->end) {
        fields->bad = true;
        return "";
    }
    const char *text = fields->at;
    fields->at += strlen(text) + 1; /* stays inside: the last byte is NUL */
    return text;
}

unsigned long long next_number(struct fields *fields, unsigned long long max)
{
    unsigned long long number = 0;
    if (!parse_number(next_text(fields), max, &number))
        fields->bad = true;
    return fields->bad ? 0 : number;
}

bool fields_done(const struct fields *fields)
{
    return !fields->bad && fields->at == fields->end;
}
