#ifndef ROLEWALL_ATTACH_H
#define ROLEWALL_ATTACH_H

int attach(char **argv);

#endif
