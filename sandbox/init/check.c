/* Inside a box: has the harness run something elsewhere, and passes on what it prints:
   rolewall-check a command in the check box, rolewall-tool one of the team's tools. */
#define _GNU_SOURCE
#include "check.h"

#include "sys.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { EXIT_CHECK = 125, REQUEST_MAX = 256 * 1024, TEXT_MAX = 4096 };

/* What this is called, and the abstract socket that the harness answers on. */
static const char *client;
static const char *other_side;

static void give_up(const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s: ", client);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_CHECK);
}

static int connect_harness(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(client);
    memcpy(address.sun_path + 1, client, length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    int harness = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (harness < 0 || connect(harness, (struct sockaddr *)&address, size) < 0)
        give_up("no %s here (%s)", other_side, errno_name(errno));
    return harness;
}

static void append(char *frame, size_t *used, const char *text)
{
    size_t length = strlen(text) + 1;
    if (length > REQUEST_MAX - *used)
        give_up("the command is too long");
    memcpy(frame + *used, text, length);
    *used += length;
}

static void write_all(int descriptor, const void *data, size_t size)
{
    while (size > 0) {
        ssize_t written = descriptor > STDERR_FILENO
                              ? send(descriptor, data, size, MSG_NOSIGNAL)
                              : write(descriptor, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            give_up("cannot write (%s)", errno_name(errno));
        data = (const char *)data + written;
        size -= (size_t)written;
    }
}

static void read_all(int harness, void *data, size_t size)
{
    while (size > 0) {
        ssize_t got = read(harness, data, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            give_up("the harness closed the connection");
        data = (char *)data + got;
        size -= (size_t)got;
    }
}

static uint32_t little_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static void send_request(int harness, char **command)
{
    static char frame[REQUEST_MAX];
    char cwd[PATH_MAX], count[16];
    int argc = 0;
    size_t used = 4;
    while (command[argc] != NULL)
        argc++;
    snprintf(count, sizeof count, "%d", argc);
    append(frame, &used, getcwd(cwd, sizeof cwd) ? cwd : "/");
    append(frame, &used, count);
    for (int i = 0; i < argc; i++)
        append(frame, &used, command[i]);
    for (int i = 0; i < 4; i++)
        frame[i] = (char)((used - 4) >> (8 * i));
    write_all(harness, frame, used);
}

static void copy(int harness, int stream, uint32_t size)
{
    static char block[65536];
    while (size > 0) {
        uint32_t part = size < sizeof block ? size : sizeof block;
        read_all(harness, block, part);
        write_all(stream, block, part);
        size -= part;
    }
}

static void read_text(int harness, char *text, uint32_t size)
{
    if (size >= TEXT_MAX)
        give_up("the harness sent %u bytes where a line belongs", size);
    read_all(harness, text, size);
    text[size] = '\0';
}

static int exit_code(const char *text)
{
    unsigned long long code;
    if (!parse_number(text, 255, &code))
        give_up("the harness sent no exit code");
    return (int)code;
}

static int pass_on(int harness)
{
    for (;;) {
        unsigned char head[5];
        char text[TEXT_MAX];
        read_all(harness, head, sizeof head);
        uint32_t size = little_endian(head + 1);
        if (head[0] == 'O' || head[0] == 'E') {
            copy(harness, head[0] == 'O' ? STDOUT_FILENO : STDERR_FILENO, size);
            continue;
        }
        if (head[0] != 'M' && head[0] != 'X')
            give_up("the harness sent a frame of unknown kind %u", head[0]);
        read_text(harness, text, size);
        if (head[0] == 'X')
            return exit_code(text);
        fprintf(stderr, "%s: %s\n", client, text);
    }
}

static int ask(char **argv, const char *usage)
{
    if (argv[0] != NULL && strcmp(argv[0], "--") == 0)
        argv++;
    else if (argv[0] != NULL && argv[0][0] == '-')
        argv[0] = NULL;
    if (argv[0] == NULL) {
        fprintf(stderr, "usage: %s %s\n", client, usage);
        return EXIT_CHECK;
    }
    int harness = connect_harness();
    send_request(harness, argv);
    return pass_on(harness);
}

int check(char **argv)
{
    client = "rolewall-check";
    other_side = "check box";
    return ask(argv, "-- COMMAND [ARGUMENT...]");
}

int tool(char **argv)
{
    client = "rolewall-tool";
    other_side = "tools";
    return ask(argv, "NAME [JSON]");
}
