#ifndef ROLEWALL_CHECK_H
#define ROLEWALL_CHECK_H

int check(char **argv);
int tool(char **argv);

#endif
