package namespaces

import (
	"context"
	"strings"

	"mayfly/engine"
)

// Change sets the limits of a namespace to those of a profile, or to the server's if profile is
// empty, on behalf of actor. It waits as Create does: the namespace is opened again, and its
// clients have to reconnect. Messages that were stored under other limits are not changed. The
// error is ErrNoNamespace, engine.ErrArgument, engine.ErrNotAllowed for the server's own namespace
// and for a temporary one, or the catalogue's; then nothing was changed.
func (f *Manager) Change(ctx context.Context, name, profile, actor string) (Namespace, error) {
	name = strings.ToLower(name)
	if f.find(name) == nil {
		return Namespace{}, noNamespace(name)
	}
	if err := (Spec{Profile: profile}).check(); err != nil {
		return Namespace{}, err
	}
	if strings.EqualFold(name, f.main.spec.Name) {
		return Namespace{}, engine.Refuse(engine.ErrNotAllowed, "The namespace '%s' is the server's own. Set its limits when you start the server.", f.main.spec.Name)
	}
	m, changed, err := f.change(ctx, name, profile)
	if err != nil {
		return Namespace{}, err
	}
	if !changed {
		return m.namespace(), nil
	}
	f.log.Info("the limits of a namespace were changed", "namespace", name, "profile", profile, "actor", actor)
	about := name
	if profile != "" {
		about += " (" + profile + ")"
	}
	f.Audit(ctx, engine.EventNamespaceChanged, about, actor)
	return f.awaitState(ctx, m), nil
}

// change updates the catalogue and reopens the member, if its profile is another one.
func (f *Manager) change(ctx context.Context, name, profile string) (m *member, changed bool, err error) {
	select {
	case f.changing <- struct{}{}:
		defer func() { <-f.changing }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	f.mu.Lock()
	m = f.byName[name]
	f.mu.Unlock()
	if m == nil {
		return nil, false, noNamespace(name)
	}
	s := m.spec
	s.Profile = profile
	if s.Temporary {
		return nil, false, engine.Refuse(engine.ErrNotAllowed, "The limits of a temporary namespace cannot be changed.")
	}
	if s == m.spec {
		return m, false, nil
	}
	if err := f.o.Catalogue.Change(ctx, s); err != nil {
		return nil, false, err
	}
	m, err = f.reopen(m, s, profileChanged) //nolint:contextcheck // it lives as long as the Manager
	return m, true, err
}

// profileChanged is the reason that clients get while the namespace is being reopened.
const profileChanged = "The namespace is being reopened with its new limits."

// reopen stops a namespace and opens it again with the specification s, which may be the same as
// before. Meanwhile, the protocols answer with the reason `why`. The caller holds f.changing.
func (f *Manager) reopen(m *member, s Spec, why string) (*member, error) {
	close(m.gone)
	m.stop()
	<-m.ended
	m.keeper.Protocols.StandBy(NotServed{Reason: why})
	if m = f.startMember(s); m == nil {
		return nil, engine.ErrClosed
	}
	return m, nil
}

// awaitState waits until the state of a member is known, or ctx has ended, and returns it.
func (f *Manager) awaitState(ctx context.Context, m *member) Namespace {
	select {
	case <-m.stateKnown:
	case <-m.ended:
	case <-ctx.Done(): // the namespace exists and is being opened
	}
	return m.namespace()
}
