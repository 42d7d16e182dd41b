package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/storage/storetest"
)

func TestDurable(t *testing.T) {
	storetest.RunFileFaults(t, storetest.Files{
		Open: func(ctx context.Context, path string, log *slog.Logger) (engine.Store, error) {
			return Open(ctx, path, Options{Logger: log})
		},
		OnDisk: func(t *testing.T, grow func(n int64) error) func(context.Context, string) (engine.Store, error) {
			disk := newFaultyFS(t)
			disk.grows = grow
			return func(ctx context.Context, path string) (engine.Store, error) {
				return Open(ctx, path, Options{disk: disk.name})
			}
		},
		Companions: []string{"-wal"},
		Lock:       ".lock",
		Index:      "-shm",
		OpenAgain: func(path string) (err error) {
			c, err := sqlite3.Open("file:" + path)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			if err = registerChecksum(c); err == nil {
				_, err = raiseEpoch(c)
			}
			return err
		},
		Verify: func(ctx context.Context, path string) ([]string, error) {
			l, err := OpenSnapshot(ctx, path, Options{})
			if err != nil {
				return nil, err
			}
			wrong, err := l.Integrity(ctx)
			return wrong, errors.Join(err, l.Close())
		},
		ReadSnapshot: func(ctx context.Context, path string) error {
			l, err := OpenSnapshot(ctx, path, Options{})
			if err != nil {
				return err
			}
			return l.Close()
		},
	})
}
