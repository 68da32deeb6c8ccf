"""The commands and their options. What they do is beside this file and is imported when it is used."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final, TextIO

import click

from planaria import __version__
from planaria.cli.options import (
    Command,
    SessionOptions,
    image_file,
    sandbox_options,
    seconds,
    server_options,
    session_options,
    workspace_options,
)
from planaria.cli.pool_commands import pool
from planaria.cli.service_options import service_options
from planaria.cli.streams import abandon_output
from planaria.errors import PlanariaError

__all__ = ["commands"]

# 128 and the number of SIGINT or SIGPIPE, as shells have it.
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141


class _Commands(click.Group):
    """Without a command's name, `repl` is meant; errors of this package are shown on one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("--help", "-h", "--version")):
            args = ["repl", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PlanariaError as error:
            raise click.ClickException(str(error)) from None
        except ImportError as error:
            if "pip install 'planaria[" not in str(error):  # it does not name the extra that is missing
                raise
            raise click.ClickException(str(error)) from None
        except BrokenPipeError:
            abandon_output()
            ctx.exit(_BROKEN_PIPE)
        except OSError as error:
            raise click.ClickException(str(error)) from None
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)


class _Run(click.Command):
    """A command whose options end with -c CODE or -m MODULE, as Python's do."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        flags = {name for one in self.params if getattr(one, "is_flag", False) for name in one.opts}
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] not in ("-", "--"):
            option = args[place]
            if option in ("-c", "-m") and place + 1 == len(args):
                break  # that there is nothing to run is said as of any option that lacks its argument
            place += 1 if option in flags or "=" in option or option in ctx.help_option_names else 2
            if option in ("-c", "-m"):
                args = [*args[:place], "--", *args[place:]]
                break
        return super().parse_args(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="planaria", message="%(prog)s %(version)s")
def commands() -> None:
    """Run Python and bash in a sandbox. Without a command, `planaria` opens an interactive session."""


@commands.command(short_help="Open an interactive session.")
@session_options
def repl(**options: Any) -> None:
    """An interactive session (this is what `planaria` alone does).

    When standard input is not a terminal, all of it is run as one cell.
    """
    from planaria.cli.repl import interact

    sys.exit(interact(SessionOptions(**options)))


@commands.command(cls=_Run, short_help="Run a program.", context_settings={"allow_interspersed_args": False})
@click.option("-c", "code", metavar="CODE", help="Run this text. All that follows are its arguments.")
@click.option("-m", "module", metavar="MODULE", help="Run this module. All that follows are its arguments.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object in place of the output.")
@session_options
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="FILE [ARGS]...")
def run(
    arguments: tuple[str, ...], code: str | None, module: str | None, as_json: bool, **options: Any
) -> None:
    """Run the Python program FILE ("-": from standard input) in a sandbox; ARGS are its sys.argv[1:].

    The modules that it imports are found beside it: of this computer's files it sees them, itself, and what
    --mount shows. Options stand before FILE, -c and -m. Without FILE, standard input is the program unless
    it is a terminal. Output is passed on as it comes. The exit status is the program's: that of sys.exit(), 1
    after an exception; 124 after a timeout, 130 after Ctrl-C.
    """
    from planaria.cli.program import Program, run_program

    program = Program.find(code, module, list(arguments))
    sys.exit(run_program(program, SessionOptions(**options), as_json=as_json))


@commands.command(
    short_help="Open a shell, or run a script.", context_settings={"allow_interspersed_args": False}
)
@click.option("-c", "script", metavar="SCRIPT", help="Run this text; what follows is $0, $1 and so on.")
@session_options
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[FILE] [ARGS]...")
def bash(arguments: tuple[str, ...], script: str | None, **options: Any) -> None:
    """Run the shell script FILE in a sandbox, or open an interactive shell.

    Options stand before FILE. When standard input is not a terminal and there is no FILE, it is the script.
    The exit status is the script's; 124 after a timeout, 130 after Ctrl-C.
    """
    from planaria.cli.shell import run_shell

    sys.exit(run_shell(script, list(arguments), SessionOptions(**options)))


@commands.command(short_help="Serve sessions to MCP clients.")
@click.option(
    "--http", is_flag=True, help="Serve streamable HTTP, at /mcp, rather than standard input and output."
)
@server_options(port=8000)
@sandbox_options
def mcp(
    http: bool,
    host: str,
    port: int,
    store: str | None,
    base: Path | None,
    packages: tuple[str, ...],
    **options: Any,
) -> None:
    """Serve sessions to an MCP client (Claude, Codex, Cursor, VS Code ...), on standard input and output.

    Its tools are run_python, run_bash, read_file, write_file and sessions. With --http it listens at --host
    and --port. HTTP has no authentication: any program that can connect can use the sessions.
    """
    from planaria.cli.mcp import Server, serve

    serve(Server(SessionOptions(**options), store, base, packages), (host, port) if http else None)


@commands.command(name="serve", short_help="Serve sessions over HTTP.")
@service_options
@click.option("--ui", "page", is_flag=True, help="Also serve a page to watch and steer the sessions, at /.")
@click.option(
    "--pool",
    "engine",
    type=click.Choice(["processes", "ray"]),
    help="Serve by several processes of this machine, or actors on a cluster of Ray, which share the store.",
)
@click.option("--workers", type=click.IntRange(1), help="How many of them; one a processor unless given.")
def serve_http(page: bool, engine: str | None, workers: int | None, **options: Any) -> None:
    """Serve sessions over HTTP, until Ctrl-C.

    The interface is described at /v1/openapi.json.
    """
    if engine is not None:
        from planaria.cli.serve_pool import serve_pool

        serve_pool(engine, workers, sys.argv[1:], options)
        return
    if workers is not None:
        raise click.UsageError("--workers needs --pool")
    from planaria.cli.serve import Service, serve

    serve(Service.of(options, page=page))


@commands.command(short_help="Open a page to watch and steer sessions.")
@service_options
@click.option("--no-browser", is_flag=True, help="Do not open it in a browser.")
def ui(no_browser: bool, **options: Any) -> None:
    """Serve sessions with a page, and open that in a browser; until Ctrl-C.

    It is what `planaria serve --ui` serves.
    """
    from planaria.cli.serve import Service, serve

    serve(Service.of(options, page=True, opens=not no_browser))


@commands.group()
def jupyter() -> None:
    """The Jupyter kernel: notebooks whose cells run in a sandbox."""


@jupyter.command(name="install", context_settings={"ignore_unknown_options": True})
@click.option("--user", is_flag=True, help="For this user (as without --prefix and --sys-prefix).")
@click.option("--prefix", metavar="DIR", help="Below this directory, such as that of a virtual environment.")
@click.option("--sys-prefix", is_flag=True, help="Below the directory of this Python.")
@click.option("--name", default="planaria", show_default=True, help="The kernel's name.")
@click.option(
    "--display-name", default="Python (planaria)", show_default=True, help="The name that front ends show."
)
@click.option("--shared", is_flag=True, help="Run all such kernels in the process that starts them.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS]...")
def install_jupyter(
    user: bool,
    prefix: str | None,
    sys_prefix: bool,
    name: str,
    display_name: str,
    shared: bool,
    options: tuple[str, ...],
) -> None:
    """Tell Jupyter of the kernel. OPTIONS are those of `planaria jupyter kernel`, for each kernel."""
    if user + sys_prefix + (prefix is not None) > 1:
        raise click.UsageError("--user, --prefix and --sys-prefix exclude each other")
    if shared and options:
        raise click.UsageError("--shared takes no OPTIONS: its settings stand in kernel.json; see the docs")
    from planaria.cli.jupyter import install_kernel

    place = sys.prefix if sys_prefix else prefix
    install_kernel(name, display_name, options, user=place is None, prefix=place, shared=shared)


@jupyter.command(name="kernel")
@click.option(
    "-f",
    "connection_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="The connection file that Jupyter writes.",
)
@workspace_options
@click.option("--timeout", type=seconds, metavar="SECONDS", help="Stop a cell after so many seconds.")
@sandbox_options
def jupyter_kernel(
    connection_file: Path,
    base: Path | None,
    packages: tuple[str, ...],
    **options: Any,
) -> None:
    """Run a kernel; Jupyter does that."""
    from planaria.cli.jupyter import run_kernel
    from planaria.cli.mcp import Server

    run_kernel(Server(SessionOptions(**options), None, base, packages), connection_file)


@commands.command(short_help="Compile the runtime ahead of time.")
@click.option("--full", is_flag=True, help="Also what numpy, pandas, scipy and matplotlib need (a minute).")
@click.option("--metered", is_flag=True, help="Also what counts instructions, for Limits(fuel=...).")
@click.option(
    "--export",
    "exported",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write what is compiled to a file, for computers of the same kind.",
)
@click.option(
    "--import",
    "imported",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take it from such a file instead of compiling it. It is native code: trust the file.",
)
@click.option("--to", "target", metavar="STORE", help="Keep what is compiled in a store.")
@click.option(
    "--from",
    "source",
    metavar="STORE",
    help="Take from a store what another computer of this kind has kept there. It is native code: trust the "
    "store.",
)
@click.option("--image", "images", multiple=True, metavar="NAME", help="With --to and --from: an image, too.")
def setup(
    full: bool,
    metered: bool,
    exported: Path | None,
    imported: Path | None,
    target: str | None,
    source: str | None,
    images: tuple[str, ...],
) -> None:
    """Compile the runtime ahead of time, so that no session has to wait for it."""
    from planaria.cli.runtime import prepare

    if images and target is None and source is None:
        raise click.UsageError("--image needs --to or --from")
    prepare(full, exported, imported, metered=metered, target=target, source=source, images=images)


@commands.command(short_help="Tell what is installed and what is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> None:
    """Tell what is installed and compiled, where, how large, and what is wrong (exit status 1)."""
    from planaria.cli.runtime import examine

    sys.exit(examine(as_json=as_json))


@commands.group()
def cache() -> None:
    """What planaria keeps on this computer: the compiled runtime, images and their files."""


@cache.command()
@click.option("--dry-run", is_flag=True, help="Only tell what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print what was removed as JSON.")
def clean(dry_run: bool, as_json: bool) -> None:
    """Remove what other versions have left behind, and images that no name needs."""
    from planaria.cli.runtime import clean_cache

    clean_cache(dry_run=dry_run, as_json=as_json)


@commands.group()
def image() -> None:
    """Images: what sessions can begin from (see --image)."""


@image.command()
@click.argument("name")
@click.option("--preload", multiple=True, metavar="MODULE", help="Import this module. May be repeated.")
@click.option(
    "--package", "packages", multiple=True, metavar="REQUIREMENT", help="Install this, as in 'attrs>=24'."
)
@click.option(
    "--setup", default="", metavar="CODE", help="Run this code; its names are there in each session."
)
@click.option("--setup-file", type=click.File("r", "utf-8"), help="Run the code in this file, likewise.")
@click.option(
    "--file",
    "files",
    type=image_file,
    multiple=True,
    metavar="HOST:GUEST",
    help="Copy a file or directory of this computer into it. May be repeated.",
)
@click.option("--base", metavar="IMAGE", help="Begin from this image.")
@click.option("--find-links", multiple=True, metavar="PLACE", help="Look for wheels here, too.")
@click.option("--no-index", is_flag=True, help="Look for wheels nowhere else.")
def build(name: str, setup: str, setup_file: TextIO | None, no_index: bool, **options: Any) -> None:
    """Build an image and register it as NAME, in place of an earlier one of that name."""
    from planaria.cli.images import build_image

    if setup_file is not None:
        if setup:
            raise click.UsageError("--setup and --setup-file exclude each other")
        setup = setup_file.read()
    build_image(name, setup=setup, index=not no_index, **options)


@image.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_command(as_json: bool) -> None:
    """List the images on this computer."""
    from planaria.cli.images import list_images

    list_images(as_json=as_json)


@image.command()
@click.argument("names", nargs=-1, required=True)
def remove(names: tuple[str, ...]) -> None:
    """Remove images; sessions that run keep them."""
    from planaria.cli.images import remove_images

    remove_images(names)


@commands.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def replay(file: Path) -> None:
    """Do again what the recording FILE holds, one execution after the other.

    Nothing of the outside is called. Commands come from standard input, so a file of them can be piped in:
    step, call, back, go N, run, print CODE, list, calls, explain NAME, digest, help, quit. An empty line is
    the last command again.
    """
    from planaria.cli.replay import replay_file

    sys.exit(replay_file(file))


@commands.group()
def store() -> None:
    """Move a workspace between storages, list it, compare two.

    A workspace is tools, workflows, artifacts, requirements and snapshots. It is at a directory, or at
    sqlite:///FILE or redis://HOST/0?prefix=PREFIX; URLs take workspace=ID for a tenant's.
    """


def _store_options(command: Command) -> Command:
    for option in (
        click.option("--snapshots/--no-snapshots", default=True, help="Snapshots, too (the default)."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        command = option(command)
    return command


@store.command()
@click.argument("source")
@click.argument("target")
@click.option("--overwrite", is_flag=True, help="Replace what differs there.")
@_store_options
def bootstrap(source: str, target: str, **options: Any) -> None:
    """Bring into TARGET what it lacks of SOURCE; what differs there is kept."""
    from planaria.cli.store import bring
    from planaria.workspace.storage import transfer

    bring(transfer.bootstrap, source, target, **options)


@store.command()
@click.argument("source")
@click.argument("target")
@click.option("--delete", is_flag=True, help="Remove what SOURCE does not have.")
@_store_options
def pull(source: str, target: str, **options: Any) -> None:
    """Make TARGET have all of SOURCE as it is there."""
    from planaria.cli.store import bring
    from planaria.workspace.storage import transfer

    bring(transfer.pull, source, target, **options)


@store.command("list")
@click.argument("place")
@_store_options
def list_store(place: str, **options: Any) -> None:
    """List what is in a workspace."""
    from planaria.cli.store import list_workspace

    list_workspace(place, **options)


@store.command()
@click.argument("first")
@click.argument("second")
@_store_options
def diff(first: str, second: str, **options: Any) -> None:
    """Tell what was added (+), removed (-) and changed (~) from FIRST to SECOND (exit status 1)."""
    from planaria.cli.store import show_difference

    sys.exit(show_difference(first, second, **options))


commands.add_command(pool)
