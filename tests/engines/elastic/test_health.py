"""Problems of a server that `indexer status` shows: found with one short request each."""

from __future__ import annotations

from indexer.engines.elastic.health import blocks, problems_of_server, urgent_problems
from indexer.engines.elastic.indices import Names

NAMES = Names.of("indexer", "main")


def settings(**blocks):
    index = {"number_of_shards": "1", **({"blocks": blocks} if blocks else {})}
    return lambda _: (200, {"indexer-main-documents-000001": {"settings": {"index": index}}})


def health(status):
    return lambda _: (200, {"status": status})


def disk(status, symptom=""):
    return lambda _: (200, {"indicators": {"disk": {"status": status, "symptom": symptom}}})


def forbidden(_):
    return 403, {"error": {"type": "security_exception", "reason": "unauthorized"}, "status": 403}


def found(cluster):
    return [(problem.found, problem.fatal) for problem in urgent_problems(cluster, NAMES)]


def test_a_healthy_collection_has_none(stub, cluster):
    stub.mishaps.extend([settings(), health("yellow"), disk("green")])
    assert found(cluster) == []
    assert not stub.mishaps  # three requests


def test_a_write_block_a_red_index_and_a_full_disk_are_named(stub, cluster):
    stub.mishaps.extend(
        [settings(read_only_allow_delete="true"), health("red"), disk("red", "1 node is full")]
    )
    assert found(cluster) == [
        ("indexer-main-documents-000001 takes no writes: index.blocks.read_only_allow_delete is set", True),
        ("parts of the collection are not there: its health is red", True),
        ("1 node is full", True),
    ]


def test_a_user_who_may_not_see_the_cluster_still_sees_the_blocks(stub, cluster):
    stub.mishaps.extend([settings(write=True), forbidden, forbidden])
    assert found(cluster) == [
        ("indexer-main-documents-000001 takes no writes: index.blocks.write is set", True)
    ]


def test_a_server_that_does_not_answer_is_a_problem_and_is_not_waited_for(stub, cluster, pauses):
    stub.mishaps.append(lambda _: None)
    with cluster.retrying():
        ((reason, fatal),) = found(cluster)
    assert reason.startswith("There is no answer from the server")
    assert fatal
    assert pauses == []


def test_problems_of_the_server_as_a_whole(stub, cluster):
    block = {"global": {"6": {"description": "cluster read-only (api)"}}}
    stub.mishaps.extend(
        [
            lambda _: (200, {"blocks": block}),
            disk("yellow", "1 node is nearly full"),
            lambda _: (200, {"license": {"type": "trial", "status": "expired"}}),
        ]
    )
    assert [(problem.found, problem.fatal) for problem in problems_of_server(cluster)] == [
        ("the server takes no writes: cluster read-only (api)", True),
        ("1 node is nearly full", False),
        ("the trial licence is expired", True),
    ]


def test_blocks_are_read_from_settings_of_either_type():
    assert blocks({"blocks": {"write": True, "read_only": "false"}}) == ["write"]
    assert blocks({}) == []
