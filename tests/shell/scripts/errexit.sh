# set -e and its exceptions.
# ----
set -e; eval false || echo ok; echo z
# ----
set -e; f() { eval false; echo in; }; f || echo no; echo z
# ----
set -e; echo 'false; echo insrc' > s; . ./s || echo no; . ./s; echo z
# ----
set -e; ! eval 'false; echo x'; echo z; command false || echo c; builtin false || echo b; command eval false || echo ce; echo z; command false; echo never
# ----
set -e; if eval 'false; true'; then echo t; fi; while eval 'false; false'; do :; done; eval '{ false; echo g; }' && echo and; echo z
# ----
set -e; x=$(false; echo in); echo "x $x"; y=$(false); echo never
# ----
set -e; local_() { local v=$(false); echo l; }; local_; declare d=$(false); echo d; v=$(false) || echo or; (false; echo s) || echo sub; (false; echo s); echo never
# ----
set -e; false | true; echo p; set -o pipefail; false | true || echo pf; false | true; echo never
# ----
set -e; { false; echo g; } || echo no; for i in 1; do false; echo l; done || echo no; case x in x) false; echo c;; esac || echo n; [[ a = b ]] || echo n; ((0)) || echo n; ((0)); echo never
# ----
set -e; trap 'echo err $?' ERR; f() { false; echo in; }; f || echo no; f; echo never
# ----
set -E; trap 'echo err $LINENO' ERR; f() { false; }; f; (false); x=$(false); echo z
# ----
set -e; trap 'echo exit $?' EXIT; f() { return 3; }; f; echo never
# ----
set -e; test -n "" && echo a; echo z; true && false; echo never
# ----
set -e; ! true; echo z; ! false; echo y; if ! true; then :; fi; until true; do :; done; echo x; false & wait $!; echo never
# ----
set -e; exec 3</nonexistent; echo never
# ----
set -e; cd /nonexistent || true; cd /nonexistent; echo never
# ----
set -e; a=1; readonly a; (a=2) || echo sub; echo z; a=2; echo never
# ----
set -e; f() { if true; then false; fi; echo in; }; f; echo never
# ----
set -e; cat <(false); echo z; echo x | while read l; do false; echo no; done; echo never
# ----
set -e; let x=0 || echo l; ((x++)) || echo i; let x=0; echo never
# ----
set -e; false || false; echo never
# ----
set -e; set +e; false; echo a; set -e; f() { set +e; false; echo b; }; f; false; echo c; set -e; false; echo never
# ----
bash -e -c 'false; echo no'; echo $?; bash -ec 'f() { false; }; f || true; echo y'; sh -e -c 'echo $(false); echo q'
# ----
set -e; $(true); echo a; x=$(false) || echo tested; if $(exit 2); then :; fi; $(exit 3) || echo b; $(exit 3); echo no
# ----
trap 'echo ERR $?' ERR; $(exit 3); $(exit 4) > /dev/null; x= $(exit 5); ! $(exit 6); $(exit 7) && echo no; echo end $?
# ----
set -e; f() { $(exit 4); echo in; }; f || echo tested; f; echo no
# ----
set -e; $(exit 3) | cat; echo piped; (echo sub; $(exit 5); echo no); echo no
# ----
a=5; set -e;  shopt -s inherit_errexit; x=$(false; echo b) || echo failed; if x=$(false; echo c); then echo "then $x"; fi; echo $(false; echo d) || echo q; ! echo $(false; echo e); f() { echo $(false; echo g);  }; f || echo h; x=$(set -e; false; echo i) || echo $x; (false; echo j) || echo k; x=$( (false; echo l) ) || echo m; shopt -u inherit_errexit; x=$(set -e; false; echo i) || echo $x; set +e; x=$(set -e; false; echo r) || echo w$x; x=$(trap "echo ERR" ERR; false) || echo x$x; set -E; trap "echo T >&2" ERR; x=$(false; echo y) || :; x=$(false; :); x=$(false) && :; set -e; set -o posix; x=$(false; echo n) || echo p; x=$(false; echo n); echo q
