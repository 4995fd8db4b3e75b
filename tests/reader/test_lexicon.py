"""The lexicon: each word has one meaning, and each section is in use."""

import re
from pathlib import Path

import pytest

import accord.reader
from accord.reader.lexicon import sections
from accord.reader.lexicon.phrases import patterns

READER = Path(accord.reader.__file__).parent
FILES = sorted((READER / "lexicon").glob("*.txt"))
SECTIONS = [f"{path.stem}.{name}" for path in FILES for name in sections(path.stem)]
PHRASES = (READER / "lexicon" / "phrases.txt").read_text(encoding="utf-8")
SOURCE = "".join(path.read_text(encoding="utf-8") for path in READER.rglob("*.py"))


def is_exclusive(path: Path) -> bool:
    return path.read_text(encoding="utf-8").startswith("# exclusive\n")


@pytest.mark.parametrize("path", [path for path in FILES if is_exclusive(path)], ids=str)
def test_no_word_of_an_exclusive_file_has_two_meanings(path: Path) -> None:
    words = [word for section in sections(path.stem).values() for word in section.split()]
    assert sorted(set(words)) == sorted(words)


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_is_asked_for(section: str) -> None:
    name = section.partition(".")[2]
    attribute = rf"\.{name.replace('-', '_')}\b"
    quoted = rf"[.{{\"]{re.escape(name)}[\"'}}]"
    assert re.search(f"{attribute}|{quoted}", SOURCE + PHRASES)


@pytest.mark.parametrize("section", [each for each in SECTIONS if each.startswith("phrases.")])
def test_each_phrase_is_a_pattern(section: str) -> None:
    for pattern in patterns(section.removeprefix("phrases.")):
        re.compile(pattern)
