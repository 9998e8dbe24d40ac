/* What libc does not offer everywhere: system calls by number, names of errors. */
#ifndef ROLEWALL_SYS_H
#define ROLEWALL_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { EXIT_USAGE = 2 };

struct ids {
    uid_t uid;
    gid_t gid;
};

/* "ENOENT" for ENOENT; "E<number>" for a number without a name here. */
const char *errno_name(int number);

/* A decimal number of at most `max`, nothing before or after it. */
bool parse_number(const char *text, unsigned long long max, unsigned long long *number);

/* "UID:GID", neither of them -1. */
bool parse_ids(const char *text, struct ids *ids);

/* Every signal has its default effect, and none is blocked. */
int reset_signals(void);

int close_from(unsigned int first);
int close_between(unsigned int first, unsigned int last);

/* Capabilities of this process, as bits; only the first 64 exist. */
int read_capabilities(uint64_t *effective, uint64_t *permitted, uint64_t *inheritable);

/* Sets effective and permitted to `kept`, inheritable and ambient to nothing. */
int keep_capabilities(uint64_t kept);

#endif
