package main

import (
	"fmt"
	"os"

	"mayfly/engine/scene"
)

// library is the program's own scenes, and those of a folder.
func (c *Config) library() (*scene.Library, error) {
	l, err := scene.Open()
	if err != nil || c.Scenes == "" {
		return l, err //nolint:wrapcheck // it says what it is about
	}
	if _, err := os.Stat(c.Scenes); err != nil {
		return nil, fmt.Errorf("--scenes: %w", err)
	}
	if err := l.Load(os.DirFS(c.Scenes)); err != nil {
		return nil, fmt.Errorf("--scenes %s is not as it should be, and nothing was started:\n%w", c.Scenes, err)
	}
	return l, nil
}
