from indexer.errors import InputError
from indexer.readers import read


def test_a_folder_is_read_in_order_without_hidden_files(tmp_path):
    root = tmp_path / "notes"
    for name in ("b.txt", "a/2.txt", "a/1.txt", ".hidden.txt", ".git/x.txt", "~$lock.txt"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {name}.")
    documents = list(read([root]))
    assert [document.source for document in documents] == [
        (root / name).as_posix() for name in ("a/1.txt", "a/2.txt", "b.txt")
    ]
    assert documents[0].meta == {"file": "1.txt", "folder": "notes/a", "extension": "txt"}


def test_unknown_types_are_told_once(tmp_path):
    for name in ("a.png", "b.png", "c.txt", "noext"):
        (tmp_path / name).write_text("text")
    document, error = read([tmp_path])
    assert document.text == "text"
    assert isinstance(error, InputError)
    assert "3 files of unknown type left out: .png (2), no extension (1)." in str(error)
