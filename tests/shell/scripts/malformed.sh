# What is not well formed within substitutions, here-documents and expressions, and what ends because of it.
# ----
echo `echo a; |`; x=`if`; echo "$?[$x]" "`(`"; echo `echo b
}`
# ----
eval 'echo $( } )'; echo no
# ----
(eval 'echo "${x:-$( ; )}"'; echo no); echo $?; eval 'echo $('; echo $?; x=$(eval 'echo $(;)'); echo $?
# ----
echo 'eval "echo \$(;)"; echo no' > s; bash s; echo $?; bash < s; echo $?; bash -c '. ./s'; echo $?; echo 'echo $(;)' > t; bash t; echo $?
# ----
for w in 'a`b' '${x' '$(('; do eval "cat <<X
$w
X
echo \$?"; done; x='a b'; cat <<X | cat
`echo "$x"` ${x#a}
X
# ----
s=abcdef; for e in '(1+' '1)' '(1' '2 ) + 1'; do (eval "echo \${s:$e}"); echo $?; done
# ----
set -- a b c; for o in ':=' ':-' // '/#' '=' '/' ':' '@Q' '^' ',,'; do (eval "echo \${#$o}"); echo $?; done; for p in '?' -; do (eval "echo \${$p^}"); echo $?; done; echo ${!?} | cat
# ----
echo x 1>&2>f; cat f; echo 'a' 2>&1>g; cat g
# ----
alias sp='echo ' w=W; shopt -s expand_aliases
sp "w" w w
sp $u w
# ----
for text in for select case function coproc 'case x in a' 'case x in (' 'case x in a|' 'case x in' 'for x' 'case x in a) b' 'if' 'function f' 'for x in'; do eval "$text"; echo $?; bash -c "$text"; echo $?; done 2>&1 | sed 's/^.*line/line/'
# ----
f() { case x in a) ;; b) c;; d) ;; esac; case y in z) ;& w) esac; time; time -p; x; }; declare -f f; echo $'\c\\x' $'a\c\\\'b' | od -c; [[ a~b =~ ~ ]] && echo no; [[ $HOME =~ ~$ ]] && echo home; [[ '~' =~ "~" ]] && echo quoted
