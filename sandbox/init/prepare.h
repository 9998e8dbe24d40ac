/* What the harness gets before the first command: listeners and the tap. */
#ifndef ROLEWALL_PREPARE_H
#define ROLEWALL_PREPARE_H

#include "channel.h"

/* Each returns a descriptor for the harness, or -1 with errno and the step. */
int open_listener(const struct message *message, const char **step);
int install_filter(const struct message *message, const char **step);

#endif
