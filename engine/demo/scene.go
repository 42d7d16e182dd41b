package demo

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
	"mayfly/engine/template"
)

// The limits of a scene.
const (
	MaxBytes        = 32 << 10
	maxEntities     = 50
	maxSteps        = 50
	maxActions      = 50 // in a step
	maxExpectations = 20 // in a step
	maxRepeat       = 1000
	maxTextLength   = 1000 // characters of a displayed text
	maxWait         = 366 * 24 * time.Hour
)

// A Scene is a demonstration. It does not change after it is parsed.
type Scene struct {
	ID       string   `yaml:"-"`       // unique in a Library
	Title    string   `yaml:"title"`   // a few words
	Summary  string   `yaml:"summary"` // a sentence or two
	Shows    []string `yaml:"shows"`   // ids of rules and scenarios of the specification
	Minutes  int      `yaml:"minutes"` // how long it takes to show the scene
	Entities []Entity `yaml:"entities"`
	Steps    []Step   `yaml:"steps"`

	Language  string                 `yaml:"language"`  // of its texts, as a tag; empty means DefaultLanguage
	Languages map[string]Translation `yaml:"languages"` // its texts in other languages, by their tags

	Text    string `yaml:"-"` // the YAML
	Builtin bool   `yaml:"-"` // it is built in
	Added   bool   `yaml:"-"` // a user has added it to a running server: see Player.SaveScene
}

// An Entity is an entity that a scene creates: exactly one of Queue, Topic and Subscription is
// set.
type Entity struct {
	Queue        string         `yaml:"queue"`
	Topic        string         `yaml:"topic"`
	Subscription string         `yaml:"subscription"` // topic/Subscriptions/name
	Properties   map[string]any `yaml:"properties"`   // its properties, by Service Bus' names
	Rules        []Rule         `yaml:"rules"`        // of a subscription; none means that it gets every message

	kind   engine.EntityKind
	path   engine.Path
	config engine.Config
	rules  []engine.Rule
}

// A Rule is a subscription's rule.
type Rule struct {
	Name   string `yaml:"name"`
	SQL    string `yaml:"sql"`
	Action string `yaml:"action"`
}

// A Step is the part of a scene that one click plays.
type Step struct {
	Caption      string        `yaml:"caption"`
	Page         string        `yaml:"page"`      // the page that shows the step, as a path below the namespace's; empty means the previous step's
	Highlight    []string      `yaml:"highlight"` // what the page highlights: paths of entities, and names of messages in the scene
	Actions      []Action      `yaml:"actions"`
	Expectations []Expectation `yaml:"expect"`
}

// An Action is one operation of a step. Exactly one of its exported fields is set.
type Action struct {
	Create          *Entity          `yaml:"create"`
	Delete          string           `yaml:"delete"` // an entity
	Send            *Send            `yaml:"send"`
	Receive         *Receive         `yaml:"receive"`
	ReceiveDeferred *ReceiveDeferred `yaml:"receiveDeferred"`
	Complete        string           `yaml:"complete"` // the name of a received message, as in the following fields
	Abandon         string           `yaml:"abandon"`
	Release         string           `yaml:"release"`
	Defer           string           `yaml:"defer"`
	Renew           string           `yaml:"renew"`
	DeadLetter      *DeadLetter      `yaml:"deadLetter"`
	Wait            string           `yaml:"wait"` // a duration, or a Moment

	wait time.Duration
	till Moment
}

// Send is an action that sends messages.
type Send struct {
	To               string         `yaml:"to"`
	As               string         `yaml:"as"`   // the message's name in the scene, if it is a single one
	Like             string         `yaml:"like"` // a message whose body and properties it copies, except those set here
	Body             string         `yaml:"body"`
	MessageID        string         `yaml:"messageId"`
	Subject          string         `yaml:"subject"`
	CorrelationID    string         `yaml:"correlationId"`
	ReplyTo          string         `yaml:"replyTo"`
	SessionID        string         `yaml:"sessionId"`
	TimeToLive       string         `yaml:"timeToLive"`
	Delay            string         `yaml:"delay"`  // until it becomes available
	Repeat           int64          `yaml:"repeat"` // how many messages; zero means one; placeholders are filled in for each
	Every            string         `yaml:"every"`  // the delay of each message after the one before
	Properties       map[string]any `yaml:"properties"`
	SequenceNumberOf string         `yaml:"sequenceNumberOf"` // a message whose sequence number is sent as the property sequence-number

	compiled *template.CompiledDraft
}

