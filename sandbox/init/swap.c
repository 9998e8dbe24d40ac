/* User namespaces that swap the on-disk owner of a directory with the role. */
#define _GNU_SOURCE
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CACHED = 16 };

/* Three identical stretches around the swapped pair; 4294967295 is no id. */
static void format_swap(char *map, size_t size, uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    const uint32_t lines[][3] = {
        {0, 0, low},
        {low, high, low != high},
        {low + 1, low + 1, high > low ? high - low - 1 : 0},
        {high, low, 1},
        {high + 1, high + 1, UINT32_MAX - high - 1},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i][2] != 0)
            used += (size_t)snprintf(map + used, size - used, "%u %u %u\n", lines[i][0],
                                     lines[i][1], lines[i][2]);
}

static int write_map(pid_t pid, const char *name, uint32_t disk, uint32_t role)
{
    char path[64], map[200];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    format_swap(map, sizeof map, disk, role);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t written = write(file, map, strlen(map)); /* the kernel takes one write only */
    int error = errno;
    close(file);
    errno = error;
    return written == (ssize_t)strlen(map) ? 0 : -1;
}

static int open_namespace(pid_t pid, const struct ids *disk, const struct ids *role)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
    if (write_map(pid, "uid_map", disk->uid, role->uid) < 0 ||
        write_map(pid, "gid_map", disk->gid, role->gid) < 0)
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* A namespace is made by being in it: a child is, stopped where it was born. */
static int make_namespace(const struct ids *disk, const struct ids *role)
{
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        return -1;
    if (pid == 0)
        for (;;)
            pause();
    int userns = open_namespace(pid, disk, role);
    int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    errno = error;
    return userns;
}

int swap_namespace(const struct ids *disk, const struct ids *role)
{
    static struct {
        struct ids disk;
        int userns;
    } cache[CACHED];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (memcmp(&cache[i].disk, disk, sizeof *disk) == 0)
            return cache[i].userns;
    int userns = make_namespace(disk, role);
    if (userns >= 0 && count < CACHED) {
        cache[count].disk = *disk;
        cache[count++].userns = userns;
    }
    return userns;
}
