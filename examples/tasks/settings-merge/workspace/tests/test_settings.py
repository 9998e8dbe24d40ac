from settings import merge


def test_nested_settings_are_merged():
    base = {"db": {"host": "a", "port": 1}, "debug": False}
    assert merge(base, {"db": {"port": 2}}) == {"db": {"host": "a", "port": 2}, "debug": False}


def test_none_removes_a_setting():
    assert merge({"a": 1, "b": 2}, {"a": None}) == {"b": 2}


def test_lists_are_replaced():
    assert merge({"hosts": ["a", "b"]}, {"hosts": ["c"]}) == {"hosts": ["c"]}
