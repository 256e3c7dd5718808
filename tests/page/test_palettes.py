#!/usr/bin/env python3
"""test_palettes.py: the page's colours can be told apart by colour-blind readers, and its texts can be read.

Colours are those of page.css and charts.js themselves. Protanopia, deuteranopia and tritanopia are simulated with the
matrices of Machado, Oliveira and Fernandes (2009, severity 1) on linear RGB; distances are CIEDE2000; contrast is WCAG
2.1's. Categories that may stand beside each other are at least FAR apart for every reader, ordered colours get lighter
all the way, and texts have a contrast of 4.5 to each ground that they stand on, in both themes.
"""

import itertools
import math
import os
import re

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "page")
# A distance of about 2 is the least that is seen; legends and labels say the same besides.
FAR = 10.0
TEXTS = (("--ink", "--ground"), ("--ink", "--panel"), ("--ink", "--share"), ("--ink", "--code"),
         ("--quiet", "--ground"), ("--quiet", "--panel"), ("--quiet", "--code"), ("--focus", "--ground"),
         ("--focus", "--panel"), ("--focus", "--share"), ("--quiet", "--share"), ("--found", "--ground"))
# What is no text but must be seen against the ground (WCAG 1.4.11).
MARKS = (("--focus", "--ground"), ("--bar", "--ground"), ("--bar", "--panel"), ("--found", "--ground"))
READERS = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def read(name):
    with open(os.path.join(PAGE, name), encoding="utf-8") as file:
        return file.read()


def linear(colour):
    """Linear red, green and blue of #rgb or #rrggbb."""
    digits = colour.lstrip("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    values = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def seen_by(reader, light):
    return [min(1.0, max(0.0, sum(a * b for a, b in zip(row, light)))) for row in READERS[reader]]


def lab(light):
    """CIELAB (D65) of linear RGB."""
    matrix = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
    white = (0.95047, 1.0, 1.08883)
    x, y, z = (f ** (1 / 3) if f > 216 / 24389 else (24389 / 27 * f + 16) / 116
               for f in (sum(a * b for a, b in zip(row, light)) / full for row, full in zip(matrix, white)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other):
    """CIEDE2000 of two colours in CIELAB (Sharma, Wu and Dalal, 2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 if a or b else 0.0 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if not c1 * c2 else (h2 - h1 + 180) % 360 - 180
    if c1 * c2 and h2 - h1 == 180:
        turn = 180.0
    hue = h1 + h2 if not c1 * c2 else (h1 + turn / 2) % 360
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = (1 - 0.17 * math.cos(math.radians(hue - 30)) + 0.24 * math.cos(math.radians(2 * hue))
         + 0.32 * math.cos(math.radians(3 * hue + 6)) - 0.20 * math.cos(math.radians(4 * hue - 63)))
    sl = 1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2)
    sc, sh = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    rt = (-math.sin(math.radians(60 * math.exp(-((hue - 275) / 25) ** 2)))
          * 2 * math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)))
    dl, dc, dh = (l2 - l1) / sl, (c2 - c1) / sc, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / sh
    return math.sqrt(dl ** 2 + dc ** 2 + dh ** 2 + rt * dc * dh)


def contrast(one, other):
    lights = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def apart(reader, one, other):
    return distance(*(lab(seen_by(reader, linear(colour))) for colour in (one, other)))


def check_formulas():
    """Pairs of the table that the formula's authors published, and black on white."""
    for one, other, wanted in (((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
                               ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
                               ((50, 2.5, 0), (73, 25, -18), 27.1492),
                               ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
                               ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082)):
        assert abs(distance(one, other) - wanted) < 1e-4, (one, other, distance(one, other), wanted)
    assert abs(contrast("#000", "#fff") - 21) < 1e-9


def themes(css):
    """{theme: {token: colour}}; both ways to dark must say the same, and paper is light from either."""
    found = [dict(re.findall(r"(--[a-z]+): (#[0-9a-f]+);", body))
             for body in re.findall(r":root[^{]*\{([^{}]*--ground[^{}]*)\}", css)]
    light, wished, chosen, printed = found
    assert wished == chosen
    return {"light": light, "dark": {**light, **chosen}, "print": {**light, **chosen, **printed}}


def main():
    check_formulas()
    script, css = read("charts.js"), read("page.css")
    tokens = themes(css)
    colours = dict(re.findall(r"(\w+): '(#[0-9A-F]{6})'", re.search(r"colours = \{(.*?)\}", script, re.S)[1]))
    order = re.findall(r"'(\w+)'", re.search(r"const order = \[(.*?)\]", script)[1])
    assert set(order) == set(colours) and len(colours) == 9
    ordered = ["#" + "".join(f"{int(value):02x}" for value in colour.split(", ")) for colour in
               re.findall(r"\[(\d+, \d+, \d+)\]", re.search(r"cividis = \[(.*?)\];", script, re.S)[1])]
    differences = [re.search(rf"\.difference\.{side} \{{\s*background: (#[0-9a-f]+)", css)[1]
                   for side in ("less", "more")]
    assert len(ordered) == 10
    # inkOn() takes black from the luminance on where both inks are read equally well: sqrt(1.05 * 0.05) - 0.05.
    assert abs(float(re.search(r"> (0\.\d+) \? '#000'", script)[1]) - (math.sqrt(1.05 * 0.05) - 0.05)) < 0.001
    failed = []

    def need(value, least, *words):
        if value < least:
            failed.append(f"{' '.join(words)}: {value:.2f}, not {least}")

    for reader in READERS:
        # A part of no time lets those beside it touch, and in the timeline all do: each pair counts.
        for one, other in itertools.combinations(order, 2):
            need(apart(reader, colours[one], colours[other]), FAR, reader, one, other)
        heat = [lab(seen_by(reader, linear(colour)))[0] for colour in ordered]
        for darker, lighter in zip(heat, heat[1:]):
            need(lighter - darker, 2.0, reader, "the next colour of the heat map")
        need(apart(reader, *differences), 2 * FAR, reader, "less and more")
    for theme, of in tokens.items():
        for text, ground in TEXTS:
            need(contrast(of[text], of[ground]), 4.5, theme, text, ground)
        for mark, ground in MARKS:
            need(contrast(of[mark], of[ground]), 3.0, theme, mark, ground)
    assert not failed, "\n".join(failed)


main()
