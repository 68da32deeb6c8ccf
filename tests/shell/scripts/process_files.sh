# Files below /proc, and commands that are shown or looked for.
# ----
ls /proc/$$/fd | head -3; for fd in 0 7; do [ -e /proc/$$/fd/$fd ]; echo $?; done; exec 7</dev/null; [ -L /proc/$$/fd/7 ]; echo $?; echo /proc/$$/fd/[789] | sed "s/$$/PID/g"; exec 7<&-; [ -e /proc/self/fd/7 ]; echo $?; ls /proc/self/fd | tr '\n' ' '
exec 5>out; echo one > /proc/$$/fd/5; echo two >> /proc/self/fd/5; exec 5>&-; cat out; exec 6<out; read x < /proc/self/fd/6; echo $x; cat /proc/self/fd/6 | head -1; readlink /proc/$$/fd/6; stat -c %F /proc/$$/fd/6
[ -d /proc/$$ ]; echo $?; sleep 5 & [ -d /proc/$! ]; echo $?; kill $!; wait $! 2>/dev/null; [ -d /proc/$! ]; echo $?
# ----
{ sleep .2; { true; }; f() { :; }; } & jobs; (sleep .2; true) > /dev/null & if true; then sleep .2; true; fi & jobs %2 %3; kill %1 %2 %3; jobs -x echo %9; fg; bg
# ----
hash -d; echo $?; hash -t; echo $?; hash ls; hash -p /bin/ls; kill -l | tail -1; wait -p 1x; echo $?; wait -n 99999; echo $?; v=1; wait -p v; echo ${v-unset}; (exit 4) & wait -n -p v; echo $? $((v == $!)); wait -n -p v; echo $? ${v-unset}
# ----
pushd /tmp > /dev/null; cd /usr; pushd -; dirs; TZ=Asia/Tokyo; printf '%(%H)T\n' 0; export TZ; printf '%(%H)T\n' 0