// Receive is an action that receives messages under a lock.
type Receive struct {
	From  string `yaml:"from"`
	By    string `yaml:"by"`    // the receiver, for display
	As    string `yaml:"as"`    // the message's name in the scene; with 1, 2, … appended if there are several
	Count int    `yaml:"count"` // zero means one
	None  bool   `yaml:"none"`  // expect that there are no messages to receive
}

// ReceiveDeferred is an action that receives a deferred message by its sequence number.
type ReceiveDeferred struct {
	From    string `yaml:"from"`
	Message string `yaml:"message"` // the name of the message
	By      string `yaml:"by"`      // the receiver, for display; empty means the previous one
	Refused bool   `yaml:"refused"` // expect that this fails
}

// DeadLetter is an action that moves a received message to the dead-letter queue.
type DeadLetter struct {
	Message     string `yaml:"message"`
	Reason      string `yaml:"reason"`
	Description string `yaml:"description"`
}

// An Expectation describes the expected state of an entity or a message after a step. It is checked
// on the broker.
type Expectation struct {
	Text string `yaml:"text"` // for display

	Entity      string `yaml:"entity"`
	Gone        bool   `yaml:"gone"` // the entity or message does not exist
	Active      *int64 `yaml:"active"`
	Locked      *int64 `yaml:"locked"`
	Deferred    *int64 `yaml:"deferred"`
	Scheduled   *int64 `yaml:"scheduled"`
	DeadLetters *int64 `yaml:"deadLetters"`

	Message       string         `yaml:"message"`
	In            string         `yaml:"in"`    // its path; for dead letters, the dead-letter queue
	State         string         `yaml:"state"` // active, deferred, scheduled or locked
	Reason        string         `yaml:"reason"`
	DeliveryCount *int32         `yaml:"deliveryCount"` // deliveries that failed
	Body          string         `yaml:"body"`
	Properties    map[string]any `yaml:"properties"`
}

// A Moment is a kind of event that happens by the passing of time alone.
type Moment string

const (
	Expiry     Moment = "expiry"      // a message expires
	Activation Moment = "activation"  // a scheduled message becomes available
	Unlock     Moment = "unlock"      // a lock runs out
	AutoDelete Moment = "auto-delete" // an entity deletes itself
)

// Moments returns all moments.
func Moments() []Moment { return []Moment{Expiry, Activation, Unlock, AutoDelete} }

// in returns the time of the next event of the kind, or zero if none is due.
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

// Parse parses and checks a scene. The error is a SceneError with all problems that can be found at
// once.
func Parse(id string, text []byte) (*Scene, error) { return parse(id, text, false) }

// parse is Parse, but if stored is set, it also accepts the keys of earlier versions.
func parse(id string, text []byte, stored bool) (*Scene, error) {
	if len(text) > MaxBytes {
		return nil, &SceneError{[]Problem{{Text: fmt.Sprintf("A scene must have at most %d bytes.", MaxBytes)}}}
	}
	if !utf8.Valid(text) {
		return nil, &SceneError{[]Problem{{Text: "A scene must be text in UTF-8."}}}
	}
	if err := checkNotation(string(text)); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	s := &Scene{ID: id, Text: string(text)}
	var body ast.Node
	switch len(file.Docs) {
	case 0:
	case 1:
		body = file.Docs[0].Body
	default:
		return nil, &SceneError{[]Problem{{Line: lineOf(file.Docs[1].Body), Text: "A file must contain exactly one scene."}}}
	}
	if body != nil {
		if stored {
			ast.Walk(keyRenamer{}, body)
		}
		if err := yaml.NodeToValue(body, s, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
			return nil, yamlError(err)
		}
	}
	s.Language = cmp.Or(s.Language, DefaultLanguage)
	if err := s.check(body); err != nil {
		return nil, err
	}
	return s, nil
}

// maxDepth is how deeply brackets in a scene may be nested. Real scenes need only a few levels.
const maxDepth = 20

// checkNotation returns an error for texts that could need much memory or stack to parse: texts with
// aliases, or with deeply nested brackets.
func checkNotation(text string) error {
	depth := 0
	for _, t := range lexer.Tokenize(text) {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			return &SceneError{[]Problem{{Line: t.Position.Line, Text: "A scene cannot have YAML anchors, aliases or tags."}}}
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxDepth || t.Position.IndentNum > 4*maxDepth {
			return &SceneError{[]Problem{{Line: t.Position.Line, Text: "The scene is nested too deeply."}}}
		}
	}
	return nil
}
