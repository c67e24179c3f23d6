"""Backends that run onnxruntime: float32 or int8, and never torch, so that a query starts in a third of a second."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import onnxruntime

from indexer.errors import BackendUnavailable, ModelError
from indexer.log import get_logger
from models.backends import Batch, Output
from models.bundle import Bundle
from models.checksums import changed_files, write_checksums
from models.hardware import multiplies_int8_exactly

GRAPH, DATA = "graph.onnx", "weights.bin"
GRAPH_VERSION = (
    1  # of what `models.onnx.graph` writes; raise it when that changes, and old files are left alone
)


class OnnxBackend:
    """Runs the graph of `models.onnx.graph`, which is written on first use and kept in the home.

    Each pass runs in one thread on texts of one length, and `threads` passes run at once: every core works
    on its own text in its own cache, nothing is padded, and a text's vector does not depend on its company.

    Args:
        name: ``onnx-fp32`` or ``onnx-int8``.
        threads: Passes at once.
    """

    pads = False
    batch_tokens = 256

    def __init__(self, bundle: Bundle, name: str, threads: int, *, home: Path) -> None:
        self.name = name
        self.workers = threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only
        # The graph is already as it should run; the higher levels would bring back the slow fused nodes.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        folder = exported(bundle, home, quantised=name == "onnx-int8")
        self._session: Any = onnxruntime.InferenceSession(
            str(folder / GRAPH), options, providers=["CPUExecutionProvider"]
        )
        self.dims = int(self._session.get_outputs()[0].shape[1])

    def run(self, batch: Batch, *, attention: bool = True) -> Output:
        feeds = {"ids": batch.ids, "words": batch.words[0], "shares": batch.shares[0]}
        return Output(*self._session.run(["document", "tokens", "received"], feeds))


def exported(bundle: Bundle, home: Path, *, quantised: bool) -> Path:
    """Folder of the bundle's graph in the home; written now when it is not there, or is damaged.

    Weights are in a file next to the graph, which onnxruntime maps into memory: of the table of word vectors
    only the rows that are used are ever read.

    Raises:
        ModelError: The disk is full.
        BackendUnavailable: It cannot be written there.
    """
    largest = (127 if multiplies_int8_exactly() else 63) if quantised else 0
    variant = {0: "fp32", 127: "int8", 63: "int7"}[largest] + ("-of-int8" if bundle.is_int8 else "")
    folder = home / "onnx" / f"{bundle.fingerprint[:16]}-{variant}-v{GRAPH_VERSION}"
    if (folder / GRAPH).is_file():
        changed = changed_files(folder)
        if not changed:
            return folder
        get_logger(__name__).warning("damaged_graph_written_again", folder=str(folder), files=changed)
        shutil.rmtree(folder, ignore_errors=True)
    return _written(bundle, folder, largest)


def _written(bundle: Bundle, folder: Path, largest: int) -> Path:
    import onnx  # here: only the first start pays for it

    from models.onnx.graph import build
    from models.weights import DOCUMENTS, load_weights, read_heads

    head = read_heads(bundle).get(DOCUMENTS)
    model = build(bundle, load_weights(bundle), documents=head, quantised=largest)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=".part-", dir=folder.parent, ignore_cleanup_errors=True
        ) as name:
            part = Path(name) / "graph"
            part.mkdir()
            onnx.save_model(
                model, part / GRAPH, save_as_external_data=True, location=DATA, size_threshold=4096
            )
            write_checksums(part, [GRAPH, DATA])
            os.replace(part, folder)
    except OSError as error:
        if not (folder / GRAPH).is_file() or changed_files(folder):  # otherwise another process was faster
            # With a full disk `auto` must not take another backend: vectors and topics would differ a little.
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise (ModelError if full else BackendUnavailable)(
                f"The encoder cannot be kept in {folder.parent}: {error.strerror}.",
                hint="Free some space there, or name another place: --home PATH",
            ) from error
    return folder
