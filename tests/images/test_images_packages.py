"""Packages for images; the wheels are made here, so nothing is downloaded except where it says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria.runtime.packages import bundled

pytestmark = pytest.mark.slow

Build = Callable[..., planaria.Image]
MakeWheel = Callable[..., Path]


def test_package(build: Build, new_session: Any, make_wheel: MakeWheel) -> None:
    """A package and what it needs are installed, and known to importlib.metadata."""
    make_wheel("needed", {"needed.py": "value = 5"}, version="2.0")
    house = make_wheel(
        "greeting",
        {"greeting/__init__.py": "from needed import value", "greeting/text.txt": "hello"},
        needs=("needed>=1", "not_for_us; sys_platform == 'win32'"),
    )
    image = build(packages=["greeting"], find_links=[str(house)], index=False, preload=["greeting"])
    assert image.packages == ("greeting==1.0", "needed==2.0")
    session = new_session(image=image)
    assert session.run("import greeting; greeting.value").value == 5
    assert session.run("from importlib import metadata; metadata.version('greeting')").value == "1.0"
    text = "from importlib import resources; resources.files('greeting').joinpath('text.txt').read_text()"
    assert session.run(text).value == "hello"


def test_markers_are_the_guests(build: Build, make_wheel: MakeWheel) -> None:
    """Which requirements count is decided for the guest's Python and platform, not for this computer's."""
    make_wheel("modern", {"modern.py": ""})
    make_wheel("inside", {"inside.py": ""})
    house = make_wheel(
        "chooser",
        {"chooser.py": ""},
        needs=(
            "modern; python_version >= '3.15'",
            "inside; sys_platform == 'wasi'",
            "absent; sys_platform == 'linux'",
        ),
    )
    image = build(packages=["chooser"], find_links=[str(house)], index=False)
    assert image.packages == ("chooser==1.0", "inside==1.0", "modern==1.0")


def test_bundled_packages_count(build: Build, new_session: Any, make_wheel: MakeWheel) -> None:
    """What the runtime brings satisfies requirements in the version that it has, and is not fetched."""
    house = make_wheel("tables", {"tables.py": "import attr"}, needs=("attrs>=20", "numpy", "pandas>=2"))
    image = build(packages=["tables", "attrs"], find_links=[str(house)], index=False)
    assert image.packages == ("tables==1.0",)
    assert new_session(image=image).run("import tables, attrs; attrs.__name__").value == "attrs"


def test_older_versions_are_tried(build: Build, make_wheel: MakeWheel) -> None:
    """The newest version that agrees with the runtime's packages, and with all others, is chosen, with a
    warning when it is not the newest there is.
    """
    make_wheel("shared", {"shared.py": ""}, version="1.0")
    make_wheel("shared", {"shared.py": ""}, version="2.0")
    make_wheel("eager", {"eager.py": ""}, version="3.0", needs=("attrs>=9999",))
    make_wheel("eager", {"eager.py": ""}, version="2.0", needs=("shared>=2",))
    make_wheel("eager", {"eager.py": ""}, version="1.0", needs=("shared",))
    house = make_wheel("calm", {"calm.py": ""}, needs=("shared<2",))
    with pytest.warns(
        UserWarning, match=r"^eager 1\.0 is installed and not 3\.0, which needs attrs, of which no"
    ):
        image = build(packages=["eager", "calm"], find_links=[str(house)], index=False)
    assert image.packages == ("calm==1.0", "eager==1.0", "shared==1.0")


def test_conflicts_name_who_requires_what(build: Build, make_wheel: MakeWheel) -> None:
    """When no versions agree, the error has each requirement in the way and the package it is of."""
    make_wheel("shared", {"shared.py": ""})
    make_wheel("one", {"one.py": ""}, needs=("shared<2",))
    house = make_wheel("two", {"two.py": ""}, needs=("shared>=2",))
    with pytest.raises(planaria.ImageError) as raised:
        build(packages=["one", "two"], find_links=[str(house)], index=False)
    assert "shared<2 (required by one 1.0)" in str(raised.value)
    assert "shared>=2 (required by two 1.0)" in str(raised.value)


def test_extras(build: Build, make_wheel: MakeWheel) -> None:
    """Extras bring what they need; without them it is not brought."""
    make_wheel("more", {"more.py": ""})
    house = make_wheel("basic", {"basic.py": ""}, needs=("more; extra == 'full'",))
    make_wheel("user", {"user.py": ""}, needs=("basic[full]",))
    plain = build(packages=["basic"], find_links=[str(house)], index=False)
    assert plain.packages == ("basic==1.0",)
    image = build(packages=["basic", "user"], find_links=[str(house)], index=False)
    assert image.packages == ("basic==1.0", "more==1.0", "user==1.0")


@pytest.mark.parametrize("form", ["{}", "file://{}", "direct @ file://{}"])
def test_wheels_by_place(build: Build, make_wheel: MakeWheel, form: str) -> None:
    """A wheel is taken by its path or address, and replaces a newer one of an index."""
    house = make_wheel("direct", {"direct.py": ""}, version="1.0")
    make_wheel("direct", {"direct.py": ""}, version="2.0")
    needing = make_wheel("needing", {"needing.py": ""}, needs=("direct",))
    wheel = form.format(house / "direct-1.0-py3-none-any.whl")
    image = build(packages=["needing", wheel], find_links=[str(needing)], index=False)
    assert image.packages == ("direct==1.0", "needing==1.0")


def test_bundled_packages_are_fixed(build: Build) -> None:
    """Another version of a package that the runtime brings cannot be had; the error says so."""
    with pytest.raises(planaria.ImageError, match="versions of what the runtime brings are fixed"):
        build(packages=["attrs<2"], index=False)
    assert "numpy" in bundled()


def test_replaced_packages_count(build: Build, new_session: Any, make_wheel: MakeWheel) -> None:
    """IPython and comm, of which the sandbox has modules of its own, count as installed in their versions."""
    house = make_wheel("gadget", {"gadget.py": ""}, needs=("ipython>=6", "comm>=0.1.3"))
    image = build(packages=["gadget"], find_links=[str(house)], index=False)
    assert image.packages == ("gadget==1.0",)
    versions = (
        new_session(image=image).execute("import IPython, comm; IPython.__version__, comm.__version__").value
    )
    assert versions == (bundled()["ipython"], bundled()["comm"])


def test_native_packages(build: Build, make_wheel: MakeWheel) -> None:
    """All packages that need native code are refused at once, by their names."""
    tags = "cp313-cp313-manylinux_2_17_x86_64"
    make_wheel("speedy", {"speedy.cpython-313-x86_64-linux-gnu.so": b"\x7fELF"}, tags=tags)
    make_wheel("rapid", {"rapid.abi3.so": b"\x7fELF"}, tags="cp38-abi3-manylinux2014_x86_64")
    make_wheel("fine", {"fine.py": ""}, needs=("rapid",))
    house = make_wheel("top", {"top.py": ""}, needs=("speedy", "fine"))
    with pytest.raises(planaria.ImageError, match="rapid, speedy need native code"):
        build(packages=["top"], find_links=[str(house)], index=False)


def test_native_code_in_disguise(build: Build, make_wheel: MakeWheel) -> None:
    """A wheel that claims to be pure and has a shared library in it is refused."""
    house = make_wheel("liar", {"liar/core.so": b"\x7fELF"})
    with pytest.raises(planaria.ImageError, match="liar needs native code"):
        build(packages=["liar"], find_links=[str(house)], index=False)


@pytest.mark.parametrize("path", ["../outside.py", "/etc/outside.py", "pure/../../outside.py"])
def test_names_that_lead_out(build: Build, make_wheel: MakeWheel, path: str) -> None:
    """A wheel whose names lead out of the directory for packages is refused."""
    house = make_wheel("slippery", {"slippery.py": "", path: "x = 1"})
    with pytest.raises(planaria.ImageError, match=r"slippery.* cannot be unpacked: .*leads out"):
        build(packages=["slippery"], find_links=[str(house)], index=False)


def test_bombs(build: Build, make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel that is larger than packages may be is refused while it is unpacked."""
    monkeypatch.setattr("planaria.runtime.packages._MOST_BYTES", 1 << 20)
    house = make_wheel("bomb", {"bomb.py": b"\n" * (2 << 20)})
    with pytest.raises(planaria.ImageError, match=r"bomb.*more bytes than are allowed"):
        build(packages=["bomb"], find_links=[str(house)], index=False)


