"""Regular expressions in the syntax of RE2, as requests carry them. Pure.

They stand for transactional ids (KIP-1152) and topics (KIP-848). They come from the network, and
the ``re`` of Python may need exponential time for one. RE2 has nothing for which a text has to be
read twice, so there are no back references and no look-around. Its syntax is accepted, except that
scripts such as ``\\p{Greek}`` are not known, and that the size of a pattern is limited.
"""

from __future__ import annotations

from collections.abc import Callable

from pyk.runtime import slotted

from .absent import absent_escape, absent_flag, absent_group, absent_repetition
from .characters import (
    MAX_CODE,
    POSIX,
    WORD,
    CharacterClass,
    control_character,
    negated,
    one_of,
    perl_class,
    unicode_class,
    without_case,
)
from .program import END, Accepts, Holds, PatternTooLargeError, Program

MAX_REPETITIONS = 1_000
MAX_DEPTH = 50
"""How deep groups may be in each other."""
MAX_LENGTH = 1_000
_KNOWN_CLASSES = r": categories such as \p{L} and \p{Lu} are known, scripts are not"

Part = Callable[[Program, int], int]
"""Adds a part of an expression to a program before a place, and returns where the part begins."""


class InvalidPatternError(Exception):
    """A text that is no regular expression of RE2, or one that is too large.

    ``reason`` says why without the position of what is wrong.
    """

    def __init__(self, reason: str, at: int | None = None) -> None:
        super().__init__(reason if at is None else f"at position {at}: {reason}")
        self.reason = reason


