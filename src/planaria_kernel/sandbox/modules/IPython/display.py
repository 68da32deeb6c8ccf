"""Things to display: text of a type, images, and what handles them."""

import base64
import builtins
import html
import json
import mimetypes
import os
import urllib.request
from typing import Any, ClassVar

__all__ = [
    "HTML", "JSON", "SVG", "Audio", "Code", "DisplayHandle", "DisplayObject", "FileLink", "FileLinks",
    "GeoJSON", "IFrame", "Image", "Javascript", "Latex", "Markdown", "Math", "Pretty", "ProgressBar",
    "TextDisplayObject", "Video", "YouTubeVideo", "clear_output", "display", "display_html",
    "display_javascript", "display_jpeg", "display_json", "display_latex", "display_markdown", "display_png",
    "display_pretty", "display_svg", "publish_display_data", "update_display",
]  # fmt: skip

from planaria_kernel.execution.display import DisplayHandle

display = builtins.display  # type: ignore[attr-defined]
clear_output = builtins.clear_output  # type: ignore[attr-defined]
update_display = builtins.update_display  # type: ignore[attr-defined]


def publish_display_data(
    data: dict[str, Any], metadata: dict[str, Any] | None = None, *, transient: dict[str, Any] | None = None,
    update: bool = False, **_: Any,
) -> None:  # fmt: skip
    """Show a mime bundle."""
    display_id = (transient or {}).get("display_id")
    if update:
        update_display(data, display_id=display_id, metadata=metadata, raw=True)
    else:
        display(data, metadata=metadata, raw=True, display_id=display_id)


