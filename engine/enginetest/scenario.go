package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Scenario is a story told in a text file: commands, a line of four dashes,
// and what they show, up to the next empty line. Lines that begin with "#" are
// for the reader.
//
//	create queue orders DefaultMessageTimeToLive=10s
//	send orders hello
//	after 9.999s
//	receive orders
//	----
//	#1
//	#1 hello; expires in 1ms
//
// A command is words; a word with a space in it stands in double quotes. What a
// command shows:
//
//	limit NAME VALUE                      nothing; a limit of the namespace, before anything is in it
//	create KIND PATH [PROPERTY=VALUE …]   nothing; kinds are queue, topic, subscription
//	update PATH PROPERTY=VALUE …          nothing; other properties stay
//	delete PATH                           nothing
//	rules PATH +NAME -NAME …              nothing; adds true rules, removes rules
//	send PATH BODY … [ttl=10s] [in=5m] [id=ID] [session=ID] [size=1000] [via=PATH] [NAME=VALUE …]
//	                                      the numbers; one batch; in schedules, id is the MessageId of
//	                                      all of it, size makes bodies so many bytes long, other names
//	                                      are properties
//	receive PATH [n=3] [delete]           the messages, or "nothing"
//	fetch PATH #NUMBER … [delete] [by=NAME]
//	                                      the messages; by the receiver of a session
//	complete|abandon|defer|release|renew|dead-letter BODY [reason=…] [description=…] [NAME=VALUE …]
//	                                      nothing; settles the latest delivery with this body
//	transaction NAME                      nothing; send and the settlements take within=NAME
//	commit|rollback NAME                  the numbers of what was sent in it, or nothing
//	peek PATH [from=#NUMBER] [session=ID] the messages
//	cancel PATH #NUMBER …                 nothing
//	open PATH as=NAME [credit=3]          nothing; a receiver that stays
//	close NAME                            nothing
//	got NAME                              the messages that it got since asked last
//	accept PATH [ID] as=NAME [delete]     the session that the receiver has from now on; without an
//	                                      ID the next one that there is
//	take NAME [n=3]                       the messages that its receiver gets, or "nothing"
//	leave NAME                            nothing; as a lost connection does, where close gives a session back
//	renew-session NAME                    nothing
//	state NAME [clear] [set=TEXT]         the state, or "none"
//	sessions PATH [skip=1] [top=2]        the ids of those that have messages
//	break-session PATH ID                 nothing
//	counts PATH                           how many are in which state
//	entities                              the paths there are
//	events                                what happened since asked last
//	operate VERB PATH #NUMBER [to=PATH] [in=5m] [copy] [drop]
//	                                      what an operator does with one message: resubmit, move,
//	                                      extend, return, dead-letter, delete, break-lock, renew,
//	                                      send-now, reschedule; the new number where there is one;
//	                                      drop lets a duplicate be dropped where it goes
//	purge PATH STATE …                    how many are gone
//	batch-delete PATH N                   how many are gone
//	touch|pin|unpin PATH                  nothing
//	after DURATION                        nothing; time passes
//	needs sweeper                         nothing; the scenario means nothing without one
//
// A command that is refused shows "refused: " and why, in a word.
type Scenario struct {
	Name  string
	parts []part
}

// A part is text for the reader, or commands with what they should show.
type part struct {
	text     []string
	commands []Command
	lines    []string // of the commands, as written
	want     []string
	checked  bool // there is a line of dashes
}

// A Command is one line of a scenario.
type Command struct {
	Line    int // in its file
	Name    string
	Args    []string
	Options map[string]string
	Names   []string // of the options, in their order
}

// Arg is the i-th argument, empty if there are not as many.
func (c Command) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// An Executor does what the commands of a scenario say, through whatever door.
type Executor interface {
	// Do runs a command and returns the lines that it shows. What the broker
	// refuses is a Refused; what this executor has no words for is ErrCannot;
	// anything else ends the scenario.
	Do(c Command) ([]string, error)
}

// ErrCannot is returned by an Executor for a command that its door cannot say.
var ErrCannot = errors.New("this door has no words for it")

// Refused is the broker's refusal in a word or two.
type Refused string

func (r Refused) Error() string { return "refused: " + string(r) }

