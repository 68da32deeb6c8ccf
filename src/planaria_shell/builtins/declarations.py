"""`declare`, `typeset`, `local`, `export` and `readonly`."""

from __future__ import annotations

import re

from planaria_shell.builtins.registry import BuiltinUsageError, builtin, ends_shell, options_of
from planaria_shell.compile.table import new_compiler
from planaria_shell.errors import ReadonlyError, ShellError
from planaria_shell.expand.arrays import ArrayArgument, store_array
from planaria_shell.expand.parameter_operators import declaration, key_quoted
from planaria_shell.expand.subscripts import key_of, span_of
from planaria_shell.state.control import Exit
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import (
    ASSOCIATIVE,
    CAPITALIZE,
    DYNAMIC,
    EXPORT,
    INDEXED,
    INTEGER,
    LOWER,
    NAMEREF,
    READONLY,
    TRACE,
    UPPER,
    Variable,
)
from planaria_shell.syntax.parser import lexer_of
from planaria_shell.syntax.printing import function_source
from planaria_shell.syntax.quoting import double_quoted, value_quoted
from planaria_shell.syntax.simple_commands import parse_assignment

_FLAGS = {
    "a": INDEXED, "A": ASSOCIATIVE, "i": INTEGER, "l": LOWER, "n": NAMEREF, "r": READONLY, "t": TRACE,
    "u": UPPER, "x": EXPORT, "c": CAPITALIZE,
}  # fmt: skip
_VALUE = re.compile(r"(?:(\+?=)(.*))?\Z", re.DOTALL)
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)(?:\[(.*?)\])?(?:(\+?=)(.*))?\Z", re.DOTALL | re.ASCII)


