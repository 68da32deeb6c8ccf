# The keymaps of readline that `bind` lists and changes.
# ----
bind -q self-insert; bind -q vi-rubout; bind -m vi -q vi-rubout; bind "\"\C-xq\": \"macro\""; bind -s; bind -m vi-insert "\"jk\": vi-movement-mode"; bind -m vi-insert -q vi-movement-mode; bind -q vi-movement-mode; set -o vi; bind -q vi-movement-mode; bind -s;bind "\"z\":abort"; bind -q abort; set -o emacs; bind -q abort; bind "set keymap vi"; bind -q abort; bind -v | grep -E "keymap|editing"; bind -m vi-insert -p | grep jk
# ----
set -o vi; bind -v | grep -E 'editing|keymap'; bind -q beginning-of-line; set -o emacs; bind -v | grep editing; bind -x '"\C-x": echo hi'; bind -X; bind -x '"\C-t": ls'; bind -X; bind -r '\C-t'; bind -X; bind -q transpose-chars; bind -u yank; bind -q yank; bind '"\C-xz": "a\"b"'; bind -s; bind -S; bind 'Meta-q: yank'; bind -q yank; bind '"\M-w": yank'; bind -q yank; bind 'Control-Meta-x: yank'; bind -q yank; bind 'C-u: kill-line'; bind -q kill-line
# ----
set -o emacs; bind 'set bell-style none'; bind -v | grep bell; bind 'set completion-ignore-case on' ; bind -V | grep completion-ig; bind 'set nosuch x'; echo $?; bind 'foo'; echo $?; bind '"x": nosuchfn'; echo $?; bind -f nofile; echo $?; printf '# c\nset show-all-if-ambiguous on\n"\\C-y": kill-line\n$if mode=emacs\n"\\C-o": yank\n$endif\n' > rc; bind -f rc; bind -v | grep ambig; bind -q kill-line; bind -q yank; bind -z; echo $?; bind -m; echo $?; bind; echo $?; bind -l | sed -n 5,8p; bind -p | grep -c self-insert; bind -p | grep 'not bound' | head -3
# ----
for map in emacs vi vi-insert vi-move vi-command emacs-meta emacs-ctlx emacs-standard; do bind -m $map -p; bind -m $map -P; done | grep -v "history-search\|delete-char\|overwrite"
