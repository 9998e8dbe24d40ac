"""Read the configuration as the service would; exit 0 if it meets the specification."""

import configparser
import sys
from pathlib import Path

KEPT = {
    ("web", "bind"): "127.0.0.1:8080",
    ("web", "threads"): "4",
    ("web", "log_level"): "info",
    ("admin", "bind"): "127.0.0.1:8081",
    ("admin", "workers"): "1",
    ("admin", "log_level"): "info",
    ("database", "host"): "db.internal",
    ("database", "statement_timeout"): "20",
    ("proxy", "max_body_mb"): "12",
}


def problems(config):
    for (section, option), value in KEPT.items():
        if config.get(section, option) != value:
            yield f"[{section}] {option} changed"
    if config.sections() != ["web", "admin", "database", "proxy"]:
        yield "sections changed"
    if config.getint("web", "workers") != 8:
        yield "[web] workers is not 8"
    if config.getint("database", "pool_size") != 36:
        yield "[database] pool_size is not 8 x 4 + 4"
    if config.getint("web", "timeout") != 60:
        yield "[web] timeout is not 60"
    if config.getint("admin", "timeout") != 30:
        yield "[admin] timeout is not 30"
    if config.getint("proxy", "read_timeout") < 65:
        yield "[proxy] read_timeout is too close to [web] timeout"


def main():
    config = configparser.ConfigParser(strict=True)
    try:
        config.read_string(Path("service.ini").read_text(encoding="utf-8"))
        found = list(problems(config))
    except (OSError, UnicodeDecodeError, ValueError, configparser.Error) as error:
        found = [f"service.ini cannot be read: {error}"]
    for line in found:
        print(line)
    return 1 if found else 0


sys.exit(main())