class DisplayObject:
    """Data of one type, given itself, or as a file or URL that it is read from."""

    _mode = "r"
    _mime = "text/plain"

    def __init__(
        self, data: Any = None, url: str | None = None, filename: Any = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if isinstance(data, os.PathLike):
            data, filename = None, os.fspath(data)
        if url is None and filename is None and isinstance(data, str):
            if data.startswith(("http://", "https://")):
                data, url = None, data
            elif self._is_file(data):
                data, filename = None, data
        self.data, self.url, self.filename = data, url, filename
        self.metadata = metadata or {}
        if self.data is None:
            self.reload()

    def _is_file(self, data: str) -> bool:
        return False

    def reload(self) -> None:
        """Read the file or URL again."""
        if self.filename is not None:
            encoding = None if "b" in self._mode else "utf-8"
            with open(self.filename, self._mode, encoding=encoding) as file:
                self.data = file.read()
        elif self.url is not None:
            with urllib.request.urlopen(self.url) as answer:
                self.data = answer.read() if "b" in self._mode else answer.read().decode()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return {self._mime: self.data, "text/plain": repr(self)}, (
            {self._mime: self.metadata} if self.metadata else {}
        )

    def __repr__(self) -> str:
        return f"<IPython.core.display.{type(self).__name__} object>"


class TextDisplayObject(DisplayObject):
    """Data that is text."""

    def __init__(self, data: Any = None, url: Any = None, filename: Any = None, metadata: Any = None) -> None:
        if data is not None and not isinstance(data, (str, os.PathLike)):
            raise TypeError(f"{type(self).__name__} expects text, not {data!r}")
        super().__init__(data, url, filename, metadata)


class HTML(TextDisplayObject):
    """HTML."""

    _mime = "text/html"

    def _repr_html_(self) -> Any:
        return self.data

    def __html__(self) -> Any:
        return self.data


class Markdown(TextDisplayObject):
    """Markdown."""

    _mime = "text/markdown"


class Latex(TextDisplayObject):
    """LaTeX."""

    _mime = "text/latex"


class Math(TextDisplayObject):
    """A formula in LaTeX, without the dollar signs."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        formula = str(self.data).strip("$")
        return {"text/latex": f"$\\displaystyle {formula}$", "text/plain": repr(self)}, {}


class SVG(TextDisplayObject):
    """An image in SVG."""

    _mime = "image/svg+xml"

    def _is_file(self, data: str) -> bool:
        return "<" not in data and os.path.exists(data)


class Javascript(TextDisplayObject):
    """JavaScript, which the front end runs if it trusts the notebook."""

    _mime = "application/javascript"


class Pretty(TextDisplayObject):
    """Plain text as it is."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return {"text/plain": self.data}, {}


class Code(TextDisplayObject):
    """Source text."""

    def __init__(
        self, data: Any = None, url: Any = None, filename: Any = None, language: str | None = None
    ) -> None:
        self.language = language
        super().__init__(data, url, filename)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return {
            "text/html": f"<pre>{html.escape(str(self.data))}</pre>",
            "text/markdown": f"```{self.language or ''}\n{self.data}\n```",
            "text/plain": self.data,
        }, {}


class JSON(DisplayObject):
    """A value that can be expanded and collapsed."""

    _mime = "application/json"

    def __init__(
        self, data: Any = None, url: Any = None, filename: Any = None, expanded: bool = False,
        metadata: Any = None, root: str = "root", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            data, url, filename, {"expanded": expanded, "root": root, **(metadata or {}), **kwargs}
        )
        if isinstance(self.data, str):
            self.data = json.loads(self.data)


class GeoJSON(JSON):
    """GeoJSON, shown on a map by front ends that can."""

    _mime = "application/geo+json"


class Image(DisplayObject):
    """An image: PNG, JPEG, GIF or WebP, or one that the browser fetches from a URL."""

    _mode = "rb"
    _types: ClassVar = {
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
        "webp": "image/webp",
    }  # fmt: skip
    _starts: ClassVar = {b"\x89PNG": "png", b"\xff\xd8": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}

    def __init__(
        self, data: Any = None, url: str | None = None, filename: Any = None, format: str | None = None,
        embed: bool | None = None, width: int | None = None, height: int | None = None, retina: bool = False,
        unconfined: bool = False, metadata: Any = None, alt: str | None = None,
    ) -> None:  # fmt: skip
        self.format, self.width, self.height, self.alt = format, width, height, alt
        remote = url or (data if isinstance(data, str) and data.startswith(("http://", "https://")) else None)
        self.embed = embed if embed is not None else remote is None
        if remote is not None and not self.embed:
            self.data, self.url, self.filename, self.metadata = None, remote, None, metadata or {}
        else:
            super().__init__(data, url, filename, metadata)
        if self.format is None:
            start = self.data[:8] if isinstance(self.data, bytes) else b""
            self.format = next(
                (name for magic, name in self._starts.items() if start.startswith(magic)), "png"
            )
        if self.format.lower() not in self._types:
            raise ValueError(f"Image knows the formats {', '.join(self._types)}, not {self.format!r}")

    def _is_file(self, data: str) -> bool:
        return True

    def _sizes(self) -> dict[str, Any]:
        sizes = {"width": self.width, "height": self.height, "alt": self.alt}
        return {name: value for name, value in sizes.items() if value is not None}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if not self.embed:
            sizes = "".join(f' {name}="{html.escape(str(value))}"' for name, value in self._sizes().items())
            return {
                "text/html": f'<img src="{html.escape(self.url or "")}"{sizes}/>',
                "text/plain": repr(self),
            }, {}
        mime = self._types[(self.format or "png").lower()]
        metadata = {**self._sizes(), **self.metadata}
        return {mime: self.data, "text/plain": repr(self)}, ({mime: metadata} if metadata else {})


class _Media(DisplayObject):
    """Sound or film, within the page."""

    _mode = "rb"
    _element = ""

    def __init__(
        self, data: Any = None, filename: Any = None, url: str | None = None, embed: bool = True,
        mimetype: str | None = None, **attributes: Any,
    ) -> None:  # fmt: skip
        self.attributes = {name: value for name, value in attributes.items() if value not in (None, False)}
        self.mimetype = mimetype
        remote = url or (data if isinstance(data, str) and data.startswith(("http://", "https://")) else None)
        if remote is not None:
            self.data, self.url, self.filename, self.metadata = None, remote, None, {}
        else:
            super().__init__(data, None, filename)

    def _is_file(self, data: str) -> bool:
        return True

    def _repr_html_(self) -> str:
        mime = self.mimetype or mimetypes.guess_type(self.filename or self.url or "")[0] or self._default
        source = self.url or f"data:{mime};base64,{base64.b64encode(self.data).decode()}"
        attributes = "".join(
            f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
            for name, value in self.attributes.items()
        )
        return f'<{self._element} controls{attributes} src="{html.escape(source)}"></{self._element}>'

    _default = ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}, {}


class Video(_Media):
    """A film."""

    _element = "video"
    _default = "video/mp4"


class Audio(_Media):
    """A sound: a file, its bytes, or samples with their `rate`."""

    _element = "audio"
    _default = "audio/wav"

    def __init__(
        self, data: Any = None, filename: Any = None, url: str | None = None, embed: bool = True,
        rate: int | None = None, autoplay: bool = False, normalize: bool = True, **attributes: Any,
    ) -> None:  # fmt: skip
        if data is not None and not isinstance(data, (str, bytes, os.PathLike)):
            if rate is None:
                raise ValueError("rate must be given for samples")
            data = _wave(data, rate, normalize)
        super().__init__(data, filename, url, embed, autoplay=autoplay, **attributes)


