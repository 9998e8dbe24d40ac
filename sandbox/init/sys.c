/* What libc does not offer everywhere: system calls by number, names of errors. */
#define _GNU_SOURCE
#include "sys.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { SIGNALS = 64 };

#define NAME(e) {e, #e}
static const struct {
    int number;
    const char *name;
} names[] = {
    NAME(EPERM),     NAME(ENOENT),       NAME(ESRCH),      NAME(EINTR),     NAME(EIO),
    NAME(ENXIO),     NAME(E2BIG),        NAME(ENOEXEC),    NAME(EBADF),     NAME(ECHILD),
    NAME(EAGAIN),    NAME(ENOMEM),       NAME(EACCES),     NAME(EFAULT),    NAME(EBUSY),
    NAME(EEXIST),    NAME(EXDEV),        NAME(ENODEV),     NAME(ENOTDIR),   NAME(EISDIR),
    NAME(EINVAL),    NAME(ENFILE),       NAME(EMFILE),     NAME(ENOTTY),    NAME(ETXTBSY),
    NAME(EFBIG),     NAME(ENOSPC),       NAME(ESPIPE),     NAME(EROFS),     NAME(EMLINK),
    NAME(EPIPE),     NAME(ERANGE),       NAME(EDEADLK),    NAME(ENAMETOOLONG), NAME(ENOSYS),
    NAME(ENOTEMPTY), NAME(ELOOP),        NAME(EPROTO),     NAME(EBADMSG),   NAME(EOVERFLOW),
    NAME(EUSERS),    NAME(ENOTSOCK),     NAME(EMSGSIZE),   NAME(EPROTONOSUPPORT),
    NAME(EOPNOTSUPP), NAME(EAFNOSUPPORT), NAME(EADDRINUSE), NAME(EADDRNOTAVAIL),
    NAME(ENETDOWN),  NAME(ENETUNREACH),  NAME(ECONNABORTED), NAME(ECONNRESET), NAME(ENOBUFS),
    NAME(ENOTCONN),  NAME(ETIMEDOUT),    NAME(ECONNREFUSED), NAME(EALREADY), NAME(EINPROGRESS),
    NAME(ESTALE),    NAME(EDQUOT),       NAME(ECANCELED),  NAME(ENOKEY),    NAME(ENOTUNIQ),
    NAME(ENODATA),   NAME(ENOLINK),      NAME(EILSEQ),     NAME(ELIBBAD),
};

const char *errno_name(int number)
{
    static char unnamed[16];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            return names[i].name;
    snprintf(unnamed, sizeof unnamed, "E%d", number);
    return unnamed;
}

bool parse_number(const char *text, unsigned long long max, unsigned long long *number)
{
    if (*text == '\0' || strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    *number = strtoull(text, NULL, 10);
    return errno == 0 && *number <= max;
}

bool parse_ids(const char *text, struct ids *ids)
{
    char copy[32];
    unsigned long long uid, gid;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    char *colon = strchr(copy, ':');
    if (colon == NULL)
        return false;
    *colon = '\0';
    if (!parse_number(copy, UINT32_MAX - 1, &uid) || !parse_number(colon + 1, UINT32_MAX - 1, &gid))
        return false;
    *ids = (struct ids){(uid_t)uid, (gid_t)gid};
    return true;
}

/* By number and not by libc, which hides two real-time signals of its own: whoever
 * started us may have ignored those as well. All zero is SIG_DFL in every layout. */
int reset_signals(void)
{
    static const char nothing[64];
    sigset_t none;
    for (int number = 1; number <= SIGNALS; number++)
        if (number != SIGKILL && number != SIGSTOP &&
            syscall(SYS_rt_sigaction, number, nothing, NULL, SIGNALS / 8) < 0)
            return -1;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

int close_between(unsigned int first, unsigned int last)
{
    return first > last ? 0 : (int)syscall(SYS_close_range, first, last, 0);
}

int close_from(unsigned int first)
{
    return close_between(first, ~0U);
}

int read_capabilities(uint64_t *effective, uint64_t *permitted, uint64_t *inheritable)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) < 0)
        return -1;
    *effective = data[0].effective | (uint64_t)data[1].effective << 32;
    *permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    *inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
    return 0;
}

int keep_capabilities(uint64_t kept)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    for (int i = 0; i < 2; i++)
        data[i].effective = data[i].permitted = (uint32_t)(kept >> (32 * i));
    if (syscall(SYS_capset, &header, data) < 0)
        return -1;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}
