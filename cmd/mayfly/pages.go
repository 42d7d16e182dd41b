package main

import (
	"context"

	"mayfly/engine/broker"
	"mayfly/web"
)

// A dashboard is what the pages need to run and to end.
type dashboard struct {
	options web.Options
}

// openDashboard puts together what is served.
func openDashboard(b *broker.Broker, c Config) *dashboard {
	return &dashboard{options: web.Options{Broker: b, Logger: c.Logger, Hosts: c.AllowHosts}}
}

// leave tells open pages that the server goes away.
func (d *dashboard) leave(context.Context) error { return nil }

// close ends what followed the broker.
func (d *dashboard) close() {}
