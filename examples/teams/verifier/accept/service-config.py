"""Every point of the specification. What must stay is what stood there before."""

import configparser

BEFORE = {
    "web": {"bind": "127.0.0.1:8080", "threads": "4", "log_level": "info"},
    "admin": {"bind": "127.0.0.1:8081", "workers": "1", "timeout": "30", "log_level": "info"},
    "database": {
        "host": "db.internal",
        "statement_timeout": "20",
        "timeout": "30",
        "log_level": "info",
    },
    "proxy": {"max_body_mb": "12", "timeout": "30", "log_level": "info"},
}
config = configparser.ConfigParser()  # strict: no option is written twice
with open("service.ini", encoding="utf-8") as file:
    config.read_file(file)
assert config.defaults() == {"timeout": "30", "log_level": "info"}, "[DEFAULT] changed (4, 5)"
assert config.sections() == list(BEFORE), f"sections are {config.sections()}"
new = {"web": {"workers", "timeout"}, "database": {"pool_size"}, "proxy": {"read_timeout"}}
for name, before in BEFORE.items():
    has = dict(config[name])
    changed = new.get(name, set())
    kept = {option: value for option, value in has.items() if option not in changed}
    assert kept == before, f"[{name}] must stay as it is (5): {kept}"
web, pool = config["web"], config.getint("database", "pool_size")
assert web.getint("workers") == 8, "8 workers (1)"
assert pool == web.getint("workers") * web.getint("threads") + 4 <= 36, f"pool_size is {pool} (2)"
statement = config.getint("database", "statement_timeout")
assert web.getint("timeout") == 60 >= statement + 5, "[web] timeout becomes 60 (3)"
assert config.getint("proxy", "read_timeout") >= 65, "the proxy gives up first (3)"
