// Package manual contains the documentation pages about the program as a whole. Pages about one
// part of it are beside that part, and Open returns all of them.
package manual
