package main

import (
	"fmt"
	"strings"
)

// quoted is text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// first is the first sentence of a help text.
func first(help string) string {
	s, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(s, ".")
}

// steps are the alternatives of a case, in bash and in zsh, that go from a spot
// to the next.
func steps(spots []spot) string {
	var all []string
	for _, p := range spots {
		for _, w := range p.words {
			all = append(all, quoted(p.at+" "+w.text))
		}
	}
	return strings.Join(all, " | ")
}

func bashCompletion(spots []spot) string {
	var b strings.Builder
	b.WriteString(`# mayfly's completion for bash: eval "$(mayfly completion bash)"
_mayfly() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="" at="" word="" words="" i
    ((COMP_CWORD > 0)) && prev="${COMP_WORDS[COMP_CWORD - 1]}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        case "$at $word" in
`)
	fmt.Fprintf(&b, "        %s) at=\"${at:+$at }$word\" ;;\n        esac\n    done\n    COMPREPLY=()\n    case \"$at $prev\" in\n", steps(spots))
	for _, p := range spots {
		for _, f := range p.flags {
			names := quoted(p.at + " " + f.text)
			if f.short != "" {
				names += " | " + quoted(p.at+" -"+f.short)
			}
			switch {
			case len(f.choices) > 0:
				fmt.Fprintf(&b, "    %s) words=%s ;;\n", names, quoted(strings.Join(f.choices, " ")))
			case f.value: // files
				fmt.Fprintf(&b, "    %s) return ;;\n", names)
			}
		}
	}
	b.WriteString("    esac\n    case \"${words:+chosen}$at:$cur\" in\n    chosen*) ;;\n")
	for _, p := range spots {
		fmt.Fprintf(&b, "    %s:-*) words=%s ;;\n", quoted(p.at), quoted(strings.Join(texts(p.flags), " ")))
		if next := append(texts(p.words), p.choices...); len(next) > 0 {
			fmt.Fprintf(&b, "    %s:*) words=%s ;;\n", quoted(p.at), quoted(strings.Join(next, " ")))
		}
		if p.entities {
			fmt.Fprintf(&b, "    %s:*)\n        while IFS= read -r word; do\n            [[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$word\")\n        done < <(%s)\n        return ;;\n", quoted(p.at), listEntities)
		}
	}
	b.WriteString(`    esac
    for word in $words; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
    done
}
complete -o default -F _mayfly mayfly
`)
	return b.String()
}

func zshCompletion(spots []spot) string {
	var b strings.Builder
	b.WriteString(`#compdef mayfly
# mayfly's completion for zsh: a file _mayfly in a folder of fpath.
_mayfly() {
    local cur="${words[CURRENT]}" prev="${words[CURRENT-1]}" at="" word="" i
    local -a next
    for ((i = 2; i < CURRENT; i++)); do
        word="${words[i]}"
        case "$at $word" in
`)
	fmt.Fprintf(&b, "        (%s) at=\"${at:+$at }$word\" ;;\n        esac\n    done\n    case \"$at $prev\" in\n", strings.ReplaceAll(steps(spots), " | ", "|"))
	for _, p := range spots {
		for _, f := range p.flags {
			names := quoted(p.at + " " + f.text)
			if f.short != "" {
				names += "|" + quoted(p.at+" -"+f.short)
			}
			switch {
			case len(f.choices) > 0:
				fmt.Fprintf(&b, "    (%s) compadd -- %s; return ;;\n", names, strings.Join(f.choices, " "))
			case f.files:
				fmt.Fprintf(&b, "    (%s) _files; return ;;\n", names)
			case f.value:
				fmt.Fprintf(&b, "    (%s) return ;;\n", names)
			}
		}
	}
	b.WriteString("    esac\n    case \"$at:$cur\" in\n")
	for _, p := range spots {
		describe := func(what string, all []word) string {
			var lines strings.Builder
			for _, w := range all {
				fmt.Fprintf(&lines, " %s", quoted(strings.ReplaceAll(w.text, ":", `\:`)+":"+first(w.help)))
			}
			return fmt.Sprintf("next=(%s); _describe %s next", strings.TrimSpace(lines.String()), what)
		}
		fmt.Fprintf(&b, "    (%s:-*) %s ;;\n", quoted(p.at), describe("flag", p.flags))
		switch {
		case p.entities:
			fmt.Fprintf(&b, "    (%s:*) next=(\"${(@f)$(%s)}\"); compadd -a next ;;\n", quoted(p.at), listEntities)
		case len(p.choices) > 0:
			fmt.Fprintf(&b, "    (%s:*) compadd -- %s ;;\n", quoted(p.at), strings.Join(p.choices, " "))
		case len(p.words) > 0:
			fmt.Fprintf(&b, "    (%s:*) %s ;;\n", quoted(p.at), describe("command", p.words))
		default:
			fmt.Fprintf(&b, "    (%s:*) _files ;;\n", quoted(p.at))
		}
	}
	b.WriteString(`    esac
}
if [ "$funcstack[1]" = "_mayfly" ]; then
    _mayfly "$@"
else
    compdef _mayfly mayfly
fi
`)
	return b.String()
}

func fishCompletion(spots []spot) string {
	var b strings.Builder
	b.WriteString(`# mayfly's completion for fish: a file mayfly.fish in ~/.config/fish/completions.
function __mayfly_at
    set -l at ""
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
`)
	fmt.Fprintf(&b, `            case %s
                set at (string trim "$at $word")
        end # of the switch
    end
    test "$at" = "$argv"
end
`, strings.ReplaceAll(steps(spots), " | ", " "))
	for _, p := range spots {
		here := "complete -c mayfly -n " + quoted("__mayfly_at "+p.at)
		for _, w := range p.words {
			fmt.Fprintf(&b, "%s -f -a %s -d %s\n", here, w.text, quoted(first(w.help)))
		}
		if len(p.choices) > 0 {
			fmt.Fprintf(&b, "%s -f -a %s\n", here, quoted(strings.Join(p.choices, " ")))
		}
		if p.entities {
			fmt.Fprintf(&b, "%s -f -a %s\n", here, quoted("("+listEntities+")"))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, "%s -l %s -d %s", here, strings.TrimPrefix(f.text, "--"), quoted(first(f.help)))
			if f.short != "" {
				b.WriteString(" -s " + f.short)
			}
			switch {
			case len(f.choices) > 0:
				b.WriteString(" -x -a " + quoted(strings.Join(f.choices, " ")))
			case f.files:
				b.WriteString(" -r -F")
			case f.value:
				b.WriteString(" -x")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
