"""Colours that people with colour vision deficiencies can tell apart, and that are read on light and dark pages."""

import itertools

import numpy as np
import pytest

from accounting_analytics.charts import labels as colours

# what people with a deficiency see of linear red, green and blue (Machado, Oliveira and Fernandes, 2009)
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
FLOWS = (colours.INFLOW_COLOUR, colours.OUTFLOW_COLOUR, colours.BALANCE_COLOUR)


def linear(colour):
    """Return linear red, green and blue."""
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light):
    """Return lightness and two axes of colour, in which distances are those that people see."""
    relative = XYZ @ np.clip(light, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    """Return the contrast of two colours, as accessibility guidelines define it."""
    darker, lighter = sorted(linear(colour) @ XYZ[1] + 0.05 for colour in (one, other))
    return lighter / darker


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_can_be_told_apart(vision):
    """Inflow, outflow and balance differ for everybody, on light and dark pages; so do the colours of accounts."""
    for group in (FLOWS, tuple(map(colours.ON_DARK.get, FLOWS)), colours.ACCOUNT_COLOURS):
        for pair in itertools.combinations(group, 2):
            first, second = (lab(np.array(VISIONS[vision]) @ linear(one)) for one in pair)
            assert np.linalg.norm(first - second) > 10, (vision, pair)


def test_texts_and_marks_have_contrast():
    """Text has a contrast of 4.5, marks one of 3, on light pages, on dark ones and in JupyterLab's dark theme."""
    grounds = {"light": [colours.GROUND], "dark": [colours.ON_DARK[colours.GROUND], "#111111"]}
    for theme, grounds_of_theme in grounds.items():
        for ground in grounds_of_theme:
            for colour in (colours.INK, colours.MUTED):
                assert contrast(colour if theme == "light" else colours.ON_DARK[colour], ground) >= 4.5
            for colour in FLOWS:
                assert contrast(colour if theme == "light" else colours.ON_DARK[colour], ground) >= 3
            for colour in (*colours.ACCOUNT_COLOURS, colours.OTHERS_COLOUR):
                assert contrast(colour, ground) >= 3, (colour, ground)


def test_no_meaning_is_shown_by_colour_alone():
    """Each colour of categories and accounts has its own pattern and its own dash."""
    count = len(colours.ACCOUNT_COLOURS)
    assert len(set(colours.PATTERNS[:count])) == len(set(colours.DASHES[:count])) == count
