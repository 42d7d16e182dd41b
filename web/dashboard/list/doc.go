// Package list makes lists of messages: their rows, the columns and views that a viewer chooses,
// their order, and the list of deferred messages.
package list
