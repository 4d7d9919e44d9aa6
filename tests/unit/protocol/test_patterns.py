"""Patterns: RE2's syntax as Apache Kafka accepts it, in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.protocol.patterns.pattern import (
    MAX_DEPTH,
    MAX_LENGTH,
    InvalidPatternError,
    Pattern,
)
from pyk.protocol.patterns.program import MAX_STEPS


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("payments", "payments"),
        ("pay.*", "payments"),
        ("(?i)PAY.*", "payments"),
        ("pay(?i:MENTS)", "payments"),
        (r"\Qa.b*\E+", "a.b**"),
        (r"\Qa.b", "a.b"),
        (r"\pL+-\p{Nd}", "é-٣"),
        (r"\PL\P{^L}", "1a"),
        ("[[:alpha:]]+[[:^alpha:]]", "ab1"),
        (r"[\d\-z]+", "1-z"),
        ("[]a]+", "]a"),
        ("[^]a]+", "bc"),
        ("[a-c&&b]+", "&abc"),
        ("[-a]+[a-]", "-aa-"),
        ("(?P<name>a)(?<other>b)", "ab"),
        ("a|b|", ""),
        ("(?:)", ""),
        ("^a$", "a"),
        (r"\Aa\z", "a"),
        ("(?m)a$\n^b", "a\nb"),
        ("(?s).", "\n"),
        (r"\x41\x{1F600}\0\101\n", "A😀\0A\n"),
        (r"\bab\b.\Bc?", "ab-"),
        ("a{,3}", "a{,3}"),
        ("a{", "a{"),
        ("{2", "{2"),
        ("a{2,}?b{0}c{1,2}", "aaac"),
        ("(?U)a+?", "aa"),
        ("(?i-s:A)b", "ab"),
        ("(a*)*b", "aab"),
        ("((a{10}){10}){3}", "a" * 300),
    ],
)
def test_pattern_matches_whole_text(pattern: str, text: str) -> None:
    assert Pattern(pattern).matches(text)
    assert not Pattern(pattern).matches(text + "\n]")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("pay", "payments"),
        ("ments", "payments"),
        (".", "\n"),
        ("a$b", "ab"),
        ("(?i)[^a]", "A"),
        ("a{2}", "aaa"),
        (r"\d", "٣"),
        ("(?i:a)b", "AB"),
    ],
)
def test_pattern_does_not_match(pattern: str, text: str) -> None:
    assert not Pattern(pattern).matches(text)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "(a", "a)", "[a", "[z-a]", r"[a-\d]", "[[:foo:]]", "[", "[]"),
        *("*a", "a|*", "(*)", "a**", "x*+", "a?+", "a{2}{3}", "a*?*", "a{2,1}", "a{1001}"),
        *("(?=x)", "(?!x)", "(?<=x)", r"(a)\1", r"\8", "(?P=a)", "(?P<a", "(?P<>a)", "(?#c)"),
        *(r"\C", r"\Z", r"\y", r"\u0041", r"\cA", r"\x4", r"\x{}", r"\x{110000}", "\\", r"\é"),
        *("(?x) a", "(?-)a", "(?i", "(?z)a", "(?--i)a", r"\p{Nobody}", r"\p{", "(?<a>x)(?<a>y)"),
    ],
)
def test_invalid_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPatternError):
        Pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "at", "what", "instead"),
    [
        ("a(?=b)", 1, "a look-ahead (?=…)", "list what matches instead, as in (?:a|b)"),
        ("a-(?!b).*", 2, "a negative look-ahead (?!…)", "list what matches instead"),
        ("a(?<=b)", 1, "a look-behind (?<=…)", "list what matches instead"),
        ("a(?<!b)", 1, "a negative look-behind (?<!…)", "list what matches instead"),
        (r"(a)b\1", 4, r"a back reference \1", "write the text again"),
        (r"(?P<n>a)\k<n>", 8, r"a back reference \k", "write the text again"),
        ("(?P<n>a)(?P=n)", 8, "a back reference (?P=…)", "write the text again"),
        ("ab++", 2, "a possessive quantifier ++", "write +"),
        ("ab*?+", 2, "a possessive quantifier *?+", "write *?"),
        ("a{2}+", 1, "a possessive quantifier {2}+", "write {2}"),
        ("a(?>b)", 1, "an atomic group (?>…)", "write (?:…)"),
        ("(a)?(?(1)b|c)", 4, "a condition (?(…)…)", "list what matches instead"),
        ("a(?#b)", 1, "a comment (?#…)", "leave it out"),
        (r"a\Z", 1, r"\Z", r"write \z, or nothing"),
        (r"\u0041", 0, r"\u", r"write \x{…}"),
    ],
)
def test_what_re2_lacks_is_named_with_its_position_and_what_to_write_instead(
    pattern: str, at: int, what: str, instead: str
) -> None:
    expected = re.escape(f"at position {at}: {what} is not part of RE2: {instead}")
    with pytest.raises(InvalidPatternError, match=f"^{expected}"):
        Pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("ab**", "at position 2: * is repeated by *: put what is repeated in (?:…)"),
        ("a|*b", "at position 2: nothing to repeat before *"),
        ("ab)", "at position 2: unexpected )"),
        ("a[b", "at position 1: missing closing ]"),
        ("(ab", "at position 3: missing closing )"),
        ("a[z-a]", "at position 2: invalid range z-a"),
        ("ab{2,1}", "at position 2: repetitions in the wrong order"),
        ("(?x)a", "at position 2: the flag x, for spaces and comments, is not one of RE2"),
        (r"a\p{Greek}", r"at position 1: unknown class \p{Greek}: categories such as \p{L}"),
        (r"a\y", r"at position 1: invalid escape \y"),
    ],
)
def test_a_mistake_is_named_with_its_position(pattern: str, message: str) -> None:
    with pytest.raises(InvalidPatternError, match=f"^{re.escape(message)}"):
        Pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * (MAX_STEPS + 1),
        "((a{1000}){1000}){1000}",
        "(((){1000}){1000}){1000}",
        "(" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 1),
        "[" + "a" * MAX_LENGTH + "]",
    ],
)
def test_pattern_that_costs_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPatternError, match="too"):
        Pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*)*(.*)*b", "(a?){60}a{60}"]
)
def test_malicious_pattern_takes_linear_time(pattern: str) -> None:
    """With backtracking these would take longer than the age of the universe."""
    assert not Pattern(pattern).matches("a" * 200 + "c")


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "[a-b]", "^", "$", r"\b", r"\w", "", "-"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda ways: f"(?:{'|'.join(ways)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"])).map(
            lambda repeated: f"({repeated[0]}){repeated[1]}"
        ),
    ),
    max_leaves=8,
)


@given(pattern=PATTERNS, text=st.text("ab-", max_size=8))
def test_it_matches_as_python_does(pattern: str, text: str) -> None:
    expected = re.fullmatch(pattern, text) is not None

    assert Pattern(pattern).matches(text) is expected


@given(
    pattern=st.sampled_from(["(a|b)*c", "^a.*$", r"\ba+\b.*", "[^a]*"]),
    texts=st.lists(st.text("abc \n")),
)
def test_what_is_remembered_of_other_texts_changes_nothing(pattern: str, texts: list[str]) -> None:
    used = Pattern(pattern)

    assert [used.matches(text) for text in texts] == [
        Pattern(pattern).matches(text) for text in texts
    ]


def test_what_is_remembered_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyk.protocol.patterns.program.MAX_REMEMBERED", 5)
    used = Pattern("[a-z]*z")

    assert [used.matches(text) for text in ("abcz", "abc", "z", "abcdefz")] == [
        True,
        False,
        True,
        True,
    ]
    assert len(used._program._moves) <= 5
