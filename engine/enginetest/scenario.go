package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Scenario is a test in a text file. It consists of parts: commands, a line of four dashes, and
// their results up to the next empty line. Lines that begin with "#" are comments.
//
//	create queue orders DefaultMessageTimeToLive=10s
//	send orders hello
//	after 9.999s
//	receive orders
//	----
//	#1
//	#1 hello; expires in 1ms
//
// A command is a line of words. A word that contains a space is written in double quotes. The
// commands and their results:
//
//	limit NAME VALUE                      nothing; sets a limit of the namespace, which must be empty
//	create KIND PATH [PROPERTY=VALUE …]   nothing; kinds are queue, topic, subscription
//	update PATH PROPERTY=VALUE …          nothing; does not change other properties
//	delete PATH                           nothing
//	rules PATH +NAME -NAME …              nothing; adds true rules, removes rules
//	send PATH BODY … [ttl=10s] [in=5m] [id=ID] [session=ID] [size=1000] [via=PATH] [NAME=VALUE …]
//	                                      the sequence numbers; sends one batch; in= schedules it, id= is the
//	                                      MessageId of all messages, size= is the length of bodies in bytes,
//	                                      other names are properties
//	receive PATH [n=3] [delete]           the messages, or "nothing"
//	fetch PATH #NUMBER … [delete] [by=NAME]
//	                                      the deferred messages; by= names the receiver of a session
//	complete|abandon|defer|release|renew|dead-letter BODY [reason=…] [description=…] [NAME=VALUE …]
//	                                      nothing; settles the latest delivery with this body
//	transaction NAME                      nothing; send and settlements with within=NAME are part of it
//	commit|rollback NAME                  the sequence numbers of the messages sent in it, or nothing
//	peek PATH [from=#NUMBER] [session=ID] the messages
//	cancel PATH #NUMBER …                 nothing
//	open PATH as=NAME [credit=3]          nothing; attaches a receiver
//	close NAME                            nothing
//	got NAME                              the messages that the receiver got since the last got
//	accept PATH [ID] as=NAME [delete]     the id of the session that the receiver locks; without an
//	                                      ID the next available one
//	take NAME [n=3]                       the messages that the session's receiver gets, or "nothing"
//	leave NAME                            nothing; ends the receiver as a lost connection does, while close
//	                                      releases its session
//	renew-session NAME                    nothing
//	state NAME [clear] [set=TEXT]         the session's state, or "none"
//	sessions PATH [skip=1] [top=2]        the ids of the sessions that have messages
//	break-session PATH ID                 nothing
//	counts PATH                           the number of messages in each state
//	entities                              the paths of all entities
//	events                                the events since the last events command
//	operate VERB PATH #NUMBER [to=PATH] [in=5m] [copy] [drop]
//	                                      an operator's operation on one message: resubmit, move,
//	                                      extend, return, dead-letter, delete, break-lock, renew,
//	                                      send-now, reschedule; the new sequence number if there is one;
//	                                      drop lets the destination drop a duplicate
//	purge PATH STATE …                    the number of messages removed
//	batch-delete PATH N                   the number of messages removed
//	touch|pin|unpin PATH                  nothing
//	after DURATION                        nothing; time passes
//	needs sweeper                         nothing; the scenario must run with a sweeper
//
// The result of a refused command is "refused: " and the reason in a word or two.
type Scenario struct {
	Name  string
	parts []part
}

// A part holds comments and empty lines, or commands with their expected results.
type part struct {
	text     []string
	commands []Command
	lines    []string // the commands as written
	want     []string
	checked  bool // there is a line of dashes, so the results are compared
}

// A Command is one line of a scenario, split into its parts.
type Command struct {
	Line    int // line number in the file
	Name    string
	Args    []string
	Options map[string]string
	Names   []string // names of the options, in their order
}

// Arg returns the i-th argument, or an empty string if there are fewer.
func (c Command) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// An Executor runs the commands of a scenario, for instance through a protocol.
type Executor interface {
	// Do runs a command and returns its result lines. A broker's refusal is a Refused; a
	// command that this executor does not have is ErrUnsupported; any other error ends the
	// scenario.
	Do(c Command) ([]string, error)
}

// ErrUnsupported is returned by an Executor for a command that it does not support.
var ErrUnsupported = errors.New("the protocol does not have it")

// Refused is a broker's refusal as scenarios write it, in a word or two.
type Refused string

func (r Refused) Error() string { return "refused: " + string(r) }

// Parse parses a scenario.
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
				return c, fmt.Errorf("%s is set twice", name)
			}
			c.Options[name] = value
			c.Names = append(c.Names, name)
		} else {
			c.Args = append(c.Args, w)
		}
	}
	return c, nil
}

// Needs reports whether the scenario has a command "needs" with this argument.
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

// mayLag reports whether the result of a command depends on the sweeper, since it shows messages
// whose due changes may be pending (TTL-30). Without a sweeper such results are not compared.
func mayLag(name string) bool {
	return slices.Contains([]string{"counts", "peek", "events", "entities", "got", "sessions"}, name)
}

// Run runs the scenario with x and returns its text with the actual results in place of the
// expected ones, and the first difference as an error. lazily means that there is no sweeper.
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
			compare = compare && !(lazily && mayLag(c.Name))
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

// ShownMessage is a message in a command's result.
type ShownMessage struct {
	Number     int64
	Body       string
	State      string // empty for an active message
	Failed     int    // failed deliveries
	Expires    time.Duration
	Expiring   bool // whether Expires is set
	Properties map[string]string
}

// String returns the message as a line: its number and body, and its unusual properties.
func (m ShownMessage) String() string {
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
