// Package overview holds the pages that look at a whole namespace: the overview, the messages that
// expire next, and entities that are deleted when idle. Each page has a model and its markup, as
// package page describes.
package overview
