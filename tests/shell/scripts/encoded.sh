# Text that base64 refuses, and words that are shown quoted.
# ----
for x in '====' '=' 'a===' 'ab==' 'ab=' 'abc=' 'abcd====' 'abcd=' 'ab==cd==' 'a' 'ab' 'abc' 'ab=c' '==' ' ab==' 'ab= =' 'ab-_'; do echo "[$x]"; printf %s "$x" | base64 -d | od -An -c; printf %s "$x" | base64 -di | od -An -c; done; printf 'a b' | xargs -t echo {} 2>&1; ls '{}' '{' 2>&1; printf 'a\tb\nab\n' | sort -di; sort -ndi < /dev/null
