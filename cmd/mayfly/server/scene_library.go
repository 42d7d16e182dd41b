package server

import (
	"fmt"
	"os"

	"mayfly/engine/demo"
)

// sceneLibrary returns the built-in scenes and those of --scenes.
func (c *Config) sceneLibrary() (*demo.Library, error) {
	l, err := demo.Open()
	if err != nil || c.Scenes == "" {
		return l, err
	}
	if _, err := os.Stat(c.Scenes); err != nil {
		return nil, fmt.Errorf("--scenes: %w", err)
	}
	if err := l.Load(os.DirFS(c.Scenes)); err != nil {
		return nil, fmt.Errorf("--scenes %s is invalid, so nothing was started:\n%w", c.Scenes, err)
	}
	return l, nil
}
