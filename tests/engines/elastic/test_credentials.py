"""Credentials in a file are read again when the server refuses them."""

from base64 import b64encode

import pytest

from indexer.engines.elastic.cluster import connect
from indexer.errors import EngineForbidden

REFUSED = (
    401,
    {"error": {"type": "security_exception", "reason": "unable to authenticate user"}, "status": 401},
)


def basic(user, password):
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture
def asking(stub, address, tmp_path):
    """Sends one request with the credentials of a file; returns what it and its repetition were signed with."""
    file = tmp_path / "credentials"
    file.write_text("indexer:old\n")
    cluster = connect(address, credentials=f"@{file}")

    def ask(*answers):
        stub.headers.clear()
        stub.mishaps.extend(lambda _, answer=answer: answer for answer in answers)
        cluster.once(cluster.client.info)
        return [
            {name.lower(): value for name, value in sent.items()}["authorization"] for sent in stub.headers
        ]

    ask.file = file
    yield ask
    cluster.close()


def test_a_changed_file_is_read_and_the_request_repeated(asking):
    assert asking((200, {})) == [basic("indexer", "old")]
    asking.file.write_text("indexer:new\n")
    assert asking(REFUSED, (200, {})) == [basic("indexer", "old"), basic("indexer", "new")]
    assert asking((200, {})) == [basic("indexer", "new")]
    asking.file.write_text("an-api-key")
    assert asking(REFUSED, (200, {})) == [basic("indexer", "new"), "ApiKey an-api-key"]


def test_the_same_file_is_no_reason_to_ask_again(asking, stub):
    with pytest.raises(EngineForbidden):
        asking(REFUSED)
    assert len(stub.headers) == 1


def test_credentials_that_are_refused_again_are_an_error(asking, stub):
    asking.file.write_text("indexer:wrong")
    with pytest.raises(EngineForbidden, match="does not accept"):
        asking(REFUSED, REFUSED)
    assert len(stub.headers) == 2
