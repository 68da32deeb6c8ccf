"""`mktemp`: create a temporary file or directory, safely, and print its name."""

from __future__ import annotations

import os
import random
import string

from planaria_shell.commands.files.copying import into_directory
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.streams import reason


@command(
    "mktemp",
    short="dp:qtuV",
    long="directory=d quiet=q dry-run=u suffix: tmpdir=tmpdir::",
    usage="[OPTION]... [TEMPLATE]",
)
def mktemp(call: Invocation) -> Status:
    """Create a temporary file or directory, safely, and print its name."""
    arguments = call.arguments
    if len(call.operands) > 1:
        raise UsageError("too many templates")
    template = call.operands[0] if call.operands else "tmp.XXXXXXXXXX"
    suffix = arguments.value("suffix")
    if suffix is not None:
        if not template.endswith("X"):
            raise UsageError(f"with --suffix, template {quote(template)} must end in X", hint=False)
        body = template
    else:
        cut = template.rfind("X") + 1
        body, suffix = template[:cut], template[cut:]
    if "/" in suffix:
        raise UsageError(f"invalid suffix {quote(suffix)}, contains directory separator", hint=False)
    count = len(body) - len(body.rstrip("X"))
    if count < 3:
        raise CommandError(
            f"too few X's in template {quote(template + (suffix if arguments.has('suffix') else ''))}"
        )
    directory: str | None = None
    if arguments.has("p", "tmpdir") or not call.operands or arguments.has("t"):
        given = arguments.value("p", "tmpdir")
        directory = given or call.env.get("TMPDIR") or "/tmp"
        if arguments.has("t"):
            directory = call.env.get("TMPDIR") or given or "/tmp"
            if "/" in template:
                raise CommandError(f"invalid template, {quote(template)}, contains directory separator")
        elif template.startswith("/"):
            raise CommandError(f"invalid template, {quote(template)}; with --tmpdir, it may not be absolute")
    stem = body[: len(body) - count]
    if directory is not None:
        stem = into_directory(directory, stem)
    generator = random.Random(os.urandom(16))
    kind = "directory" if arguments.has("d") else "file"
    problem: OSError | None = None
    for _ in range(1000):
        letters = "".join(generator.choices(string.ascii_letters + string.digits, k=count))
        name = stem + letters + suffix
        path = call.path(name)
        try:
            if arguments.has("u"):
                try:
                    os.lstat(path)
                    continue
                except FileNotFoundError:
                    pass
            elif arguments.has("d"):
                os.mkdir(path, 0o700)
            else:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError as error:
            problem = error
            continue
        except OSError as error:
            problem = error
            break
        call.print(name)
        return 0
    if not arguments.has("q") and problem is not None:
        shown_template = stem + "X" * count + suffix
        call.error(f"failed to create {kind} via template {quote(shown_template)}: {reason(problem)}")
    return 1