// Parse reads a scenario.
func Parse(name, text string) (*Scenario, error) {
	s := &Scenario{Name: name}
	var p part
	end := func() {
		if len(p.text)+len(p.lines) > 0 {
			s.parts = append(s.parts, p)
		}
		p = part{}
	}
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case p.checked && line != "":
			p.want = append(p.want, line)
		case line == "" || strings.HasPrefix(line, "#"):
			if len(p.lines) > 0 {
				end()
			}
			p.text = append(p.text, line)
		case line == "----":
			if len(p.lines) == 0 {
				return nil, fmt.Errorf("%s:%d: there is no command above the dashes", name, i+1)
			}
			p.checked = true
		default:
			if len(p.text) > 0 {
				end()
			}
			c, err := command(line)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
			}
			c.Line = i + 1
			p.commands, p.lines = append(p.commands, c), append(p.lines, line)
		}
	}
	end()
	return s, nil
}

func command(line string) (c Command, err error) {
	var words []string
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		var word strings.Builder
		quoted := false
		n := 0
		for n < len(rest) && (quoted || rest[n] != ' ') {
			if rest[n] == '"' {
				quoted = !quoted
			} else {
				word.WriteByte(rest[n])
			}
			n++
		}
		if quoted {
			return c, fmt.Errorf("a quote is not closed in %q", line)
		}
		words, rest = append(words, word.String()), rest[n:]
	}
	c.Name, c.Options = words[0], map[string]string{}
	for _, w := range words[1:] {
		if name, value, ok := strings.Cut(w, "="); ok {
			if _, twice := c.Options[name]; twice {
				return c, fmt.Errorf("%s is given twice", name)
			}
			c.Options[name] = value
			c.Names = append(c.Names, name)
		} else {
			c.Args = append(c.Args, w)
		}
	}
	return c, nil
}

// Needs tells whether the scenario says that it needs something.
func (s *Scenario) Needs(what string) bool {
	for _, p := range s.parts {
		for _, c := range p.commands {
			if c.Name == "needs" && slices.Contains(c.Args, what) {
				return true
			}
		}
	}
	return false
}

// lags names the commands that show what has not been settled yet where there
// is no sweeper (TTL-30): without one their answers are not compared.
func lags(name string) bool {
	return slices.Contains([]string{"counts", "peek", "events", "entities", "got", "sessions"}, name)
}

// Run takes the scenario through x and returns its text with what was shown in
// place of what is expected, and the first difference as an error. lazily says
// that there is no sweeper.
func (s *Scenario) Run(x Executor, lazily bool) (text string, err error) {
	var out strings.Builder
	for _, p := range s.parts {
		for _, l := range p.text {
			fmt.Fprintln(&out, l)
		}
		var shown []string
		compare := p.checked
		for i, c := range p.commands {
			fmt.Fprintln(&out, p.lines[i])
			if c.Name == "needs" {
				continue
			}
			lines, e := x.Do(c)
			if r, ok := errors.AsType[Refused](e); ok {
				lines, e = []string{r.Error()}, nil
			}
			if e != nil {
				return "", fmt.Errorf("%s:%d: %s: %w", s.Name, c.Line, c.Name, e)
			}
			shown = append(shown, lines...)
			compare = compare && !(lazily && lags(c.Name))
		}
		if p.checked || len(shown) > 0 {
			fmt.Fprintln(&out, "----")
			for _, l := range shown {
				fmt.Fprintln(&out, l)
			}
		}
		if err == nil && (compare || !p.checked && len(shown) > 0) && !slices.Equal(shown, p.want) {
			err = fmt.Errorf("%s:%d: shown is\n\t%s\nnot\n\t%s", s.Name, p.commands[0].Line, strings.Join(shown, "\n\t"), strings.Join(p.want, "\n\t"))
		}
	}
	return out.String(), err
}

// Shown is a message as a scenario shows it.
type Shown struct {
	Number     int64
	Body       string
	State      string // empty for an active one
	Failed     int    // deliveries
	Expires    time.Duration
	Expiring   bool // Expires is set
	Properties map[string]string
}

// String is the message on a line: its number and body, and what is not as usual.
func (m Shown) String() string {
	words := []string{fmt.Sprintf("#%d %s", m.Number, m.Body)}
	if m.State != "" {
		words = append(words, m.State)
	}
	if m.Failed > 0 {
		words = append(words, fmt.Sprintf("failed %d", m.Failed))
	}
	switch {
	case !m.Expiring:
	case m.Expires > 0:
		words = append(words, fmt.Sprintf("expires in %v", m.Expires))
	default:
		words = append(words, fmt.Sprintf("expired %v ago", -m.Expires))
	}
	for _, k := range slices.Sorted(maps.Keys(m.Properties)) {
		words = append(words, k+"="+m.Properties[k])
	}
	return strings.Join(words, "; ")
}
