# Where traps for ERR, DEBUG and RETURN reach, and how they are shown.
# ----
f() { trap 'echo E' ERR; false; }; f; trap - ERR; eval "trap 'echo F' ERR; false"; false; trap - ERR; . /dev/stdin <<< "trap 'echo G' ERR; false"; f; false
# ----
trap 'echo D:$BASH_COMMAND' DEBUG; echo 'echo a' > s; . ./s; set -T; . ./s; trap - DEBUG; set +T; trap $'echo a\necho b' INT; trap -p
# ----
f() { trap 'echo R' RETURN; exit 3; }; (f); echo $?; g() { trap 'echo R' RETURN; return 4; }; g; echo $?; set -e; f() { trap 'echo R' RETURN; false; }; f
# ----
set -v; eval 'echo e'; set +v; kill -l 32; echo $?; kill -l EXIT ERR DEBUG; sleep 5 & kill -sKILL $!; wait $!; echo $?
