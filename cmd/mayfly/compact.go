package main

import (
	"context"
	"fmt"

	"mayfly/cmd/mayfly/cli"
	"mayfly/storage"
)

func describeCompact() cli.Command {
	return cli.Command{
		Name: "compact", Summary: "Return unused disk space of a store.", Flags: &compactCommand{},
		Detail: "The file of a store keeps its size when messages go, and uses the room for others. This gives it back to the system. The store must be owned by no server, and there must be room for a copy of what stays, in the folder for temporary files and beside the store.",
		Examples: []cli.Example{
			{Line: "mayfly compact --store sqlite:orders.db", Text: "Makes the file as small as what is in it."},
		},
	}
}

// compactCommand returns unused disk space of a store to the system.
type compactCommand struct {
	storeFlags
}

// Run compacts the store.
func (c *compactCommand) Run(ctx context.Context, s cli.Streams) error {
	at, err := c.findStore(ctx)
	if err != nil {
		return err
	}
	done, err := storage.Compact(ctx, at.URL, storage.Options{Namespace: at.Namespace})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s takes %s now; it took %s.\n", cli.StoreLocation(at.URL), cli.FormatSize(done.After), cli.FormatSize(done.Before))
	return err
}
