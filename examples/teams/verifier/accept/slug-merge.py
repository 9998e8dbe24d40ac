"""Point 3 of the specification: the answers of the code as it was, on telling texts."""

import os
import sys

sys.path.insert(0, "")
import blog
import shop

assert blog.slug("my_post") == "my_post", "blog slugs keep the underscore"
assert shop.slug("my_mug") == "my-mug", "shop slugs do not keep it"
assert shop.slug("!") == "item", "a name without letters is an item"
assert len(shop.slug("x" * 99)) == 24, "shop slugs are cut"
assert not os.path.lexists("legacy_slugs.py"), "the third copy is still there"
