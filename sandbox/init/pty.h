/* Inside a box: a command on a terminal of the box's own, for a person outside. */
#ifndef ROLEWALL_PTY_H
#define ROLEWALL_PTY_H

int pty(char **argv);

#endif
