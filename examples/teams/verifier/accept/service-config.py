"""Points 2, 3 and 4 of the specification."""

import configparser

config = configparser.ConfigParser()
config.read("service.ini")
web, pool = config["web"], config.getint("database", "pool_size")
assert pool == web.getint("workers") * web.getint("threads") + 4, f"pool_size is {pool}"
assert config.getint("admin", "timeout") == 30, "[admin] timeout changed with [DEFAULT]"
assert config.getint("proxy", "read_timeout") >= web.getint("timeout") + 5, (
    "the proxy gives up first"
)
