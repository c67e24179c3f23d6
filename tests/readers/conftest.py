import pytest

from indexer.errors import InputError
from indexer.readers import ReadOptions, read
from indexer.readers.parser_process import ParserProcess
from indexer.records import Document


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that is the current one, so that names in messages are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def parsed_here(request, monkeypatch):
    """Parsers are called in this process, which need not be started for each test."""
    if not request.module.__name__.endswith("test_parser_process"):
        monkeypatch.setattr(ParserProcess, "parse", lambda self, parser, file, options: parser(file, options))


@pytest.fixture
def read_file(folder):
    """Write a file, read it, and give documents and errors apart; errors as their messages."""

    def run(name: str, data: str | bytes, **options) -> tuple[list[Document], list[str]]:
        path = folder / name
        path.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
        items = list(read([name], ReadOptions(**options)))
        documents = [item for item in items if isinstance(item, Document)]
        return documents, [str(item) for item in items if isinstance(item, InputError)]

    return run
