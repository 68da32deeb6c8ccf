# Declarations, namerefs and lists of variables.
# ----
declare v={a,b}; echo $v; x='p q'; declare w={1,2}$x; echo $w; f() { local z={a,b}q; echo $z; }; f; export e={1,2}; echo $e; set +B; declare v={a,b}; echo $v
# ----
b=(a=~ x:~ ~); [ "${b[0]}" = 'a=~' ]; echo $?; [ "${b[2]}" = "$HOME" ]; echo $?; declare -A A; A[~]=1; echo "${!A[@]}"
# ----
declare -a b; declare -A b; echo $?; declare -n r=1x; declare -p r; a=(p q); declare -n s=a[1]; declare s=9; declare -p a; readonly s; declare -i i; declare -n i=a; declare -p i; E=(); echo "[${E[@]:0:-1}]" "[${E[*]@a}]"; set -- 1 2; printf '<%s>' "${@@a}"
# ----
declare a[0]=(1 2); echo no
# ----
a=1; declare -n q=a[0]; q=(5); echo no
# ----
set | grep -E '^(DIRSTACK|GROUPS|BASH_ALIASES|FUNCNAME)='; f() { set | grep ^FUNCNAME; }; f; declare -p OPTIND LINENO FUNCNAME 2>&1; echo 'echo ${FUNCNAME[@]}' > s; . ./s; compgen -A arrayvar | head -3; declare -p nope RANDOM 2>&1 | sed 's/[0-9]//g'
# ----
OPTIND=9; getopts a o -a; echo $? $OPTIND; OPTIND=x; echo $OPTIND; read x 2y <<< 'a b'; echo $? $x; cd /; CDPATH=:/usr; cd bin; pwd; CDPATH=/usr; cd lib; p='\1\07\060'; printf '%q\n' "${p@P}"
# ----
shopt -s nocasematch; for p in '[[:upper:]]' '[[:lower:]]' '[^[:upper:]]' '[[:upper:]x]' '[A-C]'; do for s in a A q Q x; do [[ $s == $p ]] && echo -n $s; done; echo " $p"; done; umask -S 027; history -s q; HISTFILE=h; history -w; history -a; cat h
