/* As the role, inside the box: what holds here, told as one JSON object. */
#define _GNU_SOURCE
#include "probe.h"

#include "json.h"
#include "probe_zone.h"
#include "sys.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { GROUPS_MAX = 256 };

static void tell_four(const char *key, long long real, long long effective, long long saved,
                      long long filesystem)
{
    json_open(key, '[');
    json_number(NULL, real);
    json_number(NULL, effective);
    json_number(NULL, saved);
    json_number(NULL, filesystem);
    json_close(']');
}

static void tell_ids(void)
{
    uid_t uid[3];
    gid_t gid[3], groups[GROUPS_MAX];
    getresuid(&uid[0], &uid[1], &uid[2]);
    getresgid(&gid[0], &gid[1], &gid[2]);
    tell_four("uid", uid[0], uid[1], uid[2], (uid_t)setfsuid((uid_t)-1));
    tell_four("gid", gid[0], gid[1], gid[2], (gid_t)setfsgid((gid_t)-1));
    int count = getgroups(GROUPS_MAX, groups);
    json_open("groups", '[');
    for (int i = 0; i < count; i++)
        json_number(NULL, groups[i]);
    if (count < 0) /* more than fit is no empty list */
        json_number(NULL, -1);
    json_close(']');
}

static void tell_set(const char *key, uint64_t set)
{
    char text[24];
    snprintf(text, sizeof text, "%llx", (unsigned long long)set);
    json_text(key, text);
}

static uint64_t asked_one_by_one(int option, unsigned long ambient)
{
    uint64_t set = 0;
    for (unsigned long i = 0; i < 64; i++)
        if (prctl(option, ambient ? ambient : i, ambient ? i : 0, 0, 0) == 1)
            set |= UINT64_C(1) << i;
    return set;
}

static void tell_capabilities(void)
{
    uint64_t effective = ~UINT64_C(0), permitted = effective, inheritable = effective;
    read_capabilities(&effective, &permitted, &inheritable);
    json_open("caps", '{');
    tell_set("eff", effective);
    tell_set("prm", permitted);
    tell_set("inh", inheritable);
    tell_set("bnd", asked_one_by_one(PR_CAPBSET_READ, 0));
    tell_set("amb", asked_one_by_one(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET));
    json_close('}');
}

static long long status_number(const char *key)
{
    char line[256];
    long long number = -1;
    FILE *status = fopen("/proc/self/status", "re");
    if (status == NULL)
        return -1;
    while (number < 0 && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            number = atoll(line + strlen(key));
    fclose(status);
    return number;
}

static void tell_numbered_entries(const char *key, const char *path)
{
    DIR *directory = opendir(path);
    json_open(key, '[');
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        long long number = atoll(entry->d_name);
        bool own = strcmp(key, "fds") == 0 && number == dirfd(directory);
        if (isdigit((unsigned char)entry->d_name[0]) && !own)
            json_number(NULL, number);
    }
    if (directory != NULL)
        closedir(directory);
    json_close(']');
}

static void tell_interfaces(void)
{
    char line[512];
    FILE *table = fopen("/proc/self/net/dev", "re");
    json_open("interfaces", '[');
    while (table != NULL && fgets(line, sizeof line, table) != NULL) {
        char *colon = strchr(line, ':');
        if (colon == NULL || strchr(line, '|') != NULL) /* two lines of headings */
            continue;
        *colon = '\0';
        json_text(NULL, line + strspn(line, " "));
    }
    if (table != NULL)
        fclose(table);
    json_close(']');
}

static void tell_environment(void)
{
    json_open("env", '[');
    for (char **entry = environ; *entry != NULL; entry++) {
        *strchrnul(*entry, '=') = '\0';
        json_text(NULL, *entry);
    }
    json_close(']');
}

/* In a child, since it might succeed. */
static int try_user_namespace(void)
{
    fflush(stdout);
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER) < 0 ? errno : 0);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int try_memory_of_init(void)
{
    int memory = open("/proc/1/mem", O_RDWR | O_CLOEXEC);
    if (memory < 0)
        return errno;
    close(memory);
    return 0;
}

static void tell_outcome(const char *key, int error)
{
    json_text(key, error == 0 ? "ok" : errno_name(error));
}

static void tell_zones(char **argv)
{
    json_open("zones", '{');
    for (; argv[0] != NULL; argv += 2)
        probe_zone(argv[1]);
    json_close('}');
}

static bool acceptable(char **argv)
{
    for (; argv[0] != NULL; argv += 2)
        if (strcmp(argv[0], "--zone") != 0 || argv[1] == NULL || !is_zone(argv[1]))
            return false;
    return true;
}

int probe(char **argv)
{
    if (!acceptable(argv)) {
        fputs("usage: rolewall-init probe [--zone NAME:ro|rw|absent] ...\n", stderr);
        return EXIT_USAGE;
    }
    json_open(NULL, '{');
    tell_ids();
    tell_capabilities();
    json_number("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    json_number("seccomp", status_number("Seccomp:"));
    json_number("seccomp_filters", status_number("Seccomp_filters:"));
    tell_numbered_entries("fds", "/proc/self/fd");
    tell_numbered_entries("pids", "/proc");
    tell_interfaces();
    tell_environment();
    tell_zones(argv);
    tell_outcome("root", try_create("/"));
    tell_outcome("userns", try_user_namespace());
    tell_outcome("ptrace_init", try_memory_of_init());
    tell_outcome("kill_init", kill(1, 0) < 0 ? errno : 0);
    json_close('}');
    putchar('\n');
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
