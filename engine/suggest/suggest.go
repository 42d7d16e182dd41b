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

// A Source proposes what there is in one namespace. It is safe for concurrent use.
type Source struct {
	b *broker.Broker

	mu   sync.Mutex
	last *sample // guarded by mu
}

// New makes a source.
func New(b *broker.Broker) *Source { return &Source{b: b, last: &sample{}} }

// Most is how many proposals there are at once.
const Most = 12

// An Answer is what can be written in the place of a piece of a text.
type Answer struct {
	From, To int // characters of the text, from 0
	All      []Proposal
}

// A Proposal is one text that can be written there.
type Proposal struct {
	Text string // a value, a term, or a key with its colon
	Kind Kind
	Note string // a term with the key, or what kind of entity it is; may be empty
}

// A Kind says what a proposal is.
type Kind string

// The kinds there are.
const (
	Key    Kind = "key"
	Value  Kind = "value"
	Entity Kind = "entity"
)

// Messages proposes how a query for messages could go on where the cursor
// stands, after so many characters.
func (s *Source) Messages(ctx context.Context, text string, cursor int) (Answer, error) {
	piece, ok := search.At(text, cursor)
	if !ok {
		return Answer{From: cursor, To: cursor}, nil
	}
	seen, err := s.sampled(ctx)
	if err != nil {
		return Answer{}, err
	}
	a := list{typed: piece.Typed}
	switch piece.Key {
	case "":
		a.keys(search.Keys())
		a.terms("state:", search.States())
		for _, key := range seen.keys {
			note := ""
			if values := seen.values[key]; len(values) > 0 {
				note = key + ":" + search.Quoted(values[0])
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
			a.add(Proposal{search.Quoted(v), Value, ""}, v)
		}
	}
	return a.answer(piece), nil
}

// Entities proposes how a query for entities could go on where the cursor stands.
func (s *Source) Entities(ctx context.Context, text string, cursor int) (Answer, error) {
	piece, ok := search.EntitiesAt(text, cursor)
	if !ok {
		return Answer{From: cursor, To: cursor}, nil
	}
	seen, err := s.sampled(ctx)
	if err != nil {
		return Answer{}, err
	}
	a := list{typed: piece.Typed}
	switch piece.Key {
	case "":
		a.keys(search.EntityKeys())
		for _, k := range []string{"has", "status", "kind"} {
			p, _ := search.EntitiesAt(k+":", len(k)+1)
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

// Terms are some terms that find something in the namespace, each a query of its
// own.
func (s *Source) Terms(ctx context.Context) (terms []string, err error) {
	seen, err := s.sampled(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range search.States() {
		terms = append(terms, "state:"+state)
	}
	for _, n := range seen.names[:min(len(seen.names), Most)] {
		if n.Kind != engine.Subscription {
			terms = append(terms, "in:"+search.Quoted(string(n.Path)))
		}
	}
	reasons := seen.values["reason"]
	for _, r := range reasons[:min(len(reasons), Most)] {
		terms = append(terms, "reason:"+search.Quoted(r))
	}
	for _, of := range []string{"prop.", "json"} {
		n := 0
		for _, key := range seen.keys {
			if strings.HasPrefix(key, of) && len(seen.values[key]) > 0 && n < Most {
				terms = append(terms, key+":"+search.Quoted(seen.values[key][0]))
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

// valuesOf are those that messages have for the key of a piece. Names of properties
// are compared without regard to case, as a search does.
func (s *sample) valuesOf(p search.Piece) []string {
	switch p.Key {
	case "prop.":
		want := "prop." + search.Quoted(p.Name)
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

// A list collects proposals that have in them what was typed. Those that begin
// with it come first.
type list struct {
	typed  string
	first  []Proposal
	others []Proposal
}

// add adds a proposal if what it is known by begins with what was typed, or one of
// its words does.
func (l *list) add(p Proposal, by string) {
	typed, by := strings.ToLower(l.typed), strings.ToLower(by)
	switch i := strings.Index(by, typed); {
	case l.has(p.Text):
	case i == 0:
		l.first = append(l.first, p)
	case i > 0 && utf8.RuneCountInString(typed) > 1 && startsWord(by, typed):
		l.others = append(l.others, p)
	}
}

func (l *list) has(text string) bool {
	return slices.ContainsFunc(slices.Concat(l.first, l.others), func(p Proposal) bool { return p.Text == text })
}

// startsWord tells whether part stands in s where no letter or digit is before it.
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

func (l *list) keys(all []search.Key) {
	for _, k := range all {
		text := k.Name
		if !strings.HasSuffix(text, ".") {
			text += ":"
		}
		l.add(Proposal{text, Key, k.Example}, k.Name)
	}
}

// terms are whole ones, for whoever knows the value and not the key. There are
// too many of them to be proposed to somebody who has written nothing.
func (l *list) terms(key string, values []string) {
	for _, v := range values {
		if l.typed != "" {
			l.add(Proposal{key + v, Value, ""}, v)
		}
	}
}

// entities are those with a name that has what was typed somewhere in it, as long
// as there is room for them.
func (l *list) entities(all []engine.Named, key string) {
	typed := strings.ToLower(l.typed)
	if key != "" && typed == "" {
		return
	}
	for _, n := range all {
		p := Proposal{key + search.Quoted(string(n.Path)), Entity, n.Kind.String()}
		switch i := strings.Index(n.Path.Fold(), typed); {
		case len(l.first) >= Most:
			return
		case i == 0:
			l.first = append(l.first, p)
		case i > 0 && len(l.others) < Most:
			l.others = append(l.others, p)
		}
	}
}

func (l *list) answer(p search.Piece) Answer {
	all := slices.Concat(l.first, l.others)
	return Answer{From: p.From, To: p.To, All: all[:min(len(all), Most)]}
}
