"""Programs that scripts often ask for and that are not here: why, and what there is instead."""

from __future__ import annotations

from typing import Final

__all__ = ["ABSENT"]


_NETWORK = "there is no network in this sandbox"
_PACKAGES = "packages cannot be installed from within this sandbox"
_PYTHON_PACKAGES = (
    "packages come with an image that was built with them, or from deps.add(NAME) in Python where there are "
    "deps"
)
_EDITOR = "there is no terminal to edit on; use sed, a here-document or Python"
_LANGUAGE = "this sandbox has Python, awk, sed, jq and bc"
_SYSTEM = "there are no services, devices or containers in this sandbox"
_USER = "there is no other user to become"

#: Names of programs, and what the shell adds when it says that it has not found them.
ABSENT: Final[dict[str, str]] = {
    name: why
    for names, why in {
        "git": "use the host's git, or diff and patch here",
        "sudo doas": f"{_USER}; run the command itself",
        "su passwd": _USER,
        "ssh scp rsync ping nc telnet ftp dig nslookup ip": _NETWORK,
        "vi vim nano emacs": _EDITOR,
        "perl ruby node php lua java go cargo gcc cc g++ clang make cmake": _LANGUAGE,
        "systemctl service docker podman mount umount crontab": _SYSTEM,
        "apt apt-get dpkg yum dnf apk brew npm npx": _PACKAGES,
        "pip pip3 uv": _PYTHON_PACKAGES,
    }.items()
    for name in names.split()
}
