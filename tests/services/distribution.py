"""The Elasticsearch that its makers test with, from Maven: unpacked once for each version, outside of the repository.

It is the official server without most modules. What the product's analyzer names comes with a module that is not
published, so a plugin of a few lines registers Lucene's own under the same names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from services.asking import missing
from services.java import find_jdk

ARTIFACT = "org.elasticsearch.distribution.integ-test-zip:elasticsearch:{version}:zip"
PLUGIN = Path(__file__).parent / "words"


@dataclass(frozen=True)
class Version:
    """A server to test with, and the Java versions that it runs on."""

    number: str
    oldest_java: int
    newest_java: int

    @property
    def major(self) -> str:
        return self.number.split(".")[0]


VERSIONS = {"8.19": Version("8.19.9", 17, 24), "9.2": Version("9.2.4", 21, 25)}


@dataclass(frozen=True)
class Distribution:
    """An unpacked server and the Java to run it with."""

    home: Path
    java: Path


def unpacked(version: Version) -> Distribution:
    """The server, fetched when it is not in the cache; skips the test when that is impossible here."""
    java = find_jdk(version.oldest_java, version.newest_java)
    if java is None:
        missing(
            f"Elasticsearch {version.number} needs a JDK from {version.oldest_java} to {version.newest_java}, for "
            f"example: apt-get install openjdk-{version.oldest_java}-jdk-headless. Or name a running server: "
            f"INDEXER_TEST_ELASTICSEARCH_{version.major}=http://…"
        )
    home = _cache() / f"elasticsearch-{version.number}-{_plugin_digest()}"
    if not home.is_dir():
        maven = shutil.which("mvn")
        if maven is None:
            missing(
                "Elasticsearch is fetched with Maven: apt-get install maven. Or name a running server: "
                f"INDEXER_TEST_ELASTICSEARCH_{version.major}=http://…"
            )
        _fetch(maven, version, java, home)
    return Distribution(home, java)


def _plugin_digest() -> str:
    """A few letters that change with the plugin: a server that was unpacked with an older one is no use."""
    files = sorted(path for path in PLUGIN.iterdir() if path.is_file())
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:8]


def _cache() -> Path:
    """Root cannot run Elasticsearch, and nobody else may look into root's home."""
    if os.geteuid() == 0:
        return Path("/var/cache/indexer-tests")
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "indexer-tests"


def _fetch(maven: str, version: Version, java: Path, home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=home.parent, prefix="fetching-") as folder:
        artifact = ARTIFACT.format(version=version.number)
        command = [
            maven,
            "-q",
            "-B",
            "dependency:copy",
            f"-Dartifact={artifact}",
            f"-DoutputDirectory={folder}",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        archives = list(Path(folder).glob("*.zip"))
        if done.returncode or not archives:
            missing(f"Maven could not fetch {artifact}: {(done.stdout + done.stderr).strip()[-300:]}")
        with ZipFile(archives[0]) as archive:
            archive.extractall(folder)
        (new,) = (path for path in Path(folder).iterdir() if path.is_dir())
        for program in (new / "bin").iterdir():
            program.chmod(0o755)  # ZipFile forgets it
        _add_plugin(new, java, version)
        if not home.is_dir():  # another process may have been faster
            new.rename(home)


def _add_plugin(home: Path, java: Path, version: Version) -> None:
    folder = home / "plugins" / PLUGIN.name
    folder.mkdir(parents=True)
    with TemporaryDirectory() as classes:
        libraries = os.pathsep.join(str(jar) for jar in (home / "lib").glob("*.jar"))
        compiler = [java / "bin" / "javac", "-nowarn", "-proc:none", "-cp", libraries, "-d", classes]
        subprocess.run([*compiler, PLUGIN / "WordFilters.java"], check=True, capture_output=True)
        with ZipFile(folder / "words.jar", "w") as jar:
            for file in Path(classes).glob("*.class"):
                jar.write(file, file.name)
    descriptor = (PLUGIN / "plugin-descriptor.properties").read_text(encoding="utf-8")
    (folder / "plugin-descriptor.properties").write_text(
        descriptor.format(version=version.number), encoding="utf-8"
    )
