// Package server contains the command that runs a server, and the commands that work on files and
// stores without one, such as backup and users. Run takes a Config, opens the ports and the
// store, and connects the broker with everything that serves it.
package server
