// Package client has the commands that call a running server through its JSON API. Each command
// is described in a file of its own name, and its subcommands in that file or beside it. The
// commands know the API's types and nothing else of the server.
package client