class Pattern:
    """A pattern; it must match a text as a whole."""

    def __init__(self, text: str) -> None:
        """Raise :class:`InvalidPatternError` if ``text`` cannot be used."""
        if len(text) > MAX_LENGTH:
            raise InvalidPatternError("it is too long")
        whole = _Parser(text).parse()
        self._program = Program()
        try:
            self._program.begin = whole(self._program, END)
        except PatternTooLargeError:
            raise InvalidPatternError("it is too large") from None

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text, in time linear in its length."""
        return self._program.matches(text)


@slotted.frozen(kw_only=True)
class _Flags:
    """What ``(?ims)`` has set; ``U`` changes no match as a whole."""

    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._flags = _Flags()
        self._names: set[str] = set()

    def parse(self) -> Part:
        whole = self._alternatives()
        if self._at < len(self._text):
            raise self._refused("unexpected )")
        return whole

    def _refused(self, what: str, at: int | None = None) -> InvalidPatternError:
        """Return the error about what stands ``at`` a position, by default the present one."""
        return InvalidPatternError(what, self._at if at is None else at)

    # -- reading ---------------------------------------------------------------------------------

    @property
    def _next(self) -> str:
        """The next character, empty at the end."""
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        character = self._next
        if not character:
            raise self._refused("unexpected end")
        self._at += 1
        return character

    def _skip(self, expected: str) -> bool:
        """Skip a text if it comes next; return whether it did."""
        if not self._text.startswith(expected, self._at):
            return False
        self._at += len(expected)
        return True

    def _until(self, end: str) -> str:
        """Take everything before the next ``end``, and that."""
        found = self._text.find(end, self._at)
        if found < 0:
            raise self._refused(f"missing {end}")
        taken, self._at = self._text[self._at : found], found + len(end)
        return taken

    # -- structure -------------------------------------------------------------------------------

    def _alternatives(self) -> Part:
        flags = self._flags
        ways = [self._sequence()]
        while self._skip("|"):
            ways.append(self._sequence())
        self._flags = flags
        return ways[0] if len(ways) == 1 else _any_of(ways)

    def _sequence(self) -> Part:
        parts: list[Part] = []
        repetition = ""
        while self._next not in ("", "|", ")"):
            begin = self._at
            limits = self._repetition()
            if limits is None:
                parts += self._atoms()
                repetition = ""
                continue
            former, repetition = repetition, self._text[begin : self._at]
            if former:
                raise self._refused(absent_repetition(former, repetition), begin - len(former))
            if not parts:
                raise self._refused(f"nothing to repeat before {repetition}", begin)
            parts[-1] = _repeated(parts[-1], *limits)
        return _all_of(parts)

    def _repetition(self) -> tuple[int, int | None] | None:
        """Take how often the last part is repeated; None if that does not come next."""
        limits = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._next)
        if limits is not None:
            self._at += 1
        else:
            limits = self._counted() if self._next == "{" else None
        if limits is not None:
            self._skip("?")  # as few as possible: no difference for a match as a whole
        return limits

    def _counted(self) -> tuple[int, int | None] | None:
        """Take ``{n}``, ``{n,}`` or ``{n,m}``; anything else is a brace that stands for itself."""
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : max(end, self._at)].partition(",")
        if end < 0 or not _is_number(low) or not (_is_number(high) or not high):
            return None
        begin, self._at = self._at, end + 1
        if len(low) > 4 or len(high) > 4:
            raise self._refused("too many repetitions", begin)
        at_least = int(low)
        at_most = int(high) if high else None if comma else at_least
        if max(at_least, at_most or 0) > MAX_REPETITIONS:
            raise self._refused("too many repetitions", begin)
        if at_most is not None and at_most < at_least:
            raise self._refused("repetitions in the wrong order", begin)
        return at_least, at_most

    def _atoms(self) -> list[Part]:
        """Take the next part; a change of flags is none, a quotation may be several."""
        if self._skip("(?"):
            return self._special_group()
        if self._skip(r"\Q"):
            return [self._literal(each) for each in self._quoted()]
        return [self._atom(self._take())]

    def _atom(self, character: str) -> Part:
        if character == "(":
            return self._group()
        if character == "[":
            return _consume(self._brackets())
        if character == "\\":
            return self._escape()
        if character in "^$":
            return _require(self._anchor(character))
        if character == ".":
            return _consume(one_of(() if self._flags.s else "\n", is_negated=True))
        return self._literal(character)

    def _group(self) -> Part:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refused("groups are nested too deeply")
        inner = self._alternatives()
        if not self._skip(")"):
            raise self._refused("missing closing )")
        self._depth -= 1
        return inner

    def _special_group(self) -> list[Part]:
        """Take a group that begins with ``(?``: named, not captured, or flags."""
        begin = self._at - len("(?")
        absent = absent_group(self._text[self._at : self._at + 2])
        if absent is not None:
            raise self._refused(absent, begin)
        if self._skip("P<") or self._skip("<"):
            name = self._until(">")
            if not name or not set(name) <= WORD or name in self._names:
                raise self._refused(f"invalid name of a group: {name!r}", begin)
            self._names.add(name)
            return [self._group()]
        before = self._flags
        self._flags = self._changed_flags()
        if self._skip(")"):
            return []
        self._at += 1  # the colon
        inner = self._group()
        self._flags = before
        return [inner]

    def _changed_flags(self) -> _Flags:
        changed: dict[str, bool] = {}
        is_set, is_missing = True, False
        while self._next not in (")", ":"):
            letter = self._take()
            if letter == "-" and is_set:
                is_set, is_missing = False, True
            elif letter in "imsU":
                changed[letter], is_missing = is_set, False
            else:
                raise self._refused(absent_flag(letter), self._at - 1)
        if is_missing or (not changed and self._next == ")"):
            raise self._refused("missing flag")
        return slotted.evolve(self._flags, **changed)

    def _quoted(self) -> str:
        end = self._text.find(r"\E", self._at)
        if end >= 0:
            return self._until(r"\E")
        taken, self._at = self._text[self._at :], len(self._text)
        return taken

    # -- characters ------------------------------------------------------------------------------

    def _literal(self, character: str) -> Part:
        return self._of_class(one_of(character))

    def _of_class(self, accepts: Accepts) -> Part:
        return _consume(without_case(accepts) if self._flags.i else accepts)

    def _anchor(self, character: str) -> Holds:
        if self._flags.m:
            return _begins_line if character == "^" else _ends_line
        return _begins_text if character == "^" else _ends_text

    def _escape(self) -> Part:
        holds = _ANCHORS.get(self._next)
        if holds is not None:
            self._at += 1
            return _require(holds)
        return self._of_class(self._escaped_class() or one_of(self._escaped_character()))

    def _escaped_class(self) -> Accepts | None:
        """Take what follows a backslash if it is a class, such as ``d`` or ``p{L}``."""
        letter = self._next
        if letter and letter in "pP":
            begin, self._at = self._at - 1, self._at + 1
            name = self._until("}") if self._skip("{") else self._take()
            found = unicode_class(name.removeprefix("^"))
            if found is None:
                raise self._refused(f"unknown class \\{letter}{{{name}}}{_KNOWN_CLASSES}", begin)
            is_negated = (letter == "P") is not name.startswith("^")
            return negated(found) if is_negated else found
        found = perl_class(letter)
        self._at += found is not None
        return found

    def _escaped_character(self) -> str:
        """Take what follows a backslash as one character."""
        begin, letter = self._at - 1, self._take()
        if letter == "x":
            return self._hexadecimal(begin)
        if letter == "0" or (letter in "1234567" and self._next and self._next in "01234567"):
            return self._octal(letter)
        found = control_character(letter)
        if found is not None:
            return found
        if letter in WORD or not letter.isascii():
            raise self._refused(absent_escape(letter), begin)
        return letter

    def _hexadecimal(self, begin: int) -> str:
        digits = self._until("}") if self._skip("{") else self._take() + self._take()
        is_valid = 0 < len(digits) <= 8 and set(digits) <= POSIX["xdigit"]
        if not is_valid or int(digits, 16) > MAX_CODE:
            raise self._refused(f"invalid escape \\x{digits}: write \\x41 or \\x{{2A6D6}}", begin)
        return chr(int(digits, 16))

    def _octal(self, digits: str) -> str:
        while len(digits) < 3 and self._next and self._next in "01234567":
            digits += self._take()
        return chr(int(digits, 8))

    # -- classes in brackets ---------------------------------------------------------------------

    def _brackets(self) -> Accepts:
        begin, is_negated = self._at - 1, self._skip("^")
        characters: set[str] = set()
        ranges: list[tuple[str, str]] = []
        others: list[Accepts] = []
        is_first = True
        while is_first or self._next != "]":
            is_first = False
            if not self._next:
                raise self._refused("missing closing ]", begin)
            other = self._class_in_brackets()
            if other is not None:
                others.append(other)
                continue
            begins_at = self._at
            first = self._character_in_brackets()
            if self._next == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                last = self._character_in_brackets()
                if last < first:
                    raise self._refused(f"invalid range {first}-{last}", begins_at)
                ranges.append((first, last))
            else:
                characters.add(first)
        self._at += 1
        return self._class_of(characters, ranges, others, is_negated=is_negated)

    def _class_of(
        self,
        characters: set[str],
        ranges: list[tuple[str, str]],
        others: list[Accepts],
        *,
        is_negated: bool,
    ) -> Accepts:
        listed: Accepts = CharacterClass(
            characters=frozenset(characters),
            ranges=tuple(ranges),
            others=tuple(others),
            is_negated=False,
        )
        if self._flags.i:
            listed = without_case(listed)  # before it is negated: [^a] has no A then
        return negated(listed) if is_negated else listed

    def _class_in_brackets(self) -> Accepts | None:
        """Take a class such as ``[:alpha:]`` or ``\\d``, None if none comes next."""
        if self._text.startswith("[:", self._at) and ":]" in self._text[self._at + 2 :]:
            begin, self._at = self._at, self._at + 2
            name = self._until(":]")
            found = POSIX.get(name.removeprefix("^"))
            if found is None:
                raise self._refused(f"unknown class [:{name}:]", begin)
            return one_of(found, is_negated=name.startswith("^"))
        if self._next != "\\":
            return None
        self._at += 1
        found_class = self._escaped_class()
        self._at -= found_class is None
        return found_class

    def _character_in_brackets(self) -> str:
        character = self._take()
        return self._escaped_character() if character == "\\" else character


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


# -- parts of a program ----------------------------------------------------------------------------


def _consume(accepts: Accepts) -> Part:
    def add(program: Program, following: int) -> int:
        program.count_step()
        return program.consume(accepts, following)

    return add


def _require(holds: Holds) -> Part:
    def add(program: Program, following: int) -> int:
        program.count_step()
        return program.require(holds, following)

    return add


def _all_of(parts: list[Part]) -> Part:
    def add(program: Program, following: int) -> int:
        program.count_step()
        for part in reversed(parts):
            following = part(program, following)
        return following

    return add


def _any_of(ways: list[Part]) -> Part:
    def add(program: Program, following: int) -> int:
        program.count_step()
        return program.fork([way(program, following) for way in ways])

    return add


def _repeated(part: Part, at_least: int, at_most: int | None) -> Part:
    def add(program: Program, following: int) -> int:
        program.count_step()
        place = following
        if at_most is None:
            place = program.fork([following])
            program.add_way(place, part(program, place))
        else:
            for _ in range(at_most - at_least):
                place = program.fork([following, part(program, place)])
        for _ in range(at_least):
            place = part(program, place)
        return place

    return add


# -- anchors: between the character before and the one after, empty at the ends --------------------


def _begins_text(before: str, _: str) -> bool:
    return not before


def _ends_text(_: str, after: str) -> bool:
    return not after


def _begins_line(before: str, _: str) -> bool:
    return before in ("", "\n")


def _ends_line(_: str, after: str) -> bool:
    return after in ("", "\n")


def _is_word_edge(before: str, after: str) -> bool:
    return (before in WORD) is not (after in WORD)


def _is_no_word_edge(before: str, after: str) -> bool:
    return not _is_word_edge(before, after)


_ANCHORS: dict[str, Holds] = {
    "A": _begins_text,
    "z": _ends_text,
    "b": _is_word_edge,
    "B": _is_no_word_edge,
}
