# tar: options that hold from their place on.
# ----
mkdir d; touch d/a.c d/b f; for o in "d --exclude=*.c" "d --exclude=*.c f" "--exclude=*.c d f" "d -v" "d --exclude-vcs" "d -X l" "d -C /" "f --exclude=a --exclude=b d" "f --exclude=a --wildcards --no-recursion" "-C d a.c -C .. f" "-C d ."; do echo "= $o"; : > l; tar cf t.tar $o 2>/dev/null; echo $?; tar tf t.tar | sort; done; tar tf t.tar d --exclude='*.c'; tar xf t.tar --exclude='*.c' -C d; ls d; tar cf t.tar; echo $?; tar -cf t.tar -T l; echo $?; timeout 1; echo $?; timeout; echo $?
