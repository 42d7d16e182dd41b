package scene

import (
	"cmp"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"mayfly/engine"
	"mayfly/engine/draft"
)

// What a scene may be at the most.
const (
	MostBytes    = 32 << 10
	mostEntities = 50
	mostSteps    = 50
	mostActions  = 50 // of a step
	mostThen     = 20 // of a step
	mostRepeat   = 1000
	mostText     = 1000 // characters of a text for people
	longestWait  = 366 * 24 * time.Hour
)

// A Scene is what is played. It is not to be changed.
type Scene struct {
	ID       string   `yaml:"-"`       // as Library calls it
	Title    string   `yaml:"title"`   // a few words
	Teaches  string   `yaml:"teaches"` // a sentence or two
	Shows    []string `yaml:"shows"`   // ids of rules and scenarios of the specification
	Minutes  int      `yaml:"minutes"` // how long showing it takes
	Entities []Entity `yaml:"entities"`
	Steps    []Step   `yaml:"steps"`

	Language  string           `yaml:"language"`  // that of its texts, as a tag; empty where it was written: DefaultLanguage
	Languages map[string]Words `yaml:"languages"` // its texts in others, by their tags

	Text  string `yaml:"-"` // as it was written
	Own   bool   `yaml:"-"` // it came with the program
	Added bool   `yaml:"-"` // somebody has added it to a server that runs: see Stages.Keep
}

// An Entity is one that a scene makes: one of Queue, Topic and Subscription.
type Entity struct {
	Queue        string         `yaml:"queue"`
	Topic        string         `yaml:"topic"`
	Subscription string         `yaml:"subscription"` // topic/Subscriptions/name
	With         map[string]any `yaml:"with"`         // its properties, by Service Bus' names
	Rules        []Rule         `yaml:"rules"`        // of a subscription; none: every message

	kind   engine.EntityKind
	path   engine.Path
	config engine.Config
	rules  []engine.Rule
}

// A Rule is one of a subscription.
type Rule struct {
	Name   string `yaml:"name"`
	SQL    string `yaml:"sql"`
	Action string `yaml:"action"`
}

// A Step is what happens at a press of a button.
type Step struct {
	Say  string   `yaml:"say"`  // the caption
	Look string   `yaml:"look"` // the page it is watched on, below that of the namespace; empty: the one before
	Mark []string `yaml:"mark"` // what to look at there: entities, and messages by their names here
	Do   []Action `yaml:"do"`
	Then []Expect `yaml:"then"`
}

// An Action is one thing that a step does: exactly one field is set.
type Action struct {
	Create     *Entity     `yaml:"create"`
	Delete     string      `yaml:"delete"` // an entity
	Send       *Send       `yaml:"send"`
	Receive    *Receive    `yaml:"receive"`
	Fetch      *Fetch      `yaml:"fetch"`
	Complete   string      `yaml:"complete"` // a message that was received, as the others are
	Abandon    string      `yaml:"abandon"`
	Release    string      `yaml:"release"`
	Defer      string      `yaml:"defer"`
	Renew      string      `yaml:"renew"`
	DeadLetter *DeadLetter `yaml:"deadLetter"`
	Wait       string      `yaml:"wait"` // a duration, or a Moment

	wait time.Duration
	till Moment
}

// Send sends messages.
type Send struct {
	To          string         `yaml:"to"`
	As          string         `yaml:"as"`   // what a single one is called here
	Like        string         `yaml:"like"` // a message whose body and properties it has, but for what is said here
	Body        string         `yaml:"body"`
	ID          string         `yaml:"id"`
	Subject     string         `yaml:"subject"`
	Correlation string         `yaml:"correlation"`
	ReplyTo     string         `yaml:"replyTo"`
	Session     string         `yaml:"session"`
	TTL         string         `yaml:"ttl"`
	Delay       string         `yaml:"delay"` // until it becomes available
	Times       int64          `yaml:"times"` // how many; zero: one; placeholders are filled in then
	Every       string         `yaml:"every"` // by how much each becomes available later than the one before
	Properties  map[string]any `yaml:"properties"`
	NumberOf    string         `yaml:"numberOf"` // a message whose number is its property sequence-number

	mould *draft.Mould
}

