# Aliases: where they are expanded, and how they are shown.
# ----
shopt -s expand_aliases
alias FOR1='for '
alias FOR2='FOR1 '
alias eye1='i '
alias eye2='eye1 '
alias IN='in '
alias two='1 "2" '
FOR2 eye2 IN two 3; do echo $i; done
alias name=word
for name in two name; do echo $name; done
# ----
alias a="x 'y' z" b='' c=$'a\nb' d='\' -- -x=1; alias; alias -p; alias a c -- -x; shopt -s expand_aliases
type c; command -v c; command -V c; set -o posix; alias
# ----
f() { caller; caller 0; echo $?; }; f; caller; echo $?; type -tp ls; type -pt ls; type -tpa ls | head -1; declare -ul x=aB; declare -luc y=aB; declare -p x y; history 1 2; echo $?; history -a new; ls new
# ----
sleep 1 & kill -INT $!; kill -QUIT $!; kill -HUP $!; wait $!; echo $?; (trap -p; trap; kill -INT $BASHPID; echo alive) & wait; { trap "echo q" QUIT; trap -p; kill -QUIT $BASHPID; } & wait; trap "echo i" INT; sleep 0.2 & kill -INT $!; wait $!; echo $?
