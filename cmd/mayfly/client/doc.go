// Package client has the commands that call a running server through its JSON API. Each command
// is described in a file of its own name, and its subcommands in that file or beside it. They share
// the API's types, the engine's types and parsers and the list of languages, and use nothing else of
// the server.
package client
