package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"mayfly/engine/broker"
	"mayfly/engine/topology"
)

// readDefinition reads the file of --config. Without the flag it returns an empty definition.
func (c *Config) readDefinition() (topology.Topology, error) {
	if c.ConfigFile == "" {
		return topology.Topology{}, nil
	}
	f, err := os.Open(c.ConfigFile)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return topology.Topology{}, fmt.Errorf("--config %s cannot be read: %w", c.ConfigFile, err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	if about, err := f.Stat(); err == nil && about.IsDir() {
		return topology.Topology{}, fmt.Errorf("--config %s cannot be read: it is a folder, not a file", c.ConfigFile)
	}
	want, err := topology.Read(f, topology.Options{Limits: c.Limits})
	for _, w := range want.Warnings.First {
		c.Logger.Warn("a part of the file has no effect", "config", c.ConfigFile, "at", w.Path, "reason", w.Reason)
	}
	if problems, ok := errors.AsType[topology.Problems](err); ok {
		err = problems.With(want.Destinations())
	}
	if err != nil {
		return want, definitionError(c.ConfigFile, err)
	}
	if c.Namespace == "" && want.Namespace != "" && !namespaceName.MatchString(want.Namespace) {
		return want, definitionError(c.ConfigFile, fmt.Errorf("the namespace %q is not a valid name; give another with --namespace", want.Namespace))
	}
	return want, nil
}

// definitionActor is the actor of changes by a definition in the history.
const definitionActor = "Config.json"

// applyDefinition changes the namespace to match the definition. Errors in the definition are found
// before anything changes.
func applyDefinition(ctx context.Context, b *broker.Broker, want topology.Topology, file string) error {
	if file == "" {
		return nil
	}
	if _, err := b.ApplyTopology(ctx, want, definitionActor); err != nil {
		return definitionError(file, err)
	}
	return nil
}

func definitionError(file string, err error) error {
	return fmt.Errorf("--config %s is invalid, so nothing was started:\n%w", file, err)
}
