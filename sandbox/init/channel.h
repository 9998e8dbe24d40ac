/* Messages of the control socket: one datagram each, a letter and NUL-terminated fields. */
#ifndef ROLEWALL_CHANNEL_H
#define ROLEWALL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

enum { MESSAGE_MAX = 256 * 1024, DESCRIPTORS_MAX = 8 };

struct message {
    char kind;
    const char *body; /* after the kind */
    size_t size;
    int descriptors[DESCRIPTORS_MAX];
    int descriptor_count;
};

enum received { RECEIVED, MALFORMED, CLOSED };

/* Takes "fd:N" or "path:/P"; the descriptor of the socket, or -1 and errno. */
int channel_open(const char *where);

/* The body is valid until the next call. A malformed message keeps no descriptor open. */
enum received channel_receive(int control, struct message *message);
void channel_discard(struct message *message);

/* Sends `kind` and the text fields up to NULL, with `descriptor` unless it is -1.
 * There is nobody left to serve when this fails, so it does not return then. */
void channel_send(int control, int descriptor, char kind, ...) __attribute__((sentinel));

/* The answer "e": whose request, which error, at what. */
void channel_refuse(int control, const char *id, int error, const char *what);

/* The first message; it carries our credentials, which tell the harness our pid. */
void channel_hello(int control);

struct fields {
    const char *at, *end;
    bool bad; /* sticks: check once, after the last field */
};

struct fields fields_of(const struct message *message);
const char *next_text(struct fields *fields);
unsigned long long next_number(struct fields *fields, unsigned long long max);
bool fields_done(const struct fields *fields);

#endif
