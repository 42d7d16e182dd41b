// Package cli contains what every command of mayfly needs: the parser, help, exit codes, standard
// streams and completion scripts. The only command in it is completion.
package cli
