// Package activity holds the pages that follow from events: activity, metrics, alerts and demo
// scenes. Each page has a model and its markup, as package page describes.
package activity
