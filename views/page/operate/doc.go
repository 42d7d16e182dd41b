// Package operate holds the pages of operations on entities and on many messages: the question that
// states what an operation would do, jobs, and damaged messages. Each page has a model and its
// markup, as package page describes.
package operate
