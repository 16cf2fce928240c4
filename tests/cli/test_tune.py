"""`cortex tune` on a tiny model."""

import pytest

SMALL = ("tree_fc", "--hidden", 4, "--batch", 2, "--threads", 1)


def test_tune_prints_its_points_and_what_to_do(cortex, trees):
    result = cortex(
        "tune", *SMALL, "--trees", trees, "--space", "tile=(99,99)", "--space", "share_columns=True"
    )
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line.strip()]
    assert lines[0].split() == ["options", "kernel,", "us", "10-90", "%", "of", "the", "default"]
    assert lines[2].split()[0] == "default" and lines[2].split()[-2:] == ["1.000", "best"]
    assert lines[3] == "not timed: tile=(99, 99): options: tile=(99, 99) does not fit in registers"
    assert lines[-1] == "Nothing is clearly faster than the default."


def test_tune_as_json(cortex_json, trees):
    document = cortex_json("tune", *SMALL, "--trees", trees, "--space", "reduction_unroll=2")
    assert document["trees"] == 2 and document["hidden"] == 4
    points = {tuple(each["options"].items()): each for each in document["points"]}
    assert set(points) == {(), (("reduction_unroll", 2),)}
    assert points[()]["of_default"] == {"median": 1, "low": 1, "high": 1}
    for each in document["points"]:
        assert 0 < each["kernel_us"]["low"] <= each["kernel_us"]["median"] <= each["kernel_us"]["high"]
    assert document["not_timed"] == []
    assert tuple(document["best"].items()) in points and document["gain"] >= 1


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            "reduction_unroll",
            "'reduction_unroll' is not NAME=VALUE,VALUE: reduction_unroll=2,4 or tile=(6,4),(8,2)",
        ),
        ("reduction_unroll=2,x", "'reduction_unroll=2,x' is not NAME=VALUE,VALUE"),
        ("step=2", "Error: tune: there is no option 'step'"),
    ],
)
def test_a_space_that_is_none(cortex, space, message):
    result = cortex("tune", "tree_fc", "--space", space)
    assert result.exit_code == 2
    assert message in result.stderr
