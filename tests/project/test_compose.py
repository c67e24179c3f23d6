"""The compose file and the Dockerfile, as far as they can be checked without an engine to run them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from indexer.cli import main
from indexer.settings import Settings
from workers.queues import QUEUES
from workers.supervisor import working

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
PASSWORD = re.compile(r"\$\{\w+:\?[^}]+\}")


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_a_version_a_limit_and_a_health_check(name):
    service = SERVICES[name]
    tag = service["image"].rpartition(":")[2]
    assert re.match(r"\d+\.\d+\.\d+|\d+\.\d+-", tag), service["image"]
    assert service["mem_limit"]
    assert service["cpus"]
    assert service["healthcheck"].get("test") or name == "index"
    assert service["logging"]["options"]["max-size"]


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_open_to_this_machine_only(name):
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


def test_every_password_has_to_be_given():
    """Nothing works with a password that is in a public file."""
    given = [
        str(value)
        for service in SERVICES.values()
        for key, value in service.get("environment", {}).items()
        if "PASSWORD" in key or "AUTH" in key or re.search(r"://[^/]*@", str(value))
    ]
    assert len(given) >= 5
    assert [value for value in given if not PASSWORD.search(value)] == []
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    assert not re.search(r"\$\{\w*PASSWORD\w*(:?-|\})", text)  # neither a default nor an empty one


def test_without_a_profile_everything_starts_that_a_collection_needs_and_no_more():
    assert {name for name, service in SERVICES.items() if "profiles" not in service} == {
        "elasticsearch", "redis", "postgres", "prepare", "encode", "maintain", "train",
    }  # fmt: skip


def test_flower_watches_the_broker_of_the_workers():
    broker = SERVICES["flower"]["environment"]["CELERY_BROKER_URL"]
    assert {service["environment"]["INDEXER_BROKER"] for service in OURS.values()} == {broker}


def test_what_is_kept_is_kept_in_named_volumes():
    used = {v.split(":")[0] for service in SERVICES.values() for v in service.get("volumes", [])}
    assert used == set(COMPOSE["volumes"])


@pytest.mark.parametrize("name", OURS)
def test_our_services_are_commands_that_there_are(name):
    service = OURS[name]
    arguments = [*service.get("entrypoint", ["indexer"])[1:], *service["command"]]
    result = CliRunner().invoke(main, [*arguments, "--help"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", OURS)
def test_our_services_wait_for_the_servers_and_stop_gracefully(name):
    service = OURS[name]
    assert {"elasticsearch", "redis", "postgres"} == set(service["depends_on"])
    assert all(wait["condition"] == "service_healthy" for wait in service["depends_on"].values())
    assert service["stop_grace_period"] == "2m"
    names = {key.removeprefix("INDEXER_").lower() for key in service["environment"]}
    assert names <= set(Settings.model_fields)


def test_each_queue_that_has_tasks_has_a_worker():
    queues = {service["command"][-1] for service in OURS.values() if service["command"][0] == "worker"}
    assert queues == set(QUEUES)


def test_the_elasticsearch_is_the_one_that_the_tests_run():
    from services.distribution import VERSIONS

    assert SERVICES["elasticsearch"]["image"].endswith(f":{VERSIONS['8.19'].number}")


def stages() -> dict[str, list[str]]:
    """The lines of each build target of the Dockerfile, those of the targets it starts from first."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("FROM"):
            _, origin, _, name = line.split()
            found[name] = [*found.get(origin, [line])]
        elif line and not line.startswith("#"):
            found[name].append(line)
    return found


@pytest.mark.parametrize(
    ("target", "lock"), [("light", "requirements-server.lock"), ("gpu", "requirements.lock")]
)
def test_an_image_runs_as_a_user_without_privileges_and_has_its_packages(target, lock):
    lines = stages()[target]
    assert re.fullmatch(r"FROM python:\d+\.\d+\.\d+-\S+ AS base", lines[0])
    assert "USER indexer" in lines
    assert 'ENTRYPOINT ["indexer"]' in lines
    assert f"RUN pip install --no-deps --require-hashes -r {lock}" in lines
    assert "COPY --from=source /app ./" in lines


def test_the_images_get_the_files_that_they_name_and_no_others():
    lines = [line for stage in stages().values() for line in stage]
    copied = {word for line in lines if line.startswith("COPY") for word in shlex.split(line)[1:-1]}
    copied -= {"--from=source", "/app"}
    assert {"indexer", "mappings", "models", "trainer", "workers", "requirements.lock"} <= copied
    assert all((ROOT / name).exists() for name in copied)
    let_in = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{name}" for name in copied} == {line for line in let_in if line.startswith("!")}


def test_services_that_train_have_torch_and_the_others_the_light_image():
    targets = {name: service["build"]["target"] for name, service in OURS.items()}
    assert {name for name, target in targets.items() if target == "gpu"} == {"train"}
    assert set(targets.values()) <= stages().keys()
    images = {(service["build"]["target"], service["image"]) for service in OURS.values()}
    assert len(images) == 2  # no image has two contents


def test_health_is_that_worker_processes_are_there(tmp_path):
    for pid, line in {
        "1": "indexer\0worker\0",
        "17": "python\0-m\0workers.process\0encode\0encode-1\0",
    }.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "cmdline").write_bytes(line.encode())
    (tmp_path / "meminfo").touch()
    (tmp_path / "99").mkdir()  # ended while we looked
    assert working(tmp_path) == 1
