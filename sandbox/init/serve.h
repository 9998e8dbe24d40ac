#ifndef ROLEWALL_SERVE_H
#define ROLEWALL_SERVE_H

int serve(char **argv);

#endif
