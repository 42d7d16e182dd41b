package namespaces

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/topology"
)

// Create creates a namespace, on behalf of actor, and waits until it is served or cannot be opened,
// which its State reports. It sets s.Created if that is zero; a scene that is reset keeps its time,
// so that its links stay valid. The error is ErrNamespaceExists, engine.ErrArgument or
// engine.ErrQuota, or the catalogue's; then nothing was created.
func (f *Manager) Create(ctx context.Context, s Spec, actor string) (Namespace, error) {
	if err := prepareSpec(&s); err != nil {
		return Namespace{}, err
	}
	return f.create(ctx, s, actor)
}

// prepareSpec normalizes the name of a new namespace, sets its creation time and checks it.
func prepareSpec(s *Spec) (err error) {
	if s.Name, err = ParseName(s.Name); err != nil {
		return err
	}
	if s.Created.IsZero() {
		s.Created = time.Now().UTC().Truncate(time.Millisecond)
	}
	return s.check()
}

func (f *Manager) create(ctx context.Context, s Spec, actor string) (Namespace, error) {
	m, err := f.add(ctx, s)
	if err != nil {
		return Namespace{}, err
	}
	f.log.Info("a namespace was created", "namespace", s.Name, "actor", actor)
	f.Audit(ctx, engine.EventNamespaceCreated, s.Name, actor)
	return f.awaitState(ctx, m), nil
}

func (s Spec) check() error {
	if s.Profile != "" {
		if _, err := engine.Profile(s.Profile); err != nil {
			return engine.Refuse(engine.ErrArgument, "The profile '%.64s' does not exist. Choose from %s.", s.Profile, strings.Join(engine.Profiles(), ", "))
		}
	}
	if !s.Until.IsZero() && !s.Temporary {
		return engine.Refuse(engine.ErrArgument, "Only a temporary namespace can have an end time.")
	}
	if s.ManualClock != nil && !s.Temporary {
		return engine.Refuse(engine.ErrArgument, "Only a temporary namespace can have its own clock.")
	}
	if s.Temporary && !s.Until.IsZero() && !s.Until.After(s.Created) {
		return engine.Refuse(engine.ErrOutOfRange, "The end time of a temporary namespace must be in the future.")
	}
	return nil
}

// CreateDefined is Create of a namespace with the entities and rules of a Config.json. The file must
// have one namespace, whose name is ignored (EMU-8). The error may also be topology.Problems, or the
// reason why the namespace cannot be served here; then nothing was created. The warnings name the
// parts of the file that have no effect.
func (f *Manager) CreateDefined(ctx context.Context, s Spec, config []byte, actor string) (n Namespace, warnings topology.Problems, err error) {
	if err := prepareSpec(&s); err != nil {
		return Namespace{}, warnings, err
	}
	want, err := f.parseConfig(s, config)
	if err != nil {
		return Namespace{}, warnings, err
	}
	s.preferHere = true
	if n, err = f.create(ctx, s, actor); err != nil {
		return n, warnings, err
	}
	switch {
	case n.Broker != nil:
		_, err = n.Broker.ApplyTopology(ctx, want, actor)
	case n.Reason != "":
		err = engine.Refuse(engine.ErrBusy, "%s", n.Reason)
	default:
		err = engine.Refuse(engine.ErrBusy, "The namespace '%s' was not created, because it could not be opened in time. Retry.", n.Name)
	}
	if err == nil {
		return n, want.Warnings, nil
	}
	if _, undo := f.Remove(context.WithoutCancel(ctx), n.Name, actor); undo != nil {
		err = errors.Join(err, undo)
	}
	return Namespace{}, warnings, err
}

// parseConfig returns the topology of a Config.json, if a new namespace can have it.
func (f *Manager) parseConfig(s Spec, config []byte) (want topology.Topology, err error) {
	limits := engine.DefaultLimits()
	if own := f.main.keeper.Broker.Limits; own != nil {
		limits = *own
	}
	if s.Profile != "" {
		if limits, err = engine.Profile(s.Profile); err != nil {
			return want, err
		}
	}
	limits.Namespace = s.Name
	if want, err = topology.Read(bytes.NewReader(config), topology.Options{Limits: &limits}); err != nil {
		if problems, ok := errors.AsType[topology.Problems](err); ok {
			_, more := topology.Steps(nil, want)
			err = problems.With(more)
		}
		return want, err
	}
	_, err = topology.Steps(nil, want)
	return want, err
}
