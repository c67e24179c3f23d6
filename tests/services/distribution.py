"""The Elasticsearch or OpenSearch that its makers test with, from Maven: unpacked once for each version, outside of the
repository.

It is the official server without most modules. What the product's analyzer names comes with a module that is not
published, so a plugin of a few lines registers Lucene's own under the same names. OpenSearch has vectors by a plugin,
which is published.
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

ARTIFACT = "org.{product}.distribution.integ-test-zip:{product}:{version}:zip"
VECTORS = "org.opensearch.plugin:opensearch-knn:{version}.0:zip"
# Of the plugin for vectors in OpenSearch 3, which has it from the module for gRPC otherwise.
GUAVA = ("com.google.guava:guava:33.2.1-jre:jar", "com.google.guava:failureaccess:1.0.2:jar")
PLUGIN = Path(__file__).parent / "words"
GRPC = Path(__file__).parent / "grpc"


@dataclass(frozen=True)
class Version:
    """A server to test with, and the Java versions that it runs on."""

    number: str
    oldest_java: int
    newest_java: int
    product: str = "elasticsearch"

    @property
    def variable(self) -> str:
        """The environment variable that names a running server."""
        return f"INDEXER_TEST_{self.product.upper()}_{self.number.split('.')[0]}"


VERSIONS = {
    "8.19": Version("8.19.9", 17, 24),
    "9.2": Version("9.2.4", 21, 25),
    "opensearch-2.19": Version("2.19.0", 17, 21, "opensearch"),
    "opensearch-3.3": Version("3.3.2", 21, 25, "opensearch"),
}


@dataclass(frozen=True)
class Distribution:
    """An unpacked server and the Java to run it with."""

    home: Path
    java: Path
    product: str


def unpacked(version: Version) -> Distribution:
    """The server, fetched when it is not in the cache; skips the test when that is impossible here."""
    java = find_jdk(version.oldest_java, version.newest_java)
    if java is None:
        missing(
            f"{version.product} {version.number} needs a JDK from {version.oldest_java} to {version.newest_java}, for "
            f"example: apt-get install openjdk-{version.oldest_java}-jdk-headless. Or name a running server: "
            f"{version.variable}=http://…"
        )
    home = _cache() / f"{version.product}-{version.number}-{_plugin_digest(version)}"
    if not home.is_dir():
        maven = shutil.which("mvn")
        if maven is None:
            missing(
                f"{version.product} is fetched with Maven: apt-get install maven. Or name a running server: "
                f"{version.variable}=http://…"
            )
        _fetch(maven, version, java, home)
    return Distribution(home, java, version.product)


def _plugin_digest(version: Version) -> str:
    """A few letters that change with what is compiled: a server that was unpacked with older sources is no use."""
    folders = (PLUGIN, GRPC) if version.product == "opensearch" else (PLUGIN,)
    files = sorted(path for folder in folders for path in folder.iterdir() if path.is_file())
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:8]


def _cache() -> Path:
    """Root cannot run Elasticsearch, and nobody else may look into root's home."""
    if os.geteuid() == 0:
        return Path("/var/cache/indexer-tests")
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "indexer-tests"


def _fetch(maven: str, version: Version, java: Path, home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=home.parent, prefix="fetching-") as folder:
        new = Path(folder) / "server"
        _unpack(maven, ARTIFACT.format(product=version.product, version=version.number), new)
        for program in (new / "bin").iterdir():
            program.chmod(0o755)  # ZipFile forgets it
        _add_plugin(new, java, version)
        if version.product == "opensearch":
            _add_vectors(maven, new, java, version)
        if not home.is_dir():  # another process may have been faster
            new.rename(home)


def _copy(maven: str, artifact: str, folder: Path) -> None:
    """Fetch a file of Maven into a folder."""
    copy = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    done = subprocess.run(copy, capture_output=True, text=True)
    if done.returncode:
        missing(f"Maven could not fetch {artifact}: {(done.stdout + done.stderr).strip()[-300:]}")


def _unpack(maven: str, artifact: str, target: Path) -> None:
    """Fetch an archive, and unpack it into a new folder; a single folder in it is left out."""
    with TemporaryDirectory(dir=target.parent, prefix="archive-") as folder:
        _copy(maven, artifact, Path(folder))
        (file,) = Path(folder).glob("*.zip")
        content = Path(folder) / "content"
        with ZipFile(file) as archive:
            archive.extractall(content)
        inner = list(content.iterdir())
        (inner[0] if len(inner) == 1 else content).rename(target)


def _compile(java: Path, sources: Path, home: Path, jar: Path) -> None:
    with TemporaryDirectory() as classes:
        libraries = os.pathsep.join(str(library) for library in (home / "lib").glob("*.jar"))
        compiler = [java / "bin" / "javac", "-nowarn", "-proc:none", "-cp", libraries, "-d", classes]
        subprocess.run([*compiler, *sources.glob("*.java")], check=True, capture_output=True)
        with ZipFile(jar, "w") as archive:
            for file in Path(classes).rglob("*.class"):
                archive.write(file, file.relative_to(classes))


def _add_plugin(home: Path, java: Path, version: Version) -> None:
    folder = home / "plugins" / PLUGIN.name
    folder.mkdir(parents=True)
    with TemporaryDirectory() as sources:
        source = Path(sources) / "WordFilters.java"
        source.write_text(_for_product("WordFilters.java", version), encoding="utf-8")
        _compile(java, Path(sources), home, folder / "words.jar")
    descriptor = _for_product("plugin-descriptor.properties", version).format(version=version.number)
    (folder / "plugin-descriptor.properties").write_text(descriptor, encoding="utf-8")


def _for_product(file: str, version: Version) -> str:
    """A file of the plugin. Both servers have the same classes, in packages of their own names."""
    return (PLUGIN / file).read_text(encoding="utf-8").replace("elasticsearch", version.product)


def _add_vectors(maven: str, home: Path, java: Path, version: Version) -> None:
    """Install the plugin for vectors. It extends modules for scripts and gRPC, which are not published and not needed."""
    folder = home / "plugins" / "opensearch-knn"
    _unpack(maven, VECTORS.format(version=version.number), folder)
    descriptor = folder / "plugin-descriptor.properties"
    lines = descriptor.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("extended.plugins=")]
    descriptor.write_text("\n".join(kept) + "\n", encoding="utf-8")
    _compile(java, GRPC, home, folder / "grpc.jar")
    if not any(folder.glob("guava-*.jar")):
        for artifact in GUAVA:
            _copy(maven, artifact, folder)
