"""The comparison with golden files itself."""

import pytest

from tests.support.golden import check_golden


def test_text_that_differs_is_refused_and_the_file_stays(tmp_path):
    file = tmp_path / "program.txt"
    file.write_text("old\n")
    with pytest.raises(AssertionError, match="--renew-golden"):
        check_golden(file, "new\n", renew=False)
    assert file.read_text() == "old\n"


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="no golden file"):
        check_golden(tmp_path / "program.txt", "text\n", renew=False)


def test_renewed_text_is_accepted(tmp_path):
    file = tmp_path / "golden" / "program.txt"
    check_golden(file, "new\n", renew=True)
    check_golden(file, "new\n", renew=False)
    assert file.read_text() == "new\n"
