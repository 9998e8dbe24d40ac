/* The one running command, and what the harness is told of it. */
#ifndef ROLEWALL_COMMAND_H
#define ROLEWALL_COMMAND_H

#include "channel.h"
#include "sys.h"

/* Descriptor that becomes readable when the command has started or failed to; -1: none. */
int command_pending(void);

void command_start(int control, const struct message *message, const struct ids *role);

/* Reads what the child reports of its start. */
void command_settle(int control);

/* Stops waiting for the report: whoever still holds the pipe, it is the role's doing. */
void command_presume_started(int control);

/* Tells the end of the command if `pid` is its. */
void command_reaped(int control, pid_t pid, int status);

void command_signal(int control, const struct message *message);

#endif
