import configparser


def read():
    parser = configparser.ConfigParser()
    parser.read("service.ini")
    return parser


def test_the_web_service_runs_eight_workers():
    assert read().getint("web", "workers") == 8


def test_the_web_service_may_take_a_minute():
    assert read().getint("web", "timeout") == 60
