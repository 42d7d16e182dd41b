// Package cli has what every command of mayfly needs: the parser, help, exit codes, standard
// streams and completion scripts. It knows no command but completion.
package cli
