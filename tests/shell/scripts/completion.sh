# Completion and the keys of readline.
# ----
compgen -W 'foo bar baz' b; compgen -W 'foo bar' -- f; compgen -W 'x' y; echo $?
# ----
compgen -W 'a\ b c "d e" f'; x='1 2'; compgen -W '$x "$x" $((1+1))'
# ----
IFS=:; compgen -W 'a b:c d:e'
# ----
foo_a() { :; }; foo_b() { :; }; compgen -A function foo; compgen -A function -- _; compgen -A function -S x foo; compgen -A function -P y foo
# ----
alias aa_b=c aa_c=d; compgen -a aa; compgen -A alias
# ----
abc_x=1; abc_y=2; compgen -v abc; compgen -A variable abc_; export abc_x; compgen -e abc; compgen -A export abc; declare -a abc_arr=(1); compgen -A arrayvar abc
# ----
compgen -A builtin | sort | tr '\n' ' '; compgen -b ec
# ----
compgen -k; compgen -A keyword f; compgen -k ti
# ----
compgen -A setopt no; compgen -A shopt ext
# ----
f() { COMPREPLY=(x1 x2 "a b"); echo "$1|$2|$3|$COMP_CWORD|$COMP_LINE|${COMP_WORDS[*]}"; }; compgen -F f x; compgen -F f; compgen -F nofunc; echo $?
# ----
compgen -C 'echo hi; echo there; #' h; compgen -A command ech | head -1; compgen -c compge
# ----
compgen -A signal SIGI; compgen -A job; compgen -A user root; compgen -u root; compgen -A group root; compgen -A service | head -0; compgen -A hostname | head -0; compgen -A binding beginning; compgen -A helptopic ech; compgen -A enabled ech; compgen -A disabled; compgen -A running; compgen -A stopped
# ----
compgen -Z; echo $?; compgen -A foo; echo $?; compgen; echo $?; compgen -o foo; echo $?
# ----
compgen -W 'a b c' -X 'b'; compgen -W 'foo bar' -X '&*' f; compgen -W 'foo bar' -X '!&*' f; compgen -W 'a b' -P '<' -S '>'
# ----
complete -W 'a b' foo; complete -F ff bar baz; complete -p; complete -p foo; complete -p nope; echo $?; complete -r foo; complete -p; complete -r nope; echo $?; complete -r; complete
# ----
complete -A file -A directory x; complete -o nospace -o filenames -o default -F f y; complete -f -d -X '!*.c' z; complete -E -W 'a'; complete -D -F dd; complete -I -c; complete -p
# ----
complete; echo $?; complete -F; echo $?; complete foo; echo $?; complete -p; complete -W; echo $?
# ----
compopt -o nospace foo; echo $?; complete -W 'a' foo; compopt -o nospace foo; complete -p; compopt foo; compopt +o nospace foo; compopt foo; compopt -o invalid foo; echo $?; compopt -o nospace; echo $?; compopt; echo $?
# ----
complete -A function -W "a 'b" -P p -S s -C cmd -G '*.c' cc; complete -p
# ----
bind -f nofile; echo $?; bind -m nomap; echo $?; bind -z; echo $?
# ----
echo 'set bell-style none' > rc; bind -f rc; echo $?; bind -v | grep bell
# ----
complete -r nope; echo $?; complete -F 'a b' x; echo $?; complete -F 'a;b' y; echo $?; complete -F 'a/b' z; complete -W a x; complete -r nope; echo $?; complete -p
# ----
touch b a C d aa; compgen -f; compgen -f a; mkdir e f; compgen -d; compgen -o plusdirs -W 'q r'; compgen -c -- compg; ec_f() { :; }; alias ec_a=x; compgen -c ec; _b=2; compgen -A variable _ | sort | tr '\n' ' '; compgen -A signal | wc -l
