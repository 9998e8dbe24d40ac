/* What the harness gets before the first command: listeners and the tap. */
#define _GNU_SOURCE
#include "prepare.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { BACKLOG = 64 };

union address {
    struct sockaddr any;
    struct sockaddr_in tcp;
    struct sockaddr_un local;
};

static socklen_t tcp_address(const char *text, unsigned long long port, union address *address)
{
    address->tcp.sin_family = AF_INET;
    address->tcp.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, text, &address->tcp.sin_addr) != 1)
        return 0;
    return ntohl(address->tcp.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
               ? sizeof address->tcp
               : 0;
}

static socklen_t abstract_address(const char *name, union address *address)
{
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof address->local.sun_path)
        return 0;
    address->local.sun_family = AF_UNIX;
    memcpy(address->local.sun_path + 1, name, length); /* the leading NUL makes it abstract */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static socklen_t parse_listener(const struct message *message, union address *address)
{
    struct fields fields = fields_of(message);
    const char *kind = next_text(&fields);
    const char *name = next_text(&fields);
    unsigned long long port = next_number(&fields, UINT16_MAX);
    memset(address, 0, sizeof *address);
    if (!fields_done(&fields) || message->descriptor_count != 0)
        return 0;
    if (strcmp(kind, "tcp") == 0)
        return tcp_address(name, port, address);
    return strcmp(kind, "abstract") == 0 && port == 0 ? abstract_address(name, address) : 0;
}

static int listen_at(const union address *address, socklen_t size)
{
    int yes = 1;
    int listener = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return -1;
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(listener, &address->any, size) == 0 && listen(listener, BACKLOG) == 0)
        return listener;
    int error = errno;
    close(listener);
    errno = error;
    return -1;
}

int open_listener(const struct message *message, const char **step)
{
    union address address;
    socklen_t size = parse_listener(message, &address);
    *step = "listen";
    errno = EPROTO;
    return size == 0 ? -1 : listen_at(&address, size);
}

int install_filter(const struct message *message, const char **step)
{
    static struct sock_filter code[BPF_MAXINSNS];
    size_t length = message->size / sizeof *code;
    *step = "filter";
    errno = EPROTO;
    if (message->size % sizeof *code != 0 || length == 0 || length > BPF_MAXINSNS ||
        message->descriptor_count != 0)
        return -1;
    memcpy(code, message->body, message->size);
    struct sock_fprog program = {(unsigned short)length, code};
    /* Without WAIT_KILLABLE_RECV a timer signal restarts a call for ever. */
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                        &program);
}
