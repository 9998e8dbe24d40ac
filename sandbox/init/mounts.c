/* Mounts by descriptor: a detached copy of a directory, its owners, its place. */
#define _GNU_SOURCE
#include "mounts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on every architecture; older headers lack some of them. */
enum { OPEN_TREE = 428, MOVE_MOUNT = 429, OPENAT2 = 437, MOUNT_SETATTR = 442 };

enum {
    TREE_CLONE = 1,
    MOVE_FROM_EMPTY = 0x4,
    MOVE_TO_EMPTY = 0x40,
    ATTR_RDONLY = 0x1,
    ATTR_NOSUID = 0x2,
    ATTR_NODEV = 0x4,
    ATTR_IDMAP = 0x100000,
    PROPAGATION_PRIVATE = 1 << 18,
    NO_MAGIC_LINKS = 0x2,
    NO_LINKS = 0x4,
};

struct attributes {
    uint64_t set, clear, propagation, userns;
};

struct how {
    uint64_t flags, mode, resolve;
};

int mount_clone(int directory)
{
    return (int)syscall(OPEN_TREE, directory, "", AT_EMPTY_PATH | TREE_CLONE | O_CLOEXEC);
}

int mount_restrict(int tree, bool readonly, int userns)
{
    struct attributes attributes = {.set = ATTR_NOSUID | ATTR_NODEV,
                                    .propagation = PROPAGATION_PRIVATE};
    if (readonly)
        attributes.set |= ATTR_RDONLY;
    if (userns >= 0) {
        attributes.set |= ATTR_IDMAP;
        attributes.userns = (uint64_t)userns;
    }
    return (int)syscall(MOUNT_SETATTR, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
}

int mount_place(int tree, const char *target)
{
    struct how how = {O_PATH | O_DIRECTORY | O_CLOEXEC, 0, NO_LINKS | NO_MAGIC_LINKS};
    int place = (int)syscall(OPENAT2, AT_FDCWD, target, &how, sizeof how);
    if (place < 0)
        return -1;
    return (int)syscall(MOVE_MOUNT, tree, "", place, "", MOVE_FROM_EMPTY | MOVE_TO_EMPTY);
}

static bool line_type(char *line, unsigned long long wanted, char *type, size_t size)
{
    char *end;
    if (strtoull(line, &end, 10) != wanted || *end != ' ')
        return false;
    char *name = strstr(line, " - ");
    if (name == NULL)
        return false;
    name += 3;
    snprintf(type, size, "%.*s", (int)strcspn(name, " \n"), name);
    return true;
}

void mount_type(int directory, char *type, size_t size)
{
    struct statx status;
    char *line = NULL;
    size_t space = 0;
    snprintf(type, size, "?");
    if (statx(directory, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0)
        return;
    FILE *table = fopen("/proc/self/mountinfo", "re");
    if (table == NULL)
        return;
    while (getline(&line, &space, table) > 0 && !line_type(line, status.stx_mnt_id, type, size))
        ;
    free(line);
    fclose(table);
}
