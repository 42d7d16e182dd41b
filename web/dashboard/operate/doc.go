// Package operate makes the pages of operations on many messages: selected ones, jobs, purges and
// damaged messages, each with the question that states what it would do.
package operate
