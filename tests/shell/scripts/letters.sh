# Letters beyond ASCII.
# ----
touch é ü A a 1 _ €; echo [[:alpha:]]; echo [[:alnum:]_]; echo [![:alpha:]]; echo [[:upper:]] [[:lower:]]; echo [[:punct:]]; echo [[:word:]]; echo [1[:alpha:]]; echo [^1[:alnum:]]; echo [![:upper:][:digit:]]; rm *; for c in é É ß Ж ж € ' ' $'\t' $'\u00a0' $'\u3000' $'\u2028' $'\x7f' $'\u0085' _ - 7 z '!' 'ﬁ' '中' '²'; do for class in alpha alnum upper lower digit space blank punct print graph cntrl xdigit word ascii; do [[ $c == [[:$class:]] ]] && printf '%s ' $class; [[ $c == [![:$class:]] ]] && printf '!'; done; printf '%q\n' "$c"; done
# ----
s=straße; echo ${s^^} ${s^} ${s@U}; t=ÉÀ; echo ${t,,} ${t,} ${t~~} ${t@L}; declare -u u=ßé; declare -l l=ÀΣ; declare -c c=éÀ; echo $u $l $c; f='ﬁx ŉ'; echo "${f^^}"; echo 'é ß' | awk '{ print toupper($0), tolower("ÀB") }'; echo 'aé ß' | sed 's/.*/\U&/'; echo 'aé ß' | sed 's/./\u&/2'; for ((i = 0; i < 500; i++)); do x=${s^^} y=${t,,}; done; echo $x $y; f() { local v=${1^^}; r=$v; }; for ((i = 0; i < 500; i++)); do f ß; done; echo $r
# ----
HOME=/h; echo a=~ a=b:~; set -o posix; echo a=~ a=b:~ ~; x=~; echo $x; export y=~:~; echo $y; set +o posix; for i in 1 2; do echo a=~; set -o posix; done; [[ ${GROUPS[0]} == $(id -g) ]] && echo same
