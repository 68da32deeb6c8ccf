# Indexed and associative arrays.
# ----
set -u; echo ${n[4]}
# ----
set -u; a=(1); echo ${a[4]}
# ----
set -u; declare -A a=([x]=1); echo ${a[y]}
# ----
set -u; a=(); echo "${a[@]}" ${#a[@]}; echo ${a[0]}
# ----
set -u; echo ${n[0]:-d} ${n[@]:-e} ${n-f}; i=1; echo ${n[i]}
# ----
declare -a e[10]=test; declare -p e; declare -a e[10]='(test)'; declare -p e; declare e[2]='(v)'; declare -p e; declare -a f='(1 2)'; declare -p f; declare g='(1 2)'; declare -p g; declare -A h='([a]=1)'; declare -p h
x=(1 2); declare x='(3 4)'; declare -p x; declare -a x+='(5)'; declare -p x; declare x+=(6); declare -p x
# ----
index='$(echo >&2 foo)'; declare -a array; i='j'; j=0; array[0]=7
echo $(( array[$i] )); let 'z=array[$i]'; echo $z; q='array[$i]'; echo $((q)) $((array[j+0]))
echo $(( array[ $index ] ))
# ----
x='$y'; y=5; echo $((x))
# ----
declare -i n; y=3; n='y+1'; echo $n; n='$y'; echo $n
# ----
let 'a=$y'; echo $?
y=4; let 'a=y' b=5 'c=a*b'; echo $a $b $c
# ----
declare -a a=(1 2); declare -A b=([x]=y); declare -i c=3; declare -p a b c; declare -p nope; echo $?; unset 'a[0]'; declare -p a; unset a[1]; declare -p a; unset 'b[x]'; declare -p b; unset a b; declare -p a b
declare -a un; declare -A um; declare -i ui; declare -x ux; declare -l ul=ABC; declare -u uu=abc; declare -c uc=abc; declare -p un um ui ux ul uu uc; echo "${ul@a}${un@a}"
# ----
a=(a b c); a[5]=f; echo "${!a[@]}" "${#a[@]}" "${a[-1]}" "${a[@]:1:2}" "${a[@]: -1}" "${a[@]:3}" "${a[*]:0:2}"
a=("x y" "z"); for i in "${a[@]}"; do echo "<$i>"; done; for i in ${a[@]}; do echo "<$i>"; done; for i in "${a[*]}"; do echo "<$i>"; done
IFS=,; echo "${a[*]}" ${a[*]}; b=${a[*]}; echo "$b"; b=${a[@]}; echo "$b"; IFS=; echo "${a[*]}" ${a[*]}
# ----
a=(one two three); echo ${a[@]/o/0} ${a[@]#t} ${a[@]%e} ${a[@]^} ${a[@]^^} ${a[@]/%e/E} ${a[@]/#t/T}; echo ${#a[1]} ${a[@]@Q} ${a[@]@U}; echo "${a[@]@A}"; echo "${a[1]@A}" "${a@A}"; echo "${a[@]@K}"; echo ${a[@]@k}
set -- x 'y z'; echo "${@@Q}" "${*@Q}" "${@@A}" "${@/x/q}" "${@:1}" "${@:0:1}" "${@: -1}" "${*:2}"
# ----
a=(1 2 3); unset 'a[-1]'; echo ${a[@]}; a+=(4); a[${#a[@]}]=5; echo ${a[@]}; a=("${a[@]:1}"); echo ${a[@]}; a=(0 "${a[@]}"); echo ${a[@]}; unset a[@]; declare -p a; a=(x); unset a[*]; declare -p a
declare -A h=([a]=1); unset 'h[@]'; declare -p h; h=(['@']=2 ['*']=3); unset 'h[*]'; declare -p h; 
# ----
read -a arr <<< "a b  c"; declare -p arr; IFS=: read -ra arr <<< "x:y::z:"; declare -p arr; mapfile -t m < <(printf 'a\nb\n'); declare -p m; mapfile -O 2 -t m <<< q; declare -p m; mapfile -n 1 -s 1 m <<< $'1\n2\n3'; declare -p m; mapfile -d : -t m <<< a:b; declare -p m; mapfile -C 'echo cb' -c 1 -t m <<< $'x\ny'
# ----
a=([0]=x [3]=y); for i in "${!a[@]}"; do echo $i; done; echo ${a[@]:1:1} ${a[@]:3:1} ${a[@]:4:1}e; x="${a[@]:0}"; echo $x
b=("${a[@]}"); declare -p b; c=${a[0]}; declare -p c; a=z; declare -p a; s=scalar; s[2]=e; declare -p s; echo ${s[0]} $s
s=abc; echo ${s[0]} ${s[@]} ${#s[@]} ${s[1]}z ${s[-1]}
# ----
f() { local -a l=(1 2); l+=(3); declare -p l; local -A m=([k]=v); declare -p m; local x[2]=5; declare -p x; }; f; declare -p l
f() { a=(g); declare b=(1); declare -g c=(2); }; f; declare -p a b c
# ----
f=abcd; echo ${f[@]:0:1} ${f[*]:1:2} "${f[@]: -1}" ${f[@]:1}; unset f; echo "[${f[@]:0:1}]"; f=(one two); echo ${f[@]:0:1} ${f:0:1}
# ----
declare -A h=([k]=v ['k 2']=w [é]=e [01]=o); declare -p h; h=(['k 2']+=x [k]='' [k]+=y [n]+=z); declare -p h; h+=([k]+=1 [k]+=2); declare -p h; declare -A g=(a 1 [b]=2 c); declare -p g
declare -i a; read -a a <<< '1+1 x'; declare -p a; declare -u b; read -a b <<< 'p q'; declare -p b; h['q']=1; unset h['q']; echo "${h['k']}" ${#h['k']} ${h['z']-u}
# ----
a=(1 2); echo ${#a[-3]}; echo same
echo $?; x=${#a[-9]}; echo $?
echo "x${#b[-1]}" "${u['x']}" ${u['x']-d}; echo $?; i=1; echo ${a["i"]} $((a["i"]))
a['i']=w; echo no
echo $?; echo ${a['i']}; echo no
