package server

import (
	"fmt"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"mayfly/engine"
)

// memoryLimitName is the name of the only --limit that is not per namespace: all namespaces share
// it, and no profile sets it.
const memoryLimitName = "memory"

const (
	// memoryShare is the part of the container's or machine's memory that messages may
	// take by default. The rest is for connections, caches and SQLite's pages, which have
	// limits of their own, and for garbage that the collector has not freed yet.
	memoryShare = 0.5
	// goMemoryShare is the part of that memory that becomes GOMEMLIMIT.
	goMemoryShare = 0.9
	// memoryUnlimited is the value of Config.Memory for no limit.
	memoryUnlimited = -1
)

// splitMemoryLimit splits the memory limit from the other --limit flags. The limit is zero if
// it is not given, and memoryUnlimited for none.
func splitMemoryLimit(given []string) (rest []string, limit int64, err error) {
	for _, g := range rejoinFeatures(given) {
		name, value, ok := strings.Cut(g, "=")
		if !ok || strings.TrimSpace(name) != memoryLimitName {
			rest = append(rest, g)
			continue
		}
		if limit, err = parseMemory(strings.TrimSpace(value)); err != nil {
			return nil, 0, &limitError{flagValue: g, err: err}
		}
	}
	return rest, limit, nil
}

func parseMemory(text string) (int64, error) {
	if text == "none" {
		return memoryUnlimited, nil
	}
	n, err := parseSize(text)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return memoryUnlimited, nil
	}
	if n < minMemory {
		return 0, fmt.Errorf("%q is less than the %d MiB that a server needs; memory=none removes the limit", text, minMemory>>20)
	}
	return n, nil
}

// minMemory is enough for a few entities and messages, in bytes.
const minMemory = 1 << 20

// availableMemory returns the memory of the container or of the machine in bytes, whichever is
// less.
func availableMemory() (uint64, error) {
	machine, err := memlimit.FromSystem()
	container, none := memlimit.FromCgroup()
	switch {
	case none != nil:
		return machine, err
	case err != nil:
		return container, nil //nolint:nilerr // the container's limit is known
	default:
		return min(container, machine), nil
	}
}

// newMemory returns the memory limit that all namespaces share, from Config.Memory.
func (c *Config) newMemory() *engine.Memory {
	limit := c.Memory
	if limit == 0 {
		all, err := availableMemory()
		if err != nil {
			c.Logger.Warn("cannot determine the size of memory, so messages may take all of it; set --limit memory=SIZE", "err", err)
			return engine.NewMemory(0)
		}
		limit = max(minMemory, int64(float64(all)*memoryShare))
	}
	if limit > 0 {
		c.Logger.Info("the memory of messages is limited; sends beyond the limit are refused", "limit_bytes", limit)
	}
	return engine.NewMemory(limit)
}

// setMemoryLimit sets Go's soft memory limit to a share of the available memory. Near that
// limit the collector runs more often instead of letting the heap double. The variable
// GOMEMLIMIT takes precedence.
func (c *Config) setMemoryLimit() {
	if _, err := memlimit.Set(memlimit.WithProvider(availableMemory), memlimit.WithRatio(goMemoryShare)); err != nil {
		c.Logger.Warn("cannot set the memory limit of Go's runtime", "err", err)
	}
}
