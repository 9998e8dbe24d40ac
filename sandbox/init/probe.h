#ifndef ROLEWALL_PROBE_H
#define ROLEWALL_PROBE_H

int probe(char **argv);

#endif
