/* Who init is, and who its commands are. */
#ifndef ROLEWALL_IDENTITY_H
#define ROLEWALL_IDENTITY_H

#include "sys.h"

/* A failure sets errno and says at which step. */

/* Against ptrace, /proc/1/mem and pidfd_getfd by whoever has the same uid. */
int become_undumpable(void);

/* Shuts init off from its past: no inherited descriptor but `*control`, which is moved
 * to 3, an own session keyring, no new privileges. */
int become_closed(int *control, const char **step);

/* Becomes `self` with only what listening, starting and killing the role need. */
int become_init(const struct ids *self, const char **step);

/* Whether become_role can work from here. */
int may_become_role(const struct ids *role, const char **step);

/* Becomes the role, for good: no capability, no group but its own. */
int become_role(const struct ids *role, const char **step);

#endif
