/* One command: from the request to the exec. */
#ifndef ROLEWALL_RUN_H
#define ROLEWALL_RUN_H

#include "channel.h"
#include "sys.h"

enum { STREAMS = 3 };

struct request {
    char id[24];
    const char *cwd;
    char **argv, **envp;
    const char *limits; /* triples of fields: resource, soft, hard */
    unsigned long long limit_count;
    const int *streams;
};

/* What the child says before exec, through a pipe that exec closes. */
struct report {
    int ready; /* the role's privileges are in place; only the command can fail from here */
    int error;
    char step[20];
};

/* Points into the message. False: malformed. */
bool request_parse(const struct message *message, struct request *request);

/* Returns the child's pid and the reading end of its report pipe, or -1 and errno. */
pid_t request_start(const struct request *request, const struct ids *role, int *reports);

#endif
