"""Secrets that definitions refer to, kept out of what code in a session gets to read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote, quote_plus

from planaria.network.secrets import Scrubber
from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["Redaction"]

_REFERENCE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*(?::-([^}]*))?\}")
_SHORTEST: Final = 4
"""Shorter values are in every other word; hiding them would only spoil the text."""


class Redaction:
    """Replaces secrets in texts by `***`, also as URLs and JSON write them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.values = frozenset(secret for secret in secrets if len(secret) >= _SHORTEST)
        """The secrets themselves."""
        forms = set()
        for secret in self.values:
            forms |= {secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
        # The longest first: one secret may begin with another.
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        self._pattern = re.compile(pattern) if pattern else None

    @classmethod
    def of_references(
        cls,
        texts: Iterable[str],
        environment: ToolEnvironment,
        known: Mapping[str, str],
        others: Iterable[str] = (),
    ) -> Redaction:
        """One for the values of all `${NAME}` in some texts, and for others.

        No secret are those that are `known` anyway, what every program gets to see, and the defaults that the
        texts name. Raises ToolCallError as `ToolEnvironment.substitute` does.
        """
        public = {*environment.base().values(), *known.values()}
        references = {found[0]: found[1] for text in texts for found in _REFERENCE.finditer(text)}
        values = {environment.substitute(reference, known) for reference in references}
        public |= {default for default in references.values() if default is not None}
        return cls([*(values - public), *others])

    def of_value(self, value: Any) -> Any:
        """An answer without the secrets, in whatever form: a text, bytes, or lists and dicts of these."""
        return _without(Scrubber(self.values), value) if self.values else value

    def __call__(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub("***", text)


def _without(scrubber: Scrubber, value: Any) -> Any:
    match value:
        case str():
            return scrubber.scrubbed_text(value)
        case bytes():
            return scrubber.scrubbed(value)
        case list():
            return [_without(scrubber, one) for one in value]
        case dict():
            return {_without(scrubber, key): _without(scrubber, one) for key, one in value.items()}
    return value
