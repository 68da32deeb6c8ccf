"""Print as JSON how two real parsers of options understand the arguments."""

import argparse
import getopt
import json
import sys
from typing import Any

parser = argparse.ArgumentParser(prefix_chars="-", allow_abbrev=False)
parser.add_argument("--long")
parser.add_argument("-s", dest="short")
parser.add_argument("--number")
parser.add_argument("-m", dest="many", action="append")
parser.add_argument("-f", dest="flag", action="store_true")
parser.add_argument("--evil", action="store_true")
parser.add_argument("rest", nargs="*")
argparsed = vars(parser.parse_args())

options, rest = getopt.gnu_getopt(sys.argv[1:], "s:m:f", ["long=", "number=", "evil"])
names = {"--long": "long", "-s": "short", "--number": "number", "-m": "many", "-f": "flag", "--evil": "evil"}
gotten: dict[str, Any] = {
    "long": None,
    "short": None,
    "number": None,
    "many": None,
    "flag": False,
    "evil": False,
    "rest": rest,
}
for option, value in options:
    name = names[option]
    if name == "many":
        gotten["many"] = [*(gotten["many"] or []), value]
    else:
        gotten[name] = True if name in ("flag", "evil") else value
json.dump([argparsed, gotten], sys.stdout)
