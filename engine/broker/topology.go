package broker

import (
	"context"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/topology"
)

// ApplyTopology makes the namespace match a definition, and returns the steps it did, in order
// (EMU-8). It finds impossible changes before it makes any, and returns them as topology.Problems.
// If a step fails all the same, the steps before it remain.
func (b *Broker) ApplyTopology(ctx context.Context, want topology.Topology, actor string) ([]topology.Step, error) {
	steps, err := b.PreviewTopology(ctx, want)
	if err != nil {
		return nil, err
	}
	for i, s := range steps {
		if err := b.applyStep(ctx, s, actor); err != nil {
			return steps[:i], fmt.Errorf("%s: %w", s.At, err)
		}
	}
	return steps, nil
}

// PreviewTopology returns the steps that ApplyTopology would do, or the Problems that it would return.
func (b *Broker) PreviewTopology(ctx context.Context, want topology.Topology) ([]topology.Step, error) {
	var have []engine.EntityState
	err := b.Read(ctx, func(r Reader) error { have = r.States(0); return nil })
	if err != nil {
		return nil, err
	}
	return topology.Steps(have, want)
}

func (b *Broker) applyStep(ctx context.Context, s topology.Step, actor string) (err error) {
	switch s.Action {
	case topology.Create:
		_, err = b.CreateWithRules(ctx, s.Kind, s.Path, s.Config, s.Rules, actor)
	case topology.Update:
		_, err = b.Update(ctx, s.Path, s.Config, actor)
	case topology.AddRule:
		err = b.AddRule(ctx, s.Path, s.Rule, actor)
	case topology.ReplaceRule:
		err = b.ReplaceRule(ctx, s.Path, s.Rule, actor)
	case topology.RemoveRule:
		err = b.RemoveRule(ctx, s.Path, s.Rule.Name, actor)
	default:
		panic(fmt.Sprintf("unknown step %d", s.Action))
	}
	return err
}

// ConfigJSON returns the namespace as a Config.json; see topology.Write.
func (b *Broker) ConfigJSON(ctx context.Context) ([]byte, error) {
	var have []engine.EntityState
	err := b.Read(ctx, func(r Reader) error { have = r.States(0); return nil })
	if err != nil {
		return nil, err
	}
	return topology.Write(b.Name(), have, b.Limits())
}
