"""Writes the outlines of a font's letters as text: see README.md.

Usage: python outline.py Inter-Regular.otf > Inter-Regular.txt
"""

import sys

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont

RANGES = [
    (0x20, 0x7E),  # ASCII
    (0xA0, 0xFF),  # Latin-1
    (0x100, 0x17F),  # Latin Extended-A
    (0x391, 0x3C9),  # Greek
    (0x2010, 0x2026),  # dashes, quotation marks, ellipsis
    (0x2070, 0x208E),  # superscripts and subscripts
    (0x2190, 0x2193),  # arrows
    (0x2212, 0x2212),  # minus
    (0x221E, 0x221E),  # infinity
    (0x2248, 0x2265),  # comparisons
]


class Outline(BasePen):
    """Collects absolute SVG path commands in whole font units, upwards being positive."""

    def __init__(self, glyphs):
        super().__init__(glyphs)
        self.commands = []

    def add(self, command, *points):
        numbers = (str(round(number)) for point in points for number in point)
        self.commands.append(command + " ".join(numbers))

    def _moveTo(self, point):
        self.add("M", point)

    def _lineTo(self, point):
        self.add("L", point)

    def _curveToOne(self, a, b, point):
        self.add("C", a, b, point)

    def _closePath(self):
        self.commands.append("Z")


font = TTFont(sys.argv[1])
glyphs = font.getGlyphSet()
names = font.getBestCmap()
print(font["head"].unitsPerEm)
for first, last in RANGES:
    for code in filter(names.get, range(first, last + 1)):
        glyph = glyphs[names[code]]
        outline = Outline(glyphs)
        glyph.draw(outline)
        print(f"{code:04X} {round(glyph.width)} {''.join(outline.commands)}".rstrip())
