"""Whether there is memory for a compile, as systems and containers say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planaria.runtime import compiling_process, tiers
from planaria.runtime.available_memory import available_memory, shortage
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import Tier

_MEMORY = "MemTotal:       24000000 kB\nMemAvailable:    4000000 kB\nSwapFree:         500000 kB\nHugePages_Total:       0\n"


def system(root: Path, **group: str) -> Path:
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text(_MEMORY)
    (root / "sys/fs/cgroup").mkdir(parents=True)
    for name, text in group.items():
        (root / "sys/fs/cgroup" / name.replace("_", ".")).write_text(text)
    return root


def test_of_a_machine(tmp_path: Path) -> None:
    """Without a limit there is what the kernel estimates, and the free swap."""
    assert available_memory(system(tmp_path, memory_max="max\n")) == 4_500_000 * 1024
    assert shortage(Tier.FULL, tmp_path) is None


def test_of_a_container(tmp_path: Path) -> None:
    """The limit of a container counts, without what it uses; files that are only cached can go."""
    root = system(
        tmp_path,
        memory_max="2000000000\n",
        memory_current="900000000\n",
        memory_stat="anon 1\ninactive_file 300000000\n",
    )
    assert available_memory(root) == 1_400_000_000
    assert shortage(Tier.CORE, root) is None
    assert "takes 2.3 GB of memory, and 1.4 GB are available" in (shortage(Tier.FULL, root) or "")


def test_of_groups_within_groups(tmp_path: Path) -> None:
    """Of the groups that a process is in, the one that leaves the least counts, in either version."""
    root = system(tmp_path)
    (root / "proc/self").mkdir()
    (root / "proc/self/cgroup").write_text("7:cpu,memory:/job\n0::/user.slice/app\n")
    for place, limit in (("user.slice", "1500000000\n"), ("user.slice/app", "max\n")):
        group = root / "sys/fs/cgroup" / place
        group.mkdir()
        (group / "memory.max").write_text(limit)
        (group / "memory.current").write_text("100000000\n")
        (group / "memory.stat").write_text("inactive_file 5\n")
    assert available_memory(root) == 1_400_000_005
    job = root / "sys/fs/cgroup/memory/job"
    job.mkdir(parents=True)
    (job / "memory.limit_in_bytes").write_text("900000000\n")
    (job / "memory.usage_in_bytes").write_text("300000000\n")
    (job / "memory.stat").write_text("inactive_file 7\ntotal_inactive_file 50000000\n")
    assert available_memory(root) == 650_000_000


def test_where_the_system_does_not_say(tmp_path: Path) -> None:
    """Where nothing is known, nothing is said to be short."""
    assert available_memory(tmp_path) is None
    assert shortage(Tier.FULL, tmp_path) is None


def test_nothing_is_compiled_in_the_background_when_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A compile that could have the process ended is not begun in the background; the log says why."""
    root = system(tmp_path, memory_max="1000000000\n", memory_current="0\n", memory_stat="anon 1\n")
    monkeypatch.setenv("PLANARIA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PLANARIA_BACKGROUND_COMPILE", raising=False)
    monkeypatch.setattr(tiers, "_modules", {})
    monkeypatch.setattr(tiers, "shortage", lambda tier: shortage(tier, root))
    monkeypatch.setattr(compiling_process, "spawn", lambda *_, **__: pytest.fail("it was begun"))
    assert CompileCache().directory == tmp_path / "cache"
    with caplog.at_level("WARNING", "planaria.runtime"):
        assert tiers.start_background_compile() is False
    assert "not compiling in the background: compiling the full runtime takes 2.3 GB" in caplog.text
