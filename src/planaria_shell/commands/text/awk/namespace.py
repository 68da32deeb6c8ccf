"""What compiled awk programs work with: awk's arithmetic, and short names for what the runtime does."""

from __future__ import annotations

import math
from typing import Any

from planaria_shell.commands.text.awk.columns import numbers, sum_from, text_columns
from planaria_shell.commands.text.awk.printf import format_values
from planaria_shell.commands.text.awk.runtime import NO_FIELD, Exit, NextFile, NextRecord
from planaria_shell.commands.text.awk.syntax import fatal
from planaria_shell.commands.text.awk.values import (
    Array,
    Input,
    Regexp,
    number,
    special_text,
    text_number,
    truth,
)
from planaria_shell.state.characters import lower_case, upper_case

__all__ = ["NAMESPACE", "PROLOGUE"]


def _power(base: float, exponent: float) -> float:
    try:
        result = base**exponent
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ZeroDivisionError:
        return math.inf
    return -math.nan if isinstance(result, complex) else result


def _modulo(left: float, right: float) -> float:
    if right == 0:
        raise fatal("division by zero attempted in `%'")
    return math.fmod(left, right) if left - left == 0.0 else math.nan


def _put(array: Array, key: str, value: Any) -> Any:
    array[key] = value
    return value


def _integer_text(template: str, value: float) -> str:
    return template % int(value) if value - value == 0.0 else format_values(template, (value,))


def _float_text(template: str, value: float) -> str:
    return template % value if value - value == 0.0 else format_values(template, (value,))


def _no_format() -> str:
    raise fatal("printf: no arguments")


#: What compiled programs find under these names.
NAMESPACE: dict[str, Any] = {
    "Array": Array, "Input": Input, "Regexp": Regexp,
    "number": number, "text_number": text_number, "truth": truth,
    "power": _power, "modulo": _modulo, "put": _put, "format_values": format_values,
    "NextRecord": NextRecord, "NextFile": NextFile, "Exit": Exit, "special_text": special_text,
    "integer_text": _integer_text, "NO_FIELD": NO_FIELD, "float_text": _float_text,
    "lower_case": lower_case, "upper_case": upper_case,
    "numbers": numbers, "sum_from": sum_from, "text_columns": text_columns,
    "no_format": _no_format,
}  # fmt: skip
#: What they begin with.
PROLOGUE = (
    "text, compare = R.conversion.text, R.conversion.compare",
    "compare_field = R.conversion.compare_field",
    "number_text, known = R.conversion.number_text, R.conversion.known.get",
    "output_text, output_number_text = R.output_conversion.text, R.output_conversion.number_text",
    "output_known = R.output_conversion.known.get",
    "field, field_value, pattern = R.field, R.field_value, R.pattern",
    "dynamic_field, dynamic_text = R.dynamic_field, R.dynamic_text",
    "next_record, printed, out = R.next_record, R.printed, R.printed.append",
    "ENVIRON, ARGV, PROCINFO = R.environment, R.arguments, R.information",
    "SYMTAB, FUNCTAB = R.symbols, R.functions",
)
