/* rolewall-init: one binary, one file per subcommand. */
#include "attach.h"
#include "check.h"
#include "probe.h"
#include "pty.h"
#include "serve.h"
#include "sys.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(char **argv);
} commands[] = {{"serve", serve}, {"attach", attach}, {"probe", probe}, {"check", check},
                {"tool", tool},   {"pty", pty}};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(base_name(argv[0]), "rolewall-check") == 0)
        return check(argv + 1);
    if (argc > 0 && strcmp(base_name(argv[0]), "rolewall-tool") == 0)
        return tool(argv + 1);
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argv + 2);
    fputs("usage: rolewall-init serve|attach|probe|check|tool|pty ...\n", stderr);
    return EXIT_USAGE;
}
