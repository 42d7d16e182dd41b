// Package search holds the pages that find something: messages in all entities, groups of
// dead-lettered messages, and the targets of the Go to box.
package search
