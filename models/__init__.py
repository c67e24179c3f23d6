"""Encoders: a bundle on disk in, vectors of windows and phrases out.

bundle, registry    bundles on disk, by name            load        from a name to an encoder that runs
encoder             batches, order and memory           tokens, pooling, weights   shared by the backends
onnx/, torch/       the backends                        backends    their protocol and their names
calibrate, hardware which backend is fastest here       ranker      learned keyphrase rankers
import_             Hugging Face checkpoints as bundles

In: text windows with spans. Out: `Encoding` (float32, unit length). Imported by trainer, workers and runs.
Importing this package loads nothing; torch is imported by `models.torch` alone.
"""
