package server

import (
	"context"
	"fmt"

	"mayfly/cmd/mayfly/cli"
	"mayfly/storage"
)

func describeCompact() cli.Command {
	return cli.Command{
		Name: "compact", Summary: "Return unused disk space of a store.", Flags: &compactCommand{},
		Detail: "A store's file keeps its size when messages are deleted, and reuses the space for new ones. Compacting returns unused space to the file system. Stop the server first. Compacting needs space for a copy of the remaining data, in the folder for temporary files and beside the store.",
		Examples: []cli.Example{
			{Line: "mayfly compact --store sqlite:orders.db", Text: "Shrink the file to the size of its contents."},
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
	_, err = fmt.Fprintf(s.Out, "%s now takes %s, before %s.\n", cli.StoreLocation(at.URL), cli.FormatSize(done.After), cli.FormatSize(done.Before))
	return err
}
