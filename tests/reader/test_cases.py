"""Each written case reads as its label says; `case_files.py` describes the files."""

import pytest

from accord import read
from reader.case_files import WRITTEN, Case, differences, items_of, load

CASES = load(WRITTEN)


@pytest.mark.parametrize("case", [each.case for each in CASES], ids=[each.place for each in CASES])
def test_a_written_case_reads_as_its_label(case: Case) -> None:
    reading = read(case.reply, case.tool, case.arguments)
    lines = differences(case, reading)
    if case.misread:
        assert lines, "it is read right: delete `misread`"
        return
    assert not lines, "\n".join(
        [*lines, f"rules {list(reading.rules)}", f"tool {case.tool!r}", f"why {case.why!r}"]
    )
    assert reading.raw is case.reply
    if (items := items_of(reading)) is not None:
        assert reading.response.summary is not None
        assert reading.response.summary.returned == items
