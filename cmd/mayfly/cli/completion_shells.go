package cli

import (
	"fmt"
	"strings"
)

// firstSentence returns the first sentence of a help text.
func firstSentence(help string) string {
	s, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(s, ".")
}

// casePatterns returns the pattern of a shell's case statement that matches every command path of
// spots followed by a word that leads to another completion point.
func casePatterns(spots []completionPoint) string {
	var all []string
	for _, p := range spots {
		for _, w := range p.words {
			all = append(all, ShellQuote(p.commandPath+" "+w.text))
		}
	}
	return strings.Join(all, " | ")
}

func bashCompletion(spots []completionPoint) string {
	var b strings.Builder
	b.WriteString(`# mayfly's completion for bash: eval "$(mayfly completion bash)"
_mayfly() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="" at="" word="" words="" i
    ((COMP_CWORD > 0)) && prev="${COMP_WORDS[COMP_CWORD - 1]}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        case "$at $word" in
`)
	fmt.Fprintf(&b, "        %s) at=\"${at:+$at }$word\" ;;\n        esac\n    done\n    COMPREPLY=()\n    case \"$at $prev\" in\n", casePatterns(spots))
	for _, p := range spots {
		for _, f := range p.flags {
			names := ShellQuote(p.commandPath + " " + f.text)
			if f.short != "" {
				names += " | " + ShellQuote(p.commandPath+" -"+f.short)
			}
			switch {
			case len(f.choices) > 0:
				fmt.Fprintf(&b, "    %s) words=%s ;;\n", names, ShellQuote(strings.Join(f.choices, " ")))
			case f.takesValue: // files
				fmt.Fprintf(&b, "    %s) return ;;\n", names)
			}
		}
	}
	b.WriteString("    esac\n    case \"${words:+chosen}$at:$cur\" in\n    chosen*) ;;\n")
	for _, p := range spots {
		fmt.Fprintf(&b, "    %s:-*) words=%s ;;\n", ShellQuote(p.commandPath), ShellQuote(strings.Join(wordTexts(p.flags), " ")))
		if next := append(wordTexts(p.words), p.choices...); len(next) > 0 {
			fmt.Fprintf(&b, "    %s:*) words=%s ;;\n", ShellQuote(p.commandPath), ShellQuote(strings.Join(next, " ")))
		}
		if p.entities {
			fmt.Fprintf(&b, "    %s:*)\n        while IFS= read -r word; do\n            [[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$word\")\n        done < <(%s)\n        return ;;\n", ShellQuote(p.commandPath), listEntitiesCommand)
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

func zshCompletion(spots []completionPoint) string {
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
	fmt.Fprintf(&b, "        (%s) at=\"${at:+$at }$word\" ;;\n        esac\n    done\n    case \"$at $prev\" in\n", strings.ReplaceAll(casePatterns(spots), " | ", "|"))
	for _, p := range spots {
		for _, f := range p.flags {
			names := ShellQuote(p.commandPath + " " + f.text)
			if f.short != "" {
				names += "|" + ShellQuote(p.commandPath+" -"+f.short)
			}
			switch {
			case len(f.choices) > 0:
				fmt.Fprintf(&b, "    (%s) compadd -- %s; return ;;\n", names, strings.Join(f.choices, " "))
			case f.takesFile:
				fmt.Fprintf(&b, "    (%s) _files; return ;;\n", names)
			case f.takesValue:
				fmt.Fprintf(&b, "    (%s) return ;;\n", names)
			}
		}
	}
	b.WriteString("    esac\n    case \"$at:$cur\" in\n")
	for _, p := range spots {
		describe := func(what string, all []completionWord) string {
			var lines strings.Builder
			for _, w := range all {
				fmt.Fprintf(&lines, " %s", ShellQuote(strings.ReplaceAll(w.text, ":", `\:`)+":"+firstSentence(w.help)))
			}
			return fmt.Sprintf("next=(%s); _describe %s next", strings.TrimSpace(lines.String()), what)
		}
		fmt.Fprintf(&b, "    (%s:-*) %s ;;\n", ShellQuote(p.commandPath), describe("flag", p.flags))
		switch {
		case p.entities:
			fmt.Fprintf(&b, "    (%s:*) next=(\"${(@f)$(%s)}\"); compadd -a next ;;\n", ShellQuote(p.commandPath), listEntitiesCommand)
		case len(p.choices) > 0:
			fmt.Fprintf(&b, "    (%s:*) compadd -- %s ;;\n", ShellQuote(p.commandPath), strings.Join(p.choices, " "))
		case len(p.words) > 0:
			fmt.Fprintf(&b, "    (%s:*) %s ;;\n", ShellQuote(p.commandPath), describe("command", p.words))
		default:
			fmt.Fprintf(&b, "    (%s:*) _files ;;\n", ShellQuote(p.commandPath))
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

func fishCompletion(spots []completionPoint) string {
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
`, strings.ReplaceAll(casePatterns(spots), " | ", " "))
	for _, p := range spots {
		here := "complete -c mayfly -n " + ShellQuote("__mayfly_at "+p.commandPath)
		for _, w := range p.words {
			fmt.Fprintf(&b, "%s -f -a %s -d %s\n", here, w.text, ShellQuote(firstSentence(w.help)))
		}
		if len(p.choices) > 0 {
			fmt.Fprintf(&b, "%s -f -a %s\n", here, ShellQuote(strings.Join(p.choices, " ")))
		}
		if p.entities {
			fmt.Fprintf(&b, "%s -f -a %s\n", here, ShellQuote("("+listEntitiesCommand+")"))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, "%s -l %s -d %s", here, strings.TrimPrefix(f.text, "--"), ShellQuote(firstSentence(f.help)))
			if f.short != "" {
				b.WriteString(" -s " + f.short)
			}
			switch {
			case len(f.choices) > 0:
				b.WriteString(" -x -a " + ShellQuote(strings.Join(f.choices, " ")))
			case f.takesFile:
				b.WriteString(" -r -F")
			case f.takesValue:
				b.WriteString(" -x")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
