package fleet

import (
	"context"
	"fmt"
	"strings"

	"mayfly/engine"
)

// Change gives a namespace the limits of another profile, empty: the server's, on
// behalf of actor, and waits as Create does: it is opened again, and its clients have
// to come again. What was stored under other limits keeps what it has. The error is
// ErrNone, engine.ErrArgument, engine.ErrNotAllowed for the server's own and for one
// that is in memory alone, or the catalogue's; nothing was changed then.
func (f *Fleet) Change(ctx context.Context, name, profile, actor string) (Namespace, error) {
	name = strings.ToLower(name)
	if f.find(name) == nil {
		return Namespace{}, none(name)
	}
	if err := (Spec{Profile: profile}).check(); err != nil {
		return Namespace{}, err
	}
	if strings.EqualFold(name, f.main.spec.Name) {
		return Namespace{}, &engine.Refusal{Kind: engine.ErrNotAllowed, Text: fmt.Sprintf("The namespace '%s' is the server's own: its limits are said when the server is started.", f.main.spec.Name)}
	}
	m, changed, err := f.change(ctx, name, profile)
	if err != nil {
		return Namespace{}, err
	}
	if !changed {
		return m.namespace(), nil
	}
	f.log.Info("a namespace was given other limits", "namespace", name, "profile", profile, "by", actor)
	about := name
	if profile != "" {
		about += " (" + profile + ")"
	}
	f.Remember(ctx, engine.EventNamespaceChanged, about, actor)
	return f.settled(ctx, m), nil
}

// change has the catalogue and the member be what they are to be, if they are not.
func (f *Fleet) change(ctx context.Context, name, profile string) (m *member, changed bool, err error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	f.mu.Lock()
	m = f.byName[name]
	f.mu.Unlock()
	if m == nil {
		return nil, false, none(name)
	}
	s := m.spec
	s.Profile = profile
	if s.Temporary {
		return nil, false, &engine.Refusal{Kind: engine.ErrNotAllowed, Text: "A temporary namespace keeps the limits that it was made with."}
	}
	if s == m.spec {
		return m, false, nil
	}
	if err := f.o.Catalogue.Change(ctx, s); err != nil {
		return nil, false, err //nolint:wrapcheck // it says what it is about
	}
	m, err = f.anew(m, s, otherLimits) //nolint:contextcheck // it lives as long as the fleet
	return m, true, err
}

// otherLimits is why a namespace is not served for a moment.
const otherLimits = "It is being opened again with other limits."

// anew has a namespace kept by another specification, or anew; why it is not served
// meanwhile is told. Called by whoever has the turn.
func (f *Fleet) anew(m *member, s Spec, why string) (*member, error) {
	close(m.gone)
	m.stop()
	<-m.ended
	m.k.Doors.StandBy(Waiting{Why: why})
	if m = f.begin(s); m == nil {
		return nil, engine.ErrClosed
	}
	return m, nil
}

// settled is a member when there is something to say of it, or ctx has ended.
func (f *Fleet) settled(ctx context.Context, m *member) Namespace {
	select {
	case <-m.told:
	case <-m.ended:
	case <-ctx.Done(): // it is there, and on its way
	}
	return m.namespace()
}