// Receive takes messages under a lock.
type Receive struct {
	From  string `yaml:"from"`
	By    string `yaml:"by"`    // who does, for people
	As    string `yaml:"as"`    // what it is called here; of several, with 1, 2, … behind it
	Count int    `yaml:"count"` // zero: one
	None  bool   `yaml:"none"`  // instead: there is none
}

// Fetch takes a deferred message by its number.
type Fetch struct {
	From    string `yaml:"from"`
	Message string `yaml:"message"` // whose number
	By      string `yaml:"by"`      // who does, for people; empty: who had it before
	Refused bool   `yaml:"refused"` // instead: it is not to be had
}

// DeadLetter moves a message that was received to the dead letters.
type DeadLetter struct {
	Message string `yaml:"message"`
	Reason  string `yaml:"reason"`
	About   string `yaml:"about"`
}

// An Expect is what is so after a step: of an entity or of a message, in numbers
// and words that are looked for.
type Expect struct {
	Text string `yaml:"text"` // for people

	Entity      string `yaml:"entity"`
	Gone        bool   `yaml:"gone"` // it is not there, entity or message
	Active      *int64 `yaml:"active"`
	Locked      *int64 `yaml:"locked"`
	Deferred    *int64 `yaml:"deferred"`
	Scheduled   *int64 `yaml:"scheduled"`
	DeadLetters *int64 `yaml:"deadLetters"`

	Message    string         `yaml:"message"`
	In         string         `yaml:"in"`    // where it is; of dead letters, the dead-letter queue
	State      string         `yaml:"state"` // active, deferred, scheduled or locked
	Reason     string         `yaml:"reason"`
	Deliveries *int32         `yaml:"deliveries"` // failed ones
	Body       string         `yaml:"body"`
	Properties map[string]any `yaml:"properties"`
}

// A Moment is when something happens next by the passing of time alone.
type Moment string

// The moments that a clock can leap to.
const (
	Expiry     Moment = "expiry"      // a message runs out
	Activation Moment = "activation"  // a scheduled message becomes available
	Unlock     Moment = "unlock"      // a lock runs out
	AutoDelete Moment = "auto-delete" // an entity deletes itself
)

// Moments are all there are.
func Moments() []Moment { return []Moment{Expiry, Activation, Unlock, AutoDelete} }

// in is when it comes; zero: nothing of the kind is to come.
func (m Moment) in(u engine.Upcoming) engine.Instant {
	switch m {
	case Expiry:
		return u.Expiry
	case Activation:
		return u.Activation
	case Unlock:
		return u.Unlock
	case AutoDelete:
		return u.AutoDelete
	default:
		panic(fmt.Sprintf("unknown moment %q", string(m)))
	}
}

// Parse understands a scene. What is wrong with it, all that can be told at once, is
// a WrongError.
func Parse(id string, text []byte) (*Scene, error) {
	if len(text) > MostBytes {
		return nil, &WrongError{[]Fault{{Text: fmt.Sprintf("A scene has at most %d bytes, and this has more.", MostBytes)}}}
	}
	if !utf8.Valid(text) {
		return nil, &WrongError{[]Fault{{Text: "A scene is text in UTF-8."}}}
	}
	if err := plain(string(text)); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, unreadable(err)
	}
	s := &Scene{ID: id, Text: string(text)}
	var body ast.Node
	switch len(file.Docs) {
	case 0:
	case 1:
		body = file.Docs[0].Body
	default:
		return nil, &WrongError{[]Fault{{Line: lineOf(file.Docs[1].Body), Text: "A file has one scene."}}}
	}
	if body != nil {
		if err := yaml.NodeToValue(body, s, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
			return nil, unreadable(err)
		}
	}
	s.Language = cmp.Or(s.Language, DefaultLanguage)
	if err := s.check(body); err != nil {
		return nil, err
	}
	return s, nil
}

// deepest is how many brackets a scene has around one thing; none needs more than
// a few.
const deepest = 20

// plain refuses what could make much of little before it is read: aliases, and
// brackets in brackets.
func plain(text string) error {
	depth := 0
	for _, t := range lexer.Tokenize(text) {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			return &WrongError{[]Fault{{Line: t.Position.Line, Text: "A scene has no anchors, aliases and tags."}}}
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > deepest || t.Position.IndentNum > 4*deepest {
			return &WrongError{[]Fault{{Line: t.Position.Line, Text: "It is nested too deeply."}}}
		}
	}
	return nil
}
