package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/definition"
)

// Create makes a namespace, on behalf of actor, and waits until it is served or
// it is known what keeps it from that, which its State tells. Of s, Created is
// filled in if it is zero: a scene that is set back stays as old as it was, and so
// do its links. The error is ErrTaken, engine.ErrArgument or engine.ErrQuota, or the
// catalogue's; nothing was made then.
func (f *Fleet) Create(ctx context.Context, s Spec, actor string) (Namespace, error) {
	if err := creatable(&s); err != nil {
		return Namespace{}, err
	}
	return f.create(ctx, s, actor)
}

// creatable fills in what a new namespace is called, and since when it is, and says what
// is wrong with it.
func creatable(s *Spec) (err error) {
	if s.Name, err = ParseName(s.Name); err != nil {
		return err
	}
	if s.Created.IsZero() {
		s.Created = time.Now().UTC().Truncate(time.Millisecond)
	}
	return s.check()
}

func (f *Fleet) create(ctx context.Context, s Spec, actor string) (Namespace, error) {
	m, err := f.add(ctx, s)
	if err != nil {
		return Namespace{}, err
	}
	f.log.Info("a namespace was created", "namespace", s.Name, "by", actor)
	f.Remember(ctx, engine.EventNamespaceCreated, s.Name, actor)
	return f.settled(ctx, m), nil
}

func (s Spec) check() error {
	if s.Profile != "" {
		if _, err := engine.Profile(s.Profile); err != nil {
			return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf("There is no profile '%.64s': there are %s.", s.Profile, strings.Join(engine.Profiles(), ", "))}
		}
	}
	if !s.Until.IsZero() && !s.Temporary {
		return &engine.Refusal{Kind: engine.ErrArgument, Text: "Only a temporary namespace has an end."}
	}
	if s.Machine != nil && !s.Temporary {
		return &engine.Refusal{Kind: engine.ErrArgument, Text: "Only a temporary namespace has a clock of its own."}
	}
	if s.Temporary && !s.Until.IsZero() && !s.Until.After(s.Created) {
		return &engine.Refusal{Kind: engine.ErrOutOfRange, Text: "A temporary namespace ends in the future."}
	}
	return nil
}

// CreateDefined is Create of a namespace with the entities and rules of a Config.json,
// which has one namespace, whatever that is called (EMU-8). The error may be
// definition.Problems too, or what kept the namespace from being served here; nothing was
// made then.
func (f *Fleet) CreateDefined(ctx context.Context, s Spec, config []byte, actor string) (Namespace, error) {
	if err := creatable(&s); err != nil {
		return Namespace{}, err
	}
	want, err := f.definition(s, config)
	if err != nil {
		return Namespace{}, err
	}
	s.mine = true
	n, err := f.create(ctx, s, actor)
	if err != nil {
		return n, err
	}
	switch {
	case n.Broker != nil:
		_, err = n.Broker.Define(ctx, want, actor)
	case n.Why != "":
		err = &engine.Refusal{Kind: engine.ErrBusy, Text: n.Why}
	default:
		err = &engine.Refusal{Kind: engine.ErrBusy, Text: fmt.Sprintf("The namespace '%s' was not served here in time to be filled, and was not made.", n.Name)}
	}
	if err == nil {
		return n, nil
	}
	if _, undo := f.Remove(context.WithoutCancel(ctx), n.Name, actor); undo != nil {
		err = errors.Join(err, undo)
	}
	return Namespace{}, err
}

// definition is what a Config.json asks for, if a new namespace can have it.
func (f *Fleet) definition(s Spec, config []byte) (want definition.Topology, err error) {
	limits := engine.DefaultLimits()
	if own := f.main.k.Broker.Limits; own != nil {
		limits = *own
	}
	if s.Profile != "" {
		if limits, err = engine.Profile(s.Profile); err != nil {
			return want, err //nolint:wrapcheck // it was checked
		}
	}
	limits.Namespace = s.Name
	if want, err = definition.Read(bytes.NewReader(config), definition.Options{Limits: &limits}); err != nil {
		return want, err //nolint:wrapcheck // problems say where they are
	}
	_, err = definition.Steps(nil, want)
	return want, err //nolint:wrapcheck // likewise
}
