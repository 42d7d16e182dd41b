package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/definition"
)

// readDefinition reads --config, if there is one.
func (c *Config) readDefinition() (definition.Topology, error) {
	if c.Definition == "" {
		return definition.Topology{}, nil
	}
	f, err := os.Open(c.Definition)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return definition.Topology{}, fmt.Errorf("--config %s cannot be read: %w", c.Definition, err)
	}
	defer f.Close() //nolint:errcheck // what was read was read
	if about, err := f.Stat(); err == nil && about.IsDir() {
		return definition.Topology{}, fmt.Errorf("--config %s cannot be read: it is a folder, not a file", c.Definition)
	}
	want, err := definition.Read(f, definition.Options{Limits: c.Limits})
	if err != nil {
		return want, notAsItShould(c.Definition, err)
	}
	if c.Namespace == "" && want.Namespace != "" && !namespaceName.MatchString(want.Namespace) {
		return want, notAsItShould(c.Definition, fmt.Errorf("the namespace %q cannot be called so; give another name with --namespace", want.Namespace))
	}
	return want, nil
}

// actor is who a definition's changes are said to be by.
const actor = "Config.json"

// apply makes the namespace what the definition says. What cannot be is found
// before anything changes.
func apply(ctx context.Context, b *broker.Broker, want definition.Topology, file string) error {
	if file == "" {
		return nil
	}
	var have []engine.EntityState
	err := b.Read(ctx, func(r broker.Reader) error { have = r.States(0); return nil })
	if err != nil {
		return err
	}
	steps, err := definition.Steps(have, want)
	if err != nil {
		return notAsItShould(file, err)
	}
	for _, s := range steps {
		if err := step(ctx, b, s); err != nil {
			return notAsItShould(file, fmt.Errorf("%s: %w", s.At, err))
		}
	}
	return nil
}

func step(ctx context.Context, b *broker.Broker, s definition.Step) (err error) {
	switch s.Do {
	case definition.Create:
		_, err = b.CreateWithRules(ctx, s.Kind, s.Path, s.Config, s.Rules, actor)
	case definition.Update:
		_, err = b.Update(ctx, s.Path, s.Config, actor)
	case definition.AddRule:
		err = b.AddRule(ctx, s.Path, s.Rule, actor)
	case definition.RemoveRule:
		err = b.RemoveRule(ctx, s.Path, s.Rule.Name, actor)
	default:
		panic(fmt.Sprintf("unknown step %d", s.Do))
	}
	return err
}

func notAsItShould(file string, err error) error {
	return fmt.Errorf("--config %s is not as it should be, and nothing was started:\n%w", file, err)
}
