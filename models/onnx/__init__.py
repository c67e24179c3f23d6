"""Backends that run onnxruntime, and the graph they run, written without torch."""