class _Request:
    """What a declaring command asks for."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.on = 0
        self.off = 0
        self.print = False
        self.functions = False
        self.names_only = False
        self.globally = False
        self.inherit = False


def _parse(argv: list[str]) -> tuple[_Request, list[str]]:
    request = _Request(argv[0])
    options, operands = options_of(argv, "aAilnrtuxcpfFgI", plus=True)
    for letter, _ in options:
        if letter.startswith("+"):
            request.off |= _FLAGS.get(letter[1], 0)
        elif letter == "p":
            request.print = True
        elif letter == "f":
            request.functions = True
        elif letter == "F":
            request.functions = request.names_only = True
        elif letter == "g":
            request.globally = True
        elif letter == "I":
            request.inherit = True
        else:
            request.on |= _FLAGS[letter]
    if (request.on & (UPPER | LOWER | CAPITALIZE)).bit_count() > 1:
        # Each takes the others back.
        request.on &= ~(UPPER | LOWER | CAPITALIZE)
    return request, operands


@builtin("declare", "typeset")
def declare(shell: Interpreter, argv: list[str]) -> int:
    request, operands = _parse(argv)
    if request.functions:
        return _functions(shell, request, operands)
    if not operands or request.print:
        return _print(shell, request, operands)
    local = bool(shell.function_depth) and not request.globally
    return _declare_all(shell, request, operands, local=local)


@builtin("local")
def local(shell: Interpreter, argv: list[str]) -> int:
    if not shell.function_depth:
        raise ShellError("can only be used in a function")
    if "-" in argv[1:]:
        scope = shell.variables.function_scope()
        assert scope is not None
        scope.options = shell.save_options()
        argv = [word for word in argv if word != "-"]
        if len(argv) == 1:
            return 0
    request, operands = _parse(argv)
    if not operands:
        scope = shell.variables.function_scope()
        assert scope is not None
        found = [(name, shell.table.get(name)) for name in sorted(scope.saved)]
        lines = [declaration(name, variable) for name, variable in found if variable is not None]
        shell.output("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))
        return 0
    if request.print:
        return _print(shell, request, operands)
    return _declare_all(shell, request, operands, local=True)


def _declare_all(shell: Interpreter, request: _Request, operands: list[str], *, local: bool) -> int:
    status = 0
    for argument in operands:
        try:
            _declare_one(shell, request, argument, local=local)
        except ReadonlyError as error:
            shell.complain(f"{request.command}: {error.message}")
            status = 1
        except ShellError as error:
            if error.fatal:
                raise
            shell.complain(f"{request.command}: {error.message}")
            status = 1
    return status


def _declare_one(shell: Interpreter, request: _Request, argument: str, *, local: bool) -> None:
    match = _ARGUMENT.match(argument)
    if match is None:
        raise ShellError(f"`{argument}': not a valid identifier")
    name, subscript, operator, value = match.groups()
    if subscript and not subscript.isalnum() and not isinstance(argument, ArrayArgument):
        end = span_of(argument, len(name))
        match = _VALUE.match(argument, end) if end > 0 else None
        if match is None:
            raise ShellError(f"`{argument}': not a valid identifier")
        subscript = argument[len(name) + 1 : end - 1]
        operator, value = match.groups()
    variables = shell.variables
    if subscript is not None and request.command in ("export", "readonly"):
        raise ShellError(f"`{argument.partition('=')[0]}': not a valid identifier")
    if isinstance(argument, ArrayArgument):
        subscript = None
        operator = "+=" if argument.append else "="
    on = request.on
    listed = bool(on & (INDEXED | ASSOCIATIVE)) or isinstance(argument, ArrayArgument)
    scopes = variables.scopes
    keeps = local or on & (READONLY | EXPORT) or request.command == "export"
    if keeps and scopes and scopes[-1].temporary and name in scopes[-1].saved:
        variables.adopt(name, local=local)
    if local:
        old = shell.table.get(name)
        if old is not None and old.flags & READONLY and variables.is_global(name):
            raise ReadonlyError(name)
        inherit = request.inherit or "localvar_inherit" in shell.shopts
        target = variables.local(name, inherit=inherit, listed=listed)
    elif request.globally and shell.function_depth:
        target = variables.make_global(name, listed=listed)
    else:
        existing = shell.table.get(name)
        if existing is not None and existing.flags & NAMEREF and not (on | request.off) & NAMEREF:
            resolved, element = variables.resolve(name)
            name = resolved or name
            existing = shell.table.get(name)
            if element is not None:
                if request.command in ("export", "readonly"):
                    raise ShellError(f"`{name}[{element}]': not a valid identifier")
                subscript = element if subscript is None else subscript
        if existing is None:
            existing = shell.table[name] = Variable(None, 0 if listed else variables.new_flags)
            try:
                _apply(shell, request, name, existing, argument, subscript, operator, value)
            except ShellError:
                if on & NAMEREF:
                    # There is nothing that it could stand for.
                    del shell.table[name]
                raise
            return
        target = existing
    _apply(shell, request, name, target, argument, subscript, operator, value)


def _apply(
    shell: Interpreter, request: _Request, name: str, target: Variable, argument: str, subscript: str | None,
    operator: str | None, value: str | None,
) -> None:  # fmt: skip
    variables = shell.variables
    on, off = request.on, request.off
    if target.flags & READONLY and (operator is not None or off & READONLY):
        raise ReadonlyError(name)
    if on & ASSOCIATIVE and target.flags & INDEXED:
        raise ShellError(f"{name}: cannot convert indexed to associative array")
    if on & INDEXED and target.flags & ASSOCIATIVE:
        raise ShellError(f"{name}: cannot convert associative to indexed array")
    if off & (INDEXED | ASSOCIATIVE) and target.flags & (INDEXED | ASSOCIATIVE):
        raise ShellError(f"{name}: cannot destroy array variables in this way")
    if on & NAMEREF:
        if subscript is not None or (target.flags | on) & (INDEXED | ASSOCIATIVE):
            raise ShellError(f"{argument.partition('=')[0]}: reference variable cannot be an array")
        given = value if operator is not None else target.value
        if operator == "+=":
            given = (target.value or "") + (value or "")
        if target.flags & READONLY and operator is not None:
            raise ReadonlyError(name)
        if given is not None:
            if not re.match(r"[A-Za-z_]\w*(\[.*\])?\Z", given, re.ASCII | re.DOTALL):
                wrong = "invalid variable name for name reference" if given else "not a valid identifier"
                raise ShellError(f"`{given}': {wrong}")
            if given == name:
                if not shell.function_depth:
                    raise ShellError(f"{name}: nameref variable self references not allowed")
                shell.complain(f"{request.command}: warning: {name}: circular name reference")
            target.value = given
        target.flags = (target.flags & ~(INTEGER | UPPER | LOWER | CAPITALIZE) | on) & ~off
        return
    if isinstance(argument, ArrayArgument) and not on & ASSOCIATIVE and not target.flags & ASSOCIATIVE:
        on |= INDEXED
    if subscript is not None and not on & ASSOCIATIVE and not target.flags & ASSOCIATIVE:
        on |= INDEXED
    if on & (INDEXED | ASSOCIATIVE):
        _make_array(target, on)
    if on & (UPPER | LOWER | CAPITALIZE):
        target.flags &= ~(UPPER | LOWER | CAPITALIZE)
    target.flags = (target.flags | (on & ~READONLY)) & ~off
    if isinstance(argument, ArrayArgument):
        store_array(variables, name, target, argument.elements, append=argument.append)
    elif operator is not None:
        assert value is not None
        listed = bool(request.on & (INDEXED | ASSOCIATIVE))
        _assign(shell, name, target, subscript, value, append=operator == "+=", array=listed)
    if on & READONLY:
        target.flags |= READONLY


def _make_array(target: Variable, on: int) -> None:
    if target.flags & (INDEXED | ASSOCIATIVE):
        return
    if target.value is not None:
        target.array = {"0": target.value} if on & ASSOCIATIVE else {0: target.value}
        target.value = None


def _assign(
    shell: Interpreter,
    name: str,
    target: Variable,
    subscript: str | None,
    value: str,
    *,
    append: bool,
    array: bool,
) -> None:
    variables = shell.variables
    if (
        value.startswith("(")
        and value.endswith(")")
        and target.flags & (INDEXED | ASSOCIATIVE)
        and (subscript is None or array)
    ):
        # `declare -a "name=(…)"`: the text is read as an array.
        _assign_text(shell, name, target, value, append=append)
        return
    if shell.table.get(name) is target:
        if subscript is not None:
            if target.flags & ASSOCIATIVE:
                subscript = key_of(shell, subscript, declared=True)
            variables.set_element(name, subscript, value, append=append)
        else:
            variables.set(name, value, append=append)
        return
    # A global that a local of the same name hides.
    if target.flags & INDEXED:
        variables.set_indexed(name, target, variables.index_of(subscript or "0"), value, append=append)
    elif target.flags & ASSOCIATIVE:
        target.array = target.array if target.array is not None else {}
        target.array[key_of(shell, subscript, declared=True) if subscript else "0"] = value  # type: ignore[index]
    else:
        target.value = variables.converted(target, value, target.value, append)


def _assign_text(shell: Interpreter, name: str, target: Variable, value: str, *, append: bool) -> None:

    lexer = lexer_of(f"{name}={value}", line=shell.line)
    compiler = new_compiler().assignments
    node = parse_assignment(lexer, arrays=True)
    if node is None or node.elements is None:
        raise ShellError(f"{name}: bad array assignment")
    expand = compiler.keyed_elements if target.flags & ASSOCIATIVE else compiler.elements
    store_array(shell.variables, name, target, expand(node.elements)(shell), append=append)


def _print(shell: Interpreter, request: _Request, operands: list[str]) -> int:
    status = 0
    lines: list[str] = []
    if operands:
        for name in operands:
            variable = shell.table.get(name)
            if variable is None:
                _lines(shell, lines)
                lines.clear()
                shell.complain(f"{request.command}: {name}: not found")
                status = 1
                continue
            if variable.flags & DYNAMIC:
                shell.variables._refresh(name, variable)
            lines.append(_without_hidden(name, variable))
    else:
        for name in sorted(shell.table):
            variable = shell.table[name]
            if variable.flags & DYNAMIC:
                if not request.print and not request.on:
                    continue
                shell.variables.prepare_to_list(name, variable)
            if request.on and variable.flags & request.on != request.on:
                continue
            if request.print or request.on:
                lines.append(_without_hidden(name, variable))
            elif variable.is_set():
                lines.append(assignment_line(name, variable))
        if not request.print and not request.on:
            lines.extend(
                function_source(name, shell.functions[name].node) for name in sorted(shell.functions)
            )
    _lines(shell, lines)
    return status


def _lines(shell: Interpreter, lines: list[str]) -> None:
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def _without_hidden(name: str, variable: Variable) -> str:
    return declaration(name, variable)


def assignment_line(name: str, variable: Variable) -> str:
    """A variable as `set` lists it."""
    if variable.flags & ASSOCIATIVE:
        inner = "".join(f"[{key_quoted(key)}]={double_quoted(value)} " for key, value in variable.pairs())
        return f"{name}=({inner})"
    if variable.flags & INDEXED:
        inner = " ".join(f"[{index}]={double_quoted(value)}" for index, value in variable.indexed().items())
        return f"{name}=({inner})"
    return f"{name}={value_quoted(variable.value or '')}"


def _has(shell: Interpreter, name: str, flags: int) -> bool:
    """Whether a function has all of these attributes."""
    function = shell.functions[name]
    return not (
        (flags & READONLY and name not in shell.readonly_functions)
        or (flags & EXPORT and not function.exported)
        or (flags & TRACE and not function.traced)
    )


def _functions(shell: Interpreter, request: _Request, operands: list[str]) -> int:
    status = 0
    names = operands or sorted(shell.functions)
    lines: list[str] = []
    for name in names:
        if operands and "=" in name:
            raise BuiltinUsageError("cannot use `-f' to make functions", 1)
        function = shell.functions.get(name)
        if function is None:
            status = 1
            continue
        if operands and request.off & READONLY and name in shell.readonly_functions:
            shell.complain(f"{request.command}: {name}: readonly function")
            status = 1
            continue
        if operands and request.off and not request.on:
            function.exported = function.exported and not request.off & EXPORT
            function.traced = function.traced and not request.off & TRACE
            continue
        if request.on and operands:
            function.exported = function.exported or bool(request.on & EXPORT)
            function.traced = function.traced or bool(request.on & TRACE)
            if request.on & READONLY:
                shell.readonly_functions.add(name)
            continue
        if request.on and not operands and not _has(shell, name, request.on):
            continue
        if request.names_only:
            if not operands:
                marks = (
                    (name in shell.readonly_functions, "r"), (function.traced, "t"), (function.exported, "x"),
                )  # fmt: skip
                lines.append(f"declare -f{''.join(letter for on, letter in marks if on)} {name}")
            elif "extdebug" in shell.shopts:
                lines.append(f"{name} {function.node.line} {function.source}")
            else:
                lines.append(name)
        else:
            lines.append(function_source(name, function.node))
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    return status


def _refused(shell: Interpreter, command: str, argument: str, error: ReadonlyError) -> None:
    """Only where the builtin itself reads a list does the message begin with its name."""
    reads = not isinstance(argument, ArrayArgument) and "=(" in argument
    shell.complain(f"{command}: {error.message}" if reads else error.message)


def _mark(shell: Interpreter, request: _Request, argument: str) -> bool:
    """One operand of `export` or `readonly`; False when it was refused, and reported."""
    try:
        _declare_one(shell, request, argument, local=False)
        if shell.xtrace and "=" in argument and not isinstance(argument, ArrayArgument):
            name, _, value = argument.partition("=")
            shell.trace_assignment(name, value, False)
    except ReadonlyError as error:
        _refused(shell, request.command, argument, error)
        if ends_shell(shell, request.command):
            raise Exit(1) from None
        return False
    except ShellError as error:
        if error.fatal:
            raise
        shell.complain(f"{request.command}: {error.message}")
        return False
    return True


@builtin("export")
def export(shell: Interpreter, argv: list[str]) -> int:
    options, operands = options_of(argv, "aAfnp")
    letters = {letter for letter, _ in options}
    if not operands:
        return _list(shell, "export", EXPORT)
    status = 0
    for argument in operands:
        if "f" in letters:
            function = shell.functions.get(argument)
            if function is None:
                shell.complain(f"export: {argument}: not a function")
                status = 1
            else:
                function.exported = "n" not in letters
            continue
        request = _Request("export")
        if "n" in letters:
            request.off = EXPORT
        else:
            request.on = EXPORT
        if not _mark(shell, request, argument):
            status = 1
    return status


@builtin("readonly")
def readonly(shell: Interpreter, argv: list[str]) -> int:
    options, operands = options_of(argv, "aAfnp")
    letters = {letter for letter, _ in options}
    if not operands:
        kind = (INDEXED if "a" in letters else 0) | (ASSOCIATIVE if "A" in letters else 0)
        return _list(shell, "readonly", READONLY, kind)
    status = 0
    for argument in operands:
        if "f" in letters:
            if argument in shell.functions:
                shell.readonly_functions.add(argument)
            else:
                shell.complain(f"readonly: {argument}: not a function")
                status = 1
            continue
        request = _Request("readonly")
        request.on = READONLY | (INDEXED if "a" in letters else 0) | (ASSOCIATIVE if "A" in letters else 0)
        if not _mark(shell, request, argument):
            status = 1
    return status


def _list(shell: Interpreter, command: str, flag: int, kind: int = 0) -> int:
    lines: list[str] = []
    for name in sorted(shell.table):
        variable = shell.table[name]
        if variable.flags & flag and (not kind or variable.flags & kind):
            if variable.flags & DYNAMIC:
                shell.variables._refresh(name, variable)
            line = declaration(name, variable)
            if shell.posix:
                # As commands that every shell knows, with the options that none but bash has.
                _, letters, rest = line.split(" ", 2)
                kept = "".join(letter for letter in letters if letter in "aA")
                line = f"{command} {'-' + kept + ' ' if kept else ''}{rest}"
            lines.append(line)
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    return 0