def test_nothing_is_executed(build: Build, make_wheel: MakeWheel, tmp_path: Path) -> None:
    """Nothing of a package runs on the host, and nothing in the guest before it is imported."""
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit"
    house = make_wheel("active", {"active.py": code, "setup.py": code, "active.pth": f"import os; {code!r}"})
    build(packages=["active"], find_links=[str(house)], index=False)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("form", ["needed", "asked for"])
def test_nothing_is_built(build: Build, make_wheel: MakeWheel, tmp_path: Path, form: str) -> None:
    """A source distribution, named by its address, is refused before any of its code runs on the host."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "setup.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\n__import__('setuptools').setup(name='source')"
    )
    address = f"source @ {source.as_uri()}"
    house = make_wheel("trap", {"trap.py": ""}, needs=(address,))
    with pytest.raises(planaria.ImageError, match="nothing is built; a wheel is needed"):
        build(packages=["trap" if form == "needed" else address], find_links=[str(house)], index=False)
    assert not (tmp_path / "ran").exists()


def test_data_directories(build: Build, new_session: Any, make_wheel: MakeWheel) -> None:
    """Modules in a wheel's data directory are installed beside the others."""
    house = make_wheel("spread", {"spread-1.0.data/purelib/spread.py": "value = 1"})
    image = build(packages=["spread"], find_links=[str(house)], index=False)
    assert new_session(image=image).run("import spread; spread.value").value == 1


def test_packages_of_the_base(build: Build, new_session: Any, make_wheel: MakeWheel) -> None:
    """Packages of an image and of its base are both there, and snapshots carry them."""
    house = make_wheel("lower", {"lower.py": "value = 1"})
    base = build(packages=["lower"], find_links=[str(house)], index=False)
    make_wheel("upper", {"upper.py": "import lower\nvalue = lower.value + 1"})
    image = build(base=base, packages=["upper"], find_links=[str(house)], index=False)
    assert image.packages == ("lower==1.0", "upper==1.0")
    assert new_session(image=image).run("import upper; upper.value").value == 2


@pytest.mark.parametrize("requirement", ["-r requirements.txt", "--index-url=x", " -e ."])
def test_options_are_not_requirements(build: Build, requirement: str) -> None:
    """What pip would take as an option is refused."""
    with pytest.raises(planaria.ImageError, match="is not a requirement"):
        build(packages=[requirement])


def test_index(build: Build, new_session: Any) -> None:
    """A package comes from the index that pip is configured for."""
    try:
        image = build(packages=["iniconfig"])
    except planaria.ImageError as error:
        pytest.skip(f"THE PACKAGE INDEX CANNOT BE REACHED, so nothing was fetched from it: {error}")
    assert new_session(image=image).run("import iniconfig; iniconfig.IniConfig.__name__").value == "IniConfig"
