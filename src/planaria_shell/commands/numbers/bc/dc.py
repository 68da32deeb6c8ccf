"""The `dc` command: a calculator with a stack (GNU dc)."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

from planaria_shell.commands.numbers.bc.numbers import (
    ZERO,
    Number,
    NumberError,
    add,
    compare,
    divide,
    length,
    multiply,
    parse,
    raise_to,
    remainder,
    rescale,
    show,
    square_root,
    subtract,
)
from planaria_shell.run.command import Process
from planaria_shell.toolkit import usage

Value = Number | str


class _CalculatorError(Exception):
    """An error in a command; it is reported and the program goes on."""


class _QuitError(Exception):
    def __init__(self, levels: int | None) -> None:
        super().__init__(levels)
        self.levels = levels


_NUMBER = re.compile(r"_?(?:[0-9A-F]+\.?[0-9A-F]*|\.[0-9A-F]*)")


class _Calculator:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.stack: list[Value] = []
        self.registers: dict[str, list[Value]] = {}
        self.arrays: dict[str, list[dict[int, Value]]] = {}
        self.scale = 0
        self.ibase = 10
        self.obase = 10
        text = process.env.get("DC_LINE_LENGTH", "70")
        self.width = int(text) if text.isdigit() else 70

    def complain(self, message: str) -> None:
        self.process.error(message)

    def write(self, text: str) -> None:
        self.process.stdout.write(text.encode("utf-8", "surrogateescape"))

    def pop(self) -> Value:
        if not self.stack:
            raise _CalculatorError("stack empty")
        return self.stack.pop()

    def pop_number(self) -> Number:
        if not self.stack:
            raise _CalculatorError("stack empty")
        if isinstance(self.stack[-1], str):
            raise _CalculatorError("non-numeric value")
        value = self.stack.pop()
        assert not isinstance(value, str)
        return value

    def pair(self) -> tuple[Number, Number]:
        if len(self.stack) < 2:
            raise _CalculatorError("stack empty")
        one, two = self.stack[-2:]
        if isinstance(one, str) or isinstance(two, str):
            raise _CalculatorError("non-numeric value")
        del self.stack[-2:]
        return one, two

    def shown(self, value: Value) -> str:
        if isinstance(value, str):
            return value
        text = show(value, self.obase)
        room = self.width - 1
        if self.width and len(text) > room:
            text = "\\\n".join(text[place : place + room] for place in range(0, len(text), room))
        return text

    # Running

    def run(self, source: str) -> Generator[None, None, None]:
        """Run a program; macros are run from a list of what is still to do, so that depth has no limit."""
        todo: list[tuple[str, int]] = [(source, 0)]
        while todo:
            text, place = todo.pop()
            if place >= len(text):
                continue
            try:
                place, macro = self.step(text, place)
            except _QuitError as quit_:
                levels = quit_.levels
                if levels is None or levels > len(todo):
                    raise
                del todo[len(todo) - (levels - 1) :]
                continue
            except _CalculatorError as failure:
                self.complain(str(failure))
                place, macro = self.after, None
            except NumberError as failure:
                self.complain(_MESSAGES.get(str(failure), str(failure)))
                place, macro = self.after, None
            if place < len(text):  # a macro at the end needs no way back
                todo.append((text, place))
            if macro is not None:
                todo.append((macro, 0))
            if self.process.stdout.full:
                yield

    after = 0

    def step(self, text: str, place: int) -> tuple[int, str | None]:
        """Run one command; where the next one is, and a macro to run first."""
        character = text[place]
        self.after = place + 1
        number = _NUMBER.match(text, place)
        if number:
            self.after = number.end()
            digits = number.group().replace("_", "-")
            value = parse(digits.lstrip("-"), self.ibase)
            self.stack.append((-value[0], value[1]) if digits.startswith("-") else value)
            return number.end(), None
        if character == "[":
            end = self._bracket(text, place)
            self.stack.append(text[place + 1 : end])
            return end + 1, None
        if character == "#":
            end = text.find("\n", place)
            return (len(text) if end < 0 else end), None
        if character.isspace():
            return place + 1, None
        if character in "sSlL:;":
            self.after = place + 2
            register = text[place + 1 : place + 2]
            if not register:
                raise _CalculatorError("unexpected EOF")
            self.register(character, register)
            return place + 2, None
        if character in "<>=!":
            return self.conditional(text, place)
        if character == "x":
            value_ = self.pop()
            if isinstance(value_, str):
                return place + 1, value_
            self.stack.append(value_)
            return place + 1, None
        if character == "?":
            line = self.process.stdin.readline().decode("utf-8", "surrogateescape")
            return place + 1, line
        action = _ACTIONS.get(character)
        if action is None:
            shown = f"'{character}'" if character.isprintable() else ""
            raise _CalculatorError(f"{shown} (0{ord(character):o}) unimplemented")
        action(self)
        return place + 1, None

    def _bracket(self, text: str, place: int) -> int:
        depth = 0
        for match in re.compile(r"[\[\]]").finditer(text, place):
            depth += 1 if match.group() == "[" else -1
            if depth == 0:
                return match.start()
        return len(text)

    def conditional(self, text: str, place: int) -> tuple[int, str | None]:
        negated = text[place] == "!"
        if negated:
            place += 1
            if text[place : place + 1] not in ("<", ">", "="):
                end = text.find("\n", place)
                self.after = len(text) if end < 0 else end
                raise _CalculatorError("system commands are not there")
        operator, register = text[place], text[place + 1 : place + 2]
        self.after = place + 2
        if not register:
            raise _CalculatorError("unexpected EOF")
        below, top = self.pair()
        order = compare(top, below)
        holds = {"<": order < 0, ">": order > 0, "=": order == 0}[operator]
        if holds is negated:
            return place + 2, None
        stack = self.registers.get(register)
        if not stack:
            return place + 2, None
        macro = stack[-1]
        if isinstance(macro, str):
            return place + 2, macro
        self.stack.append(macro)
        return place + 2, None

    def register(self, command_: str, name: str) -> None:
        if command_ == "s":
            value = self.pop()
            stack = self.registers.setdefault(name, [])
            if stack:
                stack[-1] = value
            else:
                stack.append(value)
        elif command_ == "S":
            self.registers.setdefault(name, []).append(self.pop())
            self.arrays.setdefault(name, [{}]).append({})
        elif command_ == "l":
            found = self.registers.get(name)
            self.stack.append(found[-1] if found else ZERO)
        elif command_ == "L":
            found = self.registers.get(name)
            if not found:
                raise _CalculatorError(f"stack register '{name}' (0{ord(name):o}) is empty")
            self.stack.append(found.pop())
            if len(self.arrays.get(name, [])) > 1:
                self.arrays[name].pop()
        else:
            index = rescale(self.pop_number(), 0)[0]
            if index < 0:
                raise _CalculatorError("array index must be a nonnegative integer")
            array = self.arrays.setdefault(name, [{}])[-1]
            if command_ == ":":
                array[index] = self.pop()
            else:
                self.stack.append(array.get(index, ZERO))


_MESSAGES = {
    "Divide by zero": "divide by zero",
    "Modulo by zero": "remainder by zero",
    "Square root of a negative number": "square root of negative number",
}
_Action = Callable[[_Calculator], None]
_ACTIONS: dict[str, _Action] = {}


def _action(character: str) -> Callable[[_Action], _Action]:
    def register(function: _Action) -> _Action:
        _ACTIONS[character] = function
        return function

    return register


def _binary(character: str, function: Callable[[Number, Number, int], Number]) -> None:
    def act(self: _Calculator) -> None:
        one, two = self.pair()
        try:
            self.stack.append(function(one, two, self.scale))
        except NumberError:
            self.stack += [one, two]
            raise

    _ACTIONS[character] = act


_binary("+", lambda one, two, scale: add(one, two))
_binary("-", lambda one, two, scale: subtract(one, two))
_binary("*", multiply)
_binary("/", divide)
_binary("%", remainder)
_binary("^", raise_to)


@_action("p")
def _print(self: _Calculator) -> None:
    if not self.stack:
        raise _CalculatorError("stack empty")
    self.write(self.shown(self.stack[-1]) + "\n")


@_action("n")
def _print_and_pop(self: _Calculator) -> None:
    self.write(self.shown(self.pop()))


@_action("P")
def _print_bytes(self: _Calculator) -> None:
    value = self.pop()
    if isinstance(value, str):
        self.write(value)
        return
    number = abs(rescale(value, 0)[0])
    self.process.stdout.write(number.to_bytes((number.bit_length() + 7) // 8, "big"))


@_action("f")
def _print_stack(self: _Calculator) -> None:
    self.write("".join(self.shown(value) + "\n" for value in reversed(self.stack)))


@_action("~")
def _quotient_and_remainder(self: _Calculator) -> None:
    one, two = self.pair()
    if two[0] == 0:
        self.stack += [one, two]
        raise _CalculatorError("divide by zero")
    self.stack += [divide(one, two, self.scale), remainder(one, two, self.scale)]


@_action("|")
def _modular_power(self: _Calculator) -> None:
    if len(self.stack) < 3:
        raise _CalculatorError("stack empty")
    modulus = rescale(self.pop_number(), 0)[0]
    base, exponent = self.pair()
    times = rescale(exponent, 0)[0]
    if modulus == 0:
        raise _CalculatorError("remainder by zero")
    if times < 0:
        raise _CalculatorError("negative exponent")
    whole = rescale(base, 0)[0]
    result = pow(abs(whole), times, abs(modulus))
    self.stack.append((-result if whole < 0 and times % 2 else result, 0))


@_action("v")
def _square_root(self: _Calculator) -> None:
    number = self.pop_number()
    try:
        self.stack.append(square_root(number, self.scale))
    except NumberError:
        self.stack.append(number)
        raise


@_action("c")
def _clear(self: _Calculator) -> None:
    self.stack.clear()


@_action("d")
def _duplicate(self: _Calculator) -> None:
    if not self.stack:
        raise _CalculatorError("stack empty")
    self.stack.append(self.stack[-1])


@_action("r")
def _swap(self: _Calculator) -> None:
    if len(self.stack) < 2:
        raise _CalculatorError("stack empty")
    self.stack[-1], self.stack[-2] = self.stack[-2], self.stack[-1]


@_action("R")
def _rotate(self: _Calculator) -> None:
    count = rescale(self.pop_number(), 0)[0]
    size = min(abs(count), len(self.stack))
    if size < 2:
        return
    part = self.stack[-size:]
    self.stack[-size:] = part[1:] + part[:1] if count > 0 else part[-1:] + part[:-1]


@_action("i")
def _input_base(self: _Calculator) -> None:
    base = rescale(self.pop_number(), 0)[0]
    if not 2 <= base <= 16:
        raise _CalculatorError("input base must be a number between 2 and 16 (inclusive)")
    self.ibase = base


@_action("o")
def _output_base(self: _Calculator) -> None:
    base = rescale(self.pop_number(), 0)[0]
    if base < 2:
        raise _CalculatorError("output base must be a number greater than 1")
    self.obase = base


@_action("k")
def _precision(self: _Calculator) -> None:
    scale = rescale(self.pop_number(), 0)[0]
    if scale < 0:
        raise _CalculatorError("scale must be a nonnegative integer")
    self.scale = scale


@_action("I")
def _push_input_base(self: _Calculator) -> None:
    self.stack.append((self.ibase, 0))


@_action("O")
def _push_output_base(self: _Calculator) -> None:
    self.stack.append((self.obase, 0))


@_action("K")
def _push_precision(self: _Calculator) -> None:
    self.stack.append((self.scale, 0))


@_action("z")
def _depth(self: _Calculator) -> None:
    self.stack.append((len(self.stack), 0))


@_action("Z")
def _digits(self: _Calculator) -> None:
    value = self.pop()
    self.stack.append((len(value) if isinstance(value, str) else length(value), 0))


@_action("X")
def _fraction_digits(self: _Calculator) -> None:
    value = self.pop()
    self.stack.append((0 if isinstance(value, str) else value[1], 0))


@_action("a")
def _to_character(self: _Calculator) -> None:
    value = self.pop()
    if isinstance(value, str):
        self.stack.append(value[:1])
    else:
        self.stack.append(chr(rescale(value, 0)[0] & 255))


@_action("q")
def _quit(self: _Calculator) -> None:
    raise _QuitError(2)


@_action("Q")
def _quit_levels(self: _Calculator) -> None:
    levels = rescale(self.pop_number(), 0)[0]
    if levels < 1:
        raise _CalculatorError("Q command requires a number >= 1")
    raise _QuitError(levels)


@usage.command("dc")
def dc(process: Process) -> Generator[None, None, int]:
    """dc [-e EXPRESSION] [-f FILE] [FILE]..."""
    try:
        arguments = usage.parse(
            process.argv[1:], "e:f:hV", {"expression=": "e", "file=": "f", "help": "h", "version": "V"}
        )
    except usage.UsageError as error:
        usage.complain(process, str(error))
        return 1
    if arguments.has("V"):
        process.stdout.write(b"dc (GNU bc 1.07.1) 1.4.1\n")
        return 0
    calculator = _Calculator(process)
    status = 0
    sources = [pair for pair in arguments.options if pair[0] in "ef"] + [
        ("f", name) for name in arguments.operands
    ]
    if not sources:
        sources = [("f", "-")]
    try:
        for kind, text in sources:
            source = text
            if kind == "f":
                if text == "-":
                    # Line by line, so that `?` can read what follows.
                    yield from _standard_input(process, calculator)
                    continue
                try:
                    source = usage.read_file(process, text).decode("utf-8", "surrogateescape")
                except OSError as error:
                    process.error(f"Could not open file {text}: {usage.reason(error)}")
                    status = 1
                    continue
            yield from calculator.run(source)
    except _QuitError:
        pass
    return status


def _standard_input(process: Process, calculator: _Calculator) -> Generator[None, None, None]:
    pending = ""
    depth = 0
    while line := process.stdin.readline().decode("utf-8", "surrogateescape"):
        pending += line
        depth += line.count("[") - line.count("]")
        if depth > 0:
            continue
        yield from calculator.run(pending)
        pending, depth = "", 0
    if pending:
        yield from calculator.run(pending)
