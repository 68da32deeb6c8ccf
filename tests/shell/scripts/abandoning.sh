# What an error throws away: a command, a line, or all that runs.
# ----
i="TWO WORDS"; ((a[i%4])); echo "st $?"
echo next $?
# ----
i="TWO WORDS"; eval '((a[i%4])); echo in
echo in2'; echo "st $?"
echo next $?
# ----
f() { local i="X Y"; a[i]=3; echo in; }
f; echo after $?
echo next $?
# ----
declare -i n
n="1 2"; echo after
echo next $?
# ----
echo $((1/0)); echo after
echo next $?
# ----
f() { echo $((1/0)); echo in f; }
f; echo after
echo next $?
# ----
eval 'echo $((1/0)); echo same
echo line2'; echo after $?
echo next $?
# ----
( echo $((1/0)); echo same ); echo after $?
x=$(echo $((1/0)); echo same); echo after $? "$x"
# ----
echo "${x[1 2]}"; echo same
echo next $?
# ----
x=${u?no}; echo same
echo next $?
# ----
(: ${u?no}; echo same); echo after $?
eval ': ${u?no}; echo s'; echo after $?
echo next
# ----
x=${u!}; echo same
echo next $?
# ----
readonly r=1
r=2; echo same
echo next $?
# ----
readonly r=1
f() { r=2; echo in; }
f; echo same
echo next $?
# ----
readonly r=1
r=2 echo hi; echo same $?
r=2 :; echo same $?
# ----
readonly r=1
for r in 1 2; do echo x; done; echo same $?
echo next
# ----
shopt -s failglob
echo *.nothing; echo same
echo next $?
# ----
set -u
echo $unset; echo same
echo next $?
# ----
set -u
(echo $unset; echo same); echo after $?
x=$(echo $unset; echo z); echo after $? "$x"
eval 'echo $unset'; echo after
# ----
for i in 1 2; do break abc; echo x; done; echo y
echo z
# ----
return 5; echo $?
f() { return abc; }; f; echo $?
echo z
# ----
shift abc; echo $?
shift 1 2; echo same $?
echo z $?
# ----
f() { shift 5; echo in $?; }; f; echo $?
exit abc; echo same
# ----
exit 1 2; echo same $?
echo z $?
# ----
let "a=1/0"; echo $?
let; echo $?
(( 1/0 )); echo $?
[[ 1/0 -eq 1 ]]; echo $?
[[ a[1+] -eq 1 ]]; echo $?
echo z
# ----
a=(1 2 3)
echo ${a[1+]}; echo same
echo ${#a[x y]}; echo same
unset 'a[1+]'; echo same $?
read 'a[1+]' <<< x; echo same $?
printf -v 'a[1+]' x; echo same $?
test -v 'a[1+]'; echo same $?
[[ -v a[1+] ]]; echo same $?
# ----
x=abcdef
echo ${x:1+}; echo same
echo ${x:1:z z}; echo same
echo z
# ----
f() { x=$((1/0)); echo in; }
for i in 1 2; do f; echo loop; done; echo same
echo z $?
# ----
trap 'echo exit $?' EXIT
i="A B"; ((a[i])); echo same
echo z
# ----
set -e
((a[1+])) || echo no
echo z
# ----
declare -i n=1+; echo $?
declare -i m; m+=1+; echo same
echo z
# ----
local x; echo $?
declare -a a=([1+]=3); echo same $?
a=([1+]=3); echo same $?
echo z $?
# ----
echo ${!x}; echo same $?
x='1 2'; echo ${!x}; echo same $?
declare -n r=1; echo same $?
: ${1=x}; echo same $?
echo z
# ----
source <(echo 'echo $((1/0)); echo same'; echo 'echo line2'); echo after $?
echo next
# ----
trap 'echo $((1/0)); echo in trap' USR1; kill -USR1 $$; echo after
echo next
# ----
{ echo ${x?a}; } 2>/dev/null; echo same
echo next
# ----
if echo $((1/0)); then echo y; else echo n; fi; echo same
echo $((1/0)) || echo or
echo $((1/0)) | cat; echo same
echo z
# ----
coproc { :; }
cat < $((1/0)); echo same $?
cat < "${x:?foo}"; echo same
echo z
# ----
case $((1/0)) in *) echo x;; esac; echo same
for i in $((1/0)); do echo x; done; echo same
[[ $((1/0)) = x ]]; echo same
echo z
# ----
FUNCNEST=5
f() { f; echo in; }
f; echo same
echo z $?
# ----
x=${u!}; echo same
echo next $?
# ----
echo ${u!}; echo same
echo next $?
# ----
echo "${u!}"; echo same
echo next $?
# ----
for i in ${u!}; do :; done; echo same
echo next $?
# ----
case ${u!} in *) ;; esac; echo same
echo next $?
# ----
cat < ${u!}; echo same
echo next $?
# ----
cat <<< ${u!}; echo same
echo next $?
# ----
[[ ${u!} = x ]]; echo same
echo next $?
# ----
(( ${u!} )); echo same
echo next $?
# ----
echo $(( ${u!} )); echo same
echo next $?
# ----
a=(${u!}); echo same
echo next $?
# ----
declare x=${u!}; echo same
echo next $?
# ----
echo ${!x}; echo same $?
echo next $?
# ----
y=${!x}; echo same $?
echo next $?
# ----
x='1 2'; echo ${!x}; echo same $?
echo next $?
# ----
: ${1=x}; echo same $?
echo next $?
# ----
x=${a[]}; echo same $?
echo next $?
# ----
echo ${a[]}; echo same $?
echo next $?
# ----
cat < ${x?foo}; echo same
echo next $?
# ----
cat <<< ${x?foo}; echo same
echo next $?
# ----
case ${x?foo} in *) ;; esac; echo same
echo next $?
# ----
[[ ${x?foo} = x ]]; echo same
echo next $?
# ----
(( ${x?foo} )); echo same
echo next $?
# ----
a=(${x?foo}); echo same
echo next $?
# ----
for i in ${x?foo}; do :; done; echo same
echo next $?
# ----
cat < $((1/0)); echo same
echo next $?
# ----
cat <<< $((1/0)); echo same
echo next $?
# ----
cat <<X
$((1/0))
X
echo same
echo next $?
# ----
set -u; cat <<< $x; echo same
echo next
# ----
set -u; cat < $x; echo same
echo next
# ----
set -u; [[ $x = y ]]; echo same
echo next
# ----
set -u; (( x )); echo same
echo next
# ----
set -u; a=($x); echo same
echo next
# ----
set -u; case $x in *) ;; esac; echo same
echo next
# ----
f() { cat < $((1/0)); echo in; }; f; echo same
echo next $?
# ----
f() { echo x > "$y"; echo in $?; }; f; echo same
y='a b'; echo x > $y; echo $?
y=; echo x > $y; echo same $?
echo next $?
# ----
{ echo a; } > /nonexistent/x; echo same $?
while false; do :; done > /nonexistent/x; echo same $?
f() { echo a; } > /nonexistent/x; f; echo same $?
exec 3> /nonexistent/x; echo same $?
echo next
# ----
readonly q=1
(( q = 2 )); echo same $?
let q=3; echo same $?
read q <<< 5; echo same $?
printf -v q x; echo same $?
export q=3; echo same $?
declare q=4; echo same $?
for q in a; do echo $q; done; echo same $?
q+=x; echo same
echo next
# ----
readonly -a arr=(1 2)
arr[0]=5; echo same
arr+=(3); echo same
arr=(); echo same
unset arr; echo same $?
unset 'arr[0]'; echo same $?
read -a arr <<< "x y"; echo same $?
mapfile arr <<< x; echo same $?
echo ${arr[@]}
# ----
: ${q:=${z?bad}}; echo same
echo next
# ----
trap 'echo exit $?' EXIT
echo ${x?bad}
# ----
trap 'echo exit $?' EXIT
f() { set -u; echo $nope; }
f
# ----
echo $(( 1 + )) || echo or
echo $((  08 )); echo same
echo $(( 0x )) $(( 2#12 )) ; echo same
echo $(( 37#1 )) ; echo same
# ----
echo ${x@Z}; x=1; (echo ${x@Z}; echo in); echo $?; (echo ${x?m}; echo in); echo $?; (echo ${x!}; echo in); echo $?; f() { echo ${x@}; echo no; }; f; echo no
