package web

import "mayfly/web/rest"

const (
	alivePath = "/livez"  // reports that the process is running
	readyPath = "/readyz" // reports whether the server's own namespace, or the one named in the request, takes messages
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
