/* Host side: mounts the harness's directories into a box that has started. */
#define _GNU_SOURCE
#include "attach.h"

#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ZONES_MAX = 64, EXIT_NO_IDMAP = 3 };

struct zone {
    int directory, tree;
    const char *target;
    bool readonly;
};

struct plan {
    unsigned long long pid;
    bool mapped;
    struct ids role;
    struct zone zones[ZONES_MAX];
    size_t count;
};

static const char USAGE[] = "usage: rolewall-init attach --pid P (--own UID:GID | --plain)"
                            " FD:TARGET:ro|rw ...\n";

static bool is_target(const char *path)
{
    size_t length = strlen(path);
    if (path[0] != '/' || length < 2)
        return false;
    for (const char *dots = path; (dots = strstr(dots, "/..")) != NULL; dots += 3)
        if (dots[3] == '/' || dots[3] == '\0')
            return false;
    return true;
}

/* Cuts the argument up in place. */
static bool parse_zone(char *text, struct zone *zone)
{
    unsigned long long number;
    char *first = strchr(text, ':'), *last = strrchr(text, ':');
    if (first == NULL || last == first)
        return false;
    *first = *last = '\0';
    zone->target = first + 1;
    zone->readonly = strcmp(last + 1, "ro") == 0;
    if (!parse_number(text, 1 << 20, &number) || !is_target(zone->target))
        return false;
    zone->directory = (int)number;
    return zone->readonly || strcmp(last + 1, "rw") == 0;
}

static bool parse_plan(char **argv, struct plan *plan)
{
    if (argv[0] == NULL || strcmp(argv[0], "--pid") != 0 || argv[1] == NULL ||
        !parse_number(argv[1], INT32_MAX, &plan->pid) || plan->pid == 0 || argv[2] == NULL)
        return false;
    plan->mapped = strcmp(argv[2], "--own") == 0;
    if (plan->mapped && (argv[3] == NULL || !parse_ids(argv[3], &plan->role)))
        return false;
    if (!plan->mapped && strcmp(argv[2], "--plain") != 0)
        return false;
    for (argv += plan->mapped ? 4 : 3; *argv != NULL; argv++)
        if (plan->count == ZONES_MAX || !parse_zone(*argv, &plan->zones[plan->count++]))
            return false;
    return plan->count > 0;
}

static void fail(const char *target, const char *step)
{
    fprintf(stderr, "rolewall-init: attach %s: %s: %s\n", target, step, errno_name(errno));
    exit(EXIT_FAILURE);
}

static void refuse_idmap(int directory)
{
    char type[64];
    mount_type(directory, type, sizeof type);
    fprintf(stderr, "rolewall-init: idmap not supported on %s\n", type);
    exit(EXIT_NO_IDMAP);
}

static int owners(const struct plan *plan, const struct zone *zone)
{
    struct stat status;
    if (fstat(zone->directory, &status) < 0)
        fail(zone->target, "stat");
    if (!S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        fail(zone->target, "source");
    }
    const struct ids disk = {status.st_uid, status.st_gid};
    if (!plan->mapped || memcmp(&disk, &plan->role, sizeof disk) == 0)
        return -1;
    int userns = swap_namespace(&disk, &plan->role);
    if (userns < 0)
        fail(zone->target, "user namespace");
    return userns;
}

static void detach(const struct plan *plan, struct zone *zone)
{
    int userns = owners(plan, zone);
    zone->tree = mount_clone(zone->directory);
    if (zone->tree < 0)
        fail(zone->target, "open_tree");
    if (mount_restrict(zone->tree, zone->readonly, userns) == 0)
        return;
    if (userns >= 0 && errno == EINVAL)
        refuse_idmap(zone->directory);
    fail(zone->target, "mount_setattr");
}

static void enter(unsigned long long pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%llu/ns/mnt", pid);
    int mounts = open(path, O_RDONLY | O_CLOEXEC);
    if (mounts < 0 || setns(mounts, CLONE_NEWNS) < 0)
        fail(path, "setns");
}

int attach(char **argv)
{
    static struct plan plan;
    if (!parse_plan(argv, &plan)) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < plan.count; i++)
        detach(&plan, &plan.zones[i]);
    enter(plan.pid);
    for (size_t i = 0; i < plan.count; i++)
        if (mount_place(plan.zones[i].tree, plan.zones[i].target) < 0)
            fail(plan.zones[i].target, "move_mount");
    return EXIT_SUCCESS;
}