def _wave(samples: Any, rate: int, normalize: bool) -> bytes:
    """Samples, from -1 to 1 or as large as they are, as a WAV file of 16 bits."""
    import array
    import io
    import wave

    channels = [list(channel) for channel in samples] if _is_nested(samples) else [list(samples)]
    most = max((abs(value) for channel in channels for value in channel), default=0) or 1
    if not normalize and most > 1:
        raise ValueError("samples must be between -1 and 1 without normalize")
    scale = 32767 / (most if normalize else 1)
    frames = array.array(
        "h", (int(value * scale) for frame in zip(*channels, strict=True) for value in frame)
    )
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(len(channels))
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(frames.tobytes())
    return file.getvalue()


def _is_nested(samples: Any) -> bool:
    return len(samples) > 0 and hasattr(samples[0], "__len__")


class IFrame:
    """A page within the page."""

    def __init__(
        self, src: str, width: Any, height: Any, extras: list[str] | None = None, **kwargs: Any
    ) -> None:
        self.src, self.width, self.height, self.params = src, width, height, kwargs
        self.extras = extras or []

    def _repr_html_(self) -> str:
        from urllib.parse import urlencode

        query = f"?{urlencode(self.params)}" if self.params else ""
        return (
            f'<iframe width="{self.width}" height="{self.height}" src="{html.escape(self.src)}{query}" '
            f'frameborder="0" allowfullscreen {" ".join(self.extras)}></iframe>'
        )


class YouTubeVideo(IFrame):
    """A film on YouTube."""

    def __init__(self, id: str, width: Any = 400, height: Any = 300, **kwargs: Any) -> None:
        super().__init__(f"https://www.youtube.com/embed/{id}", width, height, **kwargs)


class FileLink:
    """A link to a file of the session."""

    def __init__(self, path: Any, url_prefix: str = "", **_: Any) -> None:
        self.path, self.url_prefix = os.fspath(path), url_prefix

    def _repr_html_(self) -> str:
        place = html.escape(self.url_prefix + self.path)
        return f'<a href="{place}" target="_blank">{html.escape(self.path)}</a>'

    def __repr__(self) -> str:
        place: str = os.path.abspath(self.path)
        return place


class FileLinks(FileLink):
    """Links to the files below a directory."""

    def _repr_html_(self) -> str:
        found = (os.path.join(top, file) for top, _, files in os.walk(self.path) for file in sorted(files))
        return "<br>\n".join(FileLink(path, self.url_prefix)._repr_html_() for path in found)


class ProgressBar:
    """A bar that is shown as far as `progress` is."""

    def __init__(self, total: int) -> None:
        self.total, self._progress = total, 0
        self._display_id = os.urandom(8).hex()

    @property
    def progress(self) -> int:
        """How far it is."""
        return self._progress

    @progress.setter
    def progress(self, value: int) -> None:
        self._progress = value
        self.update()

    def display(self) -> None:
        """Show it."""
        display(self, display_id=self._display_id)

    def update(self) -> None:
        """Show it as it is now."""
        update_display(self, display_id=self._display_id)

    def _repr_html_(self) -> str:
        return f'<progress style="width:60ex" max="{self.total}" value="{self._progress}"></progress>'

    def __repr__(self) -> str:
        filled = round(60 * self._progress / self.total)
        return f"[{'=' * filled}{' ' * (60 - filled)}] {self._progress}/{self.total}"

    def __iter__(self) -> Any:
        self.display()
        for number in range(self.total):
            self.progress = number
            yield number
        self.progress = self.total


def _shower(mime: str) -> Any:
    def show(*objects: Any, raw: bool = False, metadata: Any = None, **options: Any) -> None:
        for value in objects:
            if raw:
                display({mime: value}, raw=True, metadata=metadata, **options)
            else:
                display(value, include=[mime, "text/plain"], metadata=metadata, **options)

    show.__doc__ = f"Show objects as {mime}; with `raw`, they are such data themselves."
    return show


display_pretty = _shower("text/plain")
display_html = _shower("text/html")
display_markdown = _shower("text/markdown")
display_svg = _shower("image/svg+xml")
display_png = _shower("image/png")
display_jpeg = _shower("image/jpeg")
display_latex = _shower("text/latex")
display_json = _shower("application/json")
display_javascript = _shower("application/javascript")
