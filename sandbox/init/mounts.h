/* Mounts by descriptor: a detached copy of a directory, its owners, its place. */
#ifndef ROLEWALL_MOUNTS_H
#define ROLEWALL_MOUNTS_H

#include "sys.h"

/* A detached mount of the directory alone: what is mounted below it stays behind. */
int mount_clone(int directory);

/* nosuid, nodev, private, read-only if asked; owners shown through `userns` unless it is -1. */
int mount_restrict(int tree, bool readonly, int userns);

/* Puts it over the directory `target`, no component of which may be a link. */
int mount_place(int tree, const char *target);

/* The type of the file system that holds the directory, or "?". */
void mount_type(int directory, char *type, size_t size);

/* A user namespace in which the on-disk owner and the role stand for each other and
 * everybody else for himself; the same descriptor for the same pair. -1 and errno. */
int swap_namespace(const struct ids *disk, const struct ids *role);

#endif
