// Package entity holds the pages of queues, topics and subscriptions: their lists, tabs and forms, and
// the pages of sessions. Each page has a model and its markup, as package page describes.
package entity
