"""Binary content is saved under a harmless name, and no file is replaced."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.cli.media import Media, media_in, save
from accord.errors import ContractError

DATA = b64encode(b"bytes").decode()
RESULTS: dict[str, tuple[Any, list[str]]] = {
    "an image": ({"content": [{"type": "image", "data": DATA, "mimeType": "a/b"}]}, ["a/b"]),
    "a file": ({"content": [{"type": "resource", "resource": {"blob": DATA}}]}, [""]),
    "a text": ({"content": [{"type": "text", "text": "x"}]}, []),
    "a text resource": ({"content": [{"type": "resource", "resource": {"text": "x"}}]}, []),
    "not Base64": ({"content": [{"type": "image", "data": "%"}]}, []),
    "not a list": ({"content": 5}, []),
    "not objects": ({"content": [5, {"type": "resource", "resource": 5}, {"data": 5}]}, []),
    "not an object": (None, []),
}


@pytest.mark.parametrize("name", RESULTS)
def test_binary_content_is_found(name: str) -> None:
    result, kinds = RESULTS[name]
    found = list(media_in(result, "tool"))
    assert [each.mime_type for each in found] == kinds
    assert all(each.data == b"bytes" for each in found)


@given(name=st.text(), kind=st.text())
def test_a_name_is_one_new_file_in_the_folder(
    tmp_path_factory: pytest.TempPathFactory, name: str, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("saved")
    paths = [save(Media(b"x", kind, name), folder) for _ in range(3)]
    assert len({path.name for path in paths}) == 3
    assert {path.parent for path in paths} == {folder}
    assert all(path.name.isascii() and not path.name.startswith((".", "-")) for path in paths)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("image/PNG; charset=x", "a.png"), ("application/x-sh", "a.bin"), ("", "a.bin")],
)
def test_the_suffix_is_one_of_the_known_ones(tmp_path: Path, kind: str, name: str) -> None:
    assert save(Media(b"x", kind, "a"), tmp_path) == tmp_path / name


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"could not save a.bin in .*; use --save-to DIR"):
        save(Media(b"x", "", "a"), tmp_path / "nowhere")
