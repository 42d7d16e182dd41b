package web

import "mayfly/web/rest"

const (
	alivePath = "/livez"  // the process is alive
	readyPath = "/readyz" // the server's own namespace takes messages, or the one named in the request
)

// alivePaths are the liveness checks of the dashboard's port.
var alivePaths = []string{
	alivePath, "/healthz",
}

// healthPaths are all addresses of health checks, at any port. They require no role, and are
// answered even when the budget of connections is used up.
var healthPaths = []string{
	alivePath, "/healthz", readyPath, rest.HealthPath,
}
