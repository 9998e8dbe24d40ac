/* One command: from the request to the exec. */
#define _GNU_SOURCE
#include "run.h"

#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 65536, LIMITS_MAX = 64, REPORTS = 3 };

static bool take_texts(struct fields *fields, char **texts)
{
    unsigned long long count = next_number(fields, ARGUMENTS_MAX);
    for (unsigned long long i = 0; i < count && !fields->bad; i++)
        texts[i] = (char *)next_text(fields);
    texts[fields->bad ? 0 : count] = NULL;
    return !fields->bad;
}

static void take_limits(struct fields *fields, struct request *request)
{
    request->limit_count = next_number(fields, LIMITS_MAX);
    request->limits = fields->at;
    for (unsigned long long i = 0; i < request->limit_count && !fields->bad; i++) {
        next_number(fields, INT_MAX);
        next_number(fields, ULLONG_MAX);
        next_number(fields, ULLONG_MAX);
    }
}

bool request_parse(const struct message *message, struct request *request)
{
    static char *arguments[ARGUMENTS_MAX + 1], *environment[ARGUMENTS_MAX + 1];
    struct fields fields = fields_of(message);
    unsigned long long id = next_number(&fields, ULLONG_MAX);
    snprintf(request->id, sizeof request->id, "%llu", id);
    request->cwd = next_text(&fields);
    take_limits(&fields, request);
    if (!take_texts(&fields, environment) || !take_texts(&fields, arguments))
        return false;
    request->envp = environment;
    request->argv = arguments;
    request->streams = message->descriptors;
    return fields_done(&fields) && message->descriptor_count == STREAMS && arguments[0] != NULL &&
           request->cwd[0] == '/';
}

static int take_streams(const int *streams, int *reports)
{
    for (int i = 0; i < STREAMS; i++)
        if (dup2(streams[i], i) < 0)
            return -1;
    if (*reports != REPORTS && dup3(*reports, REPORTS, O_CLOEXEC) < 0)
        return -1;
    *reports = REPORTS;
    return close_from(REPORTS + 1);
}

static int set_limits(const struct request *request)
{
    const char *at = request->limits;
    for (unsigned long long i = 0; i < request->limit_count; i++) {
        unsigned long long triple[3];
        for (int j = 0; j < 3; j++) {
            triple[j] = strtoull(at, NULL, 10);
            at += strlen(at) + 1;
        }
        struct rlimit limit = {(rlim_t)triple[1], (rlim_t)triple[2]};
        if (setrlimit((int)triple[0], &limit) < 0)
            return -1;
    }
    return 0;
}

static int enter_role(const struct request *request, const struct ids *role, int *reports,
                      const char **step)
{
    if (*step = "setsid", setsid() < 0)
        return -1;
    if (*step = "streams", take_streams(request->streams, reports) < 0)
        return -1;
    if (*step = "signals", reset_signals() < 0)
        return -1;
    if (*step = "rlimits", set_limits(request) < 0)
        return -1;
    if (become_role(role, step) < 0)
        return -1;
    /* A supervisor that is an ordinary user reads the arguments of the exec. What could
     * be read besides is gone: the control socket was closed above. */
    *step = "dumpable";
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static const char *find_path(char **envp)
{
    for (; *envp != NULL; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    return "/usr/bin:/bin";
}

/* Looks before it tries, so that only the real program appears as an execution. */
static void exec_in(const char *directory, int length, const struct request *request,
                    int *best_error)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%.*s/%s", length, directory, request->argv[0]);
    if (size < 0 || (size_t)size >= sizeof path)
        return;
    if (access(path, X_OK) == 0)
        execve(path, request->argv, request->envp);
    if (errno != ENOENT && errno != ENOTDIR && *best_error == ENOENT)
        *best_error = errno;
}

static int exec_command(const struct request *request)
{
    int error = ENOENT;
    const char *name = request->argv[0];
    if (*name == '\0')
        return ENOENT;
    if (strchr(name, '/') != NULL) {
        execve(name, request->argv, request->envp);
        return errno;
    }
    const char *end;
    for (const char *at = find_path(request->envp);; at = end + 1) {
        end = strchrnul(at, ':');
        if (end != at) /* an empty entry would mean the current directory */
            exec_in(at, (int)(end - at), request, &error);
        if (*end == '\0')
            return error;
    }
}

static void send_report(int reports, struct report report)
{
    /* Nobody to tell when even this fails; the exit code still says it. */
    ssize_t ignored = write(reports, &report, sizeof report);
    (void)ignored;
}

static void fail(int reports, const char *step, int error)
{
    struct report report = {.error = error};
    snprintf(report.step, sizeof report.step, "%s", step);
    send_report(reports, report);
    _exit(error == ENOENT ? 127 : 126);
}

static void child(const struct request *request, const struct ids *role, int reports)
{
    const char *step;
    if (enter_role(request, role, &reports, &step) < 0)
        fail(reports, step, errno);
    send_report(reports, (struct report){.ready = 1});
    if (chdir(request->cwd) < 0)
        fail(reports, "chdir", errno);
    fail(reports, "exec", exec_command(request));
}

pid_t request_start(const struct request *request, const struct ids *role, int *reports)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        child(request, role, ends[1]);
    int error = errno;
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    *reports = ends[0];
    errno = error;
    return pid;
}
