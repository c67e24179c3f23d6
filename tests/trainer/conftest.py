from tests.models.conftest import base, bundle, home  # noqa: F401 (fixtures: the tiny BERT)
