"""Data as text in each format: labels, columns and file names are never markup."""

from __future__ import annotations

import re
import unicodedata

# What Markdown takes for markup: signs anywhere, an underscore but within a word, a colon before
# anything (addresses, emoji), the start of an address, and what begins a heading, list or quote.
_MARKDOWN = re.compile(
    r"[\\`*\[\]~|$]|(?<![^\W_])_|_(?![^\W_])|:(?=\S)|(?<=\bwww)\."
    r"|^(?:>|(?:[#+=-]+|\d+[.)])(?=\s|$))"
)
_ENTITY = re.compile(r"&(?=#?\w+;)")

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    # After the end of a row these would be an option of it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "✓": r"\checkmark{}",
    "✗": r"$\times$",
    "…": r"\dots{}",
    "τ": r"$\tau$",
}

_NUMBER = re.compile(r"[+-]?[\d.]+%?( \([\d.]+\))?\*?")


def one_line(text: str) -> str:
    """Text on one line, whatever a name or label holds.

    Line breaks become blanks; other control characters are shown as the sign for them.

    >>> one_line("two" + chr(10) + "lines" + chr(7))
    'two lines�'
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter) in ("Cc", "Cs") else letter
        for letter in " ".join(text.split())
    )


def markdown(text: str) -> str:
    r"""Text as Markdown prints it, on one line.

    >>> print(markdown("![p](http://x) <b> a_b"))
    !\[p\](http\://x) &lt;b> a_b
    """
    escaped = _MARKDOWN.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", one_line(text))
    return _ENTITY.sub("&amp;", escaped).replace("<", "&lt;")


def code(text: str) -> str:
    """Text as Markdown shows code, on one line, whatever signs it has.

    >>> code("a"), code("a`b")
    ('`a`', '`` a`b ``')
    """
    line = one_line(text) or " "
    runs = re.findall("`+", line)
    if not runs:
        return f"`{line}`"
    fence = "`" * (1 + max(map(len, runs)))
    return f"{fence} {line} {fence}"


def latex(text: str) -> str:
    """Text as LaTeX prints it, on one line."""
    return "".join(_LATEX.get(letter, letter) for letter in one_line(text))


def spreadsheet(text: str) -> str:
    """Text that no spreadsheet takes for a formula: those begin with an apostrophe.

    >>> spreadsheet("=1+1"), spreadsheet("-0.5 (0.1)"), spreadsheet("BCE")
    ("'=1+1", '-0.5 (0.1)', 'BCE')
    """
    is_formula = text[:1] in tuple("=+-@\t\r\n") and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text
