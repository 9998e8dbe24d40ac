/* Who init is, and who its commands are. */
#define _GNU_SOURCE
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))

static const uint64_t NEEDED = BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL);

/* Where the box has it, listeners may have the port of the destination, such as 443. */
static const uint64_t WELCOME = BIT(CAP_NET_BIND_SERVICE);

enum { CONTROL = 3, LAST_CAPABILITY = 63 };

int become_undumpable(void)
{
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int null_standard_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return -1;
    for (int stream = 0; stream < 3; stream++)
        if (null != stream && dup2(null, stream) < 0)
            return -1;
    return 0;
}

static int close_descriptors(int *control)
{
    /* Out of the way first: the control socket may sit at 0 to 2. */
    int moved = fcntl(*control, F_DUPFD_CLOEXEC, CONTROL);
    if (moved < 0 || null_standard_streams() < 0)
        return -1;
    if (moved != CONTROL && dup3(moved, CONTROL, O_CLOEXEC) < 0)
        return -1;
    *control = CONTROL;
    return close_from(CONTROL + 1);
}

static int new_keyring(void)
{
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
        return 0;
    /* Engines whose own filter refuses keyctl have made a new keyring themselves. */
    return errno == ENOSYS || errno == EPERM ? 0 : -1;
}

int become_closed(int *control, const char **step)
{
    umask(022);
    if (*step = "descriptors", close_descriptors(control) < 0)
        return -1;
    if (*step = "keyring", new_keyring() < 0)
        return -1;
    *step = "no_new_privs";
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Needs SETPCAP, which a box seldom has; no_new_privs keeps the rest from mattering. */
static void shrink_bounding_set(void)
{
    for (int capability = 0; capability <= LAST_CAPABILITY; capability++)
        if (!((NEEDED | WELCOME) & BIT(capability)))
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static int change_ids(const struct ids *ids, const char **step)
{
    if (*step = "setgroups", setgroups(0, NULL) < 0)
        return -1;
    if (*step = "setresgid", setresgid(ids->gid, ids->gid, ids->gid) < 0)
        return -1;
    *step = "setresuid";
    return setresuid(ids->uid, ids->uid, ids->uid);
}

static bool already(const struct ids *ids)
{
    return getuid() == ids->uid && geteuid() == ids->uid && getgid() == ids->gid &&
           getegid() == ids->gid;
}

int become_init(const struct ids *self, const char **step)
{
    uint64_t effective, permitted, inheritable;
    shrink_bounding_set();
    if (*step = "keepcaps", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
        return -1;
    if (!already(self) && change_ids(self, step) < 0)
        return -1;
    if (*step = "capabilities", read_capabilities(&effective, &permitted, &inheritable) < 0)
        return -1;
    if (keep_capabilities(permitted & (NEEDED | WELCOME)) < 0)
        return -1;
    *step = "undumpable"; /* again: the kernel resets it when ids change */
    return become_undumpable();
}

int may_become_role(const struct ids *role, const char **step)
{
    uint64_t effective, permitted, inheritable;
    *step = "role";
    if (already(role))
        return 0;
    if (read_capabilities(&effective, &permitted, &inheritable) < 0)
        return -1;
    errno = EPERM;
    return (effective & NEEDED) == NEEDED ? 0 : -1;
}

int become_role(const struct ids *role, const char **step)
{
    if (!already(role) && change_ids(role, step) < 0)
        return -1;
    *step = "capabilities";
    return keep_capabilities(0);
}
