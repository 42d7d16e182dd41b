package main

import (
	"context"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

func describeCompletion() description {
	return description{
		name: "completion", summary: "Print what has a shell complete commands, flags, their values and names of entities.", command: &completionCommand{},
		detail: "Names of entities are those of the server that the commands would ask; without one there are none.",
		examples: []example{
			{`eval "$(mayfly completion bash)"`, "For this bash; as a line of ~/.bashrc, for each."},
			{`mayfly completion zsh > "${fpath[1]}/_mayfly"`, "For each zsh, if the first folder of fpath is yours."},
			{"mayfly completion fish > ~/.config/fish/completions/mayfly.fish", "For each fish."},
		},
	}
}

// completionCommand prints a script for a shell, made from the command line's own
// model.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints.
func (c *completionCommand) Run(ctx context.Context, s streams) error {
	spots := spotsOf(parser(ctx, s).Model.Node)
	script := map[string]func([]spot) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	return s.write([]byte(script(spots)))
}

// A spot is where a command line may have got to: what may come next there.
type spot struct {
	at       string // the words of the command so far; empty at the beginning
	words    []word // commands that may follow
	flags    []word
	entities bool // whether an argument names an entity
	choices  []string
}

// A word is something that can be completed.
type word struct {
	text, help string
	short      string   // one letter, of a flag that has one
	value      bool     // whether a flag takes one
	choices    []string // for a flag's value
	files      bool     // whether a flag's value is a file
}

// spotsOf are all spots, the beginning first. What may follow the command that
// needs no name may follow the beginning too.
func spotsOf(root *kong.Node) (spots []spot) {
	var visit func(n *kong.Node, at string)
	visit = func(n *kong.Node, at string) {
		p := spot{at: at}
		for _, child := range n.Children {
			p.words = append(p.words, word{text: child.Name, help: child.Help})
		}
		p.learn(n)
		if n.DefaultCmd != nil {
			p.learn(n.DefaultCmd)
		}
		for up := n.Parent; up != nil; up = up.Parent {
			p.learn(up)
		}
		spots = append(spots, p)
		for _, child := range n.Children {
			visit(child, strings.TrimSpace(at+" "+child.Name))
		}
	}
	visit(root, "")
	return spots
}

func (p *spot) learn(n *kong.Node) {
	for _, f := range n.Flags {
		if f.Hidden || slices.ContainsFunc(p.flags, func(w word) bool { return w.text == "--"+f.Name }) {
			continue
		}
		w := word{text: "--" + f.Name, help: f.Help, value: !f.IsBool(), choices: choicesOf(f.Value), files: f.Tag.Type == "path"}
		if f.Short != 0 {
			w.short = string(f.Short)
		}
		if w.text == "--server" {
			w.help = "Where the dashboard is." // what is the default is too long to be listed
		}
		p.flags = append(p.flags, w)
	}
	for _, a := range n.Positional {
		p.entities = p.entities || a.Name == "entity"
		p.choices = append(p.choices, choicesOf(a)...)
	}
}

// choicesOf are the values of which one is to be given, or which are proposed; none: any.
func choicesOf(v *kong.Value) []string {
	if v.Enum == "" {
		return strings.FieldsFunc(v.Tag.Get("choices"), func(r rune) bool { return r == ',' })
	}
	return v.EnumSlice()
}

// texts are those of words.
func texts(all []word) (out []string) {
	for _, w := range all {
		out = append(out, w.text)
	}
	return out
}

// listEntities prints the names of entities, one in a line.
const listEntities = "mayfly entities list --names 2>/dev/null"
