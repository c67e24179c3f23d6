import os

from indexer.errors import InputError
from indexer.readers import read


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
