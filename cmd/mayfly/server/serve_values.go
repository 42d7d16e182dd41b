package server

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
)

// parseDurations parses the flags that are durations and sizes, and sets them in config.
func (c *serveCommand) parseDurations(config *Config) error {
	for _, f := range []struct {
		flag, text string
		to         *time.Duration
		never      time.Duration // the value in config for the text "never"; zero means that this text is invalid
	}{
		{"--store-wait", cmp.Or(c.StoreWait, "0s"), &config.StoreWait, 0},
		{"--lease", c.Lease, &config.Lease, 0},
		{"--history-retention", c.History.Retention, &config.HistoryRetention, -1},
	} {
		d, never, err := engine.ParseDuration(f.text)
		if err != nil || never && f.never == 0 || !never && d == 0 && f.flag != "--store-wait" {
			return fmt.Errorf("%s must be a duration such as 30s, not %q", f.flag, f.text)
		}
		if *f.to = d; never {
			*f.to = f.never
		}
	}
	n, err := parseSize(c.History.Bytes)
	if err != nil {
		return fmt.Errorf("--history-bytes: %w", err)
	}
	if config.HistoryBytes = n; n == 0 {
		config.HistoryBytes = -1
	}
	return nil
}

// copyNumbers copies the flags that are numbers to config, and checks that each has at least its
// minimum.
func (c *serveCommand) copyNumbers(config *Config) error {
	for _, f := range []struct {
		flag  string
		n     int
		to    *int
		least int
		none  int // the value in config if the flag is zero
	}{
		{"--max-namespaces", c.MaxNamespaces, &config.MaxNamespaces, 0, -1},
		{"--metrics-entities", c.Metrics.Entities, &config.MetricsEntities, 0, -1},
		{"--live-sockets", c.Live.Sockets, &config.LiveSockets, 0, -1},
		{"--live-sockets-per-address", c.Live.SocketsPerAddress, &config.LiveSocketsPerAddress, 0, 0},
		{"--max-connections", c.MaxConnections, &config.MaxConnections, 0, 0},
		{"--live-pages", c.Live.Pages, &config.LivePages, 1, 0},
	} {
		if f.n < f.least {
			return fmt.Errorf("%s must be at least %d, not %d", f.flag, f.least, f.n)
		}
		if *f.to = f.n; f.n == 0 {
			*f.to = f.none
		}
	}
	return nil
}

// parseSize parses a number of bytes such as 4096, 64KiB or 1.5GiB. Units are powers of 1024,
// with and without the i.
func parseSize(text string) (int64, error) {
	number := strings.TrimRight(strings.TrimSpace(text), "BbIiKkMmGgTt ")
	unit := strings.ToLower(strings.TrimSpace(strings.TrimSpace(text)[len(number):]))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "b"), "i")
	power := strings.Index(" kmgt", unit)
	if unit == "" {
		power = 0
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Trim(number, "0123456789.") != "" || len(unit) > 1 || power < 0 {
		return 0, fmt.Errorf("%q is not a size: write it as 4096, 64KiB or 1GiB", text)
	}
	if n *= math.Pow(1024, float64(power)); n > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return int64(n), nil
}
