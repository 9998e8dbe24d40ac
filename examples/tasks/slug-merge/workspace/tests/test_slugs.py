import blog
import shop


def test_words_are_joined():
    assert blog.slug("Hello, big World!") == "hello-big-world"
    assert shop.slug("Blue Mug (0.3 l)") == "blue-mug-0-3-l"


def test_product_path():
    assert shop.product_path("Blue Mug", 7) == "/p/7/blue-mug"


def test_the_code_has_one_home():
    import slugs

    assert slugs is not None
