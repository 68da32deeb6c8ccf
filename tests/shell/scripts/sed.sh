# sed: ranges whose lines are skipped, texts and commands that end with a line, and outputs without a newline.
# ----
for s in 'N;1,3p' 'N;3,5p' 'N;N;2,8p' 'N;N;2,/8/p' 'N;N;2,+3p' 'N;N;2,~4p' '2,4{N;N;N;p}' '2,+1{N;s/\n/ /;p}' '2,+2{N;N;s/\n/ /g;p}' '/2/,+1{N;s/\n/ /;p}' '/2/,4{N;N;N;s/\n/ /g;p}' '2,~2{N;s/\n/ /;p}' 'N;N;2,1p;1,2p;0,/2/p' 'N;N;2,4!p' '2{N;N;N};3,7p' '2{N;N;N};3,4p;3,5p' '2{N;N;N};3,/9/p' '2{N;N;N};$!{3,$p}'; do echo "= $s"; seq 12 | sed -n "$s"; done
# ----
for s in a 'a\' 'a\
' 'a 
p' 'a
p' 'i\
p' 'i\
' 'c
p' 'a\

' 'a\  x' 'a\
  x' 'a   x' '$!{a x
}' '1{a x' 'a x\
y' 'a x\' 'a\x' 'a\\x' 'a \x' 'a\tx' 'a\
\tx' 'a x\ty'; do echo "= $s"; echo q | sed "$s"; done 2>&1
# ----
printf abc > f; for s in q Q 'r nofile' 'R nofile' 'W o' 'a\' '$!d;q' N '$r f' '$a x' '$i x' =; do echo "= $s"; sed "$s" f; done; sed -i q f; cat f; printf 1 > g; sed 'R g' f; sed -s 'R g' f f; printf 'a\nb\n' > f; sed -s '2,/c/R g' f g; sed 'R g
n' f
# ----
for s in 's/a
b/' 's/a/b
c/' 's/a\
b/c/' 's/a/b\
c/' 'y/a
b/cd/' 'y/a\
b/cde/' 's/[
]/x/' '/a
b/d' 's\n\x\' 'y/abc/\n\t\\/' 'y,a\,b,123,' 'y/a\bc/123/' 's/\(/x/;p' 's/é/x/;k' 's/+/x/;p' 's/a/\1/
p' 'r
p' 's/a/b'; do echo "= $s"; sed "$s" <<< abc; done 2>&1
# ----
printf 'a\0b b b' | sed -z '=;F;l 4;c x' | od -c
