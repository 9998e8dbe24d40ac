/* Inside a box: a command on a terminal of the box's own, for a person outside.
 *
 * What is typed comes in frames on standard input, what the terminal shows goes to standard
 * output as it is. No terminal of the harness's is ever in a role's hands. */
#define _GNU_SOURCE
#include "pty.h"

#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { HEAD = 3, FRAME_MAX = 4096, EXIT_NONE = 127, SIDE_MAX = 0xffff, AGAIN_MS = 200 };

static struct {
    int master, ended;
    pid_t child;
    unsigned char in[HEAD + FRAME_MAX]; /* frames as they come */
    size_t in_size, at;                 /* `at`: what of the first frame is typed already */
    char out[65536];
    size_t out_size, out_at;
    bool hung; /* the command has let go of its terminal, and may take it up again */
    bool gone; /* nobody types any more */
} it;

static int give_up(const char *what, int error)
{
    dprintf(STDERR_FILENO, "x%s (%s)\n", what, errno_name(error));
    return EXIT_NONE;
}

static void be_shell(const char *terminal, char **argv)
{
    setsid();
    int slave = open(terminal, O_RDWR);
    if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
        _exit(126);
    for (int i = 0; i < 3; i++)
        dup2(slave, i);
    close_from(3);
    reset_signals();
    execve(argv[0], argv, environ);
    _exit(126);
}

static int open_terminal(char **argv, const struct winsize *size)
{
    char name[64];
    it.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (it.master < 0 || grantpt(it.master) < 0 || unlockpt(it.master) < 0 ||
        ptsname_r(it.master, name, sizeof name) != 0 || ioctl(it.master, TIOCSWINSZ, size) < 0)
        return -1;
    it.child = fork();
    if (it.child == 0)
        be_shell(name, argv);
    return it.child < 0 ? -1 : 0;
}

/* Whether a line is read that is not shown, such as a password. A program that draws what is
 * typed by itself turns line mode off as well. */
static bool secret(void)
{
    struct termios now;
    return tcgetattr(it.master, &now) == 0 && (now.c_lflag & (ICANON | ECHO)) == ICANON;
}

static size_t number(const unsigned char *bytes)
{
    return bytes[0] | (size_t)bytes[1] << 8;
}

static size_t frame_size(void)
{
    return it.in_size < HEAD ? 0 : HEAD + number(it.in + 1);
}

static void resize(void)
{
    struct winsize size = {.ws_row = (unsigned short)number(it.in + HEAD),
                           .ws_col = (unsigned short)number(it.in + HEAD + 2)};
    ioctl(it.master, TIOCSWINSZ, &size);
}

/* Says of each frame of what is typed whether it can be seen. */
static void begin_frame(void)
{
    it.at = HEAD;
    if (it.in[0] != 'W' && write(STDERR_FILENO, secret() ? "h" : "e", 1) < 0)
        it.gone = true;
}

/* Types what it can of the first frame; false: not all of it. */
static bool type(size_t end)
{
    while (it.at < end) {
        ssize_t typed = write(it.master, it.in + it.at, end - it.at);
        if (typed < 0)
            return errno != EAGAIN; /* a terminal that is gone takes nothing */
        it.at += (size_t)typed;
    }
    return true;
}

static void take_frames(void)
{
    size_t end;
    while ((end = frame_size()) != 0) {
        if (end > sizeof it.in || (it.in[0] == 'W' ? end != HEAD + 4 : it.in[0] != 'I')) {
            it.gone = true;
            return;
        }
        if (it.in_size < end)
            return;
        if (it.at == 0)
            begin_frame();
        if (it.in[0] == 'W')
            resize();
        else if (!type(end))
            return;
        memmove(it.in, it.in + end, it.in_size - end);
        it.in_size -= end;
        it.at = 0;
    }
}

static void hear(void)
{
    ssize_t got = read(STDIN_FILENO, it.in + it.in_size, sizeof it.in - it.in_size);
    if (got > 0)
        it.in_size += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        it.gone = true;
}

/* Returns whether there was anything. */
static bool look(void)
{
    ssize_t got = read(it.master, it.out, sizeof it.out);
    it.out_at = 0;
    it.out_size = got > 0 ? (size_t)got : 0;
    it.hung = got < 0 && errno == EIO;
    return got > 0;
}

static void show(void)
{
    ssize_t shown = write(STDOUT_FILENO, it.out + it.out_at, it.out_size - it.out_at);
    if (shown > 0)
        it.out_at += (size_t)shown;
    else if (errno != EAGAIN && errno != EINTR)
        it.gone = true;
    if (it.out_at == it.out_size)
        it.out_at = it.out_size = 0;
}

static void serve_once(bool *over)
{
    bool full = it.out_size > 0, room = it.in_size < sizeof it.in;
    short typing = frame_size() != 0 && it.in_size >= frame_size() ? POLLOUT : 0;
    struct pollfd polled[] = {
        {.fd = room ? STDIN_FILENO : -1, .events = POLLIN},
        {.fd = it.hung ? -1 : it.master, .events = (short)((full ? 0 : POLLIN) | typing)},
        {.fd = full ? STDOUT_FILENO : -1, .events = POLLOUT},
        {.fd = it.ended, .events = POLLIN},
    };
    int ready = poll(polled, 4, it.hung ? AGAIN_MS : -1);
    it.hung = it.hung && ready > 0;
    if (ready <= 0)
        return;
    if (polled[0].revents)
        hear();
    take_frames();
    if (full && polled[2].revents)
        show();
    if (!full && polled[1].revents & (POLLIN | POLLHUP))
        look();
    *over = polled[3].revents != 0;
}

/* Shows what the command wrote at last, and what nobody waits for is left. */
static void drain(void)
{
    fcntl(STDOUT_FILENO, F_SETFL, 0);
    do
        while (it.out_size > 0 && !it.gone)
            show();
    while (!it.gone && look());
}

static int end(void)
{
    int status = 0;
    if (it.gone && waitpid(it.child, &status, WNOHANG) <= 0)
        return 128 + SIGHUP; /* with the master's end the command is hung up on */
    if (!it.gone)
        while (waitpid(it.child, &status, 0) < 0 && errno == EINTR)
            ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int pty(char **argv)
{
    unsigned long long rows, columns;
    sigset_t child;
    if (argv[0] == NULL || argv[1] == NULL || argv[2] == NULL || argv[2][0] != '/' ||
        !parse_number(argv[0], SIDE_MAX, &rows) || !parse_number(argv[1], SIDE_MAX, &columns)) {
        fputs("usage: rolewall-init pty ROWS COLUMNS /COMMAND [ARGUMENT...]\n", stderr);
        return EXIT_USAGE;
    }
    if (access(argv[2], X_OK) < 0)
        return give_up(argv[2], errno);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    signal(SIGPIPE, SIG_IGN);
    it.ended = signalfd(-1, &child, SFD_CLOEXEC);
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    if (it.ended < 0 || open_terminal(argv + 2, &size) < 0)
        return give_up("no terminal can be opened in the box", errno);
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
    bool over = false;
    while (!over && !it.gone)
        serve_once(&over);
    if (over)
        drain();
    return end();
}
