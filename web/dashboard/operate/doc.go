// Package operate makes the pages of operations on many messages: selected ones, jobs, purges and
// damaged messages, each with a confirmation that states its effect.
package operate
