"""The commands of `planaria pool`."""

from __future__ import annotations

import click

__all__ = ["pool"]


@click.group()
def pool() -> None:
    """Look at the sessions and workers of pools, by the store that they share.

    STORE is a directory, or sqlite:////FILE, redis://HOST/0, s3://BUCKET/PREFIX.
    """


@pool.command()
@click.argument("store")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(store: str, as_json: bool) -> None:
    """Tell how many sessions there are, and which workers.

    Steps and live sessions are what each worker wrote when it was last SEEN, up to half a minute ago.
    """
    from planaria.cli.pool import show_status

    show_status(store, as_json=as_json)


@pool.command("list")
@click.argument("store")
@click.argument("pattern", default="*")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_pool(store: str, pattern: str, as_json: bool) -> None:
    """List the sessions whose names match PATTERN ("order-*"), and what they wait for."""
    from planaria.cli.pool import list_sessions

    list_sessions(store, pattern, as_json=as_json)


@pool.command()
@click.argument("store")
@click.option("--worker", "workers", multiple=True, metavar="ID", help="This one; all unless given.")
@click.option("--wait", default=60.0, metavar="SECONDS", help="How long to wait for steps under way.")
def drain(store: str, workers: tuple[str, ...], wait: float) -> None:
    """Have workers park their sessions and end.

    A pool that still has steps starts others, of the version that is installed then.
    """
    from planaria.cli.pool import drain as drain_workers

    drain_workers(store, workers, wait)


@pool.command()
@click.argument("store")
@click.option(
    "--unused",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Also remove what `planaria setup --to` has sent and was not sent or fetched for so long.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def collect(store: str, unused: float | None, as_json: bool) -> None:
    """Remove what no session needs any more: snapshots, their parts, and images saved from sessions.

    Workers go on meanwhile.
    """
    from planaria.cli.pool import collect as collect_garbage

    collect_garbage(store, unused, as_json=as_json)
