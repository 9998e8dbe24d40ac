/* What the role finds at one zone. */
#ifndef ROLEWALL_PROBE_ZONE_H
#define ROLEWALL_PROBE_ZONE_H

#include <stdbool.h>

/* NAME:ro, NAME:rw or NAME:absent. */
bool is_zone(const char *text);

/* Tells one zone as a member of the open JSON object; cuts the text up. */
void probe_zone(char *text);

/* Creates a file in the directory and removes it; 0 or errno. */
int try_create(const char *directory);

#endif
