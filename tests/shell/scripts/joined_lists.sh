# How lists become one string, or fields, where IFS is not the usual one.
# ----
show() { printf '<%s>' "$@"; echo; }
IFS=; a=(x y z); show ${!a[*]}; show ${!a[@]} "${!a[*]}" "${!a[@]}"; abc1=1 abc2=2; show ${!abc*} ${!abc@} "${!abc*}"; v=${!abc@}; q=${!abc*}; show "$v" "$q"
IFS=:; set -- a b:c d; show ${u-$@}; show ${u-$*}; show "${u-$@}" "${u-$*}" ${u-"$@"}; v=${u-$@}; q=$*; show "$v" "$q"
v=${!abc@}; q="${!abc@}"; show "$v" "$q"; v=${!a[@]}; q="${!a[@]}"; x=${a[@]}; show "$v" "$q" "$x"
IFS=x; set -- axb 'c d'; show ${u-$@} ${u-p$@q} ${HOME+$@}; IFS=' :'; show ${u-$@}; IFS=,; v=${@#a}; q="${@/a/z}"; x=${@:1}; show "$v" "$q" "$x"
# ----
mapfile -O 2 a < /dev/null; declare -p a; mapfile -c 0 a; echo $?; mapfile '' <<< x; echo $?; declare -i n; mapfile -t n < <(printf '1+1\n2\n'); declare -p n; declare -A h; read -a h <<< x; echo $?; declare -A g=([a]=1 b); declare -p g
