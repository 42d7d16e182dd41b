package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

func describeCompletion() Command {
	return Command{
		Name: "completion", Summary: "Print a shell completion script.", Flags: &completionCommand{},
		Detail: "Entity names are completed from the server that the commands use. Without a server, they are not completed.",
		Examples: []Example{
			{`eval "$(mayfly completion bash)"`, "Enable completion in this bash session. Add the line to ~/.bashrc for all sessions."},
			{`mayfly completion zsh > "${fpath[1]}/_mayfly"`, "Enable completion in zsh, if you can write to the first folder of fpath."},
			{"mayfly completion fish > ~/.config/fish/completions/mayfly.fish", "Enable completion in fish."},
		},
	}
}

// completionCommand prints a completion script for a shell, generated from the parser's
// model.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script.
func (c *completionCommand) Run(ctx context.Context, all []Command, s Streams) error {
	points := completionPoints(Parser(ctx, s, all).Model.Node)
	script := map[string]func([]completionPoint) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	return s.WriteRaw([]byte(script(points)))
}

// A completionPoint is a position in a command line, with the words that may follow there.
type completionPoint struct {
	commandPath string           // the words of the command so far; empty at the beginning
	words       []completionWord // commands that may follow
	flags       []completionWord
	entities    bool // whether an argument names an entity
	choices     []string
}

// A completionWord is a command or flag that can be completed.
type completionWord struct {
	text, help string
	short      string   // one letter, of a flag that has one
	takesValue bool     // whether a flag takes a value
	choices    []string // for a flag's value
	takesFile  bool     // whether a flag's value is a file
}

// completionPoints returns all completion points, the start of the line first. The start also has
// the flags of the default command.
func completionPoints(root *kong.Node) (points []completionPoint) {
	var visit func(n *kong.Node, at string)
	visit = func(n *kong.Node, at string) {
		p := completionPoint{commandPath: at}
		for _, child := range n.Children {
			p.words = append(p.words, completionWord{text: child.Name, help: child.Help})
		}
		p.addFlags(n)
		if n.DefaultCmd != nil {
			p.addFlags(n.DefaultCmd)
		}
		for up := n.Parent; up != nil; up = up.Parent {
			p.addFlags(up)
		}
		points = append(points, p)
		for _, child := range n.Children {
			visit(child, strings.TrimSpace(at+" "+child.Name))
		}
	}
	visit(root, "")
	return points
}

func (p *completionPoint) addFlags(n *kong.Node) {
	for _, f := range n.Flags {
		if f.Hidden || slices.ContainsFunc(p.flags, func(w completionWord) bool { return w.text == "--"+f.Name }) {
			continue
		}
		w := completionWord{text: "--" + f.Name, help: f.Help, takesValue: !f.IsBool(), choices: allowedValues(f.Value), takesFile: f.Tag.Type == "path"}
		if f.Short != 0 {
			w.short = string(f.Short)
		}
		if w.text == "--server" {
			w.help = "Where the dashboard is." // the full help contains the default, which is too long for a list
		}
		p.flags = append(p.flags, w)
	}
	for _, a := range n.Positional {
		p.entities = p.entities || a.Name == "entity"
		p.choices = append(p.choices, allowedValues(a)...)
	}
}

// allowedValues returns the allowed or suggested values of a flag; none means any value.
func allowedValues(v *kong.Value) []string {
	if v.Enum == "" {
		return strings.FieldsFunc(v.Tag.Get("choices"), func(r rune) bool { return r == ',' })
	}
	return v.EnumSlice()
}

// wordTexts returns the texts of words.
func wordTexts(all []completionWord) (out []string) {
	for _, w := range all {
		out = append(out, w.text)
	}
	return out
}

// listEntitiesCommand is the command that prints the paths of entities, one per line.
const listEntitiesCommand = "mayfly entities list --names 2>/dev/null"
