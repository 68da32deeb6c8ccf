"""How each builtin is called: its synopsis, which is shown after an option that it does not know."""

from __future__ import annotations

__all__ = ["SYNOPSES"]

SYNOPSES: dict[str, str] = {
    ".": "filename [arguments]",
    "[": "arg... ]",
    "alias": "[-p] [name[=value] ... ]",
    "bind": (
        "[-lpsvPSVX] [-m keymap] [-f filename] [-q name] [-u name] [-r keyseq] "
        "[-x keyseq:shell-command] [keyseq:readline-function or readline-command]"
    ),
    "break": "[n]",
    "builtin": "[shell-builtin [arg ...]]",
    "caller": "[expr]",
    "cd": "[-L|[-P [-e]] [-@]] [dir]",
    "command": "[-pVv] command [arg ...]",
    "compgen": (
        "[-abcdefgjksuv] [-o option] [-A action] [-G globpat] [-W wordlist] [-F function] [-C "
        "command] [-X filterpat] [-P prefix] [-S suffix] [word]"
    ),
    "complete": (
        "[-abcdefgjksuv] [-pr] [-DEI] [-o option] [-A action] [-G globpat] [-W wordlist] [-F "
        "function] [-C command] [-X filterpat] [-P prefix] [-S suffix] [name ...]"
    ),
    "compopt": "[-o|+o option] [-DEI] [name ...]",
    "continue": "[n]",
    "declare": "[-aAfFgiIlnrtux] [name[=value] ...] or declare -p [-aAfFilnrtux] [name ...]",
    "dirs": "[-clpv] [+N] [-N]",
    "disown": "[-h] [-ar] [jobspec ... | pid ...]",
    "echo": "[-neE] [arg ...]",
    "enable": "[-a] [-dnps] [-f filename] [name ...]",
    "eval": "[arg ...]",
    "exec": "[-cl] [-a name] [command [argument ...]] [redirection ...]",
    "exit": "[n]",
    "export": "[-fn] [name[=value] ...] or export -p",
    "fg": "[job_spec]",
    "bg": "[job_spec ...]",
    "fc": "[-e ename] [-lnr] [first] [last] or fc -s [pat=rep] [command]",
    "getopts": "optstring name [arg ...]",
    "hash": "[-lr] [-p pathname] [-dt] [name ...]",
    "help": "[-dms] [pattern ...]",
    "history": "[-c] [-d offset] [n] or history -anrw [filename] or history -ps arg [arg...]",
    "jobs": "[-lnprs] [jobspec ...] or jobs -x command [args]",
    "kill": "[-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]",
    "let": "arg [arg ...]",
    "local": "[option] name[=value] ...",
    "logout": "[n]",
    "mapfile": (
        "[-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]"
    ),
    "popd": "[-n] [+N | -N]",
    "printf": "[-v var] format [arguments]",
    "pushd": "[-n] [+N | -N | dir]",
    "pwd": "[-LP]",
    "read": (
        "[-ers] [-a array] [-d delim] [-i text] [-n nchars] [-N nchars] [-p prompt] [-t timeout] "
        "[-u fd] [name ...]"
    ),
    "readarray": (
        "[-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]"
    ),
    "readonly": "[-aAf] [name[=value] ...] or readonly -p",
    "return": "[n]",
    "set": "[-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]",
    "shift": "[n]",
    "shopt": "[-pqsu] [-o] [optname ...]",
    "source": "filename [arguments]",
    "suspend": "[-f]",
    "test": "[expr]",
    "times": "",
    "trap": "[-lp] [[arg] signal_spec ...]",
    "type": "[-afptP] name [name ...]",
    "typeset": "[-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]",
    "ulimit": "[-SHabcdefiklmnpqrstuvxPRT] [limit]",
    "umask": "[-p] [-S] [mode]",
    "unalias": "[-a] name [name ...]",
    "unset": "[-f] [-v] [-n] [name ...]",
    "wait": "[-fn] [-p var] [id ...]",
}
