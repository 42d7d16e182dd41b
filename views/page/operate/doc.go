// Package operate holds the pages of operations on entities and on many messages: confirmations that
// state the effect of an operation, jobs, and damaged messages. Each page has a model and its markup,
// as package page describes.
package operate
