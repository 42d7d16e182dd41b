package main

import (
	"context"
	"fmt"

	"mayfly/storage"
)

func describeCompact() description {
	return description{
		name: "compact", summary: "Give room back that a store does not need any more.", command: &compactCommand{},
		detail: "The file of a store keeps its size when messages go, and uses the room for others. This gives it back to the system. The store must be owned by no server, and there must be room for a copy of what stays, in the folder for temporary files and beside the store.",
		examples: []example{
			{"mayfly compact --store sqlite:orders.db", "Makes the file as small as what is in it."},
		},
	}
}

// compactCommand gives room back.
type compactCommand struct {
	storeFlags
}

// Run compacts.
func (c *compactCommand) Run(ctx context.Context, s streams) error {
	at, err := c.find(ctx)
	if err != nil {
		return err
	}
	done, err := storage.Compact(ctx, at.URL, storage.Options{Namespace: at.Namespace})
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	_, err = fmt.Fprintf(s.out, "%s takes %s now; it took %s.\n", keptIn(at.URL), size(done.After), size(done.Before))
	return err
}
