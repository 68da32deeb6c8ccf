# Many definitions in a row.
# ----
# What runs beside many definitions: the history, `set -v`, functions that are read-only.
f1() { echo 1 $LINENO; }
f2() { echo 2; }

# A comment, and blanks behind it.
f3() { echo 3 $LINENO; }   
f4() {
  echo 4 $LINENO
}
f5() { echo 5; } # not alone on its line
f6() { echo 6; }; f6
  f7() { echo 7; }
f8() { echo 8; }
f9() { echo 9; }
f10() { echo 10; }
f11() { echo 11; }
f12() { echo 12 $LINENO; }
echo $?
f1; f3; f4; f12; f7; echo $LINENO
# ----
# The history has each definition.
set -o history
g1() { echo 1; }
# a comment
g2() {
  echo 2
}

g3() { echo 3; }
g4() { echo 4; }
history
set +o history
m0() { echo 0; }
m1() { echo 1; }
m2() { echo 2; }
m3() { echo 3; }
m4() { echo 4; }
m5() { echo 5; }
m6() { echo 6; }
m7() { echo 7; }
# ----
# Definitions are shown as they are read.
set -v
h1() { echo 1; }
# a comment
h2() { echo 2; }
h3() { echo 3; }
set +v
m0() { echo 0; }
m1() { echo 1; }
m2() { echo 2; }
m3() { echo 3; }
m4() { echo 4; }
m5() { echo 5; }
m6() { echo 6; }
m7() { echo 7; }
# ----
# The status is that of the last one.
k1() { echo 1; }
k2() { echo 2; }
readonly -f k2
k3() { echo 3; }
k2() { echo other; }
k4() { echo 4; }
echo $?; k2; k4
k5() { echo 5; }
k6() { echo 6; }
k2() { echo other; }
echo $?; k2
shopt -s extdebug; declare -F f12 k6
m0() { echo 0; }
m1() { echo 1; }
m2() { echo 2; }
m3() { echo 3; }
m4() { echo 4; }
m5() { echo 5; }
m6() { echo 6; }
m7() { echo 7; }
