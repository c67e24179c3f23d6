"""The list of what a release contains."""

from __future__ import annotations

import hashlib

from tools import sbom


def test_each_package_of_the_lock_has_its_version_and_hashes(tmp_path):
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"click==8.3.1 \\\n    --hash=sha256:{'a1' * 32}\n", encoding="utf-8")
    record = sbom.packages(lock)
    assert [(one["name"], one["version"]) for one in record["components"]] == [("click", "8.3.1")]
    assert "a1" * 32 in str(record["components"])
    assert record["metadata"]["component"]["name"] == "indexer"


def test_each_file_of_an_encoder_has_its_hash(tmp_path):
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "adapter.safetensors").write_bytes(b"weights")
    assert sbom.models(tmp_path) == [
        {
            "type": "machine-learning-model",
            "name": "small/adapter.safetensors",
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(b"weights").hexdigest()}],
        }
    ]
