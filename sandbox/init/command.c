/* The one running command, and what the harness is told of it. */
#define _GNU_SOURCE
#include "command.h"

#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    pid_t pid;   /* 0: no command */
    int reports; /* -1: its start is settled */
    bool ready;  /* its privileges are the role's, and so is what it reports from here */
    char id[sizeof((struct request *)0)->id];
} running = {.reports = -1};

int command_pending(void)
{
    return running.reports;
}

static void settled(void)
{
    close(running.reports);
    running.reports = -1;
}

static void forget(void)
{
    running.pid = 0;
}

void command_start(int control, const struct message *message, const struct ids *role)
{
    struct request request;
    if (!request_parse(message, &request)) {
        channel_refuse(control, "-", EPROTO, "run");
        return;
    }
    if (running.pid != 0) {
        channel_refuse(control, request.id, EBUSY, "run");
        return;
    }
    int reports;
    pid_t pid = request_start(&request, role, &reports);
    if (pid < 0) {
        channel_refuse(control, request.id, errno, "fork");
        return;
    }
    running.pid = pid;
    running.reports = reports;
    running.ready = false;
    memcpy(running.id, request.id, sizeof running.id);
}

void command_presume_started(int control)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", running.pid);
    settled();
    channel_send(control, -1, 's', running.id, pid, NULL);
}

static void failed_to_start(int control, struct report *report)
{
    const char *step = report->step;
    report->step[sizeof report->step - 1] = '\0';
    if (running.ready) /* the pipe may be in the role's hands: it can blame nothing else */
        step = strcmp(step, "chdir") == 0 ? "chdir" : "exec";
    channel_refuse(control, running.id, report->error, step);
    settled();
    forget(); /* its end is nobody's news */
}

void command_settle(int control)
{
    struct report report;
    while (running.reports >= 0) {
        ssize_t size = read(running.reports, &report, sizeof report);
        if (size < 0)
            return;
        if (size != sizeof report)
            command_presume_started(control);
        else if (report.ready && !running.ready)
            running.ready = true;
        else
            failed_to_start(control, &report);
    }
}

void command_reaped(int control, pid_t pid, int status)
{
    if (pid != running.pid)
        return;
    command_settle(control);
    if (running.reports >= 0)
        command_presume_started(control);
    if (running.pid == 0)
        return;
    bool exited = WIFEXITED(status);
    char number[16];
    snprintf(number, sizeof number, "%d", exited ? WEXITSTATUS(status) : WTERMSIG(status));
    channel_send(control, -1, 'x', running.id, exited ? "exited" : "signaled", number, NULL);
    forget();
}

void command_signal(int control, const struct message *message)
{
    struct fields fields = fields_of(message);
    unsigned long long number = next_number(&fields, NSIG - 1);
    if (!fields_done(&fields) || number == 0 || message->descriptor_count != 0) {
        channel_refuse(control, "-", EPROTO, "signal");
        return;
    }
    /* A command that is just being started may not lead its group yet. */
    if (running.pid != 0 && kill(-running.pid, (int)number) < 0)
        kill(running.pid, (int)number);
}
