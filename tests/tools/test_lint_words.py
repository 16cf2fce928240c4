"""tools/lint_words.py: each rule finds what breaks it, and nothing in the repository does."""

from pathlib import Path

from tools.lint_words import long_files, main, repeated_classes, words_of_persons


def test_the_repository_passes(capsys):
    status = main()
    assert capsys.readouterr().out == ""
    assert status == 0


def test_a_loop_is_no_person():
    sources = {Path("a.py"): "x = 1\n# Whose rows nobody reads.\n", Path("b.h"): "// the others\n"}
    assert list(words_of_persons(sources)) == [
        "a.py:2: 'Whose': name the loop, worker, buffer or caller that is meant",
        "a.py:2: 'nobody': name the loop, worker, buffer or caller that is meant",
    ]


def test_words_that_only_contain_one_are_none():
    assert not list(words_of_persons({Path("a.py"): "the whole history, this is he_initial; whoever\n"}))


def test_a_class_name_stands_in_one_module():
    sources = {
        Path("a.py"): "class Part:\n    class Inner: ...\n",
        Path("b.py"): "@x\nclass Part(A): ...\n",
        Path("c.h"): "class Part {};\n",
    }
    assert list(repeated_classes(sources)) == ["a.py: class Part is defined in a.py, b.py: one name each"]


def test_a_file_has_300_lines_at_most():
    sources = {Path("a.py"): "x\n" * 300, Path("b.py"): "x\n" * 301}
    assert list(long_files(sources)) == ["b.py: 301 lines, over 300: does it do one thing?"]
