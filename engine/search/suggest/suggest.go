package suggest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// A Suggester proposes completions with values from one namespace. It is safe for concurrent use.
type Suggester struct {
	b *broker.Broker

	mu   sync.Mutex
	last *sample // guarded by mu
}

// New returns a Suggester for a broker's namespace.
func New(b *broker.Broker) *Suggester { return &Suggester{b: b, last: &sample{}} }

// MaxProposals is the maximum number of proposals.
const MaxProposals = 12

// Suggestions holds the proposals for a piece of a text.
type Suggestions struct {
	From, To  int // range of characters of the text, from 0, that a proposal replaces
	Proposals []Proposal
}

// A Proposal is one text that can replace the piece.
type Proposal struct {
	Text string // a value, a term, or a key with its colon
	Kind Kind
	Note string // a term with the key, or the kind of an entity; may be empty
}

// A Kind is the kind of a proposal.
type Kind string

const (
	Key    Kind = "key"
	Value  Kind = "value"
	Entity Kind = "entity"
)

// Messages proposes completions of a query for messages at the cursor; cursor is the number of
// characters before it.
func (s *Suggester) Messages(ctx context.Context, text string, cursor int) (Suggestions, error) {
	piece, ok := search.PieceAt(text, cursor)
	if !ok {
		return Suggestions{From: cursor, To: cursor}, nil
	}
	seen, err := s.sampled(ctx)
	if err != nil {
		return Suggestions{}, err
	}
	a := proposalList{typed: piece.Typed}
	switch piece.Key {
	case "":
		a.keys(search.Keys())
		a.terms("state:", search.States())
		for _, key := range seen.keys {
			note := ""
			if values := seen.values[key]; len(values) > 0 {
				note = key + ":" + search.Quote(values[0])
			}
			a.add(Proposal{key + ":", Key, note}, key)
		}
		a.entities(seen.names, "in:")
	case "in":
		a.entities(seen.names, "")
	default:
		for _, v := range piece.Values {
			a.add(Proposal{v, Value, ""}, v)
		}
		for _, v := range seen.valuesOf(piece) {
			a.add(Proposal{search.Quote(v), Value, ""}, v)
		}
	}
	return a.answer(piece), nil
}

// Entities proposes completions of a query for entities at the cursor.
func (s *Suggester) Entities(ctx context.Context, text string, cursor int) (Suggestions, error) {
	piece, ok := search.EntityPieceAt(text, cursor)
	if !ok {
		return Suggestions{From: cursor, To: cursor}, nil
	}
	seen, err := s.sampled(ctx)
	if err != nil {
		return Suggestions{}, err
	}
	a := proposalList{typed: piece.Typed}
	switch piece.Key {
	case "":
		a.keys(search.EntityKeys())
		for _, k := range []string{"has", "status", "kind"} {
			p, _ := search.EntityPieceAt(k+":", len(k)+1)
			a.terms(k+":", p.Values)
		}
		a.entities(seen.names, "")
	case "name":
		a.entities(seen.names, "")
	default:
		for _, v := range piece.Values {
			a.add(Proposal{v, Value, ""}, v)
		}
	}
	return a.answer(piece), nil
}

// Terms returns examples of terms, with values from the namespace where there are any. Each is a
// complete query.
func (s *Suggester) Terms(ctx context.Context) (terms []string, err error) {
	seen, err := s.sampled(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range search.States() {
		terms = append(terms, "state:"+state)
	}
	for _, n := range seen.names[:min(len(seen.names), MaxProposals)] {
		if n.Kind != engine.Subscription {
			terms = append(terms, "in:"+search.Quote(string(n.Path)))
		}
	}
	reasons := seen.values["reason"]
	for _, r := range reasons[:min(len(reasons), MaxProposals)] {
		terms = append(terms, "reason:"+search.Quote(r))
	}
	for _, of := range []string{"prop.", "json"} {
		n := 0
		for _, key := range seen.keys {
			if strings.HasPrefix(key, of) && len(seen.values[key]) > 0 && n < MaxProposals {
				terms = append(terms, key+":"+search.Quote(seen.values[key][0]))
				n++
			}
		}
	}
	for _, k := range search.Keys() {
		if k.Name != "state" && k.Name != "in" && k.Name != "reason" && k.Name != "prop." {
			terms = append(terms, k.Example)
		}
	}
	return terms, nil
}

// valuesOf returns the sampled values for the key of a piece. The case of property names does not
// matter, as in a search.
func (s *sample) valuesOf(p search.Piece) []string {
	switch p.Key {
	case "prop.":
		want := "prop." + search.Quote(p.Name)
		for _, key := range s.keys {
			if strings.EqualFold(key, want) {
				return s.values[key]
			}
		}
		return nil
	case "json.":
		if strings.HasPrefix(p.Name, "[") {
			return s.values["json"+p.Name]
		}
		return s.values["json."+p.Name]
	default:
		return s.values[p.Key]
	}
}

// A proposalList collects proposals that contain the typed text. Those that begin with it come first.
type proposalList struct {
	typed  string
	first  []Proposal
	others []Proposal
}

// add adds a proposal if the text `by`, or a word in it, begins with the typed text, and the list
// does not have the proposal yet.
func (l *proposalList) add(p Proposal, by string) {
	typed, by := strings.ToLower(l.typed), strings.ToLower(by)
	switch i := strings.Index(by, typed); {
	case l.has(p.Text):
	case i == 0:
		l.first = append(l.first, p)
	case i > 0 && utf8.RuneCountInString(typed) > 1 && startsWord(by, typed):
		l.others = append(l.others, p)
	}
}

func (l *proposalList) has(text string) bool {
	return slices.ContainsFunc(slices.Concat(l.first, l.others), func(p Proposal) bool { return p.Text == text })
}

// startsWord reports whether part occurs in s without a letter or digit before it.
func startsWord(s, part string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], part)
		if i < 0 {
			return false
		}
		at += i
		if r, _ := utf8.DecodeLastRuneInString(s[:at]); at == 0 || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return true
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
}

func (l *proposalList) keys(all []search.Key) {
	for _, k := range all {
		text := k.Name
		if !strings.HasSuffix(text, ".") {
			text += ":"
		}
		l.add(Proposal{text, Key, k.Example}, k.Name)
	}
}

// terms adds whole terms, for users who know the value but not the key. There are too many to
// propose before anything is typed.
func (l *proposalList) terms(key string, values []string) {
	for _, v := range values {
		if l.typed != "" {
			l.add(Proposal{key + v, Value, ""}, v)
		}
	}
}

// entities adds the entities whose paths contain the typed text, while there is room. If key is set,
// it adds them as terms, and none before anything is typed.
func (l *proposalList) entities(all []engine.EntityName, key string) {
	typed := strings.ToLower(l.typed)
	if key != "" && typed == "" {
		return
	}
	for _, n := range all {
		p := Proposal{key + search.Quote(string(n.Path)), Entity, n.Kind.String()}
		switch i := strings.Index(n.Path.Fold(), typed); {
		case len(l.first) >= MaxProposals:
			return
		case i == 0:
			l.first = append(l.first, p)
		case i > 0 && len(l.others) < MaxProposals:
			l.others = append(l.others, p)
		}
	}
}

func (l *proposalList) answer(p search.Piece) Suggestions {
	all := slices.Concat(l.first, l.others)
	return Suggestions{From: p.From, To: p.To, Proposals: all[:min(len(all), MaxProposals)]}
}
