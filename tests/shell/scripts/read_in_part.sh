# What one command has read of a pipe and not used is there for the next, wherever that waits for more.
# ----
(printf 'a\nb\nq'; sleep 0.05; echo c) | { read x; echo "x=$x"; sort; }
(printf 'a\nb\nq'; sleep 0.05; echo c) | { read x; sort | cat; }
(printf 'a\nb\nq'; sleep 0.05; echo c) | { read x; sed p | cat; }
(printf 'a\nb\nq'; sleep 0.05; echo c) | { read x; sort < /dev/stdin & wait; }
(printf 'a\nb\nq'; sleep 0.05; echo c) | { read -n 1 x; wc -c | tr -d ' '; }
# ----
exec 3< <(printf 'a\nb\nq'; sleep 0.05; echo c)
read -u 3 x
wc -c <&3 | cat
exec 3<&-
# ----
mkfifo fifo
(printf 'l1\nl2\n'; sleep 0.05; echo l3) > fifo &
{ read x; sort -r | cat; } < fifo
wait
