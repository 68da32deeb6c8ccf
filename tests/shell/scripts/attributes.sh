# Attributes, special parameters and names of commands.
# ----
declare -i x=3; x+=4; echo $x; declare -ia a=(1 2); a[0]+=5; a+=(3+4); echo ${a[@]}; a[1]+=2*3; echo ${a[@]}; declare -A h=([a]=1); h[a]+=2; echo ${h[a]}; declare -iA hi=([a]=1); hi[a]+=2; hi[b]+=7; echo ${hi[a]} ${hi[b]}; hi+=([a]+=1 [c]=2+2); declare -p hi
# ----
declare -A h; h+=([a]=1 [b]=2); h+=([a]+=x); echo ${h[a]}; declare -p h; h=([q]=1); h+=(k v); declare -p h
# ----
a=(1 2); a+=3; echo ${a[@]}; a+=([1]+=x [5]=z); declare -p a; s=x; s+=(y); declare -p s
# ----
export a=(1 2 3); env | grep '^a='; declare -x b=(x); env | grep ^b=; bash -c 'echo "[$a]"'; declare -Ax c=([k]=v); env | grep ^c=; declare -p a b c; export d=1; d=(2 3); env | grep ^d=
# ----
touch a; ln a b; ln -s a c; [ a -ef b ]; echo $?; [ a -ef c ]; echo $?; [[ a -ef . ]]; echo $?; test x -ef y; echo $?; [ a -nt nope ]; echo $?; [ nope -ot a ]; echo $?
# ----
set -- a b c; echo "${###}" "${#}" "${#-x}" "${##}" "${##3}" "${#%3}" "${#/3/x}" "${#:-y}" "${#:0}"; echo ${#?} ${#-} ${#@} ${#*} ${#!} ${#$} | sed 's/[0-9]$/N/'
# ----
IFS=; ab1=1 ab2=2; echo ${!ab*} "${!ab*}" "${!ab@}"; for i in ${!ab*}; do echo "<$i>"; done; for i in "${!ab*}"; do echo "<$i>"; done; IFS=:; echo "${!ab*}"
# ----
set -- 'a b' c; IFS=; for i in ${x-$*}; do echo "<$i>"; done; for i in ${x-"$*"}; do echo "<$i>"; done; for i in "${x-$*}"; do echo "<$i>"; done; for i in ${x-$@}; do echo "<$i>"; done; for i in $*; do echo "<$i>"; done; y=$*; echo "$y"; y=${x-$*}; echo $y;  for i in ${x:-$*}; do echo "<$i>"; done
# ----
set -- 'a b' c ''; IFS=:; for i in ${x-$*}; do echo "<$i>"; done; y=$*; echo "$y"; y=${x-$*}; echo "$y"; for i in ${x-"$*"}z; do echo "<$i>"; done; for i in ${x-q$*z}; do echo "<$i>"; done
# ----
printf 'a\0b\nc\0d\n' | { mapfile x; declare -p x; }; printf 'a\0b\0c' | { mapfile -d '' x; declare -p x; }; printf 'a\0b\nc' | { read x; echo "$x"; }; printf 'a\0b\nc' | { read -r -d '' x; echo "$x"; }; printf 'ab\0c' | { read -n 3 x; echo "$x"; }; printf 'ab\0c' | { read -N 3 x; echo "$x"; }
# ----
shopt -s expand_aliases; alias begin='for i in 1 2; do' end='done'
begin
echo $i
end
alias x='if true; then' y='fi'
x
echo yes
y
alias lp='while read z; do echo $z;'
echo foo | lp done
# ----
shopt -s expand_aliases; alias e_='for i in 1 2 3; do echo '
e_ $i; done
alias left='('
left echo hi )
alias p='|' ; alias a2='echo a; echo'
a2 b
alias L='{ ' R='}'
L echo x; R
# ----
mkdir d; touch norun; PATH=$PWD:$PATH; command -v d; echo $?; command -v norun; echo $?; type norun; echo $?; type d; echo $?; command -v ./d; echo $?; command -v ./norun; echo $?; type ./norun; echo $?; type ./d; echo $?; norun; echo $?; d; echo $?; ./d; echo $?; ./norun; echo $?; command -V ./norun; echo $?; type -p norun; type -P d; type -a norun; type -t norun; echo $?
# ----
x=1 > f; echo $x; ls f; x=2 < nofile; echo $? $x; x=$(echo hi) > g; cat g; echo $x; > h; echo $?; x=3 2>&1 >h2 y=$x; echo $x $y; readonly r=1; r=2 > z; echo no
# ----
set -o vi; set -o | grep -E '^(vi|emacs)'; set -o emacs;  set -o | grep -E '^(vi|emacs)'; set +o emacs; set -o | grep -E '^(vi|emacs)'; shopt -o vi emacs; shopt -so vi; echo $SHELLOPTS
# ----
pushd / /tmp; echo $?; pushd /tmp x y; echo $?; pushd; echo $?; popd; echo $?; dirs x; echo $?; popd a b; echo $?; dirs -z; echo $?; pushd -z; echo $?; pushd +5; echo $?; pushd /nonexist; echo $?; cd / /tmp; echo $?; pushd / >/dev/null; pushd -n /usr; dirs; dirs -v; dirs -p; dirs -l; dirs +1; dirs -c; dirs
# ----
printf '%(%Y-%m-%d)T\n' 0; printf '%(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)T|\n' 0; TZ=UTC printf '%(%H)T\n' 3600; printf '%10(%Y)T|%-10(%Y)T|%.2(%Y)T|\n' 0 0 0; printf '%()T\n' 0 | wc -c; printf '%(%s)T\n' 5 7
