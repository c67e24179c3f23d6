from __future__ import annotations

import pytest

from workers.queues import gpus, processes


def names(started):
    return [process.name for process in started]


def test_one_process_for_each_queue_and_a_second_encoder_for_while_the_first_one_writes():
    started = processes(["prepare", "encode", "maintain"], None, 8, [])
    assert names(started) == ["prepare-1", "encode-1", "encode-2", "maintain-1"]
    assert [process.environment.get("INDEXER_THREADS") for process in started] == [None, "4", "4", None]


def test_one_core_has_one_encoder():
    (started,) = processes(["encode"], None, 1, [])
    assert started.environment == {}


def test_encoders_share_the_cores_and_only_one_maintains():
    started = processes(["encode", "maintain"], 3, 8, [])
    assert names(started) == ["encode-1", "encode-2", "encode-3", "maintain-1"]
    assert [process.environment.get("INDEXER_THREADS") for process in started] == ["2", "2", "2", None]


def test_each_gpu_has_an_encoder_of_its_own():
    started = processes(["prepare", "encode"], None, 8, ["0", "GPU-7f"])
    assert names(started) == ["prepare-1", "encode-1", "encode-2"]
    assert [process.environment for process in started] == [
        {},
        {"CUDA_VISIBLE_DEVICES": "0"},
        {"CUDA_VISIBLE_DEVICES": "GPU-7f"},
    ]


@pytest.mark.parametrize(("visible", "found"), [("", []), ("-1", []), ("1,3", ["1", "3"])])
def test_the_gpus_that_we_may_see(monkeypatch, visible, found):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus() == found


def test_the_gpus_that_the_driver_lists(monkeypatch, tmp_path):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus() == []
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\necho 'GPU 1: NVIDIA H200 (UUID: GPU-2)'\n"
    )
    program.chmod(0o755)
    assert gpus() == ["0", "1"]
    program.write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
    assert gpus() == []
