"""The page: whatever stands in code, nothing breaks it, runs in it or is loaded from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.report.page import (
    Html,
    Page,
    asset,
    code,
    facts,
    grouped_table,
    note,
    paragraph,
    side_by_side,
    stacked,
    table,
    text,
)

HOSTILE = "</script><script>alert(1)</script> <img src=x onerror=alert(1)> \" ' & \x00\x1b[31m \u202e\ud800 ]]> <!--"


class Reader(HTMLParser):
    """Tags, attributes and text of a page, as a browser's parser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def full_page(words: str) -> str:
    page = Page(words, lead=words)
    page.section(
        words, words, note(words), code(words), facts({words: words}), table([words], [[words]], caption=words)
    )
    return page.render()


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=40))
def test_any_text_is_one_piece_of_text(words: str) -> None:
    reader = Reader(text(words))
    assert reader.tags == []
    shown = re.sub(r"[\u2400-\u2421]|\[U\+[0-9A-F]{4}\]", "", reader.text)
    plain = re.sub(r"[\u2400-\u2421]|\[U\+[0-9A-F]{4}\]", "", words)
    hidden = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
    assert shown == re.sub(hidden, "", plain)


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x00", "␀"),
        ("\x1b[31m", "␛[31m"),
        ("a\r\nb", "a␍\nb"),
        ("\x7f", "␡"),
        ("\u202e", "[U+202E]"),
        ("\ud800", "[U+D800]"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(hidden: str, shown: str) -> None:
    assert text(hidden) == shown


@pytest.mark.parametrize("kept", ["\tx", "a\nb", "é漢🙂", " "])
def test_ordinary_text_stays(kept: str) -> None:
    assert text(kept) == kept


def test_hostile_text_adds_no_element_anywhere() -> None:
    assert Reader(full_page(HOSTILE)).tags == Reader(full_page("tame")).tags


def test_every_page_can_be_written_as_utf_8() -> None:
    full_page(HOSTILE).encode("utf-8")


def test_nothing_is_loaded_from_elsewhere() -> None:
    reader = Reader(full_page("words"))
    assert not [name for name, _ in reader.attributes if name in ("src", "srcset", "action", "data")]
    assert all((value or "").startswith("#") for name, value in reader.attributes if name == "href")
    for name in ("page.css", "instances.css", "instances.js"):
        assert not re.search(r"https?:|//[a-z]|@import|url\(|fetch\(|XMLHttp|innerHTML|eval\(", asset(name))


def test_sections_are_linked_from_the_contents() -> None:
    page = Page("t").section("One", "first").section("Two", "second").render()
    reader = Reader(page)
    targets = [value for name, value in reader.attributes if name == "href" and value != "#content"]
    anchors = [f"#{value}" for name, value in reader.attributes if name == "id"]
    assert len(targets) == 2
    assert set(targets) <= set(anchors)
    assert len(anchors) == len(set(anchors))


def test_strings_are_escaped_and_html_is_not() -> None:
    assert "&lt;b&gt;" in paragraph("<b>")
    assert "<b>x</b>" in paragraph(Html("<b>x</b>"))
    assert "<p>plain</p>" in Page("t").section("s", "plain").render()


def test_columns_of_numbers_are_marked_and_others_are_not() -> None:
    html = table(["name", "n", "ES", "word"], [["a", 1, 0.5, "x"], ["b", None, -0.25, "y"]])
    assert re.findall(r'<t[hd][^>]*class="number"[^>]*>([^<]*)<', html) == ["n", "ES", "1", "0.500", "–", "−0.250"]


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (["33.3 %", None, "0.0 %"], True),
        (["+0.022 [−0.007, +0.062]", "−0.100 [−0.200, +0.000]"], True),
        (["+0.022 (no interval: one repository)"], False),
        (["2.13.0", "none"], False),
        ([True, False], False),
        ([None, None], True),
    ],
)
def test_text_of_figures_counts_as_numbers(column: list[str | bool | None], numbers: bool) -> None:
    assert ("number" in table(["name", "value"], [["row", value] for value in column])) is numbers


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (float("nan"), "–"), (True, "yes"), (1234567, "1\u202f234\u202f567"), (-3, "−3"), (0.12345, "0.123")],
)
def test_values_read_alike_everywhere(value: float | None, shown: str) -> None:
    assert shown in table(["v"], [[value]])
    assert shown in facts({"v": value})


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cells"):
        table(["a", "b"], [["x"]])


def test_very_long_words_may_break() -> None:
    assert 'class="long"' in table(["a"], [["b"], ["c"]]) + table(["a", "b"], [["x", "y" * 5000]])


def test_figures_stand_side_by_side() -> None:
    assert side_by_side(Html("<p>a</p>"), Html("<p>b</p>")) == '<div class="columns"><p>a</p><p>b</p></div>'


def test_figures_over_their_interval_stand_as_a_number_does() -> None:
    html = table(["policy", "gain"], [["always", stacked("+0.1", "[0.0, 0.2]")], ["never", None]])
    assert '<th scope="col" class="number">gain</th>' in html
    assert '<small class="below">[0.0, 0.2]</small>' in html


def test_the_parts_of_a_table_stand_under_their_names() -> None:
    html = grouped_table(["policy", "n"], {"one": [["always", 1]], "<b>": [["never", 2], ["always", 3]]})
    assert re.findall(r'scope="(\w+)"', html) == ["col", "col", "rowgroup", "row", "rowgroup", "row", "row"]
    assert "&lt;b&gt;" in html
    assert html.count("<tbody>") == 2
