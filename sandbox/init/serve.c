/* Pid 1 of a box: does what the control socket says, reaps, and ends with it. */
#define _GNU_SOURCE
#include "serve.h"

#include "channel.h"
#include "command.h"
#include "identity.h"
#include "prepare.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 10000, DRAIN_MS = 10 };

struct server {
    int control, children;
    struct ids role, self;
    bool filtered, draining;
    unsigned long long reaped;
};

static const char USAGE[] =
    "usage: rolewall-init serve --control fd:N|path:/P --role UID:GID [--self UID:GID]\n";

static const char *parse_options(char **argv, struct server *server)
{
    const char *where = NULL;
    bool role = false;
    server->self = (struct ids){geteuid(), getegid()};
    for (; argv[0] != NULL && argv[1] != NULL; argv += 2) {
        if (strcmp(argv[0], "--control") == 0)
            where = argv[1];
        else if (strcmp(argv[0], "--role") == 0 && parse_ids(argv[1], &server->role))
            role = server->role.uid != 0; /* a role is never root */
        else if (strcmp(argv[0], "--self") != 0 || !parse_ids(argv[1], &server->self))
            return NULL;
    }
    return role && argv[0] == NULL ? where : NULL;
}

/* Whoever started us may have ignored SIGCHLD: then no child could be waited for. */
static void take_signals(struct server *server)
{
    sigset_t child;
    if (server->children = -1, reset_signals() < 0)
        return;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    server->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int shut_in(struct server *server, const char **step)
{
    if (become_closed(&server->control, step) < 0 || become_init(&server->self, step) < 0 ||
        may_become_role(&server->role, step) < 0)
        return -1;
    *step = "signals";
    take_signals(server);
    return server->children;
}

static void set_up(struct server *server)
{
    const char *step = "";
    if (shut_in(server, &step) >= 0) {
        channel_hello(server->control);
        return;
    }
    channel_refuse(server->control, "-", errno, step);
    _exit(EXIT_FAILURE);
}

/* A child may make its parent its tracer, unasked (PTRACE_TRACEME): it would wait for us at
 * its next signal, and look as if it had ended. It goes on as if nobody traced it. */
static void release(pid_t pid, int status)
{
    int number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    ptrace(PTRACE_DETACH, pid, 0, number);
}

static void reap(struct server *server)
{
    struct signalfd_siginfo ignored;
    int status;
    pid_t pid;
    while (read(server->children, &ignored, sizeof ignored) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (WIFSTOPPED(status)) {
            release(pid, status);
            continue;
        }
        server->reaped++;
        command_reaped(server->control, pid, status);
    }
    if (pid < 0 && server->draining && kill(-1, SIGKILL) < 0 && errno == ESRCH) {
        char count[24];
        snprintf(count, sizeof count, "%llu", server->reaped);
        server->draining = false;
        channel_send(server->control, -1, 'k', count, NULL);
    }
}

/* Nobody is asked who is there: /proc may lie, kill and wait do not. Whoever forks
 * meanwhile has the signal pending and cannot, so one pass reaches all; what was moved
 * into the box from outside is met by the next pass. */
static void drain(struct server *server)
{
    server->draining = true;
    server->reaped = 0;
    kill(-1, SIGKILL);
    reap(server);
}

static void hand_out(struct server *server, char kind, int descriptor, const char *step)
{
    if (descriptor < 0) {
        channel_refuse(server->control, "-", errno, step);
        return;
    }
    channel_send(server->control, descriptor, kind, NULL);
    close(descriptor);
}

static void prepare(struct server *server, const struct message *message)
{
    const char *step = "filter";
    int descriptor = -1;
    errno = EPERM; /* once the tap is on, nothing is prepared any more */
    if (!server->filtered)
        descriptor = message->kind == 'L' ? open_listener(message, &step)
                                          : install_filter(message, &step);
    server->filtered |= message->kind == 'F' && descriptor >= 0;
    hand_out(server, message->kind == 'L' ? 'l' : 'f', descriptor, step);
}

static void obey(struct server *server, const struct message *message)
{
    bool bare = message->size == 0 && message->descriptor_count == 0;
    if (message->kind == 'L' || message->kind == 'F')
        prepare(server, message);
    else if (message->kind == 'R')
        command_start(server->control, message, &server->role);
    else if (message->kind == 'S')
        command_signal(server->control, message);
    else if (message->kind == 'K' && bare)
        drain(server);
    else if (message->kind == 'Q' && bare)
        _exit(EXIT_SUCCESS);
    else
        channel_refuse(server->control, "-", EPROTO, "message");
}

static void receive(struct server *server)
{
    struct message message = {0};
    enum received received = channel_receive(server->control, &message);
    if (received == CLOSED)
        _exit(EXIT_SUCCESS); /* the harness is gone; the kernel ends the box with us */
    if (received == MALFORMED)
        channel_refuse(server->control, "-", EPROTO, "message");
    else
        obey(server, &message);
    channel_discard(&message);
}

static void turn(struct server *server)
{
    struct pollfd sources[] = {
        {server->control, server->draining ? 0 : POLLIN, 0},
        {server->children, POLLIN, 0},
        {command_pending(), POLLIN, 0},
    };
    int wait = server->draining ? DRAIN_MS : command_pending() >= 0 ? START_MS : -1;
    int ready = poll(sources, sizeof sources / sizeof *sources, wait);
    if (sources[0].revents & POLLHUP)
        _exit(EXIT_SUCCESS);
    if (sources[2].revents)
        command_settle(server->control);
    else if (ready == 0 && command_pending() >= 0 && !server->draining)
        command_presume_started(server->control);
    if (sources[1].revents || server->draining)
        reap(server);
    if (sources[0].revents & POLLIN)
        receive(server);
}

int serve(char **argv)
{
    struct server server = {0};
    const char *where = parse_options(argv, &server);
    if (where == NULL) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }
    if (getpid() != 1) { /* "kill everything" would mean the whole machine */
        fputs("rolewall-init: serve must be pid 1 of a pid namespace\n", stderr);
        return EXIT_USAGE;
    }
    become_undumpable();
    server.control = channel_open(where);
    if (server.control < 0) {
        fprintf(stderr, "rolewall-init: control socket %s: %s\n", where, errno_name(errno));
        return EXIT_FAILURE;
    }
    set_up(&server);
    for (;;)
        turn(&server);
}
