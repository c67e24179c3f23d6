"""A certificate authority for one test session, made with the JDK's own tool."""

from __future__ import annotations

import subprocess
from pathlib import Path

PASSWORD = "of a key store in tests"


def authority(folder: Path, java: Path, name: str) -> Path:
    """Make an authority; returns its certificate, as PEM."""
    _keytool(
        folder, java, name, "-genkeypair", "-keyalg", "EC", "-dname", f"CN={name}", "-ext", "bc:c=ca:true"
    )
    return _written(folder / f"{name}.crt", _keytool(folder, java, name, "-exportcert", "-rfc"))


def server_store(folder: Path, java: Path, signed_by: str) -> Path:
    """Make a key store for a server on 127.0.0.1, signed by an authority of the same folder."""
    _keytool(folder, java, "http", "-genkeypair", "-keyalg", "EC", "-dname", "CN=a server of tests")
    request = _keytool(folder, java, "http", "-certreq")
    signed = _keytool(folder, java, signed_by, "-gencert", "-ext", "san=ip:127.0.0.1", "-rfc", given=request)
    _written(folder / "http.crt", signed)
    store = folder / "http.p12"
    for alias in (signed_by, "http"):
        certificate = str(folder / f"{alias}.crt")
        _keytool(folder, java, "http", "-importcert", "-noprompt", "-file", certificate, alias=alias)
    return store


def _keytool(folder: Path, java: Path, store: str, *arguments: str, alias: str = "", given: str = "") -> str:
    place = ["-alias", alias or store, "-keystore", str(folder / f"{store}.p12"), "-storepass", PASSWORD]
    done = subprocess.run(
        [java / "bin" / "keytool", *arguments, *place],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
