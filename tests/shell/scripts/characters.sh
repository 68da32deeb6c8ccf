# The locale of C, in which each byte is a character.
# ----
LC_ALL=C; x=é; echo ${#x}; LC_ALL=C.UTF-8; echo ${#x}; f() { local LC_ALL=C; echo ${#x}; }; f; echo ${#x}; LC_ALL=C eval 'echo ${#x}'; LC_CTYPE=C; echo ${#x}; unset LC_ALL; echo ${#x}; LANG=C; LC_CTYPE=C.UTF-8; echo ${#x}
# ----
export LC_ALL=C; x=日本; echo "${#x}"; printf %s "${x:0:1}" | od -An -tx1; printf '%s\n' "${x%?}" | od -An -tx1; [[ $x == ?? ]]; echo $?; [[ $x == ?????? ]]; echo $?; case é in ??) echo two;; ?) echo one;; esac; [[ é == [é] ]]; echo $?
# ----
LC_ALL=C; y=aéb; echo "${y:1:2}" "${y: -2}" "${y#a?}" | od -An -c; echo ${y//?/.} ${y/é/e} ${y%b}; case $y in a??b) echo 4;; esac; echo ${y^?} ${y@U} ${y^^}; [[ $y =~ a(.) ]]; printf %s "${BASH_REMATCH[1]}" | od -An -tx1; for ((i=0;i<${#y};i++)); do printf '%s' "${y:i:1}" | od -An -tx1; done; a=(é "$y"); echo ${#a[1]} "${a[@]#?}" | od -An -c; printf '%q %d\n' é "'é"
# ----
touch é ab; LC_ALL=C; echo ?; echo ??; echo [é]*; LC_ALL=C.UTF-8; echo ?
# ----
export LC_ALL=C; n=0; for ((i=0;i<1000;i++)); do s=é$i; ((n += ${#s})); done; echo $n
