import os
from pathlib import Path
from tempfile import TemporaryDirectory

from other_user import as_another_user

from indexer.errors import InputError
from indexer.readers import read
from indexer.records import Document


def write(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {name}.")


def test_a_folder_is_read_in_order_without_hidden_files(folder):
    write(folder / "notes", "b.txt", "a/2.txt", "a/1.txt", ".hidden.txt", ".git/x.txt", "~$lock.txt")
    documents = list(read(["notes"]))
    assert [document.source for document in documents] == ["notes/a/1.txt", "notes/a/2.txt", "notes/b.txt"]
    assert documents[0].meta == {"file": "1.txt", "folder": "notes/a", "extension": "txt"}


def test_ids_do_not_depend_on_how_a_folder_is_named(folder, monkeypatch):
    write(folder / "notes", "a/1.txt", "2.txt")
    ids = [document.id for document in read(["notes"])]
    assert [document.id for document in read([folder / "notes"])] == ids
    assert [document.id for document in read(["./notes/../notes/"])] == ids
    monkeypatch.chdir("notes")
    assert [document.id for document in read(["."])] == ids
    assert [document.source for document in read(["."])] == ["2.txt", "a/1.txt"]
    (alone,) = read(["2.txt"])
    assert alone.id in ids


def test_unknown_types_are_told_once(folder):
    write(folder / "x", "a.png", "b.png", "c.txt", "noext")
    document, error = read(["x"])
    assert document.text == "This is c.txt."
    assert isinstance(error, InputError)
    assert str(error) == "x/a.png: 3 files of unknown type left out: .png (2), no extension (1)."
    assert error.facts == {"source": "x/a.png", "left_out": 3}


def test_links_to_folders_are_not_followed_and_pipes_not_opened(folder):
    write(folder / "x", "a.txt")
    os.symlink(folder / "x", folder / "x" / "circle")
    os.symlink(folder / "nowhere", folder / "x" / "broken.txt")
    os.mkfifo(folder / "x" / "pipe.txt")
    assert [document.source for document in read(["x"])] == ["x/a.txt"]


def test_a_deep_folder_is_read(folder):
    deep = folder / "/".join("d" * 400)
    os.makedirs(deep)
    (deep / "a.txt").write_text("deep")
    (document,) = read(["d"])
    assert document.text == "deep"


def test_an_odd_file_name_can_be_printed(folder):
    name = b"bad\xff.txt"
    with open(name, "w") as stream:
        stream.write("text")
    (document,) = read([folder])
    document.source.encode()
    assert document.meta["file"] == "bad\ufffd.txt"


def test_a_link_that_leads_nowhere_hides_nothing_else(folder):
    write(folder / "x", "a.txt", "c.txt")
    (folder / "x" / "b.txt").symlink_to("b.txt")
    first, second, third = sorted(read(["x"]), key=lambda item: isinstance(item, InputError))
    assert [first.source, second.source] == ["x/a.txt", "x/c.txt"]
    assert str(third) == "x/b.txt: the link cannot be followed: Too many levels of symbolic links."


def test_a_link_into_a_closed_folder_hides_nothing_else():
    with TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        write(root / "x", "a.txt")
        write(root / "closed", "b.txt")
        (root / "x" / "b.txt").symlink_to(root / "closed" / "b.txt")
        (root / "closed").chmod(0)
        try:
            with as_another_user():
                found = list(read([root / "x"]))
        finally:
            (root / "closed").chmod(0o755)
    problem, document = sorted(found, key=lambda item: isinstance(item, Document))
    assert document.text == "This is a.txt."
    assert str(problem).endswith("x/b.txt: the link cannot be followed: Permission denied.")
