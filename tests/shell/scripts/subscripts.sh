# Elements of associative arrays by texts with quotes, brackets and expansions in them.
# ----
declare -A m; m["a b"]=1; ((m["a b"]++)); echo ${m["a b"]}; k='x y'; m[$k]=3; ((m[$k]++)); echo "${m[$k]}"; k='x]y'; ((m[$k]++)); declare -p m
# ----
declare -A m; k='x]y'; m[$k]=1; ((m[$k]+=2)); echo "${m[$k]}" $((m[$k])) $((m[$k]*2)); k="it's"; ((m[$k]++)); k='a"b'; ((m[$k]++)); k='$x'; ((m[$k]++)); k='`date`'; ((m[$k]++)); k='a\b'; ((m[$k]++)); declare -p m
# ----
declare -A m; k='a b'; let "m[$k]++"; let 'm[$k]++'; echo ${m[@]} "${!m[@]}"; ((m['q r']=4)); ((m[c d]=5)); ((m["$k"]=7)); declare -p m; echo $((m['q r'])) $((m["$k"]))
# ----
declare -A m=(["key with spaces"]=1 [b]=2 ['c]d']=3); unset 'm[key with spaces]'; k='c]d'; unset "m[$k]"; declare -p m; unset 'm[b]'; declare -p m; m['$x']=1; unset 'm[$x]'; declare -p m; k='a b'; m[$k]=1; unset 'm[$k]'; declare -p m
# ----
declare -A m=(['"']=1 ["'"]=2 [@]=3 ['*']=4 ['!']=5); for k in '"' "'" @ '*' '!'; do unset "m[$k]"; declare -p m; done
# ----
declare -A m=([a]=1); k=a; [[ -v m[$k] ]] && echo y; [[ -v m[b] ]] || echo n; k='x]y'; m[$k]=1; [[ -v m[$k] ]] && echo y2; [[ -v 'm[$k]' ]] && echo y3; test -v "m[a]" && echo y4; k='a b'; m[$k]=2; [[ -v m[$k] ]] && echo y5; [[ -v m["$k"] ]] && echo y6
# ----
declare -A m; k='a b'; printf -v "m[$k]" %s v; read "m[$k]" <<< w; declare -p m; printf -v 'm[$k]' %s z; declare -p m; declare "m[$k]=q"; declare -p m; k='x]'; printf -v "m[$k]" 1; declare -p m; mapfile -t 'm[a]' <<< q;
# ----
declare -A m; m[a]=1 m[b]=2; for k in "${!m[@]}"; do unset "m[$k]"; done; declare -p m; declare -a a=(1 2 3); unset 'a[0]' a[1]; declare -p a; unset 'a[@]'; declare -p a; echo $?
# ----
shopt -s assoc_expand_once; declare -A a; b="80's"; read a[$b] <<< x; declare -p a; printf -v a["$b"] z; declare -p a; k='x]y'; printf -v "a[$k]" 1; k='$b'; printf -v "a[$k]" 2; read "a[$k]" <<< 5; unset "a[$k]"; declare -p a; declare "a[$k]=3"; declare -p a; k='foo[bar'; declare "a[$k]=bleh"; declare -p a; [[ -v a[$k] ]]; echo $?; test -v "a[$k]"; echo $?; unset "a[x]y]"; declare -p a
# ----
declare -A m=([a]=1); declare -a a=(1 2); f() { local -A m; m[x]=1; declare -p m; }; f; declare -A a; echo $?; declare -p a; declare -a m; echo $?
# ----
declare -A d; d["a b"]=; declare -p d; d=([a b]=c [d]="e f" ["g"]=h); declare -p d; d+=([z]=1 [d]+=2); declare -p d; declare -A e=(a b c d); declare -p e; declare -A o=(a b c); declare -p o
# ----
a=(1 2 3); a[1,2]=x 2>/dev/null; echo $?; a[ 1 + 1 ]=y; declare -p a; a[a[0]]=z; declare -p a; echo "${a[a[0]]}" ${a[-1]} ${a[@]: -2} ${a[@]:1:1} ${!a[@]} ${#a[@]} ${#a[1]}
# ----
readonly -a c=(1 2); c[-2]=3; echo $?; c[0]=1; echo $?; c=(3); echo $?
# ----
a=(1); echo $((a[-5])); echo $?; ((x = a[-5] + 2)); echo $? $x; echo $((u[-5])); y=5; echo $((y[-2])) $((y[-1]))
[[ a[-5] -eq 0 ]]; echo $?; let "x=a[-3]"; echo $?; for ((i=a[-3]; i<1; i++)); do echo $i; done; echo ${a[a[-4]]}
((a[-5]++)); echo $?; ((a[-5] = 2)); echo next
