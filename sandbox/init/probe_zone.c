/* What the role finds at one zone. */
#define _GNU_SOURCE
#include "probe_zone.h"

#include "json.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

/* A zone's name, or a further place of one: a path without its first slash. */
bool is_zone(const char *text)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (length == 0 || length > PATH_MAX - 2 || text[0] == '/')
        return false;
    return strcmp(colon, ":ro") == 0 || strcmp(colon, ":rw") == 0 || strcmp(colon, ":absent") == 0;
}

int try_create(const char *directory)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.rolewall-probe-%d", directory, getpid());
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    close(file);
    return unlink(path) < 0 ? errno : 0;
}

static void tell_outcome(const char *key, int error)
{
    json_text(key, error == 0 ? "ok" : errno_name(error));
}

static void tell_mount(const char *path)
{
    struct statx status = {0};
    struct statvfs flags = {0};
    bool known = statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &status) == 0;
    json_bool("mountpoint", known && status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
    statvfs(path, &flags);
    json_bool("readonly", flags.f_flag & ST_RDONLY);
    json_bool("nosuid", flags.f_flag & ST_NOSUID);
    json_bool("nodev", flags.f_flag & ST_NODEV);
}

/* Changing a time needs no right to write the directory, only a mount that allows it. */
static int try_touch(const char *path)
{
    struct stat before;
    if (lstat(path, &before) < 0)
        return errno;
    const struct timespec same[2] = {{0, UTIME_OMIT}, before.st_mtim};
    return utimensat(AT_FDCWD, path, same, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
}

void probe_zone(char *text)
{
    char path[PATH_MAX];
    struct stat status;
    char *access = strchr(text, ':');
    *access++ = '\0';
    snprintf(path, sizeof path, "/%s", text);
    bool exists = lstat(path, &status) == 0 || errno != ENOENT;
    json_open(text, '{');
    json_text("want", access);
    json_bool("exists", exists);
    if (exists || strcmp(access, "absent") != 0) {
        tell_mount(path);
        tell_outcome("create", try_create(path));
        if (strcmp(access, "ro") == 0)
            tell_outcome("touch", try_touch(path));
    }
    json_close('}');
}
