"""Backends that run torch, and the network they run. Needs the extra `train`."""
