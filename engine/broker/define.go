package broker

import (
	"context"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/definition"
)

// Define makes the namespace what a definition asks for, and tells what it did, in
// order (EMU-8). What cannot be is found before anything changes, and is
// definition.Problems; should a step fail all the same, those before it stand.
func (b *Broker) Define(ctx context.Context, want definition.Topology, actor string) ([]definition.Step, error) {
	steps, err := b.ForeseeDefine(ctx, want)
	if err != nil {
		return nil, err
	}
	for i, s := range steps {
		if err := b.define(ctx, s, actor); err != nil {
			return steps[:i], fmt.Errorf("%s: %w", s.At, err)
		}
	}
	return steps, nil
}

// ForeseeDefine tells what Define would do. What it would find in the way it
// refuses.
func (b *Broker) ForeseeDefine(ctx context.Context, want definition.Topology) ([]definition.Step, error) {
	var have []engine.EntityState
	err := b.Read(ctx, func(r Reader) error { have = r.States(0); return nil })
	if err != nil {
		return nil, err
	}
	return definition.Steps(have, want)
}

func (b *Broker) define(ctx context.Context, s definition.Step, actor string) (err error) {
	switch s.Do {
	case definition.Create:
		_, err = b.CreateWithRules(ctx, s.Kind, s.Path, s.Config, s.Rules, actor)
	case definition.Update:
		_, err = b.Update(ctx, s.Path, s.Config, actor)
	case definition.AddRule:
		err = b.AddRule(ctx, s.Path, s.Rule, actor)
	case definition.ReplaceRule:
		err = b.ReplaceRule(ctx, s.Path, s.Rule, actor)
	case definition.RemoveRule:
		err = b.RemoveRule(ctx, s.Path, s.Rule.Name, actor)
	default:
		panic(fmt.Sprintf("unknown step %d", s.Do))
	}
	return err
}

// Definition is a Config.json of what there is, see definition.Write.
func (b *Broker) Definition(ctx context.Context) ([]byte, error) {
	var have []engine.EntityState
	err := b.Read(ctx, func(r Reader) error { have = r.States(0); return nil })
	if err != nil {
		return nil, err
	}
	return definition.Write(b.Name(), have, b.Limits())
}
