package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

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
	if _, err := b.Define(ctx, want, actor); err != nil {
		return notAsItShould(file, err)
	}
	return nil
}

func notAsItShould(file string, err error) error {
	return fmt.Errorf("--config %s is not as it should be, and nothing was started:\n%w", file, err)
}
