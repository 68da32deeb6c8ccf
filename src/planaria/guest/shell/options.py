"""The options of `set` and `shopt`."""

from __future__ import annotations

__all__ = ["LETTERS", "SET_OPTIONS", "SHOPT_DEFAULTS", "SHOPT_OPTIONS"]

#: Options of `set -o` with the attribute of the shell that holds each.
SET_OPTIONS: dict[str, str] = {
    "allexport": "allexport",
    "braceexpand": "braceexpand",
    "emacs": "emacs",
    "errexit": "errexit",
    "errtrace": "errtrace",
    "functrace": "functrace",
    "hashall": "hashall",
    "histexpand": "histexpand",
    "history": "history_enabled",
    "ignoreeof": "ignoreeof",
    "interactive-comments": "interactive_comments",
    "keyword": "keyword",
    "monitor": "monitor",
    "noclobber": "noclobber",
    "noexec": "noexec",
    "noglob": "noglob",
    "nolog": "nolog",
    "notify": "notify",
    "nounset": "nounset",
    "onecmd": "onecmd",
    "physical": "physical",
    "pipefail": "pipefail",
    "posix": "posix",
    "privileged": "privileged",
    "verbose": "verbose",
    "vi": "vi",
    "xtrace": "xtrace",
}

LETTERS: dict[str, str] = {
    "a": "allexport", "b": "notify", "e": "errexit", "f": "noglob", "h": "hashall", "k": "keyword",
    "m": "monitor", "n": "noexec", "p": "privileged", "t": "onecmd", "u": "nounset", "v": "verbose",
    "x": "xtrace", "B": "braceexpand", "C": "noclobber", "E": "errtrace", "H": "histexpand", "P": "physical",
    "T": "functrace",
}  # fmt: skip

SHOPT_OPTIONS: tuple[str, ...] = tuple(
    """
    autocd assoc_expand_once cdable_vars cdspell checkhash checkjobs checkwinsize cmdhist compat31
    compat32 compat40 compat41 compat42 compat43 compat44 complete_fullquote direxpand dirspell
    dotglob execfail expand_aliases extdebug extglob extquote failglob force_fignore globasciiranges
    globskipdots globstar gnu_errfmt histappend histreedit histverify hostcomplete huponexit
    inherit_errexit interactive_comments lastpipe lithist localvar_inherit localvar_unset
    login_shell mailwarn no_empty_cmd_completion nocaseglob nocasematch noexpand_translation
    nullglob patsub_replacement progcomp progcomp_alias promptvars restricted_shell shift_verbose
    sourcepath varredir_close xpg_echo
    """.split()
)

SHOPT_DEFAULTS = frozenset(
    [
        "checkwinsize", "cmdhist", "complete_fullquote", "extquote", "force_fignore", "globasciiranges",
        "globskipdots", "hostcomplete", "interactive_comments", "patsub_replacement", "progcomp", "promptvars",
        "sourcepath",
    ]
)  # fmt: skip
