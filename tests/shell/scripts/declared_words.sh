# What declare leaves in $_, what set -a exports, and times of any year.
# ----
for n in 67768036191676800 9223372036854775807 99999999999999999999 253402300800 253402300799 99999999999 1e3 abc 0x10 010 "'a" '' 5; do printf "$n: %(%F %T %a %j %s %%)T\n" "$n"; echo $?; done; printf -- '%(%F %T)T\n' -62135596700 -62135596800 -62135596801 -1
# ----
export TZ=Asia/Tokyo;  printf '%(%F %T %Z %z)T\n' 0 253402300800 99999999999; alias a=b c=d; echo $_; alias a > /dev/null; echo $_
# ----
set -a; f() { local l=(1); declare -p l; local -a z; declare -p z; local y=3; declare -p y; local -A q; declare -p q; declare -a w; declare -p w;  declare -g gg; declare -p gg; declare -ga gh; declare -p gh; }; f; declare -a nn; declare -p nn; declare ss; declare -p ss; declare -n rr=ss; declare -p rr; ar=1; declare -p ar; ar[1]=2; declare -p ar; sc=x; set +a; declare -a y; y=(1); set -a; y=(2); declare -p y; y[0]=3; declare -p y; y+=(4); declare -p y; z=1; set +a; w=1; set -a; w=2; declare -p w; w+=3; (( w++ )); declare -p w; set +a; v=1; set -a; ((v++)); declare -p v; read -a r <<< "1 2"; declare -p r; mapfile -t q <<< x; declare -p q; c[2]=y; declare -p c; printf -v 'pa[1]' x; declare -p pa; env | grep -c '^r='
# ----
f() { local z=5; echo "$_"; local q; echo "$_"; local -a w=(1); echo "$_"; typeset t=a; echo "$_"; }; f; f; f; declare x y; echo "$_"; declare -x z1=1 z2=2; echo "$_"; declare -A m=([a]=b); echo "$_";  declare -a y=(1 2); echo "$_"; declare a=(1) b=2; echo "$_"; declare b=2 c=(1); echo "$_"; declare c+=(1); echo "$_"; readonly rr=(1); echo "$_"; export ee=(1); echo $_; for i in 1 2 3 4 5; do f > /dev/null; echo $_; done
