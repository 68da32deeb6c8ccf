"""Which function compiles which type of node."""

from __future__ import annotations

from planaria_shell.compile import branches, groups, lists, loops, pipeline, simple_commands, substitutions
from planaria_shell.compile.compiler import Compiler, Table
from planaria_shell.syntax.nodes import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Select,
    Sequence,
    Simple,
    Subshell,
    While,
)

__all__ = ["new_compiler"]

_TABLE = Table(
    run={
        Simple: simple_commands.run_simple,
        Sequence: lists.run_sequence,
        AndOr: lists.run_and_or,
        Pipeline: pipeline.run_pipeline,
        Group: groups.run_group,
        Subshell: groups.run_subshell,
        Function: groups.run_function,
        Coprocess: groups.run_coprocess,
        If: branches.run_if,
        Case: branches.run_case,
        ArithmeticCommand: branches.run_arithmetic_command,
        Condition: branches.run_condition,
        While: loops.run_while,
        For: loops.run_for,
        ArithmeticFor: loops.run_arithmetic_for,
        Select: loops.run_select,
    },
    stream={
        Simple: simple_commands.stream_simple,
        Sequence: lists.stream_sequence,
        AndOr: lists.stream_and_or,
        Pipeline: pipeline.stream_pipeline,
        Group: groups.stream_group,
        Subshell: groups.stream_subshell,
        If: branches.stream_if,
        Case: branches.stream_case,
        While: loops.stream_while,
        For: loops.stream_for,
        ArithmeticFor: loops.stream_arithmetic_for,
    },
    substitution=substitutions.substitution,
    process_substitution=substitutions.process_substitution,
)


def new_compiler() -> Compiler:
    """A compiler for a program."""
    return Compiler(_TABLE)
